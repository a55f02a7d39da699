import { decode as decodeByCborg } from 'cborg';
import { decodeCbor, encodeCbor } from '../../../src/codec/cbor.ts';
import { signSign1, unverifiedPayload, verifySign1 } from '../../../src/codec/cose-sign1.ts';
import { parseJson } from '../../../src/codec/message-json.ts';
import { MAX_SUMMARY_BYTES, siteSummaryCodec } from '../../../src/codec/messages/site.ts';
import {
  type DnsMessage,
  type DnsRecord,
  decodeDnsMessage,
  encodeDnsMessage,
  isPlainName,
} from '../../../src/mesh/discovery/dns-message.ts';
import { parseRemoteEvent } from '../../../src/mesh/rpc/remote-events.ts';
import { SummaryStore } from '../../../src/mesh/sites/summary-store.ts';
import { parseHostPort } from '../../../src/mesh/transport/mesh-engine.ts';
import { accepts } from '../../codec/messages/hostile-messages.ts';
import { HUB, KEY, PUBLIC_KEY, SUMMARIES } from '../../codec/messages/message-samples.ts';
import { MESSAGE_KINDS } from '../../codec/messages/message-table.ts';
import { ManualClock } from '../../manual-clock.ts';
import { bytesTarget, requireSame, type Target, textTarget, unlessRefused } from '../target.ts';

const fromHex = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text, 'hex'));

function checkCbor(input: Uint8Array): void {
  const value = unlessRefused(() => decodeCbor(input, { floats: 'allowed' }));
  if (value === undefined) return;
  requireSame(Buffer.from(encodeCbor(value)), Buffer.from(input), 'accepted CBOR is what the encoder writes for its value');
  requireSame(
    decodeByCborg(input, { useMaps: true, allowNaN: true, allowInfinity: true, allowBigInt: false }),
    value,
    'another decoder reads the same value',
  );
}

/** The first byte chooses the kind of message, the others are the message. */
function checkMessage(input: Uint8Array): void {
  const kind = MESSAGE_KINDS[(input[0] ?? 0) % MESSAGE_KINDS.length];
  if (kind) accepts(kind, input.slice(1));
}

function checkSigned(input: Uint8Array): void {
  const externalAad = new Uint8Array();
  const payload = unlessRefused(() => unverifiedPayload(input));
  const verified = unlessRefused(() => verifySign1(input, { keyOf: () => PUBLIC_KEY, externalAad }));
  if (verified !== undefined) requireSame(payload, verified, 'a verified payload is the one that was read before');
}

/** The input is what a border member has signed. */
function checkSummary(input: Uint8Array): void {
  const clock = new ManualClock(SUMMARIES[0]?.timeMs ?? 0);
  const certificates = { verify: () => ({ hubId: HUB, publicKey: PUBLIC_KEY }) };
  const time = { now: () => clock.now(), isTrusted: () => true };
  const store = new SummaryStore({ site: 'home', certificates, isOfOwnSite: () => false, clock, time });
  const signed = signSign1({ payload: input, key: KEY, externalAad: Buffer.from('atmosphere-edge site summary v1') });
  if (typeof store.receive(signed) === 'string') return;
  const [site = ''] = store.others().keys();
  store.mayHave(site, 'lamp');
  requireSame(store.envelopes(() => true, MAX_SUMMARY_BYTES).length, 1, 'what was accepted is passed on');
}

function checkDns(input: Uint8Array): void {
  const message = decodeDnsMessage(Buffer.from(input));
  if (!message) return;
  const names = [...message.questions.map(({ name }) => name), ...recordsOf(message).flatMap(namesIn)];
  if (!names.every(isPlainName) || !recordsOf(message).every(fitsAgain)) return;
  const known = { ...message, questions: message.questions.filter(({ type }) => /^(?:A|AAAA|PTR|SRV|TXT|ANY)$/.test(type)) };
  const encoded = encodeDnsMessage(known);
  if (encoded.length > MAX_DNS_BYTES) return;
  const again = decodeDnsMessage(encoded);
  requireSame(
    again?.questions.map(({ name }) => name),
    known.questions.map(({ name }) => name),
    'questions are read again as they were written',
  );
}

/** A message that names compress may be longer without compression, and then longer than is accepted. */
const MAX_DNS_BYTES = 9_000;

/** Returns whether the texts of a record fit into their strings again: bytes that are no UTF-8 are read as a character of three bytes. */
const fitsAgain = ({ type, data }: DnsRecord): boolean => type !== 'TXT' || data.every((text) => Buffer.byteLength(text) <= 255);

/** The names that a record consists of. */
const namesIn = ({ name, type, data }: DnsRecord): readonly string[] =>
  type === 'PTR' ? [name, data] : type === 'SRV' ? [name, data.target] : [name];

const recordsOf = ({ answers, authorities, additionals }: DnsMessage) => [...answers, ...authorities, ...additionals];

const DNS_SEEDS = [
  encodeDnsMessage({ kind: 'query', questions: [{ name: '_atmosphere._tcp.local', type: 'PTR', wantsUnicast: false }] }),
  encodeDnsMessage({
    kind: 'response',
    answers: [
      { name: '_atmosphere._tcp.local', type: 'PTR', ttlSeconds: 4_500, isUnique: false, data: 'a._atmosphere._tcp.local' },
      { name: 'a._atmosphere._tcp.local', type: 'SRV', ttlSeconds: 120, isUnique: true, data: { target: 'hub.local', port: 4_300 } },
      { name: 'a._atmosphere._tcp.local', type: 'TXT', ttlSeconds: 4_500, isUnique: true, data: ['id=hub-1', 'v=1'] },
    ],
    additionals: [
      { name: 'hub.local', type: 'A', ttlSeconds: 120, isUnique: true, data: '192.0.2.1' },
      { name: 'hub.local', type: 'AAAA', ttlSeconds: 120, isUnique: true, data: '2001:db8::1' },
      { name: 'hub.local', type: 'NSEC', ttlSeconds: 120, isUnique: true, data: ['A', 'AAAA'] },
    ],
  }),
].map((bytes) => Uint8Array.from(bytes));

/** What other hubs, and whoever is in the network, send a hub. */
export const MESH_TARGETS: readonly Target[] = [
  bytesTarget('cbor', 'codec/cbor.ts', {
    run: checkCbor,
    seeds: [
      encodeCbor(
        new Map<number | string, never>([
          [1, [1, -2, 'é', true, null] as never],
          ['k', Uint8Array.of(1, 2) as never],
        ]),
      ),
      encodeCbor([0.5, 1e300, 1e-7]),
    ],
  }),
  bytesTarget('mesh-message', 'codec/message-schema.ts', {
    run: checkMessage,
    seeds: MESSAGE_KINDS.flatMap((kind, index) => kind.samples.map((sample) => Uint8Array.of(index, ...kind.encode(sample)))),
  }),
  bytesTarget('cose-sign1', 'codec/cose-sign1.ts', {
    run: checkSigned,
    seeds: [fromHex(`8443a10127a0430102035840${'00'.repeat(64)}`)],
  }),
  bytesTarget('site-summary', 'mesh/sites/summary-store.ts', {
    run: checkSummary,
    seeds: SUMMARIES.map((summary) => unverifiedPayload(siteSummaryCodec.sign(summary, KEY))),
  }),
  bytesTarget('dns', 'mesh/discovery/dns-message.ts', { run: checkDns, seeds: DNS_SEEDS, maxBytes: 9_100 }),
  textTarget('canonical-json', 'codec/message-json.ts', {
    run: (text) => parseJson(text, { within: undefined, step: 'test' }),
    seeds: ['{"a":[1,2.5,"x",null,true],"b":{}}', '"\\u001f"', '[1e+21,-1,0.000001]'],
  }),
  bytesTarget('remote-event', 'mesh/rpc/remote-events.ts', {
    run: (input) => parseRemoteEvent(input, { types: ['*'], subjects: ['*'] } as never),
    seeds: MESSAGE_KINDS.filter(({ name }) => name === 'subscribed-event').flatMap(({ samples, encode }) =>
      samples.map((sample) => Uint8Array.from(encode(sample))),
    ),
  }),
  textTarget('host-port', 'mesh/transport/mesh-engine.ts', {
    run: parseHostPort,
    seeds: ['192.0.2.1:4300', '[2001:db8::1]:4300', 'hub.local:4300', '[fe80::1%eth0]:1'],
  }),
];

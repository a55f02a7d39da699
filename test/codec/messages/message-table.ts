import type { SignedCodec } from '../../../src/codec/message-schema.ts';
import { openAnnouncement, signAnnouncement } from '../../../src/codec/messages/announcement.ts';
import {
  type ForwardedRequest,
  forwardedRequestCodec,
  meshQueryCodec,
  openToolInvoke,
  openToolResponse,
  type ResponseContent,
  signToolInvoke,
  signToolResponse,
  subscribedEventCodec,
  type ToolInvoke,
} from '../../../src/codec/messages/call.ts';
import { frameCodec, handshakeCodec } from '../../../src/codec/messages/connection.ts';
import {
  certificateChainCodec,
  certificateClaimsCodec,
  inviteText,
  memberRevocationCodec,
  parseInvite,
  revocationStatementCodec,
} from '../../../src/codec/messages/membership.ts';
import {
  decodeSessionAnswer,
  decodeSessionCall,
  encodeSessionAnswer,
  encodeSessionCall,
  type SessionCall,
} from '../../../src/codec/messages/session-call.ts';
import {
  lookupAnswerCodec,
  lookupRequestCodec,
  siteSummaryCodec,
  summaryAnswerCodec,
  summaryRequestCodec,
} from '../../../src/codec/messages/site.ts';
import {
  blobRequestCodec,
  decodeBlobAnswer,
  encodeBlobAnswer,
  statementAnswerCodec,
  statementRequestCodec,
  syncAnswerCodec,
  syncRequestCodec,
} from '../../../src/codec/messages/sync.ts';
import { present } from '../../../src/core/json.ts';
import {
  ANNOUNCEMENTS,
  CLAIMS,
  FRAMES,
  GATE_MESSAGES,
  HUB,
  INVITES,
  INVOKES,
  KEY,
  OTHER_HUB,
  PUBLIC_KEY,
  QUERIES,
  RESPONSES,
  REVOCATIONS,
  SESSION_ANSWERS,
  SESSION_CALLS,
  SUMMARIES,
  WITH_PICTURE,
} from './message-samples.ts';

/** One kind of message: how it gets to bytes and back, and some of it. */
export interface MessageKind {
  /** Name of its rule in docs/mesh.cddl. */
  readonly name: string;
  encode(value: unknown): Uint8Array;
  decode(bytes: Uint8Array): unknown;
  readonly samples: readonly unknown[];
}

type OnTheWay = Pick<ForwardedRequest, 'deadlineMs' | 'certificate' | 'site'>;

const FORWARDED: readonly (ToolInvoke & OnTheWay)[] = [
  ...INVOKES,
  ...INVOKES.slice(1, 2).map((invoke) => ({ ...invoke, deadlineMs: 86_429_000 })),
  ...INVOKES.slice(1, 2).map((invoke) => ({ ...invoke, certificate: [Uint8Array.of(1, 2, 3)], site: 'garage' })),
];

const INVITE_PREFIX = 'atmo-join1.';
const keyOf = () => PUBLIC_KEY;

interface SampleCodec<Value> {
  encode(value: Value): Uint8Array;
  decode(bytes: Uint8Array): unknown;
}

function kind<Value>(name: string, { encode, decode }: SampleCodec<Value>, samples: readonly Value[]): MessageKind {
  return { name, encode: (value) => encode(value as Value), decode, samples };
}

function signed<Value>({ sign, open }: SignedCodec<Value>): SampleCodec<Value> {
  return { encode: (value) => sign(value, KEY), decode: (bytes) => open(bytes, keyOf) };
}

const SIGNED_REVOCATION = Uint8Array.from(
  memberRevocationCodec.sign({ meshId: 'mesh-fedcba9876543210', hubId: OTHER_HUB, atMs: 1_767_225_600_000 }, KEY),
);

/** Every kind of message that hubs send each other. */
export const MESSAGE_KINDS: readonly MessageKind[] = [
  kind('frame', frameCodec, FRAMES),
  kind('gate-message', handshakeCodec, GATE_MESSAGES),
  kind('certificate-claims', certificateClaimsCodec, CLAIMS),
  kind('certificate-chain', certificateChainCodec, [[Uint8Array.of(1, 2, 3), Uint8Array.of(4)]]),
  kind(
    'invite',
    {
      encode: (invite) => Uint8Array.from(Buffer.from(inviteText(invite).slice(INVITE_PREFIX.length), 'base64url')),
      decode: (bytes) => parseInvite(`${INVITE_PREFIX}${Buffer.from(bytes).toString('base64url')}`),
    },
    INVITES,
  ),
  kind('member-revocation', signed(memberRevocationCodec), REVOCATIONS),
  kind('revocation-statement', revocationStatementCodec, [
    { signed: SIGNED_REVOCATION },
    { signed: SIGNED_REVOCATION, signer: [Uint8Array.of(1, 2, 3)] },
  ]),
  kind('announcement', signed({ sign: signAnnouncement, open: openAnnouncement }), ANNOUNCEMENTS),
  kind('sync-request', syncRequestCodec, [{ vector: [] }, { vector: [{ hubId: HUB, epoch: 3, sequence: 17 }] }]),
  kind('sync-answer', syncAnswerCodec, [
    {
      vector: [{ hubId: HUB, epoch: 3, sequence: 17 }],
      envelopes: [Uint8Array.of(0x84), Uint8Array.of(0x84, 1)],
    },
  ]),
  kind('blob-request', blobRequestCodec, [{ hashes: ['0102030405060708', '00112233445566778899aabbccddeeff'] }]),
  kind('blob-answer', { encode: encodeBlobAnswer, decode: decodeBlobAnswer }, [
    { blobs: [null, Uint8Array.of(1, 2, 3), new Uint8Array(100)] },
  ]),
  kind('statement-request', statementRequestCodec, [{ known: ['00112233445566778899aabbccddeeff'] }]),
  kind('statement-answer', statementAnswerCodec, [
    {
      statements: [
        { kind: 'member_revocation', bytes: Uint8Array.of(1) },
        { kind: 'token_revocation', bytes: Uint8Array.of(2) },
      ],
    },
  ]),
  kind(
    'forwarded-request',
    {
      encode: ({ deadlineMs, certificate, site, ...invoke }) =>
        forwardedRequestCodec.encode({
          ...signToolInvoke(invoke, KEY, WITH_PICTURE),
          remainingMs: 29_000,
          hopsLeft: 1,
          visited: [HUB],
          ...present({ deadlineMs, certificate, site }),
        }),
      decode: (bytes) => {
        const forwarded = forwardedRequestCodec.decode(bytes);
        const { deadlineMs, certificate, site } = forwarded;
        return { ...openToolInvoke(forwarded, keyOf), ...present({ deadlineMs, certificate, site }) };
      },
    },
    FORWARDED,
  ),
  kind(
    'tool-response',
    {
      encode: (response) => signToolResponse(response, KEY, WITH_PICTURE),
      decode: (bytes) => {
        const { responseHash: _, ...response } = openToolResponse(bytes, keyOf);
        return response;
      },
    },
    RESPONSES,
  ),
  kind('session-call', { encode: (call: SessionCall) => encodeSessionCall(call, WITH_PICTURE), decode: decodeSessionCall }, SESSION_CALLS),
  kind(
    'session-answer',
    { encode: (answer: ResponseContent) => encodeSessionAnswer(answer, WITH_PICTURE), decode: decodeSessionAnswer },
    SESSION_ANSWERS,
  ),
  kind('mesh-query', signed(meshQueryCodec), QUERIES),
  kind(
    'subscribed-event',
    { encode: (event) => subscribedEventCodec.encode({ event }), decode: (bytes) => subscribedEventCodec.decode(bytes).event },
    [{ event: { specversion: '1.0', id: '1', type: 'sensor.reading', data: { value: 21.5 } } }],
  ),
  kind('site-summary', signed(siteSummaryCodec), SUMMARIES),
  kind('summary-request', summaryRequestCodec, [
    { site: 'garage', digest: '0102030405060708', offered: [], wanted: [] },
    { site: 'garage', digest: '0102030405060708', offered: ['1112131415161718'], wanted: ['2122232425262728'], known: [] },
  ]),
  kind('summary-answer', summaryAnswerCodec, [
    { site: 'garage', digest: '0102030405060708', summaries: [] },
    { site: 'garage', digest: '0102030405060708', summaries: [Uint8Array.of(0x84)] },
  ]),
  kind('site-lookup', lookupRequestCodec, [{ site: 'garage', words: ['hall_lamp_turn_on'], hopsLeft: 8 }]),
  kind('site-lookup-answer', lookupAnswerCodec, [
    { envelopes: [], blobs: [] },
    { envelopes: [Uint8Array.of(0x84)], blobs: [Uint8Array.of(1)] },
  ]),
];

import { createHash, generateKeyPairSync } from 'node:crypto';
import { type Clock, pause } from '../../core/clock.ts';
import { AtmoError } from '../../core/errors.ts';
import { type JsonObject, objectOf, objectsOf, textsOf } from '../../core/json.ts';
import { visibleLine } from '../../core/untrusted-text.ts';
import { type AcmeAnswer, type AcmeSession, reasonOf } from './acme-session.ts';
import { makeCertificateRequest } from './x509.ts';

/** A TXT record that proves to the authority whose name it is (RFC 8555 §8.4). */
export interface DnsRecord {
  /** Full name without a dot at the end, such as `_acme-challenge.hub.example.org`. */
  readonly name: string;
  readonly value: string;
}

/** Port: adds and removes TXT records in the owner's zone. Both reject with SERVICE_REFUSED if that fails, and with the reason of the signal. */
export interface DnsRecords {
  add(record: DnsRecord, signal: AbortSignal): Promise<void>;
  remove(record: DnsRecord, signal: AbortSignal): Promise<void>;
}

interface OrderParts {
  readonly session: AcmeSession;
  readonly dns: DnsRecords;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Called if a record could not be removed. It does no harm, except that it stays in the zone. */
  readonly onRecordLeft: (record: DnsRecord, thrown: unknown) => void;
}

interface Order {
  readonly names: readonly string[];
  /** How long to wait between the last new record and the first question of the authority, in milliseconds. */
  readonly propagationMs: number;
}

/** A chain of certificates with the key of the first, both in PEM. */
interface IssuedCertificate {
  readonly chain: string;
  readonly key: string;
}

/** A name that the authority wants to be proved. */
interface Authorization {
  readonly url: string;
  readonly name: string;
  readonly challengeUrl: string;
  readonly record: DnsRecord;
}

const POLL_MS = { usual: 2_000, least: 1_000, most: 60_000 };
const MAX_POLLS = 60;
const MAX_SHOWN = 80;

/**
 * Gets a certificate with a new key for the names (RFC 8555 §7.4). Proves the names by DNS records, which it removes afterwards. Rejects as
 * `AcmeSession` and `DnsRecords` do, and with TIMEOUT if the authority does not come to an end.
 */
export async function orderCertificate(parts: OrderParts, { names, propagationMs }: Order): Promise<IssuedCertificate> {
  const { session } = parts;
  const identifiers = names.map((value) => ({ type: 'dns', value }));
  const order = await session.post(session.resource('newOrder'), { identifiers });
  const orderUrl = required(order.location, 'an address of the order');
  await authorize(parts, { names, urls: textsOf(order.json.authorizations), propagationMs });
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const ready = await settled(parts, orderUrl, ['pending', 'processing']);
  const csr = makeCertificateRequest(privateKey, names).toString('base64url');
  if (ready.status === 'ready') await session.post(required(ready.finalize, 'an address to finalize'), { csr });
  const done = await settled(parts, orderUrl, ['ready', 'processing']);
  if (done.status !== 'valid') throw notIssued('The authority did not issue the certificate', objectOf(done.error));
  const { text } = await session.post(required(done.certificate, 'an address of the certificate'));
  return { chain: text, key: String(privateKey.export({ type: 'pkcs8', format: 'pem' })) };
}

interface Proofs extends Order {
  readonly urls: readonly string[];
}

async function authorize(parts: OrderParts, { names, urls, propagationMs }: Proofs): Promise<void> {
  const { dns, clock, signal, session } = parts;
  if (urls.length > names.length) throw notIssued(`The authority wants ${urls.length} proofs for ${names.length} names`, {});
  const open = (await inTurn(urls, async (url) => openAuthorization(session, url, names))).flatMap((found) => found ?? []);
  const added: DnsRecord[] = [];
  try {
    for (const { record } of open) {
      added.push(record);
      await dns.add(record, signal);
    }
    if (open.length > 0) await pause(clock, propagationMs, signal);
    signal.throwIfAborted();
    for (const { challengeUrl } of open) await session.post(challengeUrl, {});
    for (const authorization of open) await proved(parts, authorization);
  } finally {
    for (const record of added) await dns.remove(record, signal).catch((thrown) => parts.onRecordLeft(record, thrown));
  }
}

/**
 * Returns what proves a name; undefined if the authority still knows from an earlier order that the name is the owner's. The owner's command
 * writes with a key for the whole zone, so the authority must not choose for which name.
 */
async function openAuthorization(session: AcmeSession, url: string, names: readonly string[]): Promise<Authorization | undefined> {
  const { json } = await session.post(url);
  if (json.status === 'valid') return undefined;
  const asked = required(objectOf(json.identifier).value, 'a name to prove');
  const name = names.find((one) => one === asked.toLowerCase());
  if (name === undefined) throw notIssued(`The authority wants a proof for ${visibleLine(asked, MAX_SHOWN)}, which was not ordered`, {});
  const challenge = objectsOf(json.challenges).find(({ type }) => type === 'dns-01');
  if (!challenge) throw notIssued(`The authority takes no proof by DNS for ${name}`, {});
  const proof = session.keyAuthorization(required(challenge.token, 'a token'));
  const value = createHash('sha256').update(proof).digest('base64url');
  const challengeUrl = required(challenge.url, 'an address of the challenge');
  return { url, name, challengeUrl, record: { name: `_acme-challenge.${name}`, value } };
}

async function proved(parts: OrderParts, { url, name }: Authorization): Promise<void> {
  const authorization = await settled(parts, url, ['pending', 'processing']);
  if (authorization.status === 'valid') return;
  const failed = objectsOf(authorization.challenges).find(({ error }) => error !== undefined);
  throw notIssued(`The authority did not find the proof for ${name}`, objectOf(failed?.error));
}

/** Reads a resource until its status is none of `passing`, as often as the authority wants to be asked. */
async function settled({ session, clock, signal }: OrderParts, url: string, passing: readonly string[]): Promise<JsonObject> {
  for (let polls = 0; polls < MAX_POLLS; polls++) {
    const answer = await session.post(url);
    if (!passing.includes(String(answer.json.status))) return answer.json;
    await pause(clock, pollDelay(answer), signal);
    signal.throwIfAborted();
  }
  throw new AtmoError('TIMEOUT', `The authority did not finish after ${MAX_POLLS} questions`);
}

function pollDelay({ retryAfterMs = POLL_MS.usual }: AcmeAnswer): number {
  return Math.min(POLL_MS.most, Math.max(POLL_MS.least, retryAfterMs));
}

async function inTurn<Item, Result>(items: readonly Item[], work: (item: Item) => Promise<Result>): Promise<readonly Result[]> {
  const results: Result[] = [];
  for (const item of items) results.push(await work(item));
  return results;
}

function required(value: unknown, what: string): string {
  if (typeof value === 'string') return value;
  throw new AtmoError('SERVICE_REFUSED', `The answer of the authority lacks ${what}`);
}

function notIssued(what: string, problem: JsonObject): AtmoError {
  const reason = reasonOf(problem);
  return new AtmoError('SERVICE_REFUSED', reason === '' ? what : `${what}: ${reason}`);
}

import { createHash, verify } from 'node:crypto';
import { decodeCbor } from '../../codec/cbor.ts';
import { type PersonKey, personKeyOf } from '../../codec/person-key.ts';
import type { PasskeyFacts } from '../../core/auth/approvals.ts';
import { AtmoError } from '../../core/errors.ts';
import { isJsonObject, type JsonObject, tryParseJson } from '../../core/json.ts';

const FLAG = { userPresent: 0x01, userVerified: 0x04, hasCredential: 0x40 } as const;
/** Layout of authenticator data (WebAuthn §6.1): hash of the RP id, flags, counter; then AAGUID and the credential. */
const OFFSET = { flags: 32, counter: 33, credentialLength: 53, credential: 55 } as const;
const MAX_CREDENTIAL_BYTES = 1_023;
/** Labels and values of COSE keys (RFC 9053 §7): type, algorithm, curve, coordinates. */
const COSE = { kty: 1, alg: 3, crv: -1, x: -2, y: -3, okp: 1, ec2: 2, eddsa: -8, es256: -7, ed25519: 6, p256: 1 } as const;

/** A new passkey as the browser returns it. All members are base64url. */
export interface PasskeyRegistration {
  readonly credentialId: string;
  readonly clientData: string;
  readonly authenticatorData: string;
}

/** A registered passkey: its public key, and what each of its signatures is checked against. */
export interface RegisteredPasskey {
  /** Raw public key, base64url. */
  readonly key: string;
  readonly passkey: PasskeyFacts;
}

/**
 * Reads a new passkey (WebAuthn §7.1 without attestation). Nothing in a registration is signed: whose key it is shows the fingerprint, which
 * people compare. Throws VALIDATION_ERROR if it was made for another challenge, without the person's consent, or with another algorithm.
 */
export function readRegistration(
  { credentialId, clientData, authenticatorData }: PasskeyRegistration,
  challenge: string,
): RegisteredPasskey {
  const client = clientDataOf(clientData);
  if (client.type !== 'webauthn.create') refuse('was not made as a new passkey');
  if (client.challenge !== Buffer.from(challenge).toString('base64url')) refuse('was made for another challenge');
  const origin = originOf(client);
  const rpId = new URL(origin).hostname;
  const data = Buffer.from(authenticatorData, 'base64url');
  const flags = checkedFlags(data, rpId);
  if ((flags & FLAG.hasCredential) === 0 || data.length <= OFFSET.credential) refuse('has no public key');
  const length = data.readUInt16BE(OFFSET.credentialLength);
  const keyStart = OFFSET.credential + length;
  const id = data.subarray(OFFSET.credential, keyStart).toString('base64url');
  if (length === 0 || length > MAX_CREDENTIAL_BYTES || id !== credentialId) refuse('has another id than it says');
  const signCount = data.readUInt32BE(OFFSET.counter);
  return { key: rawKeyOf(data.subarray(keyStart)), passkey: { credentialId, rpId, origin, signCount } };
}

/**
 * Checks a signature of a passkey (WebAuthn §7.2) over a challenge, and returns its counter. Returns undefined if it is of another key or
 * challenge, was made on another page, without the person's verification, or if the counter shows a copy of the passkey.
 */
export function passkeyCounter(
  signature: string,
  challenge: Uint8Array,
  { key, passkey }: { readonly key: PersonKey; readonly passkey: PasskeyFacts },
): number | undefined {
  const { authenticatorData, clientDataJSON, signature: signed } = partsOf(signature);
  try {
    const client = clientDataOf(clientDataJSON);
    const data = Buffer.from(authenticatorData, 'base64url');
    const isForChallenge = client.type === 'webauthn.get' && client.challenge === Buffer.from(challenge).toString('base64url');
    if (!isForChallenge || originOf(client) !== passkey.origin) return undefined;
    checkedFlags(data, passkey.rpId);
    const message = Buffer.concat([data, sha256(Buffer.from(clientDataJSON, 'base64url'))]);
    const algorithm = key.kind === 'es256' ? 'sha256' : null;
    if (!verify(algorithm, message, key.key, Buffer.from(signed, 'base64url'))) return undefined;
    const counter = data.readUInt32BE(OFFSET.counter);
    // Many passkeys are synchronized between devices and do not count: their counter is always 0.
    return counter === 0 && passkey.signCount === 0 ? 0 : counter > passkey.signCount ? counter : undefined;
  } catch (thrown) {
    if (thrown instanceof AtmoError && thrown.code === 'VALIDATION_ERROR') return undefined;
    throw thrown;
  }
}

/** Returns the parts of a passkey's signature: base64url of JSON with the members of AuthenticatorAssertionResponse. */
function partsOf(signature: string): Record<'authenticatorData' | 'clientDataJSON' | 'signature', string> {
  const value = tryParseJson(Buffer.from(signature, 'base64url').toString());
  const member = (name: string) => (isJsonObject(value) && typeof value[name] === 'string' ? value[name] : '');
  return { authenticatorData: member('authenticatorData'), clientDataJSON: member('clientDataJSON'), signature: member('signature') };
}

function clientDataOf(clientData: string): JsonObject {
  const value = tryParseJson(Buffer.from(clientData, 'base64url').toString());
  return isJsonObject(value) ? value : refuse('has no client data');
}

/** Returns the origin of the page that made the client data. Refuses a page inside of a page of somebody else. */
function originOf({ origin, crossOrigin }: JsonObject): string {
  const url = typeof origin === 'string' ? URL.parse(origin) : null;
  const isSecure = url?.protocol === 'https:' || url?.hostname === 'localhost';
  if (!url || url.origin !== origin || !isSecure || crossOrigin === true) return refuse('was not made on a page with https');
  return url.origin;
}

function checkedFlags(data: Buffer, rpId: string): number {
  if (data.length <= OFFSET.counter + 3) refuse('has no authenticator data');
  if (!data.subarray(0, OFFSET.flags).equals(sha256(Buffer.from(rpId)))) refuse('is for another name');
  const flags = data[OFFSET.flags] ?? 0;
  const isVerified = (flags & FLAG.userPresent) !== 0 && (flags & FLAG.userVerified) !== 0;
  return isVerified ? flags : refuse('was used without a fingerprint, face or PIN');
}

/** Returns the raw public key of a COSE key. Extensions may follow the key, so only its own bytes are decoded. */
function rawKeyOf(bytes: Uint8Array): string {
  const length = bytes[0] === 0xa4 ? OKP_BYTES : EC2_BYTES;
  const key = decodeCbor(Uint8Array.from(bytes.subarray(0, length)));
  if (!(key instanceof Map)) return refuse('has no public key');
  const [x, y] = [key.get(COSE.x), key.get(COSE.y)];
  const isOf = (kty: number, alg: number, crv: number) =>
    key.get(COSE.kty) === kty && key.get(COSE.alg) === alg && key.get(COSE.crv) === crv;
  const raw =
    isOf(COSE.okp, COSE.eddsa, COSE.ed25519) && x instanceof Uint8Array
      ? Buffer.from(x)
      : isOf(COSE.ec2, COSE.es256, COSE.p256) && x instanceof Uint8Array && y instanceof Uint8Array
        ? Buffer.concat([Uint8Array.of(4), x, y])
        : refuse('uses neither ES256 nor Ed25519');
  const text = raw.toString('base64url');
  personKeyOf(text);
  return text;
}

/** Lengths of a COSE key in canonical CBOR with one coordinate of 32 bytes, and with two. */
const OKP_BYTES = 42;
const EC2_BYTES = 77;

function sha256(bytes: Uint8Array): Buffer {
  return createHash('sha256').update(bytes).digest();
}

function refuse(problem: string): never {
  throw new AtmoError('VALIDATION_ERROR', `The passkey ${problem}; make a new one on the page of this hub`);
}

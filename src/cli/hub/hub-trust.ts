import { createHash, createPublicKey, type KeyObject, randomBytes, verify, X509Certificate } from 'node:crypto';
import { existsSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { connect, type DetailedPeerCertificate } from 'node:tls';
import { challengeStatement } from '../../core/auth/principal.ts';
import { AtmoError, systemCode } from '../../core/errors.ts';
import { readSmallFile } from '../../core/files/owner-rights.ts';
import type { CliIo } from '../cli-io.ts';
import { isLoopback } from '../identity/credential.ts';
import { configDir, makePrivateDir, stateDirs } from '../identity/user-files.ts';
import { answerText } from './answer-body.ts';

const CONNECT_TIMEOUT_MS = 5_000;
/** Matches the error codes of Node.js and OpenSSL for a certificate that no trusted authority has signed. */
const UNTRUSTED = /^(UNABLE_TO_|SELF_SIGNED_CERT|DEPTH_ZERO_SELF_SIGNED|CERT_|ERR_TLS_CERT)/;

/**
 * Returns the certificate (PEM) of the authority that must have signed a hub's certificate. It is the user's trusted authority for the URL,
 * otherwise the authority of a hub on this machine. Without both, returns undefined; the default authorities then apply.
 */
export function trustedAuthority(env: CliIo['env'], url: URL): string | undefined {
  const pinned = pinFile(env, url);
  const ofHubs = stateDirs(env).map((folder) => ({ folder, file: join(folder, 'tls/ca.crt') }));
  for (const { folder, file } of [{ folder: dirname(pinned), file: pinned }, ...ofHubs]) {
    try {
      if (existsSync(file)) return readSmallFile(file, folder);
    } catch {
      // A state directory that this user cannot read is ignored.
    }
  }
  return undefined;
}

/** Returns whether the user has trusted the authority with this fingerprint for the URL before. */
export function isPinned(env: CliIo['env'], url: URL, fingerprint: string): boolean {
  const file = pinFile(env, url);
  return existsSync(file) && plainFingerprint(new X509Certificate(readSmallFile(file)).fingerprint256) === plainFingerprint(fingerprint);
}

/**
 * Stores the server's certificate with this fingerprint as trusted. Throws PERMISSION_DENIED if the server has no such certificate, and
 * VALIDATION_ERROR for an address without TLS, whose server proves nothing.
 */
export async function trustAuthority(env: CliIo['env'], url: URL, fingerprint: string): Promise<string> {
  if (url.protocol !== 'https:') throw withoutTls(url);
  const chain = await certificatesAt(url);
  const found = chain.find((certificate) => plainFingerprint(certificate.fingerprint256) === plainFingerprint(fingerprint));
  if (!found) {
    throw new AtmoError(
      'PERMISSION_DENIED',
      `No certificate at ${url.host} has the fingerprint ${fingerprint}: it is another hub, or somebody stands between. "sudo atmo tls" on the hub shows the right one`,
      { seen: chain.map(({ fingerprint256 }) => fingerprint256) },
    );
  }
  const file = pinFile(env, url);
  makePrivateDir(dirname(file));
  writeFileSync(file, found.toString(), { mode: 0o600 });
  return file;
}

function withoutTls({ origin, host }: URL): AtmoError {
  return new AtmoError(
    'VALIDATION_ERROR',
    `A fingerprint is that of a hub's authority over TLS, and ${origin} is an address without TLS: take https://${host}, or leave the fingerprint out for the hub of this machine`,
    { url: origin },
  );
}

/** Returns HUB_UNREACHABLE for an error of `fetch`. If the certificate is not trusted, the message says so; otherwise it has `advice`, if there is any. */
export function unreachableError(url: string, thrown: unknown, advice: string | undefined): AtmoError {
  const cause = thrown instanceof Error ? thrown.cause : undefined;
  const isUntrusted = cause instanceof Error && UNTRUSTED.test(systemCode(cause));
  const trust = 'compare the fingerprint that "sudo atmo tls" shows on the hub, then "atmo tls trust FINGERPRINT" with the same ATMO_URL';
  const isSilent = thrown instanceof Error && thrown.name === 'TimeoutError';
  const absence = isSilent
    ? `What listens at ${url} sent no answer in time; if it is the hub, it is busy or hangs: try again in a minute, then restart it`
    : `No hub answers at ${url}${advice === undefined ? '' : `; ${advice}`}`;
  const message = isUntrusted ? `The certificate of ${url} is not trusted (${cause.message}); ${trust}` : absence;
  return new AtmoError('HUB_UNREACHABLE', message, { url }, { cause: thrown });
}

/** Returns what a person can do where the hub of another machine does not answer. For this machine the program says it, since not each has a hub. */
export function absentHubAdvice(url: string): string | undefined {
  return isLoopback(url) ? undefined : 'see that the hub is on, and that this machine is in its network';
}

function pinFile(env: CliIo['env'], url: URL): string {
  const name = createHash('sha256').update(url.host).digest('hex').slice(0, 16);
  return join(configDir(env), 'hubs', `${name}.crt`);
}

function plainFingerprint(fingerprint: string): string {
  return fingerprint
    .replace(/^SHA256:/i, '')
    .replace(/[^0-9a-f]/gi, '')
    .toLowerCase();
}

/** Returns the certificate chain of a server, its own certificate first. Sends no request to the server. */
function certificatesAt(url: URL): Promise<readonly X509Certificate[]> {
  const { promise, resolve, reject } = Promise.withResolvers<readonly X509Certificate[]>();
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const socket = connect({ host, port: Number(url.port) || 443, rejectUnauthorized: false, timeout: CONNECT_TIMEOUT_MS });
  const fail = (cause: unknown) => {
    socket.destroy();
    reject(new AtmoError('HUB_UNREACHABLE', `Nothing speaks TLS at ${url.host}; is the hub on, and its address right?`, {}, { cause }));
  };
  socket.once('error', fail);
  socket.once('timeout', () => fail(undefined));
  socket.once('secureConnect', () => {
    resolve(chainOf(socket.getPeerCertificate(true)));
    socket.destroy();
  });
  return promise;
}

function chainOf(own: DetailedPeerCertificate): readonly X509Certificate[] {
  const chain: X509Certificate[] = [];
  for (let next: DetailedPeerCertificate | undefined = own; next?.raw && chain.length < 8; next = next.issuerCertificate) {
    chain.push(new X509Certificate(next.raw));
    if (next.issuerCertificate === next) break;
  }
  return chain;
}

const HUB_KEY_FILE = 'hub.key';

/** The hub for which a token is valid. */
export interface KnownHub {
  readonly key: KeyObject;
  readonly file: string;
  /** Advice for the case that the hub was set up again. It then has another key. */
  readonly ifAnew?: string;
}

/** Returns the hub of a state directory. Returns undefined if the directory contains no key yet. */
export function hubOfStateDir(stateDir: string): KnownHub | undefined {
  const file = join(stateDir, HUB_KEY_FILE);
  return existsSync(file) ? { key: publicKeyIn(file), file } : undefined;
}

function publicKeyIn(file: string): KeyObject {
  try {
    return createPublicKey(readSmallFile(file));
  } catch (cause) {
    if (cause instanceof AtmoError) throw cause;
    throw new AtmoError(
      'STORAGE_FAILED',
      `${file} does not hold the key of a hub, or cannot be read; run atmo with sudo`,
      { file },
      { cause },
    );
  }
}

/** Returns the hub with a raw public key (32 bytes, base64url) that was read from `file`. Throws STORAGE_FAILED if the key is malformed. */
export function hubOfRawKey(raw: string, file: string, ifAnew: string): KnownHub {
  try {
    return { key: createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: raw }, format: 'jwk' }), file, ifAnew };
  } catch (cause) {
    throw new AtmoError('STORAGE_FAILED', `${file} does not hold the key of a hub; ${ifAnew}`, { file }, { cause });
  }
}

/** Throws HUB_UNREACHABLE unless the process at `url` proves that it has the hub's private key. Send the token only after this proof. */
export async function verifyHub(url: string, hub: KnownHub, get: (path: string) => Promise<Response>): Promise<void> {
  const challenge = randomBytes(32).toString('base64url');
  const response = await get(`/healthz?challenge=${challenge}`);
  const signature = proofIn(await answerText(response));
  const statement = challengeStatement(portOf(url), challenge);
  if (verify(null, statement, hub.key, signature)) return;
  const advice = 'See what listens there (ss -tlnp), or set ATMO_URL or ATMO_STATE_DIR';
  const anew = hub.ifAnew === undefined ? '' : `; if that hub was set up anew, ${hub.ifAnew}`;
  throw new AtmoError(
    'HUB_UNREACHABLE',
    `What answers at ${url} is not the hub whose key is in ${hub.file}; the token was not sent. ${advice}${anew}`,
    { url, key: hub.file },
  );
}

/** Returns the signature in a response. Returns an empty signature, which is never valid, if there is none. */
function proofIn(text: string): Uint8Array {
  const proof = /"proof":"([A-Za-z0-9_-]{86})"/.exec(text)?.[1] ?? '';
  return Buffer.from(proof, 'base64url');
}

function portOf(url: string): number {
  const { port, protocol } = new URL(url);
  return Number(port) || (protocol === 'https:' ? 443 : 80);
}

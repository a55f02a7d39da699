import { createHash, X509Certificate } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect, type DetailedPeerCertificate } from 'node:tls';
import { AtmoError } from '../../core/errors.ts';
import { systemCode } from '../../core/process/system-code.ts';
import type { CliIo } from '../cli-io.ts';
import { configDir, homeOf } from '../login-file.ts';
import { stateDirs } from '../state-dir.ts';

const CONNECT_TIMEOUT_MS = 5_000;
/** Codes of Node and OpenSSL for a certificate that no trusted authority has made. */
const UNTRUSTED = /^(UNABLE_TO_|SELF_SIGNED_CERT|DEPTH_ZERO_SELF_SIGNED|CERT_|ERR_TLS_CERT)/;

/**
 * PEM of the authority that a hub's certificate has to come from: the one that this user trusted for the address, else
 * the one of a hub of this machine. Undefined where neither is: then the authorities of the system count.
 */
export function trustedAuthority(env: CliIo['env'], url: URL): string | undefined {
  const files = [pinFile(env, url), ...stateDirs(env).map((dir) => join(dir, 'tls/ca.crt'))];
  for (const file of files) {
    try {
      if (existsSync(file)) return readFileSync(file, 'utf8');
    } catch {
      // A state directory of somebody else: his authority is not for this user.
    }
  }
  return undefined;
}

/** Trusts the authority at an address from now on, once its fingerprint is the one that people compared. */
export async function trustAuthority(env: CliIo['env'], url: URL, fingerprint: string): Promise<string> {
  const chain = await certificatesAt(url);
  const found = chain.find((certificate) => plain(certificate.fingerprint256) === plain(fingerprint));
  if (!found) {
    throw new AtmoError(
      'PERMISSION_DENIED',
      `No certificate at ${url.host} has the fingerprint ${fingerprint}: it is another hub, or somebody stands between. "sudo atmo tls" on the hub shows the right one`,
      { seen: chain.map(({ fingerprint256 }) => fingerprint256) },
    );
  }
  const file = pinFile(env, url);
  mkdirSync(join(configDir(homeOf(env)), 'hubs'), { recursive: true, mode: 0o700 });
  writeFileSync(file, found.toString(), { mode: 0o600 });
  return file;
}

/** HUB_UNREACHABLE with what to do, where TLS failed because nobody whom this user trusts has vouched for the hub at `url`. */
export function untrusted(url: string, thrown: unknown): AtmoError | undefined {
  const cause = thrown instanceof Error ? thrown.cause : undefined;
  const code = systemCode(cause);
  if (!(cause instanceof Error) || !UNTRUSTED.test(code)) return undefined;
  const advice = 'compare the fingerprint that "sudo atmo tls" shows on the hub, then "atmo tls trust FINGERPRINT" with the same ATMO_URL';
  return new AtmoError(
    'HUB_UNREACHABLE',
    `The certificate of ${url} is not trusted (${cause.message}); ${advice}`,
    { url },
    { cause: thrown },
  );
}

function pinFile(env: CliIo['env'], url: URL): string {
  const name = createHash('sha256').update(url.host).digest('hex').slice(0, 16);
  return join(configDir(homeOf(env)), 'hubs', `${name}.crt`);
}

function plain(fingerprint: string): string {
  return fingerprint.replace(/[^0-9a-f]/gi, '').toLowerCase();
}

/** What a server shows, its own certificate first; nothing is sent to it. */
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

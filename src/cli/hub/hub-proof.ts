import { createPublicKey, type KeyObject, randomBytes, verify } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { AtmoError } from '../../core/errors.ts';
import { challengeStatement } from '../../core/mesh/hub-challenge.ts';

const HUB_KEY_FILE = 'hub.key';

/** The hub that a token is for. */
export interface KnownHub {
  readonly key: KeyObject;
  /** The file that tells the key. */
  readonly file: string;
  /** What to do when the hub was set up anew since, and has another key. */
  readonly ifAnew?: string;
}

/** The hub of a state directory; undefined while it has no key yet. */
export function hubOfStateDir(stateDir: string): KnownHub | undefined {
  const file = join(stateDir, HUB_KEY_FILE);
  return existsSync(file) ? { key: createPublicKey(readFileSync(file)), file } : undefined;
}

/** The hub whose raw public key (32 bytes, base64url) a file holds. STORAGE_FAILED when it is none, with what to do then. */
export function hubOfRawKey(raw: string, file: string, ifAnew: string): KnownHub {
  try {
    return { key: createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: raw }, format: 'jwk' }), file, ifAnew };
  } catch (cause) {
    throw new AtmoError('STORAGE_FAILED', `${file} does not hold the key of a hub; ${ifAnew}`, { file }, { cause });
  }
}

/**
 * Lets what answers at `url` prove that it is the hub that a token is for: while the hub is down, any process may take its
 * port and wait for the token. HUB_UNREACHABLE otherwise.
 */
export async function requireHub(url: string, hub: KnownHub, get: (path: string) => Promise<Response>): Promise<void> {
  const challenge = randomBytes(32).toString('base64url');
  const response = await get(`/healthz?challenge=${challenge}`);
  const signature = proofIn(await response.text());
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

/** Nothing, which fits no challenge, where the answer holds no proof. */
function proofIn(text: string): Uint8Array {
  const proof = /"proof":"([A-Za-z0-9_-]{86})"/.exec(text)?.[1] ?? '';
  return Buffer.from(proof, 'base64url');
}

function portOf(url: string): number {
  const { port, protocol } = new URL(url);
  return Number(port) || (protocol === 'https:' ? 443 : 80);
}

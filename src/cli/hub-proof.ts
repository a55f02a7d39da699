import { createPublicKey, randomBytes, verify } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { AtmoError } from '../core/errors.ts';
import { challengeStatement } from '../core/hub-challenge.ts';

const HUB_KEY_FILE = 'hub.key';

/**
 * Lets what answers at `url` prove that it is the hub of `stateDir`, where the owner's token lies: while the hub is down,
 * any process may take its port and wait for the token. HUB_UNREACHABLE otherwise. A hub that has no key yet need not.
 */
export async function requireOwnHub(url: string, stateDir: string, get: (path: string) => Promise<Response>): Promise<void> {
  const keyFile = join(stateDir, HUB_KEY_FILE);
  if (!existsSync(keyFile)) return;
  const challenge = randomBytes(32).toString('base64url');
  const response = await get(`/healthz?challenge=${challenge}`);
  const signature = proofIn(await response.text());
  const statement = challengeStatement(portOf(url), challenge);
  if (verify(null, statement, createPublicKey(readFileSync(keyFile)), signature)) return;
  throw new AtmoError(
    'HUB_UNREACHABLE',
    `What answers at ${url} is not the hub whose key is ${keyFile}; the owner's token was not sent. See what listens there (ss -tlnp), or set ATMO_URL or ATMO_STATE_DIR`,
    { url, key: keyFile },
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

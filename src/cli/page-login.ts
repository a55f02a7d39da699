import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { AtmoError } from '../core/errors.ts';
import type { CliIo } from './cli-io.ts';
import type { HubClient } from './hub/hub-client.ts';
import { objectsIn } from './hub/json-list.ts';
import { approverKeyFile, rawKeyOf, readApproverKey } from './identity/approver-key.ts';
import { approverKeyPath, homeOf, readLogin } from './login-file.ts';
import { type Credential, findCredential } from './state-dir.ts';

/** Who is signed in at the monitor page: the token, and for who may approve the name and the seed of the Ed25519 key. */
export interface PageLogin {
  readonly token: string;
  readonly person?: string;
  /** 32 bytes in base64url. */
  readonly key?: string;
}

const OWNER_TTL_SECONDS = 12 * 3_600;

/**
 * The login of the person at the command line: of their own `atmo login`, or of ATMO_TOKEN. The owner's token stays where it
 * is: the page gets one for half a day in its place. UNAUTHENTICATED where there is none.
 */
export async function pageLogin(hub: HubClient, env: CliIo['env']): Promise<PageLogin> {
  const credential = findCredential(env);
  if (!credential)
    throw new AtmoError(
      'UNAUTHENTICATED',
      'You have no token to sign in with; run "sudo atmo login" once, or set ATMO_TOKEN or ATMO_STATE_DIR',
    );
  if (credential.source === 'owner') return ownersLogin(hub, credential);
  if (credential.source === 'login')
    return { token: credential.token, ...personsKey(readLogin(env)?.person, approverKeyPath(homeOf(env))) };
  return { token: credential.token, ...(await enrolledKey(hub, env)) };
}

const OF_HUB = /^at[01]\.[A-Za-z0-9_.-]+$/;

/** The address of the page with the login behind `#`, which browsers send nowhere; short, since it has to fit into a QR code. */
export function pageLink(url: string, login: PageLogin): string {
  const { token, person = '', key = '' } = login;
  if (OF_HUB.test(token)) return `${url}/#login=${[token, person, key].join('~').replace(/~+$/, '')}`;
  return `${url}/#login=${Buffer.from(JSON.stringify(login)).toString('base64url')}`;
}

async function ownersLogin(hub: HubClient, { stateDir = '' }: Credential): Promise<PageLogin> {
  const body = { agent_id: 'monitor', permissions: ['*', 'admin:*'], ttl_seconds: OWNER_TTL_SECONDS };
  const { token } = await hub.post('/api/v1/tokens', body);
  if (typeof token !== 'string') throw new AtmoError('HUB_UNREACHABLE', 'The hub made no token; is it a hub of this version?');
  return { token, ...personsKey('owner', join(stateDir, 'owner.key')) };
}

function personsKey(person: string | undefined, file: string): Omit<PageLogin, 'token'> {
  if (person === undefined) return {};
  return existsSync(file) ? { person, key: seedOf(file) } : { person };
}

/** The key of this user, where it is enrolled and the token may know that. */
async function enrolledKey(hub: HubClient, env: CliIo['env']): Promise<Omit<PageLogin, 'token'>> {
  try {
    const file = approverKeyFile(env, undefined);
    const raw = rawKeyOf(readApproverKey(file));
    const { person } = objectsIn(await hub.get('/api/v1/approvers'), 'approvers').find(({ key }) => key === raw) ?? {};
    return typeof person === 'string' ? personsKey(person, file) : {};
  } catch {
    return {};
  }
}

/** RFC 8037: `d` of the key's JWK is the seed. */
function seedOf(file: string): string {
  return readApproverKey(file).export({ format: 'jwk' }).d ?? '';
}

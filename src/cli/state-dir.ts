import { existsSync, readFileSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { AtmoError } from '../core/errors.ts';
import { systemCode } from '../core/process/system-code.ts';
import type { CliIo } from './cli-io.ts';
import { homeOf, loginPath, readLogin } from './login-file.ts';

type Environment = CliIo['env'];

/** Where hubs keep their state, most likely first: ATMO_STATE_DIR alone when it is set. */
export function stateDirs(env: Environment): readonly string[] {
  if (env.ATMO_STATE_DIR) return [env.ATMO_STATE_DIR];
  return ['/var/lib/atmosphere-edge', join(env.HOME ?? homedir(), '.local/state/atmosphere-edge')];
}

/** Address of the hub: ATMO_URL, else that of a login at another machine's hub, else where a hub with this environment answers its own machine. */
export function hubUrl(env: Environment): string {
  const text = env.ATMO_URL || urlElsewhere(env) || `http://${loopbackOf(env.ATMO_HTTP_HOST)}:${env.ATMO_HTTP_PORT || '8081'}`;
  const url = URL.parse(text);
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return url.href.replace(/\/+$/, '');
  throw new AtmoError('VALIDATION_ERROR', `ATMO_URL is ${JSON.stringify(text)}; it has to look like http://127.0.0.1:8081`);
}

/** Who has logged in at a hub over TLS speaks to that one, unless the environment speaks of a hub of this machine. */
function urlElsewhere(env: Environment): string | undefined {
  if (env.ATMO_HTTP_HOST || env.ATMO_HTTP_PORT || env.ATMO_STATE_DIR) return undefined;
  const url = readLogin(env)?.url;
  return url?.startsWith('https:') ? url : undefined;
}

/** A hub that listens on the network answers its own machine in clear on 127.0.0.1 as well. */
function loopbackOf(host = ''): string {
  const bracketed = host.includes(':') ? `[${host}]` : host;
  return LOOPBACK_HOST.test(bracketed) ? bracketed : '127.0.0.1';
}

/** Path of the owner's token, if a hub has written one that this user can see. */
export function ownerTokenFile(env: Environment): string | undefined {
  return stateDirs(env)
    .map((dir) => join(dir, 'owner.token'))
    .find((file) => existsSync(file));
}

const LOOPBACK_HOST = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;

/** A token, and where it came from. */
export interface Credential {
  readonly token: string;
  readonly source: 'environment' | 'login' | 'owner';
  /** Directory of the hub's state: for the owner's token alone. */
  readonly stateDir?: string;
  /** For the token of a login: the file, and the raw public key of its hub, which an old login does not tell. */
  readonly login?: { readonly file: string; readonly hubKey?: string };
}

/**
 * The credential to call with: ATMO_TOKEN, else the user's own from `atmo login`, else the owner's token. The owner's is sent
 * to no other machine, and a login to no hub but the one at whose address it was made.
 */
export function findCredential(env: Environment): Credential | undefined {
  if (env.ATMO_TOKEN) {
    requireSafeWay(env.ATMO_TOKEN, env);
    return { token: env.ATMO_TOKEN, source: 'environment' };
  }
  const login = readLogin(env);
  if (login?.url === hubUrl(env) && isSafeWay(login.url)) {
    const { token, hubKey } = login;
    return { token, source: 'login', login: { file: loginPath(homeOf(env)), ...(hubKey !== undefined && { hubKey }) } };
  }
  return findOwnerCredential(env);
}

/** The owner's token, if a hub of this machine has written one. UNAUTHENTICATED when this user cannot read it. */
export function findOwnerCredential(env: Environment): Credential | undefined {
  const file = isLocal(env) ? ownerTokenFile(env) : undefined;
  if (file === undefined) return requireOpenDirs(env);
  try {
    return { token: readFileSync(file, 'utf8').trim(), source: 'owner', stateDir: dirname(file) };
  } catch (cause) {
    throw unreadable(file, cause);
  }
}

/** A directory that this user may not look into may hold the token: the hub's own is closed to all others. */
function requireOpenDirs(env: Environment): undefined {
  for (const file of stateDirs(env).map((dir) => join(dir, 'owner.token'))) {
    try {
      if (isLocal(env)) statSync(file);
    } catch (cause) {
      if (systemCode(cause) === 'EACCES') throw unreadable(file, cause);
    }
  }
  return undefined;
}

function unreadable(file: string, cause: unknown): AtmoError {
  const advice = 'use "sudo atmo …", give yourself a login once with "sudo atmo login", or set ATMO_TOKEN';
  return new AtmoError('UNAUTHENTICATED', `The owner's token in ${file} cannot be read; ${advice}`, { file }, { cause });
}

/** Nothing narrows the owner's token: it does not cross a network in clear. */
function requireSafeWay(token: string, env: Environment): void {
  const url = hubUrl(env);
  if (!isOwnersToken(token) || isSafeWay(url)) return;
  throw new AtmoError(
    'VALIDATION_ERROR',
    `The owner's token is not sent to ${url} in clear; use an SSH tunnel (ssh -L 8081:127.0.0.1:8081 HOST), or a token of "atmo token mint"`,
    { url },
  );
}

/** Whether a token is the owner's, which may do everything: the hub begins those of others in another way. */
export function isOwnersToken(token: string): boolean {
  return token.startsWith('at0.');
}

function isLocal(env: Environment): boolean {
  return isLoopback(hubUrl(env));
}

/** Whether nobody between here and the hub can read along. */
export function isSafeWay(url: string): boolean {
  return isLoopback(url) || url.startsWith('https:');
}

/** Whether only this machine can reach an address. */
export function isLoopback(url: string): boolean {
  return LOOPBACK_HOST.test(new URL(url).hostname);
}

import { existsSync, mkdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { AtmoError } from '../core/errors.ts';
import { isJsonObject, type JsonObject, jsonIn } from '../core/json.ts';
import { replaceFile } from '../core/storage/durable-file.ts';
import type { CliIo } from './cli-io.ts';

/** What `atmo login` leaves for a person: a token of their own, and for which hub. */
export interface Login {
  /** Address of the hub that made the token; it is sent to no other. */
  readonly url: string;
  readonly person: string;
  readonly token: string;
  /** Raw public key of that hub, base64url: what answers at the address has to prove that it has the private half. */
  readonly hubKey?: string;
}

/** Where a user keeps what the CLI needs to speak for them: `~/.config/atmosphere-edge`, 0700. */
export function configDir(home: string): string {
  return join(home, '.config/atmosphere-edge');
}

/** The home directory of an environment. */
export function homeOf(env: CliIo['env']): string {
  return env.HOME || homedir();
}

/** Path of a user's approver key. */
export function approverKeyPath(home: string): string {
  return join(configDir(home), 'approver.key');
}

/** Path of a user's login. */
export function loginPath(home: string): string {
  return join(configDir(home), 'login.json');
}

/** Forgets the login of a user; false when there was none. */
export function removeLogin(home: string): boolean {
  const path = loginPath(home);
  if (!existsSync(path)) return false;
  rmSync(path);
  return true;
}

/** The login of this user, if there is one that can be read. STORAGE_FAILED when other users could read it too. */
export function readLogin(env: CliIo['env']): Login | undefined {
  const path = loginPath(homeOf(env));
  const text = textOf(path);
  if (text === undefined) return undefined;
  const { url, person, token, hub_key: hubKey } = parsed(text);
  if (typeof url !== 'string' || typeof person !== 'string' || typeof token !== 'string') return undefined;
  requirePrivate(path);
  return { url, person, token, ...(typeof hubKey === 'string' && { hubKey }) };
}

/** Undefined where nobody has logged in: the other credentials are tried. */
function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

function requirePrivate(path: string): void {
  const mode = statSync(path).mode & 0o777;
  if ((mode & 0o077) === 0) return;
  throw new AtmoError('STORAGE_FAILED', `${path} can be read by other users (mode ${mode.toString(8)}): run chmod 600 ${path}`, { path });
}

/** Writes the login, 0600; a crash leaves the old one or the new one. */
export function writeLogin(home: string, login: Login): void {
  const path = loginPath(home);
  try {
    mkdirSync(configDir(home), { recursive: true, mode: 0o700 });
    const { hubKey, ...rest } = login;
    replaceFile(path, `${JSON.stringify({ ...rest, hub_key: hubKey })}\n`);
  } catch (cause) {
    throw new AtmoError(
      'STORAGE_FAILED',
      `The login cannot be written to ${path}; free space or mend its permissions`,
      { path },
      { cause },
    );
  }
}

/** Nothing for what is left of a login and of no use. */
function parsed(text: string): JsonObject {
  const value = jsonIn(text);
  return isJsonObject(value) ? value : {};
}

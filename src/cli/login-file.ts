import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { AtmoError } from '../core/errors.ts';
import { isJsonObject } from '../core/json.ts';
import type { CliIo } from './cli-io.ts';

/** What `atmo login` leaves for a person: a token of their own, and for which hub. */
export interface Login {
  /** Address of the hub that made the token; it is sent to no other. */
  readonly url: string;
  readonly person: string;
  readonly token: string;
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

/** The login of this user, if there is one that can be read. */
export function readLogin(env: CliIo['env']): Login | undefined {
  try {
    const { url, person, token }: Record<string, unknown> = parsed(readFileSync(loginPath(homeOf(env)), 'utf8'));
    return typeof url === 'string' && typeof person === 'string' && typeof token === 'string' ? { url, person, token } : undefined;
  } catch {
    // Nobody has logged in here, or what is left of it is of no use: the other credentials are tried.
    return undefined;
  }
}

/** Writes the login, 0600; a crash leaves the old one or the new one. */
export function writeLogin(home: string, login: Login): void {
  const path = loginPath(home);
  try {
    mkdirSync(configDir(home), { recursive: true, mode: 0o700 });
    writeFileSync(`${path}.partial`, `${JSON.stringify(login)}\n`, { mode: 0o600 });
    renameSync(`${path}.partial`, path);
  } catch (cause) {
    throw new AtmoError(
      'STORAGE_FAILED',
      `The login cannot be written to ${path}; free space or mend its permissions`,
      { path },
      { cause },
    );
  }
}

function parsed(text: string): Record<string, unknown> {
  const value: unknown = JSON.parse(text);
  return isJsonObject(value) ? value : {};
}

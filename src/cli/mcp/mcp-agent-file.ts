import { existsSync, mkdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { AtmoError } from '../../core/errors.ts';
import { isJsonObject, jsonIn } from '../../core/json.ts';
import { replaceFile } from '../../core/storage/durable-file.ts';
import { configDir } from '../login-file.ts';

/** The token that `atmo mcp --agent NAME` keeps, and for which hub. */
export interface KeptAgent {
  readonly agentId: string;
  readonly token: string;
  readonly permissions: readonly string[];
  readonly expiresAt: string;
  /** Address of the hub that made the token. */
  readonly url: string;
  /** Raw public key of that hub, base64url, where it is known. */
  readonly hubKey?: string;
}

/** Where the token of an agent is kept. */
export function agentPath(home: string, name: string): string {
  return join(configDir(home), 'agents', `${name}.json`);
}

/** The token kept there; undefined where there is none that can be read. STORAGE_FAILED when other users could read it too. */
export function readAgent(path: string): KeptAgent | undefined {
  if (!existsSync(path)) return undefined;
  requirePrivate(path);
  const kept = jsonIn(readFileSync(path, 'utf8'));
  if (!isJsonObject(kept)) return undefined;
  const { agent_id: agentId, token, permissions, expires_at: expiresAt, url, hub_key: hubKey } = kept;
  if (typeof agentId !== 'string' || typeof token !== 'string' || typeof expiresAt !== 'string' || typeof url !== 'string')
    return undefined;
  const allowed = Array.isArray(permissions) ? permissions.map(String) : [];
  return { agentId, token, permissions: allowed, expiresAt, url, ...(typeof hubKey === 'string' && { hubKey }) };
}

/** Keeps a token, 0600; a crash leaves the old one or the new one. */
export function writeAgent(path: string, { agentId, token, permissions, expiresAt, url, hubKey }: KeptAgent): void {
  const kept = { agent_id: agentId, token, permissions, expires_at: expiresAt, url, hub_key: hubKey };
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    replaceFile(path, `${JSON.stringify(kept)}\n`);
  } catch (cause) {
    throw new AtmoError('STORAGE_FAILED', `The token cannot be kept in ${path}; free space or mend its permissions`, { path }, { cause });
  }
}

function requirePrivate(path: string): void {
  const mode = statSync(path).mode & 0o777;
  if ((mode & 0o077) === 0) return;
  throw new AtmoError('STORAGE_FAILED', `${path} can be read by other users (mode ${mode.toString(8)}): run chmod 600 ${path}`, { path });
}

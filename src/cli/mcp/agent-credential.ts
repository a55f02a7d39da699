import { existsSync, mkdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { AGENT_NAME } from '../../core/auth/principal.ts';
import { type Clock, systemClock } from '../../core/clock.ts';
import { AtmoError } from '../../core/errors.ts';
import { replaceFile } from '../../core/files/file-system.ts';
import { isJsonObject, type JsonObject, tryParseJson } from '../../core/json.ts';
import type { CliIo } from '../cli-io.ts';
import { usage } from '../command.ts';
import { HubClient } from '../hub/hub-client.ts';
import { hubOfRawKey, hubOfStateDir, type KnownHub } from '../hub/hub-trust.ts';
import { rawKeyOf } from '../identity/approver-key.ts';
import { type Credential, configDir, findCredential, homeOf, hubUrl, isOwnersToken, readLogin } from '../identity/credential.ts';
import type { McpCredential } from './http-client.ts';

/** What an agent may do unless it is told otherwise: use the home. What is dangerous still waits for people. */
export const HOME_PERMISSIONS = ['device:read:*', 'device:control:*', 'sensor:read:*', 'sequence:run', 'job:cancel'] as const;
const DAY_SECONDS = 86_400;
const TTL_SECONDS = 30 * DAY_SECONDS;
/** So much of its life is left when a token is replaced. */
const RENEW_BEFORE_MS = 10 * DAY_SECONDS * 1000;

/** The token of ATMO_TOKEN. VALIDATION_ERROR without one, PERMISSION_DENIED for the owner's. */
export function givenCredential(env: CliIo['env']): McpCredential {
  const token = env.ATMO_TOKEN;
  if (!token) {
    throw usage('An agent needs a token of its own: say --agent NAME, which makes one, or set ATMO_TOKEN to one of "atmo token mint"');
  }
  if (isOwnersToken(token)) {
    throw new AtmoError(
      'PERMISSION_DENIED',
      "ATMO_TOKEN holds the owner's token, which may do everything: no agent gets that. Take it out and say --agent NAME",
    );
  }
  // Refuses to send it in clear where that is not safe.
  findCredential(env);
  return { token: async () => token, hub: () => undefined, renew: async () => false };
}

interface AgentParts {
  readonly io: Pick<CliIo, 'env' | 'fetch' | 'signal'>;
  readonly note: (text: string) => void;
  readonly clock?: Clock;
}

/** A token for one agent: made once with the rights of who runs `atmo`, kept for that user alone, replaced before it ends. */
export class AgentCredential implements McpCredential {
  readonly #io: AgentParts['io'];
  readonly #note: (text: string) => void;
  readonly #clock: Clock;
  readonly #name: string;
  readonly #permissions: readonly string[];
  readonly #path: string;
  #making: Promise<StoredAgentToken> | undefined;
  #kept: StoredAgentToken | undefined;

  constructor({ io, note, clock = systemClock }: AgentParts, name: string, permissions: readonly string[]) {
    if (!AGENT_NAME.test(name))
      throw usage(
        `${JSON.stringify(name)} cannot be the name of an agent: 1 to 64 of a-z, 0-9, "_", "." and "-", the first a letter or digit`,
      );
    // The agent's own token is what it is about; the maker's is another.
    this.#io = { ...io, env: { ...io.env, ATMO_TOKEN: undefined } };
    this.#note = note;
    this.#clock = clock;
    this.#name = name;
    this.#permissions = permissions;
    this.#path = agentTokenPath(homeOf(io.env), name);
  }

  async token(): Promise<string> {
    return (await this.#current()).token;
  }

  hub(): KnownHub | undefined {
    const key = this.#kept?.hubKey;
    return key === undefined ? undefined : hubOfRawKey(key, this.#path, 'remove that file');
  }

  /** Only for a token whose time is up: one that was revoked is not made again behind the owner's back. */
  async renew(): Promise<boolean> {
    await this.#make();
    return true;
  }

  async #current(): Promise<StoredAgentToken> {
    this.#kept ??= this.#read();
    const kept = this.#kept;
    if (!kept) return this.#make();
    const leftMs = Date.parse(kept.expiresAt) - this.#clock.now();
    if (leftMs > RENEW_BEFORE_MS) return kept;
    try {
      return await this.#make();
    } catch (error) {
      if (leftMs <= 0) throw error;
      return kept;
    }
  }

  #read(): StoredAgentToken | undefined {
    const kept = readAgentToken(this.#path);
    if (!kept || kept.permissions.join() !== this.#permissions.join()) return undefined;
    // Without its key a hub is known by its address alone.
    if (kept.hubKey === undefined) return kept.url === hubUrl(this.#io.env) ? kept : undefined;
    const here = this.#hubKeyHere();
    return here === undefined || here === kept.hubKey ? kept : undefined;
  }

  /** Key of the hub for which this user could make a token; undefined for users who cannot. */
  #hubKeyHere(): string | undefined {
    try {
      const credential = findCredential(this.#io.env);
      return credential && hubKeyOf(credential, this.#io.env);
    } catch {
      // Then the kept token is the one that there is.
      return undefined;
    }
  }

  #make(): Promise<StoredAgentToken> {
    this.#making ??= this.#makeOnce().finally(() => {
      this.#making = undefined;
    });
    return this.#making;
  }

  async #makeOnce(): Promise<StoredAgentToken> {
    const credential = findCredential(this.#io.env);
    if (!credential) {
      throw new AtmoError(
        'UNAUTHENTICATED',
        `There is no login with which to make a token for ${this.#name}; run "sudo atmo login" once on the hub, or set ATMO_TOKEN to one of "atmo token mint"`,
      );
    }
    const made = await new HubClient(this.#io).call(...mintRequest(credential, this.#name, this.#permissions));
    const { agent_id: agentId, token, expires_at: expiresAt } = isJsonObject(made) ? made : {};
    if (typeof agentId !== 'string' || typeof token !== 'string' || typeof expiresAt !== 'string') {
      throw new AtmoError('HUB_UNREACHABLE', 'The hub made no token; is it a hub of this version?');
    }
    const hubKey = hubKeyOf(credential, this.#io.env);
    const url = hubUrl(this.#io.env);
    const kept = { agentId, token, permissions: this.#permissions, expiresAt, url, ...(hubKey !== undefined && { hubKey }) };
    writeAgentToken(this.#path, kept);
    this.#note(`made a token for ${agentId}, until ${expiresAt}; it is kept in ${this.#path}`);
    this.#kept = kept;
    return kept;
  }
}

/** The owner mints; a person gives part of what they have themselves. */
function mintRequest({ source }: Credential, name: string, permissions: readonly string[]): [string, JsonObject] {
  if (source === 'owner') return ['hub:mint_token', { agent_id: name, permissions, ttl_seconds: TTL_SECONDS }];
  return ['spawn_agent', { agent_type: 'external', name, permissions, ttl_seconds: TTL_SECONDS }];
}

function hubKeyOf({ stateDir, login }: Credential, env: CliIo['env']): string | undefined {
  if (login) return readLogin(env)?.hubKey;
  const hub = stateDir === undefined ? undefined : hubOfStateDir(stateDir);
  return hub && rawKeyOf(hub.key);
}

/** The token that `atmo mcp --agent NAME` keeps, and for which hub. */
interface StoredAgentToken {
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
function agentTokenPath(home: string, name: string): string {
  return join(configDir(home), 'agents', `${name}.json`);
}

/** The token kept there; undefined where there is none that can be read. STORAGE_FAILED when other users could read it too. */
function readAgentToken(path: string): StoredAgentToken | undefined {
  if (!existsSync(path)) return undefined;
  requirePrivate(path);
  const kept = tryParseJson(readFileSync(path, 'utf8'));
  if (!isJsonObject(kept)) return undefined;
  const { agent_id: agentId, token, permissions, expires_at: expiresAt, url, hub_key: hubKey } = kept;
  if (typeof agentId !== 'string' || typeof token !== 'string' || typeof expiresAt !== 'string' || typeof url !== 'string')
    return undefined;
  const allowed = Array.isArray(permissions) ? permissions.map(String) : [];
  return { agentId, token, permissions: allowed, expiresAt, url, ...(typeof hubKey === 'string' && { hubKey }) };
}

/** Keeps a token, 0600; a crash leaves the old one or the new one. */
function writeAgentToken(path: string, { agentId, token, permissions, expiresAt, url, hubKey }: StoredAgentToken): void {
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

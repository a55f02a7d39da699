import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { AGENT_NAME } from '../../core/auth/principal.ts';
import { type Clock, systemClock } from '../../core/clock.ts';
import { AtmoError } from '../../core/errors.ts';
import { type JsonObject, objectOf, textsOf } from '../../core/json.ts';
import type { CliIo } from '../cli-io.ts';
import { usage } from '../command.ts';
import { HubClient } from '../hub/hub-client.ts';
import { hubOfRawKey, hubOfStateDir, type KnownHub } from '../hub/hub-trust.ts';
import { rawKeyOf } from '../identity/approver-key.ts';
import { type Credential, findCredential, hubUrl, isOwnersToken, readLogin } from '../identity/credential.ts';
import { configDir, readJsonFile, requirePrivate, writePrivately } from '../identity/user-files.ts';
import type { McpCredential } from './http-client.ts';

/** Default permissions of an agent: it may read and control all devices. Dangerous calls still need an approval. */
export const HOME_PERMISSIONS = ['device:read:*', 'device:control:*', 'sensor:read:*', 'sequence:run', 'job:cancel'] as const;
const DAY_SECONDS = 86_400;
const TTL_SECONDS = 30 * DAY_SECONDS;
/** A token is renewed this many milliseconds before it expires. */
const RENEW_BEFORE_MS = 10 * DAY_SECONDS * 1000;

/** Returns the token in ATMO_TOKEN. Throws VALIDATION_ERROR if it is not set, and PERMISSION_DENIED if it is the owner's token. */
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
  // This call throws VALIDATION_ERROR if ATMO_URL is not a valid URL.
  findCredential(env);
  return { token: async () => token, hub: () => undefined, renew: async () => false };
}

interface AgentParts {
  readonly io: Pick<CliIo, 'env' | 'fetch' | 'signal'>;
  readonly note: (text: string) => void;
  readonly clock?: Clock;
}

/**
 * Provides the token of one agent. The token is minted with the rights of the user who runs `atmo`, and is renewed before it expires. It is
 * stored in a file that only this user can read.
 */
export class AgentCredential implements McpCredential {
  readonly #io: AgentParts['io'];
  readonly #parts: AgentParts;
  readonly #name: string;
  readonly #permissions: readonly string[];
  readonly #path: string;
  #making: Promise<StoredAgentToken> | undefined;
  #stored: StoredAgentToken | undefined;
  /**
   * When the next renewal is tried, in milliseconds since 1970. A hub gives an agent below a person no second token while the first is
   * valid, so that a token of a few hours is only replaced at its end.
   */
  #nextTryMs = 0;

  constructor(parts: AgentParts, name: string, permissions: readonly string[]) {
    if (!AGENT_NAME.test(name))
      throw usage(
        `${JSON.stringify(name)} cannot be the name of an agent: 1 to 64 of a-z, 0-9, "_", "." and "-", the first a letter or digit`,
      );
    // ATMO_TOKEN is ignored because it may be an agent's token, and agents must not mint tokens.
    this.#io = { ...parts.io, env: { ...parts.io.env, ATMO_TOKEN: undefined } };
    this.#parts = parts;
    this.#name = name;
    this.#permissions = permissions;
    this.#path = agentTokenPath(configDir(parts.io.env), name);
  }

  async token(): Promise<string> {
    return (await this.#current()).token;
  }

  hub(): KnownHub | undefined {
    const key = this.#stored?.hubKey;
    return key === undefined ? undefined : hubOfRawKey(key, this.#path, 'remove that file');
  }

  /** Makes a new token after the old one has expired. Not called for a revoked token, because the owner may have revoked it on purpose. */
  async renew(): Promise<boolean> {
    await this.#make();
    return true;
  }

  async #current(): Promise<StoredAgentToken> {
    this.#stored ??= this.#read();
    const stored = this.#stored;
    if (!stored) return this.#makeFirst();
    const nowMs = (this.#parts.clock ?? systemClock).now();
    const leftMs = Date.parse(stored.expiresAt) - nowMs;
    if (leftMs > RENEW_BEFORE_MS || (leftMs > 0 && nowMs < this.#nextTryMs)) return stored;
    try {
      return await this.#make();
    } catch (error) {
      if (leftMs <= 0) throw error;
      this.#nextTryMs = nowMs + leftMs / 2;
      return stored;
    }
  }

  /** Makes the first token. Where the hub refuses because another process has just made one for this agent, returns that one. */
  async #makeFirst(): Promise<StoredAgentToken> {
    try {
      return await this.#make();
    } catch (error) {
      this.#stored = this.#read();
      if (!this.#stored) throw error;
      return this.#stored;
    }
  }

  #read(): StoredAgentToken | undefined {
    const stored = readAgentToken(this.#path);
    if (!stored || stored.permissions.join() !== this.#permissions.join()) return undefined;
    // If the key of the token's hub is unknown, the token is used only at the URL where it was made.
    if (stored.hubKey === undefined) return stored.url === hubUrl(this.#io.env) ? stored : undefined;
    const here = this.#hubKeyHere();
    return here === undefined || here === stored.hubKey ? stored : undefined;
  }

  /** Returns the key of the hub at which this user can mint a token. Returns undefined if there is no credential or no known key. */
  #hubKeyHere(): string | undefined {
    try {
      const credential = findCredential(this.#io.env);
      return credential && hubKeyOf(credential, this.#io.env);
    } catch {
      // Without a credential this user cannot mint a token, so the stored token is used.
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
      throw new AtmoError('UNAUTHENTICATED', `There is no login with which to make a token for ${this.#name}, and ATMO_TOKEN is not set`);
    }
    const made = await new HubClient(this.#io).call(...mintRequest(credential, this.#name, this.#permissions));
    const { agent_id: agentId, token, expires_at: expiresAt } = objectOf(made);
    if (typeof agentId !== 'string' || typeof token !== 'string' || typeof expiresAt !== 'string') {
      throw new AtmoError('HUB_UNREACHABLE', 'The hub made no token; is it a hub of this version?');
    }
    const hubKey = hubKeyOf(credential, this.#io.env);
    const url = hubUrl(this.#io.env);
    const stored = { agentId, token, permissions: this.#permissions, expiresAt, url, ...(hubKey !== undefined && { hubKey }) };
    writeAgentToken(this.#path, stored);
    this.#parts.note(`made a token for ${agentId}, until ${expiresAt}; it is kept in ${this.#path}`);
    this.#stored = stored;
    return stored;
  }
}

/** Returns the tool and the parameters that make a token. The owner mints it; any other person delegates some of their own permissions. */
function mintRequest({ source }: Credential, name: string, permissions: readonly string[]): [string, JsonObject] {
  if (source === 'owner') return ['hub:mint_token', { agent_id: name, permissions, ttl_seconds: TTL_SECONDS }];
  return ['spawn_agent', { agent_type: 'external', name, permissions, ttl_seconds: TTL_SECONDS }];
}

function hubKeyOf({ stateDir, login }: Credential, env: CliIo['env']): string | undefined {
  if (login) return readLogin(env)?.hubKey;
  const hub = stateDir === undefined ? undefined : hubOfStateDir(stateDir);
  return hub && rawKeyOf(hub.key);
}

/** The token that `atmo mcp --agent NAME` stores, and its hub. */
interface StoredAgentToken {
  readonly agentId: string;
  readonly token: string;
  readonly permissions: readonly string[];
  readonly expiresAt: string;
  readonly url: string;
  /** Raw public key of the hub in base64url; absent if unknown. */
  readonly hubKey?: string;
}

function agentTokenPath(dir: string, name: string): string {
  return join(dir, 'agents', `${name}.json`);
}

/** Returns the stored token; undefined if there is none. Throws STORAGE_FAILED if other users could read the file. */
function readAgentToken(path: string): StoredAgentToken | undefined {
  if (!existsSync(path)) return undefined;
  requirePrivate(path);
  const { agent_id: agentId, token, permissions, expires_at: expiresAt, url, hub_key: hubKey } = readJsonFile(path);
  if (typeof agentId !== 'string' || typeof token !== 'string' || typeof expiresAt !== 'string' || typeof url !== 'string')
    return undefined;
  return { agentId, token, permissions: textsOf(permissions), expiresAt, url, ...(typeof hubKey === 'string' && { hubKey }) };
}

function writeAgentToken(path: string, { agentId, token, permissions, expiresAt, url, hubKey }: StoredAgentToken): void {
  const stored = { agent_id: agentId, token, permissions, expires_at: expiresAt, url, hub_key: hubKey };
  writePrivately(path, stored, `The token cannot be kept in ${path}`);
}

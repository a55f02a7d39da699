import { OWNER, type Principal, type TokenAuthority } from '../core/auth/principal.ts';
import type { Clock, TrustedTime } from '../core/clock.ts';
import { AtmoError, toAtmoError } from '../core/errors.ts';
import { atWallTime } from '../core/local-time.ts';
import type { Logger } from '../core/logger.ts';
import type { AgentRecord, AgentStore } from './agent-store.ts';

const DAY_MS = 86_400_000;
/** Lifetime of each token of an automation without end. */
const TOKEN_LIFE_MS = 90 * DAY_MS;
/** How long before its end such a token is replaced. A hub that was off for less than this loses no run. */
const RENEW_BEFORE_MS = 45 * DAY_MS;
/** How soon a failed renewal is tried again. */
const RETRY_MS = 600_000;
/** Shortest lifetime of a token. */
const LEAST_LIFE_MS = 60_000;
/** Lifetime of an agent for which none was requested, if it has to end. */
const DEFAULT_LIFE_MS = DAY_MS;

/** How long an agent lives: with `renewsItself`, the hub replaces its token whenever the token is about to end. */
interface Lifetime {
  readonly ttlMs: number;
  readonly renewsItself?: true;
}

/** Returns the lifetime of an agent. Without a requested one, an automation of the owner has no end, and any other agent has one day. */
export function lifetimeOf(ttlMs: number | undefined, { type, parent }: Pick<AgentRecord, 'type' | 'parent'>): Lifetime {
  if (ttlMs !== undefined) return { ttlMs };
  return type === 'automation' && parent === undefined ? { ttlMs: TOKEN_LIFE_MS, renewsItself: true } : { ttlMs: DEFAULT_LIFE_MS };
}

/** A new token for an agent: its lifetime, and what else changes with it. */
interface Renewal extends Lifetime {
  /** Returns the record with what changes in the same write, such as the permissions that the token has; absent if nothing else does. */
  readonly revise?: (record: AgentRecord) => AgentRecord;
}

interface RenewalParts {
  readonly agents: AgentStore;
  readonly tokens: TokenAuthority;
  readonly clock: Clock;
  readonly logger: Logger;
  /** A renewal by itself waits until the time is trusted: a token that began in the future could not be used. */
  readonly time: Pick<TrustedTime, 'isTrusted'>;
}

const unchanged = (record: AgentRecord) => record;

/** Gives agents a new token, when a person asks for it or edits an automation, and before the token of an automation without end ends. */
export class TokenRenewal {
  readonly #parts: RenewalParts;

  constructor(parts: RenewalParts) {
    this.#parts = parts;
  }

  /**
   * Issues a token that `by` vouches for, and stores it with what else changes. Then ends the earlier token, unless a run uses it or other tokens come from it:
   * those end with the agent or by themselves. Throws STORAGE_FAILED if the disk refuses; the agent then keeps its token.
   */
  renew(before: AgentRecord, { ttlMs, renewsItself, revise = unchanged }: Renewal, by: Principal = OWNER): AgentRecord {
    const { agents, tokens } = this.#parts;
    const revised = revise(before);
    agents.put({ ...before, renewing: { tokenIdsBefore: this.#tokenIdsOf(before.id) } });
    const issued = tokens.issue({ agentId: before.id.split('/').at(-1) ?? before.id, permissions: revised.permissions, ttlMs }, by);
    const facts = issued.principal.token;
    if (!facts) throw new AtmoError('INTERNAL_ERROR', 'The issued token has no facts');
    const { renewsItself: _renews, reason: _reason, ended: _ended, ...rest } = revised;
    const renewed: AgentRecord = {
      ...rest,
      status: revised.status === 'expired' ? 'active' : revised.status,
      expiresAtMs: facts.expiresAtMs,
      ...(renewsItself && { renewsItself }),
      tokenId: facts.id,
      formerTokenIds: this.#valid([...(before.formerTokenIds ?? []), before.tokenId]),
      chain: facts.chain,
      token: issued.token,
    };
    try {
      agents.put(renewed);
    } catch (error) {
      agents.remember(before);
      tokens.revoke(facts.id);
      throw error;
    }
    if (!renewed.running) this.#endChildless(renewed);
    return renewed;
  }

  /**
   * Stores a changed record of an agent whose end stays. If its permissions are others, it gets a new token with these in the same write, and
   * the earlier token ends. `by` vouches for the new one.
   */
  revise(before: AgentRecord, revise: (record: AgentRecord) => AgentRecord, by: Principal): AgentRecord {
    const revised = revise(before);
    if (String(revised.permissions) !== String(before.permissions)) {
      const leftMs = Math.max(before.expiresAtMs - this.#parts.clock.now(), LEAST_LIFE_MS);
      const lifetime = lifetimeOf(before.renewsItself ? undefined : leftMs, before);
      return this.renew(before, { ...lifetime, revise }, before.parent === undefined ? OWNER : by);
    }
    this.#parts.agents.put(revised);
    return revised;
  }

  /** Renews the token of an automation without end. Returns the unchanged record if the time is not trusted or the renewal fails. */
  renewByItself(record: AgentRecord): AgentRecord {
    if (!this.#parts.time.isTrusted()) return record;
    try {
      return this.renew(record, lifetimeOf(undefined, record));
    } catch (thrown) {
      const { code, message } = toAtmoError(thrown);
      this.#parts.logger.warn('agent.not_renewed', { agent_id: record.id, code, problem: message });
      return record;
    }
  }

  /** Calls `renew` when the token should be replaced. The returned function cancels this. */
  atRenewal({ expiresAtMs }: AgentRecord, renew: () => void): () => void {
    const { clock } = this.#parts;
    const dueMs = expiresAtMs - RENEW_BEFORE_MS;
    return atWallTime(clock, dueMs > clock.now() ? dueMs : clock.now() + RETRY_MS, renew);
  }

  /** Returns whether the token of an automation without end should be replaced now. */
  isDue({ expiresAtMs, renewsItself }: AgentRecord): boolean {
    return renewsItself === true && expiresAtMs - RENEW_BEFORE_MS <= this.#parts.clock.now();
  }

  /** Ends what a renewal left behind that a crash interrupted: a token that no record names. Returns the record without the renewal. */
  settle(record: AgentRecord): AgentRecord {
    const { agents, tokens } = this.#parts;
    const { renewing, ...settled } = record;
    if (!renewing) return record;
    for (const id of this.#tokenIdsOf(record.id)) if (!renewing.tokenIdsBefore.includes(id)) tokens.revoke(id);
    agents.put(settled);
    return settled;
  }

  /** Ends the earlier tokens of an agent whose time is over: a person may have given it an earlier end than these have. */
  endFormer({ id, formerTokenIds = [] }: Pick<AgentRecord, 'id' | 'formerTokenIds'>): void {
    try {
      for (const tokenId of formerTokenIds) this.#parts.tokens.revoke(tokenId);
    } catch (thrown) {
      this.#parts.logger.error('agent.end_not_stored', { agent_id: id, problem: toAtmoError(thrown).message });
    }
  }

  /** Ends the earlier tokens of an agent from which no other token comes. */
  #endChildless({ id, formerTokenIds = [] }: AgentRecord): void {
    const nowMs = this.#parts.clock.now();
    const parents = new Set(
      this.#parts.tokens
        .list()
        .flatMap(({ parent, revokedAtMs, expiresAtMs }) => (revokedAtMs === undefined && expiresAtMs > nowMs ? [parent] : [])),
    );
    this.endFormer({ id, formerTokenIds: formerTokenIds.filter((tokenId) => !parents.has(tokenId)) });
  }

  #tokenIdsOf(agentId: string): readonly string[] {
    const tokens = this.#parts.tokens.list();
    return tokens.filter((token) => token.agentId === agentId && token.revokedAtMs === undefined).map(({ id }) => id);
  }

  /** Returns those tokens that have not ended. */
  #valid(ids: readonly string[]): readonly string[] {
    const nowMs = this.#parts.clock.now();
    return ids.filter((id) => (this.#parts.tokens.find(id)?.expiresAtMs ?? 0) > nowMs);
  }
}

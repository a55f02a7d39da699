import { excessPermissions } from '../core/auth/permission.ts';
import { isNotYetValid, OWNER, type Principal, type TokenAuthority, type TokenRecord } from '../core/auth/principal.ts';
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
   * Issues a token that `by` vouches for, and stores it with what else changes. Then ends the earlier tokens as `endSuperseded` does. Throws
   * VALIDATION_ERROR or PERMISSION_DENIED if there can be no such token, and STORAGE_FAILED if the disk refuses; the agent then keeps its token.
   */
  renew(before: AgentRecord, renewal: Renewal, by: Principal = OWNER): AgentRecord {
    const renewed = this.#exchange(before, renewal, by);
    try {
      this.endSuperseded(renewed);
    } catch (thrown) {
      this.#logOutstanding(renewed.id, thrown);
    }
    return renewed;
  }

  /**
   * Stores a changed record of an agent whose end stays. If its permissions are others, it gets a new token with these in the same write, for
   * which `by` vouches. The caller lets the agent begin with it, and then ends the earlier tokens with `endSuperseded`.
   */
  revise(before: AgentRecord, revise: (record: AgentRecord) => AgentRecord, by: Principal): AgentRecord {
    const revised = revise(before);
    if (String(revised.permissions) !== String(before.permissions)) {
      const leftMs = Math.max(before.expiresAtMs - this.#parts.clock.now(), LEAST_LIFE_MS);
      const lifetime = lifetimeOf(before.renewsItself ? undefined : leftMs, before);
      return this.#exchange(before, { ...lifetime, revise }, before.parent === undefined ? OWNER : by);
    }
    this.#parts.agents.put(revised);
    return revised;
  }

  /**
   * Ends those earlier tokens of an agent that permit more than it may do now, with all that comes from them, and those that neither a run uses
   * nor other tokens come from. Throws STORAGE_FAILED if one of them would be valid again after a restart; the call can be repeated.
   */
  endSuperseded(record: AgentRecord): void {
    const former = (record.formerTokenIds ?? []).flatMap((id) => this.#parts.tokens.find(id) ?? []);
    if (former.length === 0) return;
    const parents = this.#tokensWithChildren();
    const isNeeded = ({ id, permissions }: TokenRecord) =>
      excessPermissions(permissions, record.permissions).length === 0 && (record.running !== undefined || parents.has(id));
    this.#revokeEach(former.filter((token) => !isNeeded(token)).map(({ id }) => id));
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

  /** Ends what a crash left: tokens of a renewal that no record names, and earlier ones. Returns the record without the renewal. */
  settle(record: AgentRecord): AgentRecord {
    const settled = this.#undone(record);
    this.endSuperseded(settled);
    return settled;
  }

  /**
   * Ends what is left of the tokens of an agent that has ended. Of one whose time is over, these are the earlier ones: a person may have given it
   * an earlier end than they have.
   */
  endRest({ id, status, tokenId, formerTokenIds = [] }: Pick<AgentRecord, 'id' | 'status' | 'tokenId' | 'formerTokenIds'>): void {
    const all = status === 'killed' ? [...formerTokenIds, tokenId] : formerTokenIds;
    try {
      this.#revokeEach(all.filter((token) => this.#isLeft(token)));
    } catch (thrown) {
      this.#logOutstanding(id, thrown);
    }
  }

  /** Revokes all tokens of an agent. Returns whether its present token was valid until now. Throws STORAGE_FAILED; the call can be repeated. */
  revokeAll({ tokenId, formerTokenIds = [] }: Pick<AgentRecord, 'tokenId' | 'formerTokenIds'>): boolean {
    for (const id of formerTokenIds) this.#parts.tokens.revoke(id);
    return this.#parts.tokens.revoke(tokenId);
  }

  /**
   * Throws if the token of an agent cannot be used. One without end may have to wait for its new token until the time is trusted, and any token
   * is usable again after a clock that was behind is right.
   */
  requireUsable({ token, tokenId, renewsItself }: Pick<AgentRecord, 'token' | 'tokenId' | 'renewsItself'>): void {
    // The hub does not have the token of an external agent, only what it noted about it.
    if (token === undefined && this.#parts.tokens.find(tokenId)?.revokedAtMs === undefined) return;
    if (token === undefined) throw new AtmoError('TOKEN_INVALID', 'Its token was revoked');
    try {
      this.#parts.tokens.principalOf(token);
    } catch (thrown) {
      const error = toAtmoError(thrown);
      const isLater = isNotYetValid(error) || (renewsItself === true && error.code === 'TOKEN_EXPIRED');
      if (!isLater) throw thrown;
    }
  }

  /** Gives the agent a new token in one write, or leaves it as it was. */
  #exchange({ renewing: _, ...before }: AgentRecord, renewal: Renewal, by: Principal): AgentRecord {
    const { agents } = this.#parts;
    const begun = { ...before, renewing: { tokenIdsBefore: this.#tokenIdsOf(before.id) } };
    agents.put(begun);
    try {
      const renewed = this.#renewed(before, renewal, by);
      agents.put(renewed);
      return renewed;
    } catch (error) {
      agents.remember(before);
      this.#undoLater(begun);
      throw error;
    }
  }

  #renewed(before: AgentRecord, { ttlMs, renewsItself, revise = unchanged }: Renewal, by: Principal): AgentRecord {
    const { renewsItself: _renews, reason: _reason, ended: _ended, ...rest } = revise(before);
    const agentId = before.id.split('/').at(-1) ?? before.id;
    const { token, principal } = this.#parts.tokens.issue({ agentId, permissions: rest.permissions, ttlMs }, by);
    const { token: facts } = principal;
    if (!facts) throw new AtmoError('INTERNAL_ERROR', 'The issued token has no facts');
    return {
      ...rest,
      status: rest.status === 'expired' ? 'active' : rest.status,
      expiresAtMs: facts.expiresAtMs,
      ...(renewsItself && { renewsItself }),
      tokenId: facts.id,
      formerTokenIds: this.#valid([...(before.formerTokenIds ?? []), before.tokenId]),
      chain: facts.chain,
      token,
    };
  }

  /** Undoes a renewal that failed. If the disk refuses, the next start does it: the renewal still stands there. */
  #undoLater(begun: AgentRecord): void {
    try {
      this.#undone(begun);
    } catch (thrown) {
      this.#logOutstanding(begun.id, thrown);
    }
  }

  /** Ends the tokens of a renewal that did not come to its end. The token that the record has is never one of them. */
  #undone(record: AgentRecord): AgentRecord {
    const { renewing, ...settled } = record;
    if (!renewing) return record;
    const known = [...renewing.tokenIdsBefore, record.tokenId];
    this.#revokeEach(this.#tokenIdsOf(record.id).filter((id) => !known.includes(id)));
    this.#parts.agents.put(settled);
    return settled;
  }

  #isLeft(tokenId: string): boolean {
    const token = this.#parts.tokens.find(tokenId);
    return token !== undefined && token.revokedAtMs === undefined;
  }

  /** Revokes each of the tokens, also if the disk refuses one of them, which is thrown then. */
  #revokeEach(ids: readonly string[]): void {
    const problems = ids.flatMap((id) => {
      try {
        this.#parts.tokens.revoke(id);
        return [];
      } catch (thrown) {
        return [thrown];
      }
    });
    if (problems.length > 0) throw problems[0];
  }

  #logOutstanding(id: string, thrown: unknown): void {
    this.#parts.logger.error('agent.end_not_stored', { agent_id: id, problem: toAtmoError(thrown).message });
  }

  #tokensWithChildren(): ReadonlySet<string | undefined> {
    const nowMs = this.#parts.clock.now();
    const isValid = ({ revokedAtMs, expiresAtMs }: TokenRecord) => revokedAtMs === undefined && expiresAtMs > nowMs;
    return new Set(this.#parts.tokens.list().flatMap((token) => (isValid(token) ? [token.parent] : [])));
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

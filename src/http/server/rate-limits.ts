import { hash } from 'node:crypto';
import { type Principal, principalKey, rootAgentOf } from '../../core/auth/principal.ts';
import type { Clock } from '../../core/clock.ts';
import { AtmoError } from '../../core/errors.ts';

interface SourceRecord {
  failures: number;
  lastFailureMs: number;
  lockedUntilMs: number;
  /** Digest of the last wrong guess. */
  lastFailed: string;
}

type OnLockout = (source: string, facts: { readonly failures: number; readonly lockedMs: number }) => void;

/** Default number of wrong tokens that cause the first lockout. It is high, because some outdated tokens are no attack. */
const FREE_FAILURES = 100;
/** How wrong guesses lead to a lockout. */
interface GuessLimits {
  /** Number of wrong guesses that cause the first lockout. */
  readonly freeFailures: number;
  /** Whether the last wrong guess counts again when it is repeated. */
  readonly countsRepeats: boolean;
}

/** Clients repeat a token that was revoked, so that a repeat says nothing. */
const TOKEN_GUESSES: GuessLimits = { freeFailures: FREE_FAILURES, countsRepeats: false };
/** A person types an invitation, and mistypes it a few times at most. */
export const INVITATION_GUESSES: GuessLimits = { freeFailures: 10, countsRepeats: true };
const FIRST_LOCK_MS = 30_000;
const LONGEST_LOCK_MS = 3_600_000;
/** Milliseconds after the last failure of a source until all its failures are forgotten. */
const FORGET_MS = 2 * LONGEST_LOCK_MS;
const MAX_SOURCES = 4_096;
const MAX_KNOWN_ACCOUNTS = 256;
/** Maximum number of known tokens of one account. An agent that derives more tokens displaces only tokens of its own account. */
const MAX_KNOWN_EACH = 16;

/**
 * Locks out a source that guesses tokens. The 100th wrong token locks it out for 30 s, and each further one for twice as long as before, up
 * to an hour. Tokens that were valid before are still admitted, so that nobody can lock out others at the same address.
 */
export class TokenGuessLockout {
  readonly #clock: Clock;
  readonly #onLockout: OnLockout;
  readonly #limits: GuessLimits;
  /** Failure records by source, ordered by the time of the last failure. */
  readonly #sources = new Map<string, SourceRecord>();
  /** Digests of valid tokens by account. Accounts and their tokens are in the order of their last use. */
  readonly #known = new Map<string, Set<string>>();
  /** The last valid token. Most requests repeat it, and then its digest need not be computed. */
  #lastValid = '';

  constructor(clock: Clock, onLockout: OnLockout, limits = TOKEN_GUESSES) {
    this.#clock = clock;
    this.#onLockout = onLockout;
    this.#limits = limits;
  }

  /** Throws RATE_LIMITED with `retry_after_ms` while the source is locked out, unless the token was valid before. */
  admit(source: string, token: string): void {
    const record = this.#sources.get(source);
    const waitMs = (record?.lockedUntilMs ?? 0) - this.#clock.monotonic();
    if (record === undefined || waitMs <= 0 || this.#isKnown(digestOf(token))) return;
    throw new AtmoError('RATE_LIMITED', `Too many wrong tokens came from here; try again in ${Math.ceil(waitMs / 1000)} s`, {
      retry_after_ms: Math.ceil(waitMs),
    });
  }

  succeeded(token: string, account: string): void {
    if (token === this.#lastValid) return;
    this.#lastValid = token;
    const digest = digestOf(token);
    const own = this.#known.get(account) ?? new Set();
    own.delete(digest);
    own.add(digest);
    dropOldest(own, MAX_KNOWN_EACH);
    this.#known.delete(account);
    this.#known.set(account, own);
    dropOldest(this.#known, MAX_KNOWN_ACCOUNTS);
  }

  failed(source: string, token: string): void {
    const nowMs = this.#clock.monotonic();
    const lastFailed = digestOf(token);
    const before = this.#fresh(source, nowMs);
    const { freeFailures, countsRepeats } = this.#limits;
    if (before?.lastFailed === lastFailed && !countsRepeats) return;
    const failures = (before?.failures ?? 0) + 1;
    const lockedMs = failures < freeFailures ? 0 : Math.min(FIRST_LOCK_MS * 2 ** (failures - freeFailures), LONGEST_LOCK_MS);
    this.#sources.delete(source);
    this.#sources.set(source, { failures, lastFailureMs: nowMs, lockedUntilMs: nowMs + lockedMs, lastFailed });
    dropOldest(this.#sources, MAX_SOURCES);
    if (failures === freeFailures) this.#onLockout(source, { failures, lockedMs });
  }

  #isKnown(digest: string): boolean {
    return this.#known.values().some((own) => own.has(digest));
  }

  #fresh(source: string, nowMs: number): SourceRecord | undefined {
    const record = this.#sources.get(source);
    return record && nowMs - record.lastFailureMs < FORGET_MS ? record : undefined;
  }
}

/** Returns the digest of a token. Digests are stored instead of the tokens, except for the last valid token. */
function digestOf(token: string): string {
  return hash('sha256', token, 'base64url');
}

function dropOldest(collection: { readonly size: number; keys(): Iterator<string>; delete(key: string): boolean }, limit: number): void {
  if (collection.size <= limit) return;
  const oldest = collection.keys().next();
  if (!oldest.done) collection.delete(oldest.value);
}

/** Rate limit for the reads of one account. It is more than a page or agent needs, and a small part of what a hub can serve. */
export const READ_RATE = { perSecond: 50, burst: 500 } as const;
const MAX_READING_ACCOUNTS = 4_096;

/**
 * Limits how often an account reads lists and documents, so that an agent that polls in a loop does not slow down others. An agent and its
 * descendants are one account. The owner has no limit. Calls have other limits.
 */
export class ReadRateLimiter {
  readonly #clock: Clock;
  /** Remaining reads by account, ordered by the time of the last read. */
  readonly #accounts = new Map<string, { left: number; atMs: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Counts one read. Throws RATE_LIMITED with `retry_after_ms` if the account has no reads left. */
  take(principal: Principal): void {
    if (principal.kind === 'owner') return;
    const account = rootAgentOf(principalKey(principal));
    const nowMs = this.#clock.monotonic();
    const { left, atMs } = this.#accounts.get(account) ?? { left: READ_RATE.burst, atMs: nowMs };
    const now = Math.min(READ_RATE.burst, left + ((nowMs - atMs) / 1000) * READ_RATE.perSecond);
    if (now < 1) throw tooFast(((1 - now) / READ_RATE.perSecond) * 1000);
    this.#accounts.delete(account);
    this.#accounts.set(account, { left: now - 1, atMs: nowMs });
    dropOldest(this.#accounts, MAX_READING_ACCOUNTS);
  }
}

function tooFast(waitMs: number): AtmoError {
  return new AtmoError(
    'RATE_LIMITED',
    `This account reads more than ${READ_RATE.perSecond} times a second; wait, and listen to GET /api/v1/events instead of asking again and again`,
    { retry_after_ms: Math.ceil(waitMs) },
  );
}

import { hash } from 'node:crypto';
import { type Principal, principalKey, rootAgentOf } from '../../core/auth/principal.ts';
import type { Clock } from '../../core/clock.ts';
import { AtmoError } from '../../core/errors.ts';

/** What is known of a source that sent tokens. */
interface SourceRecord {
  failures: number;
  lastFailureMs: number;
  lockedUntilMs: number;
  /** Digest of the last token that failed: who repeats it learns nothing, and guesses nothing. */
  lastFailed: string;
}

/** Tells that a source was locked out. */
type OnLockout = (source: string, facts: { readonly failures: number; readonly lockedMs: number }) => void;

/** Wrong tokens that cost nothing: an old one in a script is no attack. */
const FREE_FAILURES = 100;
const FIRST_LOCK_MS = 30_000;
const LONGEST_LOCK_MS = 3_600_000;
/** After this long without another one, what was is forgotten. */
const FORGET_MS = 2 * LONGEST_LOCK_MS;
const MAX_SOURCES = 4_096;
const MAX_KNOWN_ACCOUNTS = 256;
/** An agent can make itself any number of narrower tokens: they push out its own, nobody else's. */
const MAX_KNOWN_EACH = 16;

/**
 * Locks out sources that guess tokens: after 100 different wrong ones for 30 s, after each further one for twice as long,
 * at most an hour. A token that was right before is let in all the same, so that nobody can lock out those who share an
 * address with him; who guesses gains nothing from that.
 */
export class TokenGuessLockout {
  readonly #clock: Clock;
  readonly #onLockout: OnLockout;
  /** The one that failed last is last. */
  readonly #sources = new Map<string, SourceRecord>();
  /** Digests of tokens that were right by account, both with the one that was used last at the end. */
  readonly #known = new Map<string, Set<string>>();
  /** Most requests bring the token of the one before: no digest for these. */
  #lastRight = '';

  constructor(clock: Clock, onLockout: OnLockout) {
    this.#clock = clock;
    this.#onLockout = onLockout;
  }

  /** RATE_LIMITED, with `retry_after_ms`, while the source is locked out and the token is not one that was right before. */
  admit(source: string, token: string): void {
    const record = this.#sources.get(source);
    const waitMs = (record?.lockedUntilMs ?? 0) - this.#clock.monotonic();
    if (record === undefined || waitMs <= 0 || this.#isKnown(digestOf(token))) return;
    throw new AtmoError('RATE_LIMITED', `Too many wrong tokens came from here; try again in ${Math.ceil(waitMs / 1000)} s`, {
      retry_after_ms: Math.ceil(waitMs),
    });
  }

  /** The token was right, and is one of this account: an agent with all that come from it. */
  succeeded(token: string, account: string): void {
    if (token === this.#lastRight) return;
    this.#lastRight = token;
    const digest = digestOf(token);
    const own = this.#known.get(account) ?? new Set();
    own.delete(digest);
    own.add(digest);
    dropOldest(own, MAX_KNOWN_EACH);
    this.#known.delete(account);
    this.#known.set(account, own);
    dropOldest(this.#known, MAX_KNOWN_ACCOUNTS);
  }

  /** The token was wrong. */
  failed(source: string, token: string): void {
    const nowMs = this.#clock.monotonic();
    const lastFailed = digestOf(token);
    const before = this.#fresh(source, nowMs);
    if (before?.lastFailed === lastFailed) return;
    const failures = (before?.failures ?? 0) + 1;
    const lockedMs = failures < FREE_FAILURES ? 0 : Math.min(FIRST_LOCK_MS * 2 ** (failures - FREE_FAILURES), LONGEST_LOCK_MS);
    this.#sources.delete(source);
    this.#sources.set(source, { failures, lastFailureMs: nowMs, lockedUntilMs: nowMs + lockedMs, lastFailed });
    dropOldest(this.#sources, MAX_SOURCES);
    if (failures === FREE_FAILURES) this.#onLockout(source, { failures, lockedMs });
  }

  #isKnown(digest: string): boolean {
    return this.#known.values().some((own) => own.has(digest));
  }

  #fresh(source: string, nowMs: number): SourceRecord | undefined {
    const record = this.#sources.get(source);
    return record && nowMs - record.lastFailureMs < FORGET_MS ? record : undefined;
  }
}

/** Tokens are not kept as they are. */
function digestOf(token: string): string {
  return hash('sha256', token, 'base64url');
}

function dropOldest(collection: { readonly size: number; keys(): Iterator<string>; delete(key: string): boolean }, limit: number): void {
  if (collection.size <= limit) return;
  const oldest = collection.keys().next();
  if (!oldest.done) collection.delete(oldest.value);
}

/** What is left of an account's allowance. */
interface Allowance {
  left: number;
  atMs: number;
}

/** More than any page or agent needs, and a small part of what a hub can answer. */
export const READ_RATE = { perSecond: 50, burst: 500 } as const;
const MAX_READING_ACCOUNTS = 4_096;

/**
 * How often an account may read: calls have rate limits of their own, lists and documents have this one, so that an agent
 * that asks in a circle takes the hub from nobody. An agent and all that come from it share it; the owner is free.
 */
export class ReadRateLimiter {
  readonly #clock: Clock;
  /** The one that read last is last. */
  readonly #accounts = new Map<string, Allowance>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** RATE_LIMITED with `retry_after_ms` where nothing is left; then nothing is taken. */
  take(principal: Principal): void {
    if (principal.kind === 'owner') return;
    const account = rootAgentOf(principalKey(principal));
    const nowMs = this.#clock.monotonic();
    const { left, atMs } = this.#accounts.get(account) ?? { left: READ_RATE.burst, atMs: nowMs };
    const now = Math.min(READ_RATE.burst, left + ((nowMs - atMs) / 1000) * READ_RATE.perSecond);
    if (now < 1) throw tooFast(((1 - now) / READ_RATE.perSecond) * 1000);
    this.#keep(account, { left: now - 1, atMs: nowMs });
  }

  #keep(account: string, allowance: Allowance): void {
    this.#accounts.delete(account);
    this.#accounts.set(account, allowance);
    if (this.#accounts.size <= MAX_READING_ACCOUNTS) return;
    const [first] = this.#accounts.keys();
    if (first !== undefined) this.#accounts.delete(first);
  }
}

function tooFast(waitMs: number): AtmoError {
  return new AtmoError(
    'RATE_LIMITED',
    `This account reads more than ${READ_RATE.perSecond} times a second; wait, and listen to GET /api/v1/events instead of asking again and again`,
    { retry_after_ms: Math.ceil(waitMs) },
  );
}

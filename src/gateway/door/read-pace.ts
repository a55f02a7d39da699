import { familyOf } from '../../core/access/agent-id.ts';
import { type Principal, principalKey } from '../../core/access/principal.ts';
import { AtmoError } from '../../core/errors.ts';
import type { Clock } from '../../core/time/clock.ts';

/** What is left of an account's allowance. */
interface Allowance {
  left: number;
  atMs: number;
}

/** More than any page or agent needs, and a small part of what a hub can answer. */
export const READ_PACE = { perSecond: 50, burst: 500 } as const;
const MAX_ACCOUNTS = 4_096;

/**
 * How often an account may read: calls have rate limits of their own, lists and documents have this one, so that an agent
 * that asks in a circle takes the hub from nobody. An agent and all that come from it share it; the owner is free.
 */
export class ReadPace {
  readonly #clock: Clock;
  /** The one that read last is last. */
  readonly #accounts = new Map<string, Allowance>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** RATE_LIMITED with `retry_after_ms` where nothing is left; then nothing is taken. */
  take(principal: Principal): void {
    if (principal.kind === 'owner') return;
    const account = familyOf(principalKey(principal));
    const nowMs = this.#clock.monotonic();
    const { left, atMs } = this.#accounts.get(account) ?? { left: READ_PACE.burst, atMs: nowMs };
    const now = Math.min(READ_PACE.burst, left + ((nowMs - atMs) / 1000) * READ_PACE.perSecond);
    if (now < 1) throw tooFast(((1 - now) / READ_PACE.perSecond) * 1000);
    this.#keep(account, { left: now - 1, atMs: nowMs });
  }

  #keep(account: string, allowance: Allowance): void {
    this.#accounts.delete(account);
    this.#accounts.set(account, allowance);
    if (this.#accounts.size <= MAX_ACCOUNTS) return;
    const [first] = this.#accounts.keys();
    if (first !== undefined) this.#accounts.delete(first);
  }
}

function tooFast(waitMs: number): AtmoError {
  return new AtmoError(
    'RATE_LIMITED',
    `This account reads more than ${READ_PACE.perSecond} times a second; wait, and listen to GET /api/v1/events instead of asking again and again`,
    { retry_after_ms: Math.ceil(waitMs) },
  );
}

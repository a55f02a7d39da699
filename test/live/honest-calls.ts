import { quantile } from '../../scripts/bench/statistics.ts';
import { ownClock } from '../processor-time.ts';

/** As many as there are at most until the bar holds. */
const ROUNDS = 20;
/** After sockets were opened or closed, until that is done with. */
const SETTLING_CALLS = 20;
const CALLS = 100;

/** 95th percentiles of calls, in milliseconds. */
interface HonestTimes {
  readonly aloneMs: number;
  readonly besideMs: number;
}

/**
 * How long calls to a hub in this process take alone and beside what `disturb` begins, which its answer ends. Both are taken in turns until
 * `isEnough`, and of each the best turn counts: what else runs on the machine comes and goes, and only adds, while what disturbs a hub does
 * so in every turn. Time in which the process could run and had no processor does not count.
 */
export async function honestTimes(
  call: () => Promise<unknown>,
  disturb: () => Promise<() => void>,
  isEnough: (times: HonestTimes) => boolean,
): Promise<HonestTimes> {
  let best: HonestTimes = { aloneMs: Number.POSITIVE_INFINITY, besideMs: Number.POSITIVE_INFINITY };
  for (let round = 0; round < ROUNDS; round++) {
    const aloneMs = Math.min(best.aloneMs, await p95(call));
    const end = await disturb();
    best = { aloneMs, besideMs: Math.min(best.besideMs, await p95(call)) };
    end();
    if (isEnough(best)) break;
  }
  return best;
}

/** Twice the time, and what a clock cannot tell apart. */
export function isAtMostTwice({ aloneMs, besideMs }: HonestTimes): boolean {
  return besideMs <= 2 * aloneMs + 2;
}

async function p95(call: () => Promise<unknown>): Promise<number> {
  for (let count = 0; count < SETTLING_CALLS; count++) await call();
  const times: number[] = [];
  for (let count = 0; count < CALLS; count++) {
    const elapsedMs = ownClock();
    await call();
    times.push(elapsedMs());
  }
  return quantile(times, 0.95);
}

import { quantile } from '../../scripts/bench/statistics.ts';

const ROUNDS = 5;
/** After sockets were opened or closed, until that is done with. */
const SETTLING_CALLS = 20;
const CALLS = 100;

/** 95th percentiles of calls, in milliseconds. */
interface HonestTimes {
  readonly aloneMs: number;
  readonly besideMs: number;
}

/**
 * How long calls take alone and beside what `disturb` begins, which its answer ends. Both are taken in turns, and of each the best
 * turn counts: what else runs on the machine comes and goes, and only adds, while what disturbs a hub does so in every turn.
 */
export async function honestTimes(call: () => Promise<unknown>, disturb: () => Promise<() => void>): Promise<HonestTimes> {
  const times: HonestTimes[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const aloneMs = await p95(call);
    const end = await disturb();
    times.push({ aloneMs, besideMs: await p95(call) });
    end();
  }
  return { aloneMs: Math.min(...times.map(({ aloneMs }) => aloneMs)), besideMs: Math.min(...times.map(({ besideMs }) => besideMs)) };
}

async function p95(call: () => Promise<unknown>): Promise<number> {
  for (let count = 0; count < SETTLING_CALLS; count++) await call();
  const times: number[] = [];
  for (let count = 0; count < CALLS; count++) {
    const startedMs = performance.now();
    await call();
    times.push(performance.now() - startedMs);
  }
  return quantile(times, 0.95);
}

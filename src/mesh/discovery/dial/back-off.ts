import { CONNECT_TIMEOUT_MS } from '../../engine/engine-limits.ts';

const FIRST_MS = 500;
const MINUTE_MS = 60_000;
const JITTER = 0.25;

/** What a pause after a failed try depends on. */
export interface DialHistory {
  /** Tries in a row that failed, this one included. */
  readonly failures: number;
  /** Since the hub was connected last; infinite when it never was. */
  readonly sinceLossMs: number;
}

/**
 * Milliseconds until the next try: twice as long after each failure, up to a bound that is low while a cut is young (a cable
 * pulled, an access point that starts again) and 30 s in the long run. `random` (0 to below 1) shifts it by up to a quarter.
 */
export function backOffMs({ failures, sinceLossMs }: DialHistory, random: number): number {
  const boundMs = sinceLossMs < MINUTE_MS ? 1_000 : sinceLossMs < 10 * MINUTE_MS ? 5_000 : 30_000;
  const meanMs = Math.min(boundMs, FIRST_MS * 2 ** Math.min(failures - 1, 16));
  return meanMs * (1 - JITTER + 2 * JITTER * random);
}

/**
 * Milliseconds that a try may last. A young cut is mended by many short tries: the system repeats a lost first packet after
 * one second, then after two, four …, so a long try would sleep through the repair.
 */
export function tryMs(sinceLossMs: number): number {
  return sinceLossMs < MINUTE_MS ? 2_000 : CONNECT_TIMEOUT_MS;
}

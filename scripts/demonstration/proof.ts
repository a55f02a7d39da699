import { setTimeout as sleep } from 'node:timers/promises';
import { AtmoError } from '../../src/core/errors.ts';

/** Blinds take their time. */
const SETTLE_LIMIT_MS = 20_000;
const POLL_MS = 100;

/** Throws the complaint unless the condition holds. */
export function ensure(condition: boolean, complaint: string): asserts condition {
  if (!condition) throw new AtmoError('INTERNAL_ERROR', complaint);
}

/** Waits until the condition holds; throws after 20 s. */
export async function until(condition: () => Promise<boolean>, wanted: string): Promise<void> {
  const limitMs = performance.now() + SETTLE_LIMIT_MS;
  while (!(await condition())) {
    ensure(performance.now() < limitMs, `Waited ${SETTLE_LIMIT_MS / 1000} s for ${wanted}`);
    await sleep(POLL_MS);
  }
}

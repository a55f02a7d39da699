import { setTimeout as sleep } from 'node:timers/promises';

const POLL_MS = 20;

/** Asks until there is an answer other than undefined or false; fails after the limit and says what was wanted. */
export async function until<Answer>(
  limitMs: number,
  ask: () => Promise<Answer>,
  wanted: string | (() => string),
): Promise<NonNullable<Exclude<Answer, false>>> {
  const endMs = performance.now() + limitMs;
  for (;;) {
    const answer = await ask();
    if (answer !== undefined && answer !== null && answer !== false) return answer as NonNullable<Exclude<Answer, false>>;
    if (performance.now() > endMs) throw new Error(`Waited ${limitMs} ms for ${typeof wanted === 'string' ? wanted : wanted()}`);
    await sleep(POLL_MS);
  }
}

/** Milliseconds until there is an answer. */
export async function timeUntil(limitMs: number, ask: () => Promise<unknown>, wanted: string | (() => string)): Promise<number> {
  const startMs = performance.now();
  await until(limitMs, ask, wanted);
  return performance.now() - startMs;
}

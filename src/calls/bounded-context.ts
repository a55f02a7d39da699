import { createHash } from 'node:crypto';
import type { Clock } from '../core/clock.ts';
import { AtmoError } from '../core/errors.ts';
import type { RunContext } from '../core/storage/audit-log.ts';
import type { ToolContext } from '../tools/definition/tool-definition.ts';

/** Random numbers that one SHA-256 digest yields, of 8 bytes each. */
const NUMBERS_PER_DIGEST = 4;
const NUMBER_BYTES = 8;
/** Bits that a number has beyond the 53 which a double can hold. */
const SPARE_BITS = 11n;

/**
 * Returns the clock and the random numbers that a bounded tool gets; they are the same for the same run on every machine.
 * Time stands still, so there are no timers: setting one throws NOT_SUPPORTED. Number n, from 0, is made of
 * bytes 8·(n mod 4) to 8·(n mod 4)+7 of SHA-256(`<seed>:<n div 4>`): their first 53 bits, big endian, divided by 2^53.
 */
export function boundedContext(run: RunContext): Pick<ToolContext, 'clock' | 'random'> {
  return { clock: frozenClock(run.logicalTimeMs), random: seededRandom(run.randomSeed) };
}

function frozenClock(nowMs: number): Clock {
  return {
    now: () => nowMs,
    monotonic: () => 0,
    after() {
      throw new AtmoError('NOT_SUPPORTED', 'Time stands still for a bounded tool: it cannot wait; declare it nondeterministic instead');
    },
  };
}

function seededRandom(seed: string): () => number {
  let count = 0;
  let digest = Buffer.alloc(0);
  return () => {
    const place = count % NUMBERS_PER_DIGEST;
    if (place === 0)
      digest = createHash('sha256')
        .update(`${seed}:${count / NUMBERS_PER_DIGEST}`, 'utf8')
        .digest();
    count++;
    return Number(digest.readBigUInt64BE(place * NUMBER_BYTES) >> SPARE_BITS) / 2 ** 53;
  };
}

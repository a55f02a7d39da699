import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { AtmoError } from '../../../src/core/errors.ts';
import { encodeCbor } from '../../../src/wire/cbor.ts';
import { integralValue } from '../cbor-values.ts';
import { HostileBytes } from './hostile-bytes.ts';
import { MESSAGE_KINDS, type MessageKind } from './message-kinds-table.ts';

/** `ATMO_FUZZ_COUNT=1000000` runs the long form. */
const COUNT = Number(process.env.ATMO_FUZZ_COUNT ?? 10_000);
const SEED = Number(process.env.ATMO_FUZZ_SEED ?? 20_260_101);
const LONG = 100_000;
const MAX_GROWTH_MB = 20;
/** Their bytes depend on the library that deflates, or the sample's wrapper is not what was decoded. */
const NOT_ONE_ENCODING = ['blob-answer', 'forwarded-request'];

/** True when accepted; what it throws is the failure of the test. */
function accepts(kind: MessageKind, bytes: Uint8Array): boolean {
  try {
    const value = kind.decode(bytes);
    if (!NOT_ONE_ENCODING.includes(kind.name)) expect(Buffer.compare(kind.encode(value), bytes)).toBe(0);
    return true;
  } catch (error) {
    if (error instanceof AtmoError && error.code === 'VALIDATION_ERROR') return false;
    throw error;
  }
}

/** Decodes what hostile members might send; the time is of the slowest, milliseconds. */
function attack(count: number, seed: number): { readonly accepted: number; readonly slowestMs: number } {
  const sources = MESSAGE_KINDS.map((kind, index) => ({
    kind,
    hostile: new HostileBytes(
      kind.samples.map((sample) => kind.encode(sample)),
      seed + index,
    ),
  }));
  let accepted = 0;
  let slowestMs = 0;
  for (let round = 0; round < count / sources.length; round++) {
    for (const { kind, hostile } of sources) {
      const bytes = hostile.next();
      const startMs = performance.now();
      if (accepts(kind, bytes)) accepted += 1;
      slowestMs = Math.max(slowestMs, performance.now() - startMs);
    }
  }
  return { accepted, slowestMs };
}

describe('what hostile members send', () => {
  test(
    `${COUNT} malformed messages are refused with VALIDATION_ERROR, or are the one encoding of what they mean`,
    () => {
      attack(Math.min(COUNT, 5_000), SEED - 100);
      const beforeMb = process.memoryUsage.rss() / 2 ** 20;
      const startMs = performance.now();
      const { accepted, slowestMs } = attack(COUNT, SEED);
      const grownMb = process.memoryUsage.rss() / 2 ** 20 - beforeMb;
      expect(accepted).toBeGreaterThan(0);
      expect(accepted).toBeLessThan(COUNT / 2);
      if (COUNT < LONG) return;
      const seconds = (performance.now() - startMs) / 1000;
      console.log(
        `${COUNT} messages in ${seconds.toFixed(1)} s, ${accepted} accepted, slowest ${slowestMs.toFixed(1)} ms, RSS +${grownMb.toFixed(1)} MB`,
      );
      expect(grownMb).toBeLessThan(MAX_GROWTH_MB);
    },
    5_000 + COUNT,
  );

  test('any CBOR value is refused by every message that it is not', () => {
    fc.assert(
      fc.property(integralValue, fc.constantFrom(...MESSAGE_KINDS), (value, kind) => {
        accepts(kind, encodeCbor(value));
      }),
      { numRuns: 1_000 },
    );
  });

  test('so are any bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), fc.constantFrom(...MESSAGE_KINDS), (bytes, kind) => {
        accepts(kind, bytes);
      }),
      { numRuns: 1_000 },
    );
  });

  test.each(MESSAGE_KINDS)('every cut of a $name is refused', (kind) => {
    for (const sample of kind.samples) {
      const whole = kind.encode(sample);
      const cuts = Array.from({ length: Math.min(whole.length, 200) }, (_, index) =>
        whole.slice(0, Math.floor((index * whole.length) / 200)),
      );
      expect(cuts.filter((bytes) => bytes.length < whole.length && accepts(kind, bytes))).toEqual([]);
    }
  });
});

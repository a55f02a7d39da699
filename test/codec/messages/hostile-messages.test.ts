import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { encodeCbor } from '../../../src/codec/cbor.ts';
import { integralValue } from '../cbor-values.ts';
import { accepts, attack } from './hostile-messages.ts';
import { MESSAGE_KINDS } from './message-table.ts';

/** scripts/bench/codec-attack.ts runs a million, and measures the memory. */
const COUNT = Number(process.env.ATMO_FUZZ_COUNT ?? 10_000);
const SEED = Number(process.env.ATMO_FUZZ_SEED ?? 20_260_101);

describe('messages of hostile members', () => {
  test(
    `${COUNT} malformed messages are refused with VALIDATION_ERROR, or are the one encoding of what they mean`,
    () => {
      const { accepted } = attack(COUNT, SEED);
      expect(accepted).toBeGreaterThan(0);
      expect(accepted).toBeLessThan(COUNT / 2);
    },
    5_000 + COUNT,
  );

  test('every codec refuses any CBOR value of another form', () => {
    let accepted = 0;
    fc.assert(
      fc.property(integralValue, fc.constantFrom(...MESSAGE_KINDS), (value, kind) => {
        if (accepts(kind, encodeCbor(value))) accepted += 1;
      }),
      { numRuns: 1_000 },
    );
    expect(accepted).toBeLessThan(10);
  });

  test('every codec refuses random bytes', () => {
    let accepted = 0;
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), fc.constantFrom(...MESSAGE_KINDS), (bytes, kind) => {
        if (accepts(kind, bytes)) accepted += 1;
      }),
      { numRuns: 1_000 },
    );
    expect(accepted).toBeLessThan(10);
  });

  test.each(MESSAGE_KINDS)('every cut of a $name is refused', (kind) => {
    for (const sample of kind.samples) {
      const whole = kind.encode(sample);
      const step = Math.max(1, Math.floor(whole.length / 200));
      const cuts = Array.from({ length: Math.floor((whole.length - 1) / step) }, (_, index) => whole.slice(0, index * step));
      expect(cuts.filter((bytes) => accepts(kind, bytes))).toEqual([]);
    }
  });
});

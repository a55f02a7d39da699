import { describe, expect, test } from 'vitest';
import { withSecondTry } from '../../scripts/check/second-try.ts';
import { failure, PASSED } from '../../scripts/check/tally.ts';

describe('checks that may be run again', () => {
  test('are not run again where nothing failed', async () => {
    expect(await withSecondTry(PASSED, () => Promise.reject(new Error('ran again')))).toBe(PASSED);
  });

  test('count as passed when the second run passes, and the note says what failed before', async () => {
    const outcome = await withSecondTry(failure('a lamp: late'), async () => PASSED);
    expect(outcome.tally).toEqual(PASSED.tally);
    expect(outcome.notes).toEqual(['failed at the first try: a lamp: late']);
  });

  test('count as failed when the second run fails', async () => {
    const outcome = await withSecondTry(failure('a lamp: late'), async () => failure('a door: open'));
    expect(outcome.tally).toEqual({ passed: 0, failed: 1, skipped: 0 });
    expect(outcome.notes).toEqual(['failed at the first try: a lamp: late', 'failed: a door: open']);
  });
});

import { describe, expect, test } from 'vitest';
import { gateOutcome } from '../../scripts/check/gate-outcome.ts';

const BLOCKING = { blocks: true };

describe('the gate among the checks', () => {
  test('passes and fails with the status of its program', () => {
    expect(gateOutcome({ status: 0, output: 'table\n' }, BLOCKING).tally).toEqual({ passed: 1, failed: 0, skipped: 0 });
    const { tally, notes } = gateOutcome({ status: 1, output: 'start ✗\n200 s\n' }, BLOCKING);
    expect(tally).toEqual({ passed: 0, failed: 1, skipped: 0 });
    expect(notes).toEqual(['failed: gate, with status 1, the last line was: 200 s']);
  });

  test('is skipped, with the reason, where it cannot be run or judged', () => {
    const { tally, notes } = gateOutcome({ status: 77, output: 'gate: the commit abc is not here\n' }, BLOCKING);
    expect(tally).toEqual({ passed: 0, failed: 0, skipped: 1 });
    expect(notes).toEqual(['skipped: gate: the commit abc is not here']);
  });

  test('fails no check while it does not block, also if it was killed after the time for checks', () => {
    const { tally, notes } = gateOutcome({ status: 1, output: 'building\nended by SIGKILL after 1200 s' }, { blocks: false });
    expect(tally).toEqual({ passed: 0, failed: 0, skipped: 1 });
    expect(notes).toEqual(['skipped: gate, with status 1, the last line was: ended by SIGKILL after 1200 s']);
  });
});

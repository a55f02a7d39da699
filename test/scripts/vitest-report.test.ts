import { describe, expect, test } from 'vitest';
import { closingLine } from '../../scripts/check/tally.ts';
import { outcomeOf } from '../../scripts/check/vitest-report.ts';

function file(status: string, ...statuses: string[]) {
  return { name: 'a.test.ts', status, assertionResults: statuses.map((state, index) => ({ fullName: `test ${index}`, status: state })) };
}

describe('report of a test run', () => {
  test('counts what passed, failed and was skipped, and names the skipped', () => {
    const outcome = outcomeOf('unit', {
      success: false,
      testResults: [file('failed', 'passed', 'failed', 'pending'), file('passed', 'passed')],
    });
    expect(closingLine(outcome.tally)).toBe('2 passed, 1 failed, 1 skipped');
    expect(outcome.notes).toEqual(['skipped: test 2']);
  });

  test('a file that does not load is a failure', () => {
    const outcome = outcomeOf('unit', { success: false, testResults: [file('failed'), file('passed', 'passed')] });
    expect(outcome.tally).toEqual({ passed: 1, failed: 1, skipped: 0 });
    expect(outcome.notes).toEqual(['failed: a.test.ts did not run to its end']);
  });

  test('an error outside of the tests is a failure', () => {
    const outcome = outcomeOf('unit', { success: false, testResults: [file('passed', 'passed')] });
    expect(outcome.tally).toEqual({ passed: 1, failed: 1, skipped: 0 });
  });

  test('a run without tests is a failure', () => {
    expect(outcomeOf('unit', { success: true, testResults: [] }).tally.failed).toBe(1);
  });
});

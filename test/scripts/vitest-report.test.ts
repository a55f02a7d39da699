import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ROOT } from '../../scripts/bundle.ts';
import { closingLine } from '../../scripts/check/tally.ts';
import { outcomeOf, outcomesOf } from '../../scripts/check/vitest-report.ts';

const A_FILE = { name: join(ROOT, 'test/a.test.ts'), startTime: 1_000, endTime: 3_500 };

function file(status: string, ...statuses: string[]) {
  return { ...A_FILE, status, assertionResults: statuses.map((state, index) => ({ fullName: `test ${index}`, status: state })) };
}

describe('report of a test run', () => {
  test('counts what passed, failed and was skipped, and names the skipped and the failed', () => {
    const outcome = outcomeOf('unit', {
      success: false,
      testResults: [file('failed', 'passed', 'failed', 'pending'), file('passed', 'passed')],
    });
    expect(closingLine(outcome.tally)).toBe('2 passed, 1 failed, 1 skipped');
    expect(outcome.notes).toEqual(['skipped: test 2', 'failed: unit: test 1: no message']);
  });

  test('says why a test failed, in one line without colours and stack', () => {
    const failureMessages = ['the first try', '\u001b[31mAssertionError\u001b[39m: expected 1\n  to be 2\n    at file.ts:1:2'];
    const broken = { ...A_FILE, status: 'failed', assertionResults: [{ fullName: 'adds', status: 'failed', failureMessages }] };
    const outcome = outcomeOf('unit', { success: false, testResults: [broken] });
    expect(outcome.notes).toEqual(['failed: unit: adds: AssertionError: expected 1 to be 2']);
  });

  test('tells how long each file took', () => {
    const { times } = outcomeOf('unit', { success: true, testResults: [file('passed', 'passed')] });
    expect(times).toEqual([{ file: 'test/a.test.ts', seconds: 2.5 }]);
  });

  test('a file that does not load is a failure', () => {
    const outcome = outcomeOf('unit', { success: false, testResults: [file('failed'), file('passed', 'passed')] });
    expect(outcome.tally).toEqual({ passed: 1, failed: 1, skipped: 0 });
    expect(outcome.notes).toEqual([`failed: ${A_FILE.name} did not run to its end`]);
  });

  test('an error outside of the tests is a failure', () => {
    const outcome = outcomeOf('unit', { success: false, testResults: [file('passed', 'passed')] });
    expect(outcome.tally).toEqual({ passed: 1, failed: 1, skipped: 0 });
  });

  test('a run without tests is a failure', () => {
    expect(outcomeOf('unit', { success: true, testResults: [] }).tally.failed).toBe(1);
  });

  test('of several files says how each ended, and counts one that did not run as failed', () => {
    const named = (name: string, status: string) => ({ ...file(status, status), name: join(ROOT, name) });
    const report = { success: false, testResults: [named('test/a.test.ts', 'passed'), named('test/b.test.ts', 'failed')] };
    const outcomes = outcomesOf(['test/a.test.ts', 'test/b.test.ts', 'test/c.test.ts'], report);
    expect(outcomes.map(({ tally }) => closingLine(tally))).toEqual([
      '1 passed, 0 failed, 0 skipped',
      '0 passed, 1 failed, 0 skipped',
      '0 passed, 1 failed, 0 skipped',
    ]);
  });

  test('of several files blames an error outside of the tests on each of them, since any may have caused it', () => {
    const names = ['test/a.test.ts', 'test/b.test.ts'];
    const testResults = names.map((name) => ({ ...file('passed', 'passed'), name: join(ROOT, name) }));
    expect(outcomesOf(names, { success: false, testResults }).map(({ tally }) => tally.failed)).toEqual([1, 1]);
  });
});

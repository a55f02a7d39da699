import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { firstFailure, type TestReport } from '../../scripts/check/unit-report.ts';
import { mutated } from '../../scripts/mutation.ts';
import { MUTATIONS } from '../../scripts/mutation-table.ts';
import { requireMeant, requireSteady, summary } from '../../scripts/mutations.ts';

const read = (file: string) => readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');

test.each(MUTATIONS)('the source has exactly one place where $name', (mutation) => {
  const source = read(mutation.file);
  expect(mutated(mutation, source)).not.toBe(source);
});

test('a mutation whose text is not in the source is an error', () => {
  const lost = { name: 'nothing', file: 'src/main.ts', text: 'no such text', instead: '' };
  expect(() => mutated(lost, read(lost.file))).toThrow('0 times in src/main.ts');
});

test('no two mutations have one name', () => {
  expect(new Set(MUTATIONS.map(({ name }) => name)).size).toBe(MUTATIONS.length);
});

function reportOf(status: string, failureMessages: readonly string[] = [], message = ''): TestReport {
  const result = { status, ancestorTitles: ['a call'], title: 'is refused', failureMessages };
  return { testResults: [{ name: '/tree/a.test.ts', message, assertionResults: status === 'none' ? [] : [result] }] };
}

describe('a mutation', () => {
  const refused = { file: '/tree/a.test.ts', name: 'a call > is refused' };

  test('is noticed by the first test that fails', () => {
    expect(firstFailure(reportOf('failed', ['AssertionError: expected 1 to be 2']))).toEqual(refused);
  });

  test('is not noticed by a test that runs out of time', () => {
    const late = reportOf('failed', ['Error: Test timed out in 30000ms.']);
    expect(firstFailure(late)).toBeUndefined();
    const other = reportOf('failed', ['AssertionError: expected 1 to be 2', 'Error: Hook timed out in 30000ms.']);
    expect(firstFailure({ testResults: [...late.testResults, ...other.testResults] })).toEqual(refused);
  });

  test('is not noticed by a file that does not load', () => {
    expect(() => firstFailure(reportOf('none', [], 'SyntaxError: no'))).toThrow(
      'could not be loaded or set up: /tree/a.test.ts SyntaxError',
    );
    expect(() => firstFailure(reportOf('skipped', [], 'the hub did not start'))).toThrow('the hub did not start');
  });

  test('is not noticed by a test that fails only sometimes', () => {
    expect(() => requireSteady(refused, reportOf('failed', ['AssertionError']))).not.toThrow();
    expect(() => requireSteady(refused, undefined)).toThrow('flaky');
    expect(() => requireSteady({ ...refused, name: 'a call > is another' }, reportOf('failed'))).toThrow('flaky');
  });

  test('that the types notice must be one that the table says breaks them', () => {
    expect(() => requireMeant({}, { by: 'types', what: '' })).toThrow('does not keep the types');
    expect(() => requireMeant({ breaksTypes: true }, { by: 'test', what: '' })).toThrow('the types did not notice it');
    for (const meant of [{ breaksTypes: true } as const, {}])
      expect(() => requireMeant(meant, { by: meant.breaksTypes ? 'types' : 'test', what: '' })).not.toThrow();
  });
});

test('the last line tells how many mutations were noticed by whom', () => {
  expect(summary(['types', 'test', 'test', 'nobody', 'error'])).toBe(
    '5 mutations: 1 noticed by the types, 2 by a test, 1 by nobody; 1 ended in an error',
  );
});

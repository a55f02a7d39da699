import { parseArgs } from 'node:util';
import { describe, expect, test } from 'vitest';
import { argumentsOf, commandOf, findingIn, findingText, planOf, WORLD_OPTIONS } from './world-plan.ts';

const DEFAULTS = { seed: '1', hubs: '5', hours: '24', pace: '1', faults: '1' };
const PLAN = {
  ...{ seed: 7, hubs: 2, hours: 0.15, pace: 8, faults: 0.5, kinds: 4 },
  ...{ only: ['fault-1', 'owner-hub-0'], bug: 'no intent is written' },
};

describe('the options of a world', () => {
  test('are those with which it is simulated again', () => {
    const { values } = parseArgs({ args: [...argumentsOf(PLAN)], options: WORLD_OPTIONS });
    expect(planOf(values)).toEqual(PLAN);
  });

  test('are printed for a shell', () => {
    expect(commandOf(PLAN)).toMatch(/^scripts\/simulate --seed 7 .* --only fault-1,owner-hub-0 --bug 'no intent is written'$/);
  });

  test.each([
    ['seed', '-1'],
    ['seed', ''],
    ['hubs', '0'],
    ['hubs', '1.5'],
    ['hours', 'x'],
    ['hours', '0'],
    ['pace', '-2'],
    ['faults', 'NaN'],
    ['kinds', '0'],
    ['bug', 'no such mistake'],
  ])('are refused: --%s %s', (option, text) => {
    expect(() => planOf({ ...DEFAULTS, [option]: text })).toThrow(RangeError);
  });
});

test('a finding is read as it was printed', () => {
  const finding = { invariant: 'rules hold', problem: 'a: b', hours: 0.25, parts: ['fault-1', 'owner-hub-0'] };
  expect(findingIn(`before\n${findingText(finding)}\n  a line of the trace\n`)).toEqual(finding);
  expect(findingIn('hash 0123')).toBeUndefined();
});

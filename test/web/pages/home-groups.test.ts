import { describe, expect, test } from 'vitest';
import { groupCall, groupOutcome, HOUSE } from '../../../src/web/pages/home-groups.ts';

describe('one tap for many devices', () => {
  test('turns all lights of the house off', () => {
    expect(groupCall(HOUSE, { kind: 'lights', isActive: true })).toEqual({
      tool: 'control_area',
      params: { area: 'house', scope: 'house', what: 'lights', action: 'off' },
      label: 'All lights off',
    });
  });

  test.each([
    ['lights', true, 'off', 'Lights off: Hall'],
    ['lights', false, 'on', 'Lights on: Hall'],
    ['covers', true, 'close', 'Close covers: Hall'],
    ['covers', false, 'open', 'Open covers: Hall'],
    ['climate', true, 'off', 'Climate off: Hall'],
    ['climate', false, 'on', 'Climate on: Hall'],
  ] as const)('for %s that are active: %s, does "%s"', (kind, isActive, action, label) => {
    const call = groupCall({ kind: 'area', name: 'Hall' }, { kind, isActive });
    expect(call).toMatchObject({ params: { area: 'Hall', scope: 'area', what: kind, action }, label });
  });
});

describe('what became of it', () => {
  const settled = (name: string) => ({ device_id: name, name, outcome: 'settled' });

  test('is told with each device that did not follow, and why', () => {
    const members = [
      settled('a'),
      { ...settled('Hall lamp'), outcome: 'skipped', code: 'DEVICE_UNREACHABLE', reason: 'The device does not answer' },
      { ...settled('Spot'), outcome: 'not_settled', reason: 'It took the command' },
      { ...settled('Door light'), outcome: 'failed', reason: 'Busy' },
      { ...settled('Porch'), outcome: 'skipped', reason: 'not permitted' },
    ];
    expect(groupOutcome('All lights off', { success: false, members })).toEqual({
      label: 'All lights off',
      words: '1 of 5 done',
      others: ['Hall lamp did not answer', 'Spot has not confirmed it yet', 'Door light failed: Busy', 'Porch was left out: not permitted'],
    });
  });

  test('has nothing to tell when all followed, and is nothing when no device is named', () => {
    expect(groupOutcome('x', { members: [settled('a')] })?.others).toEqual([]);
    expect(groupOutcome('x', undefined)).toBeUndefined();
    expect(groupOutcome('x', { success: true })).toBeUndefined();
  });
});

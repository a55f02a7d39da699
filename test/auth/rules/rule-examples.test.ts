import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { compileRules } from '../../../src/auth/rules/rule-compiler.ts';
import type { Effect } from '../../../src/core/auth/principal.ts';
import type { DeviceFacts } from '../../../src/core/devices/device-names.ts';
import { AGENT, callOf, effectOn, OWNER } from './rule-fixture.ts';

const page = readFileSync(join(import.meta.dirname, '../../../docs/rules.md'), 'utf8');
const examples = [...page.matchAll(/```yaml\n([\s\S]*?)```/g)].map(([, yaml = '']) => yaml);
const facts: DeviceFacts = {
  namedDevice: () => undefined,
  areaMeant: (key) => key,
  areaOf: (device) => ({ 'kitchen-lamp': 'kitchen', oven: 'kitchen', 'kids-lamp': 'kids-room' })[device],
  typesOf: (device) => new Set(device.endsWith('lamp') ? ['light'] : []),
};

const CONDITIONS = ['agent', 'kind', 'tool', 'device', 'device_type', 'area', 'action', 'risk', 'time', 'days', 'value', 'param'];

/** What the example with this rule in it says. */
function says(
  rule: string,
  effect: Effect,
  given: { readonly at?: string; readonly agent?: string; readonly isOwner?: boolean } = {},
): string {
  const yaml = examples.find((one) => one.includes(`name: ${rule}\n`)) ?? '';
  const { set, zone } = compileRules(yaml, 'docs/rules.md');
  const principal = given.isOwner ? OWNER : { ...AGENT, id: given.agent ?? 'helper' };
  const verdict = set.judge(callOf([effect], { principal }), { facts, minute: zone.parse(given.at ?? 'mon 12:00', 0) });
  return verdict.kind === 'approve' ? `approve ${verdict.persons}` : verdict.kind;
}

const unlock = effectOn('door', { does: 'DoorLock/UnlockWithTimeout', risk: 'dangerous', values: { lock_state: 'unlocked' } });
const on = (device: string) => effectOn(device, { values: { is_on: true, brightness: 80 } });

describe('every example of docs/rules.md is right and does what it says', () => {
  test('all of them compile', () => {
    expect(examples.length).toBeGreaterThan(6);
    for (const yaml of examples) expect(compileRules(yaml, 'docs/rules.md').warnings).toEqual([]);
  });

  test('heating never above 25 °C', () => {
    const setpoint = (celsius: number) => effectOn('hall', { values: { heating_setpoint: celsius } });
    expect([says('not too warm', setpoint(25)), says('not too warm', setpoint(26), { isOwner: true })]).toEqual(['allow', 'deny']);
  });

  test('no unlocking from 22 to 6 h', () => {
    const kinds = ['21:59', '22:00', '05:59', '06:00'].map((at) => says('closed at night', unlock, { at }));
    expect(kinds).toEqual(['allow', 'deny', 'deny', 'allow']);
  });

  test('the garage needs two people', () => {
    expect(says('two for the garage', effectOn('garage-door', { risk: 'dangerous' }), { isOwner: true })).toBe('approve 2');
    expect(says('two for the garage', effectOn('garage-door', { risk: 'none' }))).toBe('allow');
  });

  test('an agent may only …', () => {
    const rule = 'helper switches the kitchen';
    expect(
      [on('kitchen-lamp'), on('kids-lamp'), effectOn('oven'), effectOn('oven', { risk: 'none' })].map((effect) => says(rule, effect)),
    ).toEqual(['allow', 'deny', 'deny', 'allow']);
    expect([says(rule, on('kids-lamp'), { agent: 'helper/child' }), says(rule, on('kids-lamp'), { agent: 'other' })]).toEqual([
      'deny',
      'allow',
    ]);
  });

  test('the kids’ lights stay off after 21 h', () => {
    const kinds = [{ at: '20:59' }, { at: '21:00' }, { at: '06:59' }, { at: '21:00', isOwner: true }].map((given) =>
      says('kids sleep', on('kids-lamp'), given),
    );
    expect(kinds).toEqual(['approve 1', 'deny', 'deny', 'allow']);
    expect(says('kids sleep', effectOn('kids-lamp', { values: { is_on: false } }), { at: '23:00' })).toBe('allow');
    expect(says('kids sleep', effectOn('kids-lamp', { does: 'OnOff/Toggle', unforeseen: ['is_on'] }), { at: '23:00' })).toBe('deny');
  });

  test('nothing but what is listed', () => {
    expect([on('kids-lamp'), unlock, effectOn('door', { risk: 'none' })].map((effect) => says('everybody reads', effect))).toEqual([
      'allow',
      'deny',
      'allow',
    ]);
    expect(says('everybody reads', on('kids-lamp'), { at: '22:00' })).toBe('deny');
  });
});

test('the page names every condition that there is', () => {
  const rows = [...page.matchAll(/^\| (`[^|]+`) \|/gm)].flatMap(([, names = '']) =>
    [...names.matchAll(/`([a-z_]+)`/g)].map(([, name]) => name),
  );
  const refusal = (key: string) => expect(() => compileRules(`rules: [{ name: r, effect: deny, when: { ${key}: {} } }]`, 'x'));
  for (const name of rows) refusal(name ?? '').not.toThrow(/unknown key/);
  expect(rows.toSorted()).toEqual(CONDITIONS.toSorted());
});

import { describe, expect, test } from 'vitest';
import { compileRules } from '../../../src/auth/rules/rule-compiler.ts';
import { AGENT, callOf, effectOn, FACTS, judged, OWNER } from './rule-fixture.ts';

const WARM = `
rules:
  - name: not too warm
    effect: deny
    reason: heating never above 25 °C
    when: { device_type: thermostat, value: { name: heating_setpoint, above: 25 } }
`;
const NIGHT = `
rules:
  - name: night lock
    effect: deny
    when: { value: { name: lock_state, one_of: [unlocked, unlatched] }, time: { from: "22:00", to: "06:00" } }
`;
const setpoint = (celsius: number) => effectOn('heater', { values: { heating_setpoint: celsius } });
const unlock = effectOn('front-door', { does: 'DoorLock/UnlockDoor', risk: 'dangerous', values: { lock_state: 'unlocked' } });

describe('rules about values', () => {
  test('heating never above 25 °C', () => {
    expect(judged(WARM, callOf([setpoint(25)])).kind).toBe('allow');
    expect(judged(WARM, callOf([setpoint(25.5)]))).toEqual({ kind: 'deny', rule: 'not too warm', reason: 'heating never above 25 °C' });
    expect(judged(WARM, callOf([setpoint(28)], { principal: OWNER })).kind).toBe('deny');
  });

  test('a value that nobody knows before the call is assumed to be the worst, for deny and approve', () => {
    const unknown = callOf([effectOn('heater', { unforeseen: ['heating_setpoint'] })]);
    expect(judged(WARM, unknown).kind).toBe('deny');
    expect(judged(WARM.replace('deny', 'approve'), unknown)).toEqual({ kind: 'approve', rule: 'not too warm', persons: 1 });
    expect(judged(WARM, callOf([effectOn('heater', { unforeseen: ['*'] })])).kind).toBe('deny');
    expect(judged(WARM, callOf([effectOn('heater', { unforeseen: ['mode'] })])).kind).toBe('allow');
  });

  test('and is not enough for allow', () => {
    const only = `
default: deny
rules:
  - { name: mild, effect: allow, when: { device: heater, value: { name: heating_setpoint, above: 15, below: 22 } } }
`;
    expect(judged(only, callOf([setpoint(20)])).kind).toBe('allow');
    expect(judged(only, callOf([setpoint(22)])).kind).toBe('deny');
    expect(judged(only, callOf([effectOn('heater', { unforeseen: ['heating_setpoint'] })])).kind).toBe('deny');
  });

  test('names of values are compared in any letter case, lists by their items', () => {
    const rule = (value: string) => `rules: [{ name: r, effect: deny, when: { value: ${value} } }]`;
    expect(judged(rule('{ name: lock_state, equals: Unlocked }'), callOf([unlock])).kind).toBe('deny');
    const rocking = callOf([effectOn('heater', { values: { rocking: ['left_right', 'round'] } })]);
    expect(judged(rule('{ name: rocking, equals: round }'), rocking).kind).toBe('deny');
    expect(judged(rule('{ name: rocking, equals: up_down }'), rocking).kind).toBe('allow');
  });
});

test('a rule that names a tool holds for it under every name that it gets', () => {
  const rule = 'rules: [{ name: r, effect: deny, when: { tool: "matter:bedroom_on" } }]';
  const renamed = { toolId: 'matter:nightstand_on@1.0.0', formerToolIds: ['matter:bedroom_on@1.0.0'] };
  expect(judged(rule, callOf([], renamed)).kind).toBe('deny');
  expect(judged(rule, callOf([], { ...renamed, formerToolIds: [] })).kind).toBe('allow');
});

describe('rules about time', () => {
  test.each([
    ['mon 21:59', 'allow'],
    ['mon 22:00', 'deny'],
    ['sun 23:30', 'deny'],
    ['mon 05:59', 'deny'],
    ['mon 06:00', 'allow'],
  ])('no unlock from 22 to 6 h: at %s it is %s', (at, kind) => {
    expect(judged(NIGHT, callOf([unlock]), at).kind).toBe(kind);
  });

  test('the day is that on which the window begins', () => {
    const rule =
      'rules: [{ name: r, effect: deny, when: { days: [fri], time: [{ from: "22:00", to: "02:00" }, { from: "12:00", to: "13:00" }] } }]';
    const kinds = ['fri 23:00', 'sat 01:59', 'sat 02:00', 'fri 01:00', 'fri 12:30', 'sat 12:30'].map(
      (at) => judged(rule, callOf([]), at).kind,
    );
    expect(kinds).toEqual(['deny', 'deny', 'allow', 'allow', 'deny', 'allow']);
  });

  test('while the clock cannot be believed it may be any time', () => {
    expect(judged(NIGHT, callOf([unlock]), null).kind).toBe('deny');
    expect(judged(NIGHT.replace('deny', 'allow').replace('rules:', 'default: deny\nrules:'), callOf([unlock]), null).kind).toBe('deny');
  });
});

describe('who, with what, on what', () => {
  const rule = (when: string, more = '') => `${more}\nrules: [{ name: r, effect: deny, when: { ${when} } }]`;
  const lamp = callOf([effectOn('lamp')]);

  test.each([
    ['agent: helper', 'helper', 'deny'],
    ['agent: helper', 'helper/child', 'deny'],
    ['agent: helper/*', 'helper', 'allow'],
    ['agent: helper/*', 'helper/child/grandchild', 'deny'],
    ['agent: help', 'helper', 'allow'],
    ['agent: [x, "*"]', 'helper', 'deny'],
    ['agent: Helper', 'helper', 'allow'],
  ])('%s for %s: %s', (when, id, kind) => {
    expect(judged(rule(when), { ...lamp, principal: { ...AGENT, id } }).kind).toBe(kind);
  });

  test('the owner is bound too, unless the rule is about agents; an agent called owner is an agent', () => {
    expect(judged(rule('device: lamp'), { ...lamp, principal: OWNER }).kind).toBe('deny');
    expect(judged(rule('device: lamp, kind: agent'), { ...lamp, principal: OWNER }).kind).toBe('allow');
    expect(judged(rule('agent: owner'), { ...lamp, principal: OWNER }).kind).toBe('allow');
    expect(judged(rule('kind: owner'), { ...lamp, principal: { ...AGENT, id: 'owner' } }).kind).toBe('allow');
    expect(judged(rule('kind: agent'), { ...lamp, principal: { ...AGENT, kind: 'hub' } }).kind).toBe('deny');
  });

  test.each([
    ['tool: "core:some_tool"', 'deny'],
    ['tool: "core:some_tool@1.0.0"', 'deny'],
    ['tool: "core:some_tool@2.0.0"', 'allow'],
    ['tool: "core:*"', 'deny'],
    ['tool: "*"', 'deny'],
    ['tool: "core:some"', 'allow'],
    ['tool: "matter:some_tool"', 'allow'],
    ['device: lamp', 'deny'],
    ['device: lam', 'allow'],
    ['device: [heater, lamp]', 'deny'],
    ['device: "*"', 'deny'],
    ['device_type: light', 'deny'],
    ['device_type: lock', 'allow'],
    ['area: Kitchen', 'deny'],
    ['area: hall', 'allow'],
    ['action: OnOff/On', 'deny'],
    ['action: on_off/on', 'deny'],
    ['action: OnOff/*', 'deny'],
    ['action: OnOff/Off', 'allow'],
    ['action: "*"', 'deny'],
    ['risk: low', 'deny'],
    ['risk: [medium, dangerous]', 'allow'],
    ['param: { /level: { above: 3 } }', 'allow'],
    ['device: lamp, area: hall', 'allow'],
  ])('%s: %s', (when, kind) => {
    expect(judged(rule(when), lamp).kind).toBe(kind);
  });

  test('parameters by JSON pointer; what is absent fits no comparison', () => {
    const call = callOf([], { params: { mode: 'fast', list: [{ 'a/b': 5 }], n: null } });
    const kind = (param: string) => judged(rule(`param: { ${param} }`), call).kind;
    expect([kind('/mode: { equals: fast }'), kind('/list/0/a~1b: { above: 4 }'), kind('/n: { equals: null }')]).toEqual(
      Array(3).fill('deny'),
    );
    expect([kind('/toString: { one_of: [x] }'), kind('/list/00/a~1b: { above: 4 }'), kind('/list/1: { equals: 1 }')]).toEqual(
      Array(3).fill('allow'),
    );
    expect(kind('/mode: { equals: fast }, /n: { equals: 1 }')).toBe('allow');
  });

  test('a device counts also where a tool only needs its permission', () => {
    for (const permission of ['device:read:lamp', 'sensor:read:lamp/power', 'admin:device:lamp']) {
      const call = callOf([{ permission, risk: 'none', target: 'core:read_sensor@1.0.0' }]);
      expect(judged(rule('device: lamp'), call).kind, permission).toBe('deny');
      expect(judged(rule('area: kitchen'), call).kind, permission).toBe('deny');
    }
    expect(judged(rule('device: lamp'), callOf([{ permission: 'storage:read:lamp', risk: 'none', target: 'x' }])).kind).toBe('allow');
  });

  test('what lets others act, such as a binding, may be any action', () => {
    const binding = effectOn('front-door', { target: 'front-door/1/DoorLock', unforeseen: ['lock_state'] });
    expect(judged(rule('action: DoorLock/UnlockDoor'), callOf([binding])).kind).toBe('deny');
    expect(judged(NIGHT, callOf([binding]), 'mon 23:00').kind).toBe('deny');
  });

  test('a call without effects is judged by tool, caller, time and parameters', () => {
    expect(judged(rule('tool: "core:some_tool"'), callOf([])).kind).toBe('deny');
    expect(judged(rule('tool: "core:some_tool", device: lamp'), callOf([])).kind).toBe('allow');
  });
});

describe('several rules and effects', () => {
  const list = `
rules:
  - { name: cook, effect: allow, when: { agent: helper, area: kitchen } }
  - { name: two for the garage, effect: approve, persons: 2, when: { device: garage } }
  - { name: one for doors, effect: approve, when: { device_type: [lock, cover] } }
  - { name: nothing else, effect: deny, when: { agent: helper } }
`;

  test('the first rule that fits decides', () => {
    expect(judged(list, callOf([effectOn('lamp')]))).toEqual({ kind: 'allow', rule: 'cook' });
    expect(judged(list, callOf([effectOn('garage')]))).toEqual({ kind: 'approve', rule: 'two for the garage', persons: 2 });
    expect(judged(list, callOf([]))).toMatchObject({ kind: 'deny', rule: 'nothing else' });
    expect(judged(list, callOf([effectOn('lamp')], { principal: OWNER }))).toEqual({ kind: 'allow' });
  });

  test('over the effects of one call deny wins, then the most persons, then allow', () => {
    const other = effectOn('other');
    expect(judged(list, callOf([effectOn('lamp'), effectOn('front-door')]))).toMatchObject({ kind: 'approve', persons: 1 });
    expect(judged(list, callOf([effectOn('front-door'), effectOn('garage'), effectOn('lamp')]))).toMatchObject({
      kind: 'approve',
      persons: 2,
    });
    expect(judged(list, callOf([effectOn('lamp'), effectOn('garage'), other]))).toMatchObject({ kind: 'deny' });
  });

  test('default: deny leaves agents only what rules allow, and the owner everything', () => {
    const closed = 'default: deny\nrules: [{ name: lamp, effect: allow, when: { device: lamp } }]';
    expect(judged(closed, callOf([effectOn('lamp')])).kind).toBe('allow');
    expect(judged(closed, callOf([effectOn('lamp'), effectOn('heater')]))).toMatchObject({ kind: 'deny', rule: 'default' });
    expect(judged(closed, callOf([]))).toMatchObject({ kind: 'deny', rule: 'default' });
    expect(judged(closed, callOf([effectOn('heater')], { principal: OWNER })).kind).toBe('allow');
  });
});

test('it is explained which rule decides and why, effect by effect', () => {
  const { set, zone } = compileRules(NIGHT, 'rules.yaml');
  const call = callOf([unlock, effectOn('front-door', { does: 'DoorLock/SetUser', unforeseen: ['lock_state'] }), effectOn('lamp')]);
  const { verdict, effects } = set.explain(call, { facts: FACTS, minute: zone.parse('tue 23:15', 0) });
  expect(verdict.kind).toBe('deny');
  expect(effects).toEqual([
    {
      does: 'Unlock front-door',
      target: 'front-door/1/DoorLock/UnlockDoor',
      permission: 'device:control:front-door',
      values: { lock_state: 'unlocked' },
      decision: 'deny',
      rule: 'night lock',
      line: 3,
      because: ['it is tue 23:15', 'lock_state becomes "unlocked", which is one of "unlocked", "unlatched"'],
    },
    expect.objectContaining({
      decision: 'deny',
      because: [
        'it is tue 23:15',
        'what lock_state becomes is not known before the call, so that it may be one of "unlocked", "unlatched"',
      ],
    }),
    expect.objectContaining({ decision: 'allow', because: ['no rule speaks of it: the default decides'] }),
  ]);
  expect(effects[2]).not.toHaveProperty('rule');
});

import { describe, expect, test } from 'vitest';
import { compileRules, lintRules } from '../../../src/auth/rules/rule-compiler.ts';

const rule = (when: string, effect = 'deny') => `rules:\n  - name: a\n    effect: ${effect}\n    when: { ${when} }\n`;
const problemOf = (yaml: string): string => {
  try {
    compileRules(yaml, 'rules.yaml');
    return '';
  } catch (error) {
    expect(error).toMatchObject({ code: 'CONFIG_INVALID', details: { file: 'rules.yaml' } });
    return (error as Error).message;
  }
};

describe('mistakes in a rules file are told with file and line', () => {
  test.each([
    ['rules: [', 1, 'Flow sequence'],
    ['rules: &a [*a]', 1, ''],
    ['rule: []', 1, 'unknown key "rule" in the file'],
    ['rules: []\ntimezone: Mars/Olympus', 2, 'no IANA time zone'],
    ['rules:\n  - name: a\n    effect: forbid', 3, 'must be one of allow, deny, approve'],
    ['rules:\n  - name: a\n    effect: deny\n    when:\n      tols: x', 5, 'unknown key "tols"'],
    [rule('risk: [low, high]'), 4, 'must be one of none, low, medium, dangerous'],
    [rule('days: [monday]'), 4, 'must be one of mon'],
    [rule('value: { name: x, over: 3 }'), 4, 'unknown key "over"'],
    [rule('value: { above: 3 }'), 4, 'has no "name"'],
    ['rules: [{ name: a, efect: deny }]', 1, 'rules.0 has no "effect"; "efect" is not known there'],
    [rule('value: { name: x }'), 4, 'needs above, below, equals or one_of'],
    [rule('value: { name: x, above: 5, below: 5 }'), 4, 'empty range: above 5 and below 5'],
    [rule('value: [{ name: x, above: 5 }, { name: y, above: 5, equals: 3 }]'), 4, 'the value y names values that its own bounds exclude'],
    [rule('agent: "he*"'), 4, '"he*" is no agent'],
    [rule('agent: a//b'), 4, '"a//b" is no agent'],
    [rule('agent: "*/b"'), 4, 'is no agent'],
    [rule('kind: owner, agent: x'), 4, 'the owner is no agent'],
    [rule('tool: echo'), 4, 'is no tool that a rule can name; write it whole, such as core:echo'],
    [rule('tool: "core:ech*"'), 4, '"core:ech*" is no tool'],
    [rule('tool: "*:echo"'), 4, 'is no tool'],
    [rule('device: Front Door'), 4, '"Front Door" is no device'],
    [rule('device_type: DimmableLight'), 4, '"DimmableLight" is no device type'],
    [rule('action: UnlockDoor'), 4, '"UnlockDoor" is no action'],
    [rule('action: "*/UnlockDoor"'), 4, 'is no action'],
    [rule('time: { from: "25:00", to: "6:00" }'), 4, 'a time of day is written as 22:00'],
    [rule('time: { from: "24:00", to: "6:00" }'), 4, 'a time of day is written as 22:00'],
    [rule('time: { from: "6:00", to: "06:00" }'), 4, 'begins when it ends'],
    [rule('param: { level: { above: 3 } }'), 4, 'is no JSON pointer'],
    [rule('param: { /level: {} }'), 4, 'needs above'],
    ['rules:\n  - { name: a, effect: deny, persons: 2 }', 2, 'persons has a meaning only with effect: approve'],
    [
      'rules:\n  - { name: a, effect: deny, when: { risk: low } }\n  - { name: a, effect: deny, when: { risk: none } }',
      3,
      'already, in line 2',
    ],
  ])('%j', (yaml, line, hint) => {
    const message = problemOf(yaml);
    expect(message).toContain(`rules.yaml, line ${line}: `);
    expect(message).toContain(hint);
  });

  test('the line is that of the very item in a long list', () => {
    expect(problemOf('rules:\n  - name: a\n    effect: deny\n    when:\n      device:\n        - lamp\n        - The Lamp\n')).toContain(
      'line 7',
    );
  });
});

describe('a rule that an earlier one leaves nothing to decide', () => {
  const two = (first: string, second: string, effects = ['allow', 'deny']) =>
    `rules:\n  - { name: first, effect: ${effects[0]}, when: { ${first} } }\n  - { name: second, effect: ${effects[1]}, when: { ${second} } }\n`;

  test.each([
    ['', 'device: lamp'],
    ['device: lamp', 'device: lamp'],
    ['device: [lamp, heater]', 'device: lamp, agent: x'],
    ['device: "*"', 'device: lamp'],
    ['tool: "matter:*"', 'tool: "matter:lamp_turn_on"'],
    ['tool: "matter:lamp"', 'tool: "matter:lamp@1.0.0"'],
    ['agent: helper', 'agent: helper/child'],
    ['agent: helper/*', 'agent: helper/*'],
    ['agent: helper/*', 'agent: helper/child/*'],
    ['kind: agent', 'agent: helper'],
    ['action: DoorLock/*', 'action: [doorlock/unlock_door]'],
    ['area: Living room', 'area: living-room'],
    ['value: { name: x, above: 5 }', 'value: { name: x, above: 6, below: 8 }'],
    ['value: { name: x, one_of: [1, 2] }', 'value: { name: x, equals: 2 }'],
    ['param: { /a: { above: 5 } }', 'param: { /a: { equals: 6 }, /b: { equals: 1 } }'],
    ['days: [sat, sun]', 'days: [sun], time: { from: "08:00", to: "09:00" }'],
    ['time: { from: "22:00", to: "06:00" }', 'time: { from: "23:00", to: "24:00" }'],
    ['days: [sat, sun, mon, tue, wed, thu, fri]', 'risk: low'],
  ])('contradicts it and is refused: %j, then %j', (first, second) => {
    const message = problemOf(two(first, second));
    expect(message).toContain('rules.yaml, line 3: the rules contradict each other: the rule "first" in line 2');
    expect(compileRules(two(first, second, ['deny', 'deny']), 'rules.yaml').warnings).toMatchObject([{ line: 3 }]);
    expect(problemOf(two(first, second, ['approve', 'approve, persons: 2']))).toContain('says approve by 1 and not approve by 2');
  });

  test('says at least one value that its own bounds admit', () => {
    expect(problemOf(rule('value: { name: x, above: 5, one_of: [3, 6] }'))).toBe('');
  });

  test.each([
    ['device: lamp', ''],
    ['device: lamp', 'device: [lamp, heater]'],
    ['device: lamp, agent: x', 'device: lamp'],
    ['agent: helper/*', 'agent: helper'],
    ['agent: help', 'agent: helper'],
    ['kind: agent', 'device: lamp'],
    ['tool: "matter:lamp@1.0.0"', 'tool: "matter:lamp"'],
    ['value: { name: x, above: 6 }', 'value: { name: x, above: 5 }'],
    ['value: { name: x, above: 6 }', 'value: { name: y, above: 6 }'],
    ['value: { name: x, equals: 6 }', 'value: { name: x, above: 5 }'],
    ['param: { /a: { above: 5 } }', 'param: { /b: { above: 5 } }'],
    ['days: [sat]', 'days: [sat], time: { from: "22:00", to: "06:00" }, risk: low'],
    ['time: { from: "08:00", to: "10:00" }', 'time: { from: "09:00", to: "11:00" }'],
  ])('does not, and both stand: %j, then %j', (first, second) => {
    expect(problemOf(two(first, second))).toBe('');
  });

  test('a window across midnight reaches into the day after', () => {
    const over = 'days: [sat], time: { from: "22:00", to: "06:00" }';
    expect(problemOf(two('days: [sat]', over))).toBe('');
    expect(problemOf(two('days: [sat, sun]', over))).toContain('contradict');
  });
});

test('names that nothing has are told, with the nearest that there is', () => {
  const { set } = compileRules(
    `rules:
  - { name: a, effect: deny, when: { device: [lamp, lanp], area: Kitchn, risk: low } }
  - { name: c, effect: deny, when: { device_type: [light, lihgt], value: [{ name: brightnes, above: 5 }, { name: brightness, above: 9 }] } }
  - { name: b, effect: deny, when: { tool: ["core:ecco", "core:echo@1.0.0", "mater:*", "*"] } }`,
    'rules.yaml',
  );
  const warnings = lintRules(set.rules, {
    devices: ['lamp'],
    areas: ['Kitchen'],
    types: ['light'],
    values: ['brightness'],
    tools: ['core:echo', 'matter:lamp_turn_on'],
  });
  expect(warnings.map(({ line, message }) => `${line} ${message}`)).toEqual([
    '2 the rule "a" names the device "lanp", which there is not; did you mean lamp?',
    '2 the rule "a" names the area "kitchn", which there is not; did you mean kitchen?',
    '3 the rule "c" names the device type "lihgt", which there is not; did you mean light?',
    '3 the rule "c" names the value "brightnes", which there is not; did you mean brightness?',
    '4 the rule "b" names the tool "core:ecco", which there is not; did you mean core:echo?',
    '4 the rule "b" names the namespace of tools "mater", which there is not; did you mean matter?',
  ]);
});

test('a name that is like nothing there is told without a suggestion', () => {
  const { set } = compileRules('rules:\n  - { name: a, effect: deny, when: { device: lamp } }\n', 'rules.yaml');
  const [warning] = lintRules(set.rules, { devices: [], areas: [], types: [], values: [], tools: [] });
  expect(warning?.message).toBe('the rule "a" names the device "lamp", which there is not');
});

test('an empty file has no rules and lets everything be', () => {
  for (const text of ['', '# nothing\n', '{}', 'rules: []']) {
    const { set, warnings } = compileRules(text, 'rules.yaml');
    expect([set.rules, set.default, warnings]).toEqual([[], 'allow', []]);
  }
});

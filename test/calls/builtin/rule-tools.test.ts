import { describe, expect, test } from 'vitest';
import { compileRules, lintRules } from '../../../src/auth/rules/rule-compiler.ts';
import { shownMinute } from '../../../src/auth/rules/rule-terms.ts';
import { ruleTools } from '../../../src/calls/builtin/rule-tools.ts';
import { sequenceTool } from '../../../src/calls/composition/steps.ts';
import type { RuleAdministration } from '../../../src/core/auth/rules.ts';
import { parseDeviceId } from '../../../src/core/devices/device-names.ts';
import type { JsonObject } from '../../../src/core/json.ts';
import { makeDevice } from '../../http/http-fixture.ts';
import { NO_DEVICE_FACTS } from '../../no-device-facts.ts';
import { agent, codeOf, makePipeline, makeTool, owner } from '../pipeline-fixture.ts';

const RULES = `
timezone: UTC
rules:
  - { name: night, effect: deny, reason: nobody leaves at night, when: { value: { name: lock_state, equals: unlocked }, time: { from: "22:00", to: "06:00" } } }
  - { name: two persons, effect: approve, persons: 2, when: { device: dor } }
`;

/** The real rules behind the port, at Monday noon. */
function administration(text: string): RuleAdministration {
  const { set, zone } = compileRules(text, 'rules.yaml');
  return {
    list: () => ({ file: 'rules.yaml', timezone: zone.zone, default: set.default, rules: set.rules.map(({ terms: _, ...rule }) => rule) }),
    test(call, at = 'mon 12:00') {
      const minute = zone.parse(at, 0);
      return { ...set.explain(call, { minute, facts: NO_DEVICE_FACTS }), at: shownMinute(minute) };
    },
    warnings: (known) => lintRules(set.rules, { ...known, types: [] }),
  };
}

function room(rules = RULES) {
  const made = makePipeline();
  const device = parseDeviceId('door');
  let ran = 0;
  const unlock = makeTool({
    name: 'unlock',
    permissions: ['device:control:door'],
    parameters: {
      type: 'object',
      properties: { pin: { type: 'string', description: 'PIN', 'x-secret': true } },
      additionalProperties: false,
    },
    effects: () => [
      {
        permission: 'device:control:door',
        risk: 'dangerous',
        target: 'door/1/DoorLock/UnlockDoor',
        device,
        values: { lock_state: 'unlocked' },
      },
    ],
    handler: async () => ({ ran: ++ran }),
  });
  const { registry, validator, collaborators } = made;
  const devices = { list: () => [makeDevice('door', { area: 'Hall' })] };
  for (const tool of [
    unlock,
    makeTool({ name: 'echo' }),
    sequenceTool(() => made.pipeline),
    ...ruleTools({ rules: administration(rules), registry, validator, authorizer: collaborators.authorizer, devices }),
  ])
    expect(registry.register(tool)).toEqual([]);
  const call = (name: string, params: JsonObject = {}, principal = owner) => made.pipeline.call({ principal, tool: `hub:${name}`, params });
  return { ...made, call, ran: () => ran };
}

test('list_rules tells the rules in order, and names that nothing has', async () => {
  const answer = await room().call('list_rules');
  expect(answer).toMatchObject({
    result: {
      timezone: 'UTC',
      default: 'allow',
      rules: [
        { name: 'night', line: 4, effect: 'deny', when: { value: { name: 'lock_state' } } },
        { name: 'two persons', effect: 'approve', persons: 2 },
      ],
      warnings: [
        { line: 4, message: expect.stringContaining('the value "lock_state"') },
        { line: 5, message: expect.stringContaining('did you mean door?') },
      ],
    },
  });
});

test('list_rules has no warning about a tool by its name, nor by a name that it had before', async () => {
  const named = (...tools: readonly string[]) => tools.map((tool) => `  - { name: ${tool}, effect: deny, when: { tool: "core:${tool}" } }`);
  const { call, registry } = room(`rules:\n${named('echo', 'lights_out', 'lights_off').join('\n')}\n`);
  registry.register(makeTool({ name: 'lights_down', aliases: ['lights_out'] }));
  const warnings = [{ line: 4, message: expect.stringContaining('core:lights_off') }];
  expect(await call('list_rules')).toMatchObject({ result: { warnings } });
});

describe('test_rules', () => {
  test('tells which rule would decide and why; nothing runs', async () => {
    const { call, ran } = room();
    const answer = await call('test_rules', { tool: 'unlock', params: { pin: '4711' }, agent: 'helper', at: 'fri 23:00' });
    expect(answer).toMatchObject({
      result: {
        tool: 'core:unlock@1.0.0',
        at: 'fri 23:00',
        verdict: { kind: 'deny', rule: 'night', reason: 'nobody leaves at night' },
        effects: [
          {
            target: 'door/1/DoorLock/UnlockDoor',
            decision: 'deny',
            rule: 'night',
            line: 4,
            because: ['it is fri 23:00', expect.any(String)],
          },
        ],
      },
    });
    expect(await call('test_rules', { tool: 'unlock' })).toMatchObject({ result: { at: 'mon 12:00', verdict: { kind: 'allow' } } });
    expect(ran()).toBe(0);
  });

  test('a sequence is judged with all of its steps, also those in a sequence of another name', async () => {
    const { call, ran } = room();
    const steps = [
      { tool: 'echo', params: { value: 1 } },
      { tool: 'unlock', params: {} },
    ];
    const trial = { tool: 'sequence', params: { steps }, agent: 'helper' };
    expect(await call('test_rules', { ...trial, at: 'fri 23:00' })).toMatchObject({
      result: {
        tool: 'core:sequence@1.0.0',
        verdict: { kind: 'deny', rule: 'night', reason: 'nobody leaves at night' },
        dangerous: true,
        effects: [
          { tool: 'core:sequence@1.0.0', decision: 'allow' },
          { tool: 'core:echo@1.0.0', decision: 'allow' },
          { tool: 'core:unlock@1.0.0', target: 'door/1/DoorLock/UnlockDoor', decision: 'deny', rule: 'night' },
        ],
      },
    });
    expect(await call('test_rules', trial)).toMatchObject({ result: { verdict: { kind: 'allow' }, dangerous: true } });
    expect(ran()).toBe(0);
  });

  test('a step whose parameters are not known yet is said to be judged later, and a step that cannot be is refused', async () => {
    const { call } = room();
    const step = { tool: 'unlock', params: { pin: { $result: '0/value' } } };
    const steps = [{ tool: 'echo', params: { value: '1' } }, step];
    expect(await call('test_rules', { tool: 'sequence', params: { steps } })).toMatchObject({
      result: { verdict: { kind: 'allow' }, judged_later: ['core:unlock@1.0.0'] },
    });
    expect(await call('test_rules', { tool: 'sequence', params: { steps: [{ tool: 'unlok' }] } })).toMatchObject({
      error: { code: 'TOOL_NOT_FOUND', message: expect.stringMatching(/^sequence would call unlok: /) },
    });
  });

  test('no PIN is written down', async () => {
    const { call, audited } = room();
    await call('test_rules', { tool: 'unlock', params: { pin: '4711' } });
    expect(audited.length).toBeGreaterThan(0);
    expect(JSON.stringify(audited)).not.toMatch(/"4711\\*"/);
  });

  test('mistakes are told as for the call itself', async () => {
    const { call } = room();
    expect(codeOf(await call('test_rules', { tool: 'unlok' }))).toBe('TOOL_NOT_FOUND');
    expect(codeOf(await call('test_rules', { tool: 'unlock', params: { code: 1 } }))).toBe('VALIDATION_ERROR');
    expect(codeOf(await call('test_rules', { tool: 'unlock', at: 'later' }))).toBe('VALIDATION_ERROR');
  });

  test('a caller learns of no tool that it may not know of', async () => {
    const { call } = room();
    const answer = await call('test_rules', { tool: 'unlock' }, agent('admin:rules'));
    expect(codeOf(answer)).toBe('TOOL_NOT_FOUND');
    expect(codeOf(await call('test_rules', { tool: 'unlock' }, agent('admin:rules', 'device:read:door')))).toBe('success');
  });
});

test('both need admin:rules, and answer like nothing to others', async () => {
  const { call } = room();
  for (const name of ['list_rules', 'test_rules']) {
    expect(codeOf(await call(name, { tool: 'unlock' }, agent('*')))).toBe('TOOL_NOT_FOUND');
  }
});

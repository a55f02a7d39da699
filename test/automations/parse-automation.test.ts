import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parse as parseYaml } from 'yaml';
import { parseAutomation } from '../../src/automations/plan/parse-automation.ts';
import type { Json, JsonObject } from '../../src/core/json.ts';
import { SchemaValidator } from '../../src/tools/schema/schema-validator.ts';
import { refusalOf } from '../auth/tokens/token-fixture.ts';

const validator = new SchemaValidator();
const ACTIONS = [{ tool: 'matter:lamp_turn_on' }];
const reading = (extra: JsonObject): JsonObject => ({ type: 'reading', sensor_id: 'hall/temperature', ...extra });
const parse = (trigger: Json, extra: JsonObject = {}) => parseAutomation({ trigger, actions: ACTIONS, ...extra }, validator);
const refusal = (trigger: Json, extra: JsonObject = {}) => refusalOf(() => parse(trigger, extra));

describe('a configuration', () => {
  test('with one trigger gets what it leaves out', () => {
    expect(parse(reading({ above: 25 }))).toEqual({
      triggers: [{ type: 'reading', sensor_id: 'hall/temperature', above: 25 }],
      conditions: [],
      actions: [{ tool: 'matter:lamp_turn_on', params: {}, on_error: 'stop' }],
      parameters: {},
      cooldownMs: 10_000,
      maxRunsPerHour: 60,
    });
  });

  test('has parameters filled in wherever a value stands', () => {
    const parameters = { limit: { value: 25 }, at: { value: '07:30' }, level: { value: 40 } };
    const plan = parse([reading({ above: { param: 'limit' } }), { type: 'time', at: { param: 'at' } }], {
      parameters,
      conditions: [reading({ below: { param: 'limit' } })],
      actions: [{ tool: 'dim', params: { deep: [{ level: { param: 'level' } }] } }],
    });
    expect(plan.triggers).toMatchObject([{ above: 25 }, { at: '07:30' }]);
    expect(plan.conditions).toMatchObject([{ below: 25 }]);
    expect(plan.actions[0]).toMatchObject({ params: { deep: [{ level: 40 }] } });
  });

  test.each<[string, Json, JsonObject, RegExp]>([
    ['an unknown type', { type: 'moon' }, {}, /type" is not one of the allowed/],
    ['a member of another type', { type: 'every', seconds: 60, above: 3 }, {}, /above" is not known/],
    ['a missing member', { type: 'time' }, {}, /exactly one of at, cron/],
    ['a time that is none', { type: 'time', at: '25:00' }, {}, /at" does not have the required form/],
    ['an unknown time zone', { type: 'time', at: '07:30', time_zone: 'Middle/Earth' }, {}, /no time zone/],
    ['an interval that is too short', { type: 'every', seconds: 5 }, {}, /seconds" is too small/],
    ['more runs than it allows itself', { type: 'every', seconds: 30 }, {}, /max_runs_per_hour/],
    ['a cooldown longer than its interval', { type: 'every', seconds: 120 }, { cooldown_seconds: 300 }, /cooldown_seconds/],
    ['two comparisons', reading({ above: 1, below: 2 }), {}, /exactly one of/],
    ['no comparison', reading({}), {}, /exactly one of/],
    ['hysteresis without a threshold', reading({ equals: 1, hysteresis: 2 }), {}, /hysteresis/],
    ['a wait for a change', reading({ changes: true, for_seconds: 5 }), {}, /for_seconds/],
    ['a text as threshold', reading({ above: '25' }), {}, /above" has to be a number/],
    ['a parameter of the wrong type', reading({ above: { param: 'p' } }), { parameters: { p: { value: 'hot' } } }, /above".*number/],
    ['a parameter that is not declared', reading({ above: { param: 'p' } }), {}, /"p" is used and not declared/],
    ['a parameter of every object', reading({ above: { param: 'constructor' } }), {}, /not declared/],
    ['a parameter outside its bounds', reading({ above: 1 }), { parameters: { p: { value: 5, maximum: 4 } } }, /within/],
    ['bounds on a text', reading({ above: 1 }), { parameters: { p: { value: 'a', maximum: 4 } } }, /only numbers/],
    [
      'a fact that its trigger does not have',
      { type: 'time', at: '07:30' },
      { actions: [{ tool: 't', params: { a: { trigger: 'value' } } }] },
      /has no "value"/,
    ],
    ['no action', reading({ above: 1 }), { actions: [] }, /actions/],
    ['a repetition of nothing', reading({ above: 1 }), { actions: [{ type: 'repeat', count: 100, actions: [] }] }, /actions/],
    [
      'a repetition of repetitions of nothing',
      { type: 'hub_start' },
      { actions: [{ type: 'repeat', count: 100, actions: [{ type: 'repeat', count: 100, actions: [] }] }] },
      /actions/,
    ],
    ['an empty branch', reading({ above: 1 }), { actions: [{ type: 'parallel', branches: [[]] }] }, /branches/],
    ['too many actions', reading({ above: 1 }), { actions: Array(17).fill({ tool: 't' }) }, /actions/],
    ['an unknown member', reading({ above: 1 }), { script: 'rm' }, /"script" is not known; allowed: .*parameters/],
    [
      'a hidden sensor id',
      { ...reading({ above: 1 }), sensor_id: { param: 'p' } },
      { parameters: { p: { value: 'hall/temperature' } } },
      /sensor_id has to be written out/,
    ],
    [
      'a parameter as the text of an expression',
      reading({ above: 1 }),
      { parameters: { p: { value: 'flags.x' } }, actions: [{ tool: 't', params: { list: [{ expr: { param: 'p' } }] } }] },
      /expr has to be written out; use params.NAME/,
    ],
  ])('with %s is refused in words', (_, trigger, extra, message) => {
    const found = refusal(trigger, extra);
    expect(found?.code).toBe('VALIDATION_ERROR');
    expect(found?.message).toMatch(message);
  });

  test('that is too long is refused before it is parsed', () => {
    const wide = { actions: [{ tool: 't', params: { text: 'x'.repeat(17_000) } }] };
    expect(refusal(reading({ above: 1 }), wide)?.code).toBe('PAYLOAD_TOO_LARGE');
    const deep = JSON.parse(`${'{"a":'.repeat(100)}1${'}'.repeat(100)}`) as JsonObject;
    expect(refusal(reading({ above: 1 }), { actions: [{ tool: 't', params: deep }] })?.code).toBe('PAYLOAD_TOO_LARGE');
  });
});

test('the examples of the documentation are configurations', () => {
  const page = readFileSync(new URL('../../docs/automations.md', import.meta.url), 'utf8');
  const examples = [...page.matchAll(/```yaml\n(.*?)```/gs)].map(([, text = '']) => parseYaml(text) as JsonObject);
  expect(examples).toHaveLength(13);
  for (const example of examples) expect(parseAutomation(example, validator).actions.length).toBeGreaterThan(0);
});

import { expect, test } from 'vitest';
import { parseAutomationText, problemsIn } from '../../../src/automations/plan/automation-text.ts';
import { OWNER } from '../../../src/core/auth/principal.ts';
import { AtmoError } from '../../../src/core/errors.ts';
import type { JsonObject } from '../../../src/core/json.ts';
import { codeOf, ENOUGH, resultOf, SENSOR, startedFixture, WHEN_HOT } from '../agent-fixture.ts';

const TEXT = `# Cools the room
trigger:
  type: reading
  sensor_id: ${SENSOR}
  above: 26
actions:
  - tool: matter:lamp_turn_on
`;

async function read(text: string, permissions: readonly string[] = ENOUGH): Promise<JsonObject> {
  const fixture = await startedFixture();
  return resultOf(await fixture.call('hub:convert_automation', { text, permissions: [...permissions] }));
}

const problemsOf = async (text: string) => (await read(text)).problems;

test('a text becomes a configuration, with what it would do and without making anything', async () => {
  const fixture = await startedFixture();
  const answer = resultOf(await fixture.call('hub:convert_automation', { text: TEXT, permissions: [...ENOUGH] }));
  expect(answer).toMatchObject({
    text: TEXT,
    config: { trigger: { type: 'reading', above: 26 }, actions: [{ tool: 'matter:lamp_turn_on' }] },
    problems: [],
    lacks: [],
    view: { triggers: [{ type: 'reading', sensor_id: SENSOR }], actions: [{ tool: 'matter:lamp_turn_on' }] },
  });
  expect(resultOf(await fixture.call('list_agents')).agents).toEqual([]);
});

test('a configuration becomes a text that is read as the same configuration', async () => {
  const fixture = await startedFixture();
  const { text } = resultOf(await fixture.call('hub:convert_automation', { config: WHEN_HOT, permissions: [...ENOUGH] }));
  expect(text).toContain('actions:\n  - tool: ');
  expect(await read(String(text))).toMatchObject({ config: WHEN_HOT, problems: [] });
});

test('a configuration in which something is not filled in yet is written as text too, with a mistake at its place', async () => {
  const fixture = await startedFixture();
  const config = { trigger: [{ type: 'time', at: null }], conditions: [], actions: [{ tool: '' }] };
  const { text, problems } = resultOf(await fixture.call('hub:convert_automation', { config }));
  expect(text).toContain('at: null');
  expect((problems as readonly JsonObject[]).map(({ pointer }) => pointer)).toEqual(['/trigger/0/at', '/actions/0/tool']);
});

test('what it needs beside what it may do is told', async () => {
  expect((await read(TEXT, [])).lacks).toEqual([`sensor:read:${SENSOR}`, 'device:control:lamp']);
  expect(await read(TEXT, ['device:control:*'])).toMatchObject({ lacks: [`sensor:read:${SENSOR}`], problems: [] });
});

test('what it may do and does not need is told; of two permissions of which each is enough, the wider one', async () => {
  const given = ['device:control:*', 'device:control:lamp', `sensor:read:${SENSOR}`, 'presence:read'];
  expect(await read(TEXT, given)).toMatchObject({ problems: [], lacks: [], unneeded: ['device:control:*', 'presence:read'] });
  expect(await read(TEXT, [...ENOUGH])).toMatchObject({ unneeded: [] });
});

test('no permission counts as not needed while a call gets its parameters only in a run', async () => {
  const filled = TEXT.replace('lamp_turn_on', 'lamp_turn_on\n    params: { brightness: { trigger: value } }');
  expect(await read(filled, [...ENOUGH, 'presence:read'])).toMatchObject({ problems: [], unneeded: [] });
});

test.each([
  ['not YAML', TEXT.replace('  type: reading', '\ttype: reading'), 3, /Tabs/],
  ['no object', '- a\n- b\n', 1, /trigger, conditions, actions/],
  ['an unknown member', TEXT.replace('above', 'abvoe'), 5, /abvoe/],
  ['a missing member', TEXT.replace('  sensor_id', '  #sensor_id'), 3, /sensor_id/],
  ['two comparisons', TEXT.replace('above: 26', 'above: 26\n  below: 3'), 3, /exactly one of above, below/],
  ['an unknown sensor', TEXT.replace(SENSOR, 'cellar/temperature'), 4, /cellar\/temperature/],
  ['an unknown tool', TEXT.replace('lamp_turn_on', 'lamp_turn_onn'), 7, /lamp_turn_onn/],
  ['an undeclared parameter', TEXT.replace('26', '{ param: hot }'), 5, /"hot" is used and not declared/],
])('%s is a mistake with its line', async (_what, text, line, message) => {
  expect(await problemsOf(text)).toMatchObject([{ line, message: expect.stringMatching(message) }]);
});

test('the second of two steps is named if it is the wrong one', async () => {
  expect(await problemsOf(`${TEXT}  - tool: matter:nothing\n`)).toMatchObject([
    { line: 8, message: expect.stringContaining('matter:nothing') },
  ]);
});

test.each([
  ['of a call', TEXT.replace('lamp_turn_on', 'lamp_turn_on\n    params: { level: much }'), 8, '/actions/0/params/level'],
  [
    'of a call within a choice',
    `${TEXT}  - type: choose\n    options:\n      - conditions: []\n        actions:\n          - tool: matter:lamp_turn_on\n            params:\n              level: much\n`,
    14,
    '/actions/1/options/0/actions/0/params/level',
  ],
  ['of a trigger', TEXT.replace('26', 'warm'), 5, '/trigger/above'],
])('a wrong value %s is a mistake at its line, with the place in the configuration', async (_what, text, line, pointer) => {
  expect(await problemsOf(text)).toMatchObject([{ line, pointer }]);
});

test('an unknown tool is told at its line also while nothing is allowed yet', async () => {
  const answer = await read(TEXT.replace('lamp_turn_on', 'lamp_turn_onn'), []);
  expect(answer).toMatchObject({ problems: [{ line: 7, message: expect.stringContaining('lamp_turn_onn') }], lacks: [] });
});

test('who may not make agents may not read texts, and nobody gives away more than it has', async () => {
  const fixture = await startedFixture();
  const ask = (permissions: readonly string[]) =>
    fixture.call('hub:convert_automation', { text: TEXT }, fixture.agentWith('eve', permissions));
  expect(codeOf(await ask(ENOUGH))).toBe('TOOL_NOT_FOUND');
  const { problems } = resultOf(await ask(['agent:spawn', `sensor:read:${SENSOR}`]));
  expect(problems).toMatchObject([{ message: expect.stringMatching(/lamp/) }]);
});

test('an agent has twenty texts read at once and then one in a second, whatever its token says', async () => {
  const fixture = await startedFixture();
  const fast = { agentId: 'fast', permissions: ['agent:spawn'], ttlMs: 7_200_000, rateLimit: { calls: 10_000, seconds: 1 } };
  const agent = fixture.issuer.issue(fast, OWNER).principal;
  const read = async () => codeOf(await fixture.call('hub:convert_automation', { text: '{' }, agent));
  for (let count = 0; count < 20; count++) expect(await read()).toBe('success');
  expect(await read()).toBe('RATE_LIMITED');
  fixture.clock.advance(1_000);
  expect([await read(), await read()]).toEqual(['success', 'RATE_LIMITED']);
});

test('a new definition of an automation is judged as that automation, also if another person edits it', async () => {
  const fixture = await startedFixture();
  await fixture.spawn(WHEN_HOT);
  const ann = fixture.agentWith('ann', ['agent:spawn', 'admin:agents', 'admin:approvals', ...ENOUGH]);
  const read = async (trigger: JsonObject, of: JsonObject) =>
    resultOf(
      await fixture.call(
        'hub:convert_automation',
        { config: { ...WHEN_HOT, trigger }, permissions: ['device:control:lamp', 'admin:agents'], ...of },
        ann,
      ),
    );
  const [ownEnd, decided] = [
    { type: 'automation_ended', agent_id: 'auto' },
    { type: 'decision', agent_id: 'auto', decision: 'denied' },
  ];
  expect(await read(ownEnd, {})).toMatchObject({ problems: [] });
  expect(await read(ownEnd, { replaces: 'auto' })).toMatchObject({ problems: [{ message: expect.stringContaining('its own end') }] });
  expect((await read(decided, {})).lacks).toEqual(['admin:approvals']);
  expect(await read(decided, { replaces: 'auto' })).toMatchObject({ lacks: [], problems: [] });
  expect(await read(ownEnd, { replaces: 'other' })).toMatchObject({ error: { code: 'NOT_FOUND' } });
  const stranger = fixture.agentWith('eve', ['agent:spawn', ...ENOUGH]);
  expect(codeOf(await fixture.call('hub:convert_automation', { text: TEXT, replaces: 'auto' }, stranger))).toBe('NOT_FOUND');
});

test('what it would do has the values of its calls with their units, and fills in its parameters', async () => {
  const text = `parameters: { much: { value: 4 } }\n${TEXT.replace('lamp_turn_on', 'lamp_turn_on\n    params: { level: { param: much } }')}`;
  expect(await read(text)).toMatchObject({
    view: { actions: [{ tool: 'matter:lamp_turn_on', params: { level: 4 }, units: { level: '%' } }] },
  });
});

test('a text or a configuration is needed, not both', async () => {
  const fixture = await startedFixture();
  expect(codeOf(await fixture.call('hub:convert_automation', { text: TEXT, config: WHEN_HOT }))).toBe('VALIDATION_ERROR');
});

/** Returns the problems of a text, whose check throws what `errorOf` returns, and how often it was checked. */
async function checked(text: string, errorOf: (config: JsonObject) => AtmoError | undefined) {
  const written = parseAutomationText(text);
  if (!('config' in written)) throw new Error(written.message);
  let checks = 0;
  const problems = await problemsIn(written, (config) => {
    checks += 1;
    const error = errorOf(config);
    if (error) throw error;
  });
  return { problems, checks };
}

const STEPS = `actions:\n${Array.from({ length: 16 }, (_, index) => `  - tool: core:t${index}\n`).join('')}`;
const CONDITIONS = `conditions:\n${Array.from({ length: 16 }, (_, index) => `  - { type: flag, flag: f${index} }\n`).join('')}`;

test('an error that names its step needs one check', async () => {
  const error = new AtmoError('TOOL_NOT_FOUND', 'There is no tool "core:t11"', { pointer: '/actions/11' });
  expect(await checked(STEPS, () => error)).toEqual({
    checks: 1,
    problems: [{ line: 13, pointer: '/actions/11/tool', message: error.message }],
  });
});

test('a parameter that a call without parameters lacks has its place among the parameters of the call', async () => {
  const missing = { pointer: '/brightness', message: 'Parameter "brightness" is missing' };
  const error = new AtmoError('VALIDATION_ERROR', missing.message, { pointer: '/actions/11', problems: [missing] });
  expect((await checked(STEPS, () => error)).problems).toEqual([
    { line: 13, pointer: '/actions/11/params/brightness', message: missing.message },
  ]);
});

test('an error that names nothing is found among 32 conditions and steps with at most eight checks', async () => {
  const holds = (config: JsonObject) => JSON.stringify(config).includes('"f13"');
  const found = await checked(CONDITIONS + STEPS, (config) => (holds(config) ? new AtmoError('NOT_CONFIGURED', 'No place') : undefined));
  expect(found.problems).toEqual([{ line: 15, pointer: '/conditions/13', message: 'No place' }]);
  expect(found.checks).toBeLessThanOrEqual(8);
});

test('a mistake of no condition, trigger or step stands in the first line', async () => {
  expect((await checked(STEPS, () => new AtmoError('VALIDATION_ERROR', 'Wrong'))).problems).toEqual([
    { line: 1, pointer: '', message: 'Wrong' },
  ]);
});

test.each([
  [
    'a mapping of thousands of keys',
    `{${Array.from({ length: 8000 }, (_, index) => index.toString(36)).join(',')}}`,
    /more parts than 6000/,
  ],
  ['thousands of brackets', '['.repeat(32_000), /more parts than 6000/],
  ['brackets in a hundred levels', '['.repeat(100), /nested more than 64/],
  ['dashes in a hundred levels', '- '.repeat(100), /nested more than 64/],
  ['mappings as keys of mappings', '? '.repeat(40), /key is a text/],
  ['a key twice', `${TEXT}actions: []\n`, /unique/],
])('%s is refused before it is composed', async (_what, text, message) => {
  expect(await problemsOf(text)).toMatchObject([{ message: expect.stringMatching(message) }]);
});

import { describe, expect, test } from 'vitest';
import { parseAutomation } from '../../src/automations/plan/parse-automation.ts';
import { definitionWords } from '../../src/automations/proposals/definition-words.ts';
import { definitionHash } from '../../src/automations/versions/definition.ts';
import { OWNER, type Principal } from '../../src/core/auth/principal.ts';
import { isoTime } from '../../src/core/clock.ts';
import type { JsonObject } from '../../src/core/json.ts';
import { SchemaValidator } from '../../src/tools/schema/schema-validator.ts';
import { settled } from '../calls/pipeline-fixture.ts';
import { makeDevice } from '../http/http-fixture.ts';
import { type AgentFixture, codeOf, ENOUGH, LAMP_ON, restarted, resultOf, SENSOR, startedFixture, WHEN_HOT } from './agent-fixture.ts';

const PROPOSAL: JsonObject = { name: 'Cool evening', sentence: 'It gets hot in there', config: WHEN_HOT, permissions: ENOUGH };

/** An assistant that may look at the hall and propose, and Ann, who may do everything but administration. */
async function house() {
  const fixture = await startedFixture();
  const assistant = fixture.agentWith('assistant', ['agent:propose', 'device:read:*', `sensor:read:${SENSOR}`]);
  const ann = fixture.agentWith('ann', ['*', 'admin:approvals'], 30 * 86_400_000);
  const propose = async (changes: JsonObject = {}, by: Principal = assistant) =>
    fixture.call('propose_automation', { ...PROPOSAL, ...changes }, by);
  return { ...fixture, assistant, ann, propose };
}

const listed = async (fixture: AgentFixture, by?: Principal) =>
  resultOf(await fixture.call('list_automation_proposals', {}, by)).proposals as readonly JsonObject[];

const accept = (fixture: AgentFixture, { proposal_id, hash }: JsonObject, by?: Principal) =>
  fixture.call('accept_automation', { proposal_id: String(proposal_id), hash: String(hash) }, by);

const messageOf = (answer: Awaited<ReturnType<AgentFixture['call']>>) =>
  answer.status === 'error' ? `${answer.error.code}: ${answer.error.message}` : 'success';

describe('a proposed automation', () => {
  test('does nothing until a person accepts it, and then runs with the permissions that were shown', async () => {
    const fixture = await house();
    const proposed = resultOf(await fixture.propose());
    expect(proposed).toMatchObject({ proposal_id: expect.any(String), hash: expect.stringMatching(/^[0-9a-f]{64}$/), conflicts: [] });
    await fixture.report(20);
    await fixture.report(26);
    expect(fixture.calls).toEqual([]);
    const [shown] = await listed(fixture);
    expect(shown).toMatchObject({
      name: 'Cool evening',
      sentence: 'It gets hot in there',
      by: 'assistant',
      hash: proposed.hash,
      permissions: [...ENOUGH].sort(),
      beyond: [],
      config: WHEN_HOT,
      words: [`When "Hall temperature" [${SENSOR}] rises above 25 °C`, 'Call matter:lamp_turn_on'],
    });
    expect(resultOf(await accept(fixture, proposed))).toEqual({ agent_id: 'cool-evening', version: 1 });
    await fixture.report(20);
    await fixture.report(26);
    expect(fixture.calls).toHaveLength(1);
    const record = fixture.runner.directory.records().find(({ id }) => id === 'cool-evening');
    expect(record).toMatchObject({
      renewsItself: true,
      permissions: [...ENOUGH].sort(),
      accepted: { by: 'owner', proposedBy: 'assistant' },
    });
    expect(await listed(fixture)).toEqual([]);
    expect(await listed(fixture, fixture.assistant)).toMatchObject([{ state: 'accepted', agent_id: 'cool-evening' }]);
  });

  test('lives as long as the sign-in of a person who is not the owner, as a child of the person', async () => {
    const fixture = await house();
    const proposed = resultOf(await fixture.propose());
    expect(await listed(fixture, fixture.ann)).toMatchObject([{ runs_until: isoTime(fixture.ann.token?.expiresAtMs ?? 0) }]);
    for (const by of [undefined, fixture.assistant]) expect((await listed(fixture, by))[0]).not.toHaveProperty('runs_until');
    await accept(fixture, proposed, fixture.ann);
    const record = fixture.runner.directory.records().find(({ id }) => id === 'ann/cool-evening');
    expect(record).toMatchObject({ parent: 'ann', expiresAtMs: fixture.ann.token?.expiresAtMs });
  });

  test('is accepted and declined by persons alone, however much an agent may do', async () => {
    const fixture = await house();
    const proposed = resultOf(await fixture.propose());
    const powerful = fixture.agentWith('powerful', ['*', 'admin:agents']);
    for (const by of [fixture.assistant, powerful]) {
      expect(codeOf(await accept(fixture, proposed, by))).toBe('PERMISSION_DENIED');
      expect(codeOf(await fixture.call('decline_automation', { proposal_id: String(proposed.proposal_id) }, by))).toBe('PERMISSION_DENIED');
    }
    expect(await listed(fixture, powerful)).toEqual([]);
    expect(await listed(fixture)).toHaveLength(1);
  });

  test('counts only for the hash that was looked at', async () => {
    const fixture = await house();
    const proposed = resultOf(await fixture.propose());
    const swapped = resultOf(await fixture.propose({ config: { ...WHEN_HOT, cooldown_seconds: 1 } }));
    expect(await accept(fixture, { ...swapped, hash: proposed.hash ?? '' })).toMatchObject({
      error: { code: 'CONFLICT', details: { reason: 'other_hash' } },
    });
    expect(fixture.runner.directory.records()).toEqual([]);
    expect(codeOf(await accept(fixture, swapped))).toBe('success');
    expect(codeOf(await accept(fixture, swapped))).toBe('CONFLICT');
  });

  test('makes and replaces an automation only with the definition that the hash is of', async () => {
    const { runner } = await house();
    const accepted = { by: 'ann', proposal: 'a', proposedBy: 'assistant', hash: definitionHash({ config: WHEN_HOT, permissions: ENOUGH }) };
    const hotter = { ...WHEN_HOT, cooldown_seconds: 1 };
    const made = { type: 'automation', name: 'auto', permissions: ENOUGH, ttlMs: undefined, accepted } as const;
    const refused = expect.objectContaining({ code: 'CONFLICT' });
    expect(() => runner.spawn({ ...made, config: hotter }, OWNER)).toThrow(refused);
    runner.spawn({ ...made, config: WHEN_HOT }, OWNER);
    expect(() => runner.edit('auto', { config: hotter, accepted }, OWNER)).toThrow(refused);
    expect(runner.directory.records()).toMatchObject([{ id: 'auto', config: WHEN_HOT }]);
  });

  test('is void when a device got another name since, or another device got its id as a name', async () => {
    const fixture = await house();
    const proposed = resultOf(await fixture.propose());
    const before = fixture.devices.devices;
    const named = (id: string, name: string) => before.map((one) => (one.id === id ? { ...one, name } : one));
    fixture.readings.describe(SENSOR as never, { ...fixture.readings.get(SENSOR as never)?.sensor, title: 'Bedroom temperature' } as never);
    expect(messageOf(await accept(fixture, proposed))).toMatch(/CONFLICT.*"Hall temperature".*"Bedroom temperature" now/);
    fixture.readings.describe(SENSOR as never, { ...fixture.readings.get(SENSOR as never)?.sensor, title: 'Hall temperature' } as never);
    fixture.devices.devices = named('switch', 'lamp');
    expect(codeOf(await accept(fixture, proposed))).toBe('success');
  });

  test('gets no permission that the accepting person lacks', async () => {
    const fixture = await house();
    const proposed = resultOf(await fixture.propose({ permissions: [...ENOUGH, 'admin:rules'] }));
    const [shown] = await listed(fixture, fixture.ann);
    expect(shown?.beyond).toEqual(['admin:rules']);
    expect(messageOf(await accept(fixture, proposed, fixture.ann))).toContain('PERMISSION_DENIED');
    // The automation of a person who manages agents is one of the owner, whose permissions are no measure for the person.
    const ben = fixture.agentWith('ben', ['*', 'admin:agents']);
    expect(messageOf(await accept(fixture, proposed, ben))).toContain('PERMISSION_DENIED');
    expect(fixture.runner.directory.records()).toEqual([]);
    expect(codeOf(await accept(fixture, proposed))).toBe('success');
  });

  test('names nothing that its proposer may not see: it is as unknown as what does not exist', async () => {
    const fixture = await house();
    const blind = fixture.agentWith('blind', ['agent:propose', 'device:read:switch']);
    const about = async (config: JsonObject) =>
      messageOf(await fixture.propose({ config, permissions: ['*'] }, blind)).replaceAll(/lamp|hall-sensor|no-such|no_such/g, 'X');
    const watching = (device: string) =>
      about({ trigger: { type: 'reachability', device_id: device, becomes: 'unreachable' }, actions: [LAMP_ON] });
    expect(await watching('lamp')).toBe(await watching('no-such'));
    expect(await watching('lamp')).toContain('DEVICE_NOT_FOUND');
    const calling = (tool: string) => about({ trigger: { type: 'hub_start' }, actions: [{ tool }] });
    expect(await calling('matter:lamp_turn_on')).toContain('TOOL_NOT_FOUND');
    expect(await calling('matter:no_such_turn_on')).toContain('TOOL_NOT_FOUND');
    const reading = (sensor: string) =>
      about({
        trigger: { type: 'hub_start' },
        conditions: [{ type: 'expression', expr: `readings["${sensor}"] > 1.0` }],
        actions: [LAMP_ON],
      });
    expect(await reading(SENSOR)).toBe(await reading('no-such/temperature'));
    expect(await reading(SENSOR)).toContain('SENSOR_NOT_FOUND');
  });

  test('shows its proposer no conflicts and no words beyond what the proposer itself may do', async () => {
    const fixture = await house();
    await fixture.spawn({ ...WHEN_HOT, actions: [{ tool: 'matter:lamp_unlock' }] }, { name: 'secret-plan' });
    const proposed = await fixture.propose({ permissions: ['*', 'admin:*'] });
    expect(JSON.stringify([proposed, await listed(fixture, fixture.assistant)])).not.toContain('secret-plan');
  });

  test('has no characters that people cannot see, in its name, its sentence or its definition', async () => {
    const fixture = await house();
    for (const hidden of ['\u202e', '\u200b', '\u{e0041}', '\n', '\u0000']) {
      for (const changes of [{ name: `Cool${hidden}evening` }, { sentence: `Good${hidden}for you` }])
        expect(codeOf(await fixture.propose(changes)), JSON.stringify(changes)).toBe('VALIDATION_ERROR');
    }
    const config = { ...WHEN_HOT, parameters: { limit: { value: 1, description: 'safe\u202eevil' } } };
    expect(codeOf(await fixture.propose({ config }))).toBe('VALIDATION_ERROR');
    expect(codeOf(await fixture.propose({ name: 'آرام‌بخش 1' }))).toBe('success');
  });

  test('says by its words what its definition does, whatever its name and its sentence say', async () => {
    const fixture = await house();
    const config = {
      ...WHEN_HOT,
      actions: [
        {
          type: 'choose',
          options: [{ conditions: [{ type: 'flag', flag: 'night' }], actions: [{ tool: 'matter:lamp_unlock', params: { level: 7 } }] }],
        },
      ],
    };
    await fixture.propose({ name: 'Only turns on the lamp', sentence: 'Harmless', config, permissions: [...ENOUGH, 'flag:read:night'] });
    const [shown] = await listed(fixture);
    expect(shown?.words).toEqual([expect.any(String), 'If flag (flag: "night"):', '  Call matter:lamp_unlock (level: 7 %)']);
    expect(String(shown?.words)).not.toContain('Harmless');
  });
});

/** Texts that a tool may name as a unit, and that could be taken for words, for a part of the number, or change its order. */
const UNLIKE_UNITS = ['% (of 1,000) and nothing else', '0', '000 %', '٠', 'שׁ', 'م', '%\n', ''];

test('the words of a definition have the units of sensors and parameters, and none that could be taken for words', () => {
  const reading = { type: 'reading', sensor_id: SENSOR, below: 20 };
  const actions = [
    { tool: 'lamp_dim', params: { level: 40, name: 'x' } },
    ...UNLIKE_UNITS.map((_, index) => ({ tool: `evil_${index}`, params: { level: 40 } })),
  ];
  const plan = parseAutomation({ trigger: { ...reading, hysteresis: 1 }, conditions: [reading], actions }, new SchemaValidator());
  const words = definitionWords(plan, {
    nameOf: (_kind, id) => id,
    callText: ({ tool }) => tool,
    unitOfSensor: () => '°C',
    unitOfParam: (tool, param) => (param === 'level' ? (UNLIKE_UNITS[Number(tool.split('_')[1])] ?? '%') : undefined),
  });
  expect(words).toEqual([
    `When ${SENSOR} falls below 20 °C (hysteresis: 1 °C)`,
    `Only if reading (sensor: ${SENSOR}, below: 20 °C)`,
    'Call lamp_dim (level: 40 %, name: "x")',
    ...UNLIKE_UNITS.map((_, index) => `Call evil_${index} (level: 40)`),
  ]);
});

describe('proposals are bounded', () => {
  test('an agent with all that comes from it has eight open ones, and sixteen a day', async () => {
    const fixture = await house();
    const child = resultOf(
      await fixture.call(
        'spawn_agent',
        { agent_type: 'external', name: 'helper', permissions: ['agent:propose', 'device:read:*', `sensor:read:${SENSOR}`] },
        fixture.agentWith('assistant', ['agent:spawn', 'agent:propose', 'device:read:*', `sensor:read:${SENSOR}`]),
      ),
    );
    const helper = fixture.issuer.principalOf(String(child.token));
    const outcomes = async () => codeOf(await fixture.propose({}, helper));
    for (let count = 0; count < 4; count++) expect(codeOf(await fixture.propose({ name: `One ${count}` }))).toBe('success');
    for (let count = 0; count < 4; count++) expect(await outcomes()).toBe('success');
    expect(await outcomes()).toBe('RESOURCE_EXCEEDED');
    const declineAll = async () => {
      for (const { proposal_id: id } of await listed(fixture))
        await fixture.call('decline_automation', { proposal_id: String(id), reason: 'No' });
    };
    await declineAll();
    for (let count = 0; count < 8; count++) expect(codeOf(await fixture.propose())).toBe('success');
    await declineAll();
    expect(codeOf(await fixture.propose())).toBe('RATE_LIMITED');
    expect((await listed(fixture, fixture.assistant)).filter(({ state, reason }) => state === 'declined' && reason === 'No')).toHaveLength(
      16,
    );
  });

  test('a proposal ends after a week, also over a restart', async () => {
    const fixture = await house();
    const proposed = resultOf(await fixture.propose());
    fixture.clock.advance(6 * 86_400_000);
    const after = await restarted(fixture);
    expect(await listed(after)).toHaveLength(1);
    fixture.clock.advance(86_400_000);
    expect(await listed(after)).toEqual([]);
    expect(codeOf(await accept(after, proposed))).toBe('NOT_FOUND');
  });

  test('an agent without agent:propose proposes nothing', async () => {
    const fixture = await house();
    expect(codeOf(await fixture.propose({}, fixture.agentWith('mute', ['agent:spawn', ...ENOUGH])))).toBe('PERMISSION_DENIED');
  });
});

describe('a change of an automation that a person accepted', () => {
  const warmer: JsonObject = { ...WHEN_HOT, trigger: { type: 'reading', sensor_id: SENSOR, above: 28 } };

  test('is proposed by an agent, and made by a person', async () => {
    const fixture = await house();
    await accept(fixture, resultOf(await fixture.propose()));
    const manager = fixture.agentWith('manager', ['*', 'admin:agents']);
    const edited = await fixture.call('edit_automation', { agent_id: 'cool-evening', config: warmer }, manager);
    expect(messageOf(edited)).toMatch(/PERMISSION_DENIED.*propose_automation/);
    const rolled = await fixture.call('roll_back_automation', { agent_id: 'cool-evening', version: 1 }, manager);
    expect(codeOf(rolled)).toBe('PERMISSION_DENIED');
    const proposed = resultOf(await fixture.propose({ config: warmer, replaces: 'cool-evening' }));
    const [shown] = await listed(fixture);
    expect(shown).toMatchObject({ replaces: 'cool-evening', diff: [{ path: '/config/trigger/above', before: 25, after: 28 }] });
    expect(resultOf(await accept(fixture, proposed))).toEqual({ agent_id: 'cool-evening', version: 2 });
    expect(fixture.runner.directory.records().find(({ id }) => id === 'cool-evening')?.config).toEqual(warmer);
  });

  test('shows what the automation was to nobody who may not see its definition', async () => {
    const fixture = await house();
    await accept(fixture, resultOf(await fixture.propose()));
    await fixture.propose({ config: warmer, replaces: 'cool-evening' });
    for (const by of [fixture.ann, fixture.assistant]) {
      const shown = (await listed(fixture, by)).find(({ state }) => state === 'open');
      expect(shown).toMatchObject({ replaces: 'cool-evening', config: warmer });
      expect(shown).not.toHaveProperty('diff');
    }
    expect(await listed(fixture)).toMatchObject([{ diff: [{ path: '/config/trigger/above' }] }]);
  });

  test('is void when the automation was edited since', async () => {
    const fixture = await house();
    await fixture.spawn(WHEN_HOT);
    const seeing = fixture.agentWith('seeing', ['agent:propose', 'admin:agents', 'device:read:*', `sensor:read:${SENSOR}`]);
    const proposed = resultOf(await fixture.propose({ config: warmer, replaces: 'auto' }, seeing));
    await fixture.call('edit_automation', { agent_id: 'auto', config: { ...WHEN_HOT, cooldown_seconds: 5 } });
    expect(messageOf(await accept(fixture, proposed))).toMatch(/CONFLICT.*version 2 now/);
  });

  test('of one that the proposer may not see is refused as of one that does not exist', async () => {
    const fixture = await house();
    await fixture.spawn(WHEN_HOT);
    const [hidden, absent] = [await fixture.propose({ replaces: 'auto' }), await fixture.propose({ replaces: 'none' })].map(messageOf);
    expect(hidden?.replace('"auto"', 'X')).toBe(absent?.replace('"none"', 'X'));
    expect(hidden).toContain('NOT_FOUND');
  });
});

test('a hub that is killed between the making and the answer makes no second automation of a proposal', async () => {
  const fixture = await house();
  const proposed = resultOf(await fixture.propose());
  const stored = fixture.store.get('automation.proposals', String(proposed.proposal_id));
  await accept(fixture, proposed);
  fixture.store.set('automation.proposals', String(proposed.proposal_id), stored ?? null);
  await settled();
  const after = await restarted(fixture);
  expect(await listed(after)).toEqual([]);
  expect(codeOf(await accept(after, proposed))).toBe('CONFLICT');
  expect(after.runner.directory.records()).toHaveLength(1);
});

test('a device whose name is shown in another way than before is named in the refusal', async () => {
  const fixture = await house();
  fixture.devices.devices = [makeDevice('lamp', { name: 'Lamp' }), ...fixture.devices.devices.filter(({ id }) => id !== 'lamp')];
  const config = { trigger: { type: 'reachability', device_id: 'Lamp', becomes: 'unreachable' }, actions: [LAMP_ON] };
  const proposed = resultOf(await fixture.propose({ config, permissions: ['device:control:lamp'] }));
  fixture.devices.devices = fixture.devices.devices.map((one) => (one.id === 'lamp' ? { ...one, name: 'Front door' } : one));
  expect(messageOf(await accept(fixture, proposed))).toMatch(/CONFLICT.*"Lamp".*"Front door" now/);
});

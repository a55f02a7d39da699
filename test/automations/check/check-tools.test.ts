import { expect, test } from 'vitest';
import type { AgentQueries } from '../../../src/automations/automation-ports.ts';
import { conflictsWith } from '../../../src/automations/check/automation-check.ts';
import type { CheckedAutomation } from '../../../src/automations/check/behaviour.ts';
import { OWNER } from '../../../src/core/auth/principal.ts';
import { type JsonObject, objectsOf } from '../../../src/core/json.ts';
import { codeOf, ENOUGH, resultOf, SENSOR, startedFixture, WHEN_HOT } from '../agent-fixture.ts';
import { automation, homePorts } from './home-fixture.ts';

const NEVER: JsonObject = { ...WHEN_HOT, conditions: [{ type: 'reading', sensor_id: SENSOR, below: 20 }] };
const DANGEROUS: JsonObject = { ...WHEN_HOT, actions: [{ tool: 'matter:lamp_unlock' }] };

test('a draft is checked and nothing is made', async () => {
  const fixture = await startedFixture();
  const answer = resultOf(await fixture.call('hub:check_automation', { config: NEVER, permissions: ENOUGH }));
  expect(answer.conflicts).toMatchObject([{ kind: 'never_holds', severity: 'warning', automations: [{ agent_id: 'draft' }] }]);
  expect(resultOf(await fixture.call('list_agents')).agents).toEqual([]);
  expect(resultOf(await fixture.call('hub:check_automation', { config: WHEN_HOT, permissions: ENOUGH }))).toEqual({ conflicts: [] });
});

test('a new definition of an automation is checked as that automation, with its end', async () => {
  const fixture = await startedFixture();
  await fixture.spawn(NEVER, { ttl_seconds: 3600 });
  const ann = fixture.agentWith('ann', ['agent:spawn', 'admin:agents', ...ENOUGH]);
  const late = { ...WHEN_HOT, trigger: { type: 'time', at: '12:00' } };
  const kindsOf = async (config: JsonObject) => {
    const answer = resultOf(await fixture.call('hub:check_automation', { config, permissions: ENOUGH, replaces: 'auto' }, ann));
    return objectsOf(answer.conflicts).map(({ kind, automations }) => [kind, objectsOf(automations)[0]?.agent_id]);
  };
  expect(await kindsOf(NEVER)).toEqual([['never_holds', 'auto']]);
  expect(await kindsOf(late)).toEqual([['ends_before', 'auto']]);
  const unknown = await fixture.call('hub:check_automation', { config: NEVER, permissions: ENOUGH, replaces: 'other' }, ann);
  expect(codeOf(unknown)).toBe('NOT_FOUND');
});

test('spawn_agent makes an automation all the same and answers what may go wrong', async () => {
  const fixture = await startedFixture();
  const spawned = resultOf(await fixture.spawn(DANGEROUS));
  expect(spawned).toMatchObject({ agent_id: 'auto', status: 'active', conflicts: [{ kind: 'waits_at_night' }] });
  expect(resultOf(await fixture.call('spawn_agent', { agent_type: 'external', name: 'bob', permissions: ENOUGH }))).not.toHaveProperty(
    'conflicts',
  );
});

test('a draft needs the permission to make agents, gets no more than the caller has, and tells nothing that the caller may not see', async () => {
  const fixture = await startedFixture();
  const draft = (config: JsonObject, permissions: readonly string[], by: ReturnType<typeof fixture.agentWith>) =>
    fixture.call('hub:check_automation', { config, permissions: [...permissions] }, by);
  expect(codeOf(await draft(WHEN_HOT, ENOUGH, fixture.agentWith('eve', ENOUGH)))).toBe('TOOL_NOT_FOUND');
  const spawner = fixture.agentWith('spawner', ['agent:spawn', 'device:control:lamp']);
  expect(codeOf(await draft(WHEN_HOT, ENOUGH, spawner))).toBe('PERMISSION_DENIED');
  expect(codeOf(await draft(WHEN_HOT, ['device:control:lamp'], spawner))).toBe('SENSOR_NOT_FOUND');
});

test('a conflict with an automation that the caller may not see shows neither its id nor its name', async () => {
  const [secret, draft] = ['secret-id', 'draft'].map((id) =>
    automation(id, { trigger: { type: 'time', at: '22:00' }, actions: [{ tool: 'matter:hall_lamp_turn_on' }] }),
  ) as [CheckedAutomation, CheckedAutomation];
  const { record } = (await startedFixture()).runner.spawn(
    { type: 'automation', name: 'secret-id', config: WHEN_HOT, permissions: ENOUGH, ttlMs: undefined },
    OWNER,
  );
  const agents: AgentQueries = { list: () => [], records: () => [record], planOf: () => secret.plan };
  const found = await conflictsWith(draft, draft.principal, { agents, check: homePorts() });
  expect(found).toMatchObject([{ kind: 'opposite_effects', automations: [{ agent_id: 'draft' }] }]);
  expect(JSON.stringify(found)).not.toContain('secret');
});

test('a draft whose permissions do not show it its sensor is told so', async () => {
  const fixture = await startedFixture();
  const answer = resultOf(await fixture.call('hub:check_automation', { config: WHEN_HOT, permissions: ['device:control:lamp'] }));
  expect(answer.conflicts).toMatchObject([
    { kind: 'lacks_permission', sentence: expect.stringContaining('it may not read Hall temperature') },
  ]);
});

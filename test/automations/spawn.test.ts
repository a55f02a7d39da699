import { describe, expect, test } from 'vitest';
import { parseAutomation } from '../../src/automations/plan/parse-automation.ts';
import { parseGrant } from '../../src/core/auth/permission.ts';
import type { Principal } from '../../src/core/auth/principal.ts';
import type { JsonObject } from '../../src/core/json.ts';
import { SchemaValidator } from '../../src/tools/schema/schema-validator.ts';
import { codeOf, ENOUGH, LAMP_ON, resultOf, SENSOR, startedFixture, WHEN_HOT } from './agent-fixture.ts';

const SPAWN = 'agent:spawn';
const external = (name: string, permissions: readonly string[]): JsonObject => ({ agent_type: 'external', name, permissions });

describe('spawn_agent', () => {
  test('is declared with its full schema', async () => {
    const { definition } = (await startedFixture()).registry.resolve('spawn_agent');
    expect(definition).toMatchObject({ namespace: 'core', requires: { permissions: ['agent:spawn'] }, execution: { timeoutMs: 10_000 } });
    expect(Object.keys(definition.parameters.properties as object)).toEqual(['agent_type', 'name', 'config', 'permissions', 'ttl_seconds']);
    expect(definition.parameters.required).toEqual(['agent_type']);
    expect(definition.returns.required).toEqual(expect.arrayContaining(['agent_id', 'status', 'token']));
  });

  test('has an example whose plan and permissions are accepted, with placeholders for the ids of a home', async () => {
    const { registry } = await startedFixture();
    const [params] = registry.resolve('spawn_agent').definition.metadata.examples.map((example) => example.params);
    const { config, permissions } = (params ?? {}) as { config: JsonObject; permissions: readonly string[] };
    expect(parseAutomation(config, new SchemaValidator()).actions).toHaveLength(1);
    expect(permissions.map((permission) => parseGrant(permission)?.kind)).toEqual(['any-resource', 'group']);
  });

  test('gives an automation its own token, with its permissions and no more', async () => {
    const fixture = await startedFixture();
    const answer = resultOf(await fixture.spawn(WHEN_HOT, { ttl_seconds: 86_400 }));
    expect(answer).toMatchObject({ agent_id: 'auto', status: 'active', expires_at: '2026-01-02T00:00:00.000Z', renews_itself: false });
    const principal = fixture.issuer.principalOf(String(answer.token));
    expect(principal).toMatchObject({ id: 'auto', kind: 'agent', permissions: ['device:control:lamp', `sensor:read:${SENSOR}`] });
    expect(codeOf(await fixture.call('matter:lamp_turn_on', {}, principal))).toBe('success');
    expect(codeOf(await fixture.call('spawn_agent', external('x', ['device:control:lamp']), principal))).toBe('TOOL_NOT_FOUND');
  });

  test('stores the token of an external agent nowhere, and shows no token in list or events', async () => {
    const fixture = await startedFixture();
    const token = String(resultOf(await fixture.call('spawn_agent', external('bob', ['device:control:lamp']))).token);
    expect(token).toMatch(/^at1\./);
    await fixture.spawn(WHEN_HOT);
    expect(JSON.stringify(fixture.store.entries('agents'))).not.toContain(token);
    const seen = JSON.stringify([await fixture.call('list_agents'), fixture.heard]);
    expect(seen).not.toContain('at1.');
  });

  test('lives for 400 days at most, as a token does', async () => {
    const fixture = await startedFixture();
    const days = 86_400;
    expect(codeOf(await fixture.spawn(WHEN_HOT, { ttl_seconds: 400 * days }))).toBe('success');
    expect(codeOf(await fixture.spawn(WHEN_HOT, { name: 'more', ttl_seconds: 400 * days + 1 }))).toBe('VALIDATION_ERROR');
  });

  test('makes children below their parent, with at most its rights and its lifetime', async () => {
    const fixture = await startedFixture();
    const bob = fixture.agentWith('bob', [SPAWN, ...ENOUGH], 600_000);
    expect(resultOf(await fixture.spawn(WHEN_HOT, { ttl_seconds: 3600 }, bob))).toMatchObject({
      agent_id: 'bob/auto',
      expires_at: '2026-01-01T00:10:00.000Z',
    });
    for (const permissions of [['device:control:*'], ['*'], ['admin:hub'], ['agent:spawn:*'], [...ENOUGH, 'device:control:door']]) {
      const answer = await fixture.spawn(WHEN_HOT, { name: 'more', permissions }, bob);
      expect(codeOf(answer), permissions.join()).toBe('PERMISSION_DENIED');
    }
    expect(fixture.runner.directory.list(bob).map(({ id }) => id)).toEqual(['bob/auto']);
  });

  test('rejects malformed permissions and an empty list', async () => {
    const fixture = await startedFixture();
    expect(codeOf(await fixture.spawn(WHEN_HOT, { permissions: [] }))).toBe('VALIDATION_ERROR');
    expect(codeOf(await fixture.spawn(WHEN_HOT, { permissions: ['device:*:lamp'] }))).toBe('VALIDATION_ERROR');
    expect(fixture.issuer.list()).toEqual([]);
  });

  test('makes ids from names for people and rejects those that would be a path', async () => {
    const fixture = await startedFixture();
    const ids = async (name: string) => resultOf(await fixture.spawn(WHEN_HOT, { name })).agent_id ?? 'refused';
    expect(await ids('Küche: Licht')).toBe('kueche-licht');
    expect(await ids('a.b_c-d')).toBe('a.b_c-d');
    for (const name of ['../owner', 'bob/auto', '/', 'a\nb', '', '***', 'x'.repeat(65)]) expect(await ids(name), name).toBe('refused');
    expect(resultOf(await fixture.call('spawn_agent', { ...external('', ENOUGH), name: undefined as never })).agent_id).toMatch(
      /^external-/,
    );
  });

  test('gives no agent a name that the hub uses itself, such as that of an ecosystem', async () => {
    const fixture = await startedFixture();
    const bob = fixture.agentWith('bob', [SPAWN, ...ENOUGH], 600_000);
    for (const name of ['bridge', 'ecosystem-2', 'monitor', 'preview', 'owner']) {
      expect(codeOf(await fixture.spawn(WHEN_HOT, { name })), name).toBe('VALIDATION_ERROR');
      expect(codeOf(await fixture.spawn(WHEN_HOT, { name }, bob)), name).toBe('VALIDATION_ERROR');
    }
    expect(resultOf(await fixture.spawn(WHEN_HOT, { name: 'ecosystem' })).agent_id).toBe('ecosystem');
  });

  test('rejects an id that is in use, until its token has ended', async () => {
    const fixture = await startedFixture();
    fixture.agentWith('bob', ENOUGH);
    await fixture.spawn(WHEN_HOT);
    expect(codeOf(await fixture.spawn(WHEN_HOT))).toBe('CONFLICT');
    expect(codeOf(await fixture.spawn(WHEN_HOT, { name: 'bob' }))).toBe('CONFLICT');
    await fixture.call('kill_agent', { agent_id: 'auto' });
    expect(codeOf(await fixture.spawn(WHEN_HOT))).toBe('success');
  });

  test('rejects a trigger or condition on a sensor or device that the agent may not read, as if it did not exist', async () => {
    const fixture = await startedFixture();
    const permissions = ['device:control:lamp'];
    const refusal = async (config: JsonObject) =>
      resultOf(await fixture.spawn({ ...WHEN_HOT, ...config }, { permissions })).error as JsonObject;
    const hidden = await refusal({});
    const absent = await refusal({ trigger: { type: 'reading', sensor_id: 'no-sensor/temperature', above: 25 } });
    expect(hidden.code).toBe('SENSOR_NOT_FOUND');
    expect(String(hidden.message).replace(SENSOR, '')).toBe(String(absent.message).replace('no-sensor/temperature', ''));
    const other = { permissions: ['device:control:lamp', `sensor:tune:${SENSOR}`] };
    expect(resultOf(await fixture.spawn(WHEN_HOT, other)).error).toMatchObject({ code: 'SENSOR_NOT_FOUND' });
    const time = { type: 'time', at: '07:30' };
    expect((await refusal({ trigger: time, conditions: [{ type: 'reading', sensor_id: SENSOR, above: 1 }] })).code).toBe(
      'SENSOR_NOT_FOUND',
    );
    expect((await refusal({ trigger: { type: 'device_event', device_id: 'switch', event: 'E' } })).code).toBe('DEVICE_NOT_FOUND');
    expect((await refusal({ trigger: { type: 'reachability', device_id: 'none', becomes: 'reachable' } })).code).toBe('DEVICE_NOT_FOUND');
    expect(fixture.issuer.list()).toEqual([]);
  });

  test('reveals no sensor beyond the rights of the agent, whatever it requests', async () => {
    const fixture = await startedFixture();
    const bob = fixture.agentWith('bob', [SPAWN, 'device:control:lamp']);
    const answers = [SENSOR, 'no-sensor/temperature'].map((sensor_id) =>
      fixture.spawn({ ...WHEN_HOT, trigger: { type: 'reading', sensor_id, above: 1 } }, { permissions: ['sensor:read:*'] }, bob),
    );
    expect((await Promise.all(answers)).map(codeOf)).toEqual(['PERMISSION_DENIED', 'PERMISSION_DENIED']);
  });

  test('rejects actions that could never be allowed', async () => {
    const fixture = await startedFixture();
    const code = async (action: JsonObject, permissions = ENOUGH) =>
      codeOf(await fixture.spawn({ ...WHEN_HOT, actions: [action] }, { permissions }));
    expect(await code({ tool: 'matter:no_such' })).toBe('TOOL_NOT_FOUND');
    expect(await code(LAMP_ON, [`sensor:read:${SENSOR}`])).toBe('TOOL_NOT_FOUND');
    expect(await code(LAMP_ON, [`sensor:read:${SENSOR}`, 'device:read:lamp'])).toBe('PERMISSION_DENIED');
    expect(await code({ ...LAMP_ON, params: { level: 'high' } })).toBe('VALIDATION_ERROR');
    expect(await code({ ...LAMP_ON, params: { level: { trigger: 'value' } } })).toBe('success');
  });

  test('has a limit of agents, for one agent with its descendants and for the owner', async () => {
    const fixture = await startedFixture();
    const bob = fixture.agentWith('bob', [SPAWN, ...ENOUGH]);
    const flood = async (count: number, by = bob) =>
      (await Promise.all(Array.from({ length: count }, (_, index) => fixture.call('spawn_agent', external(`a${index}`, ENOUGH), by)))).map(
        codeOf,
      );
    expect(Map.groupBy(await flood(20), String).get('success')).toHaveLength(16);
    const codes = await Promise.all(
      Array.from({ length: 60 }, async (_, index) => codeOf(await fixture.call('spawn_agent', external(`b${index}`, ENOUGH)))),
    );
    expect(codes).toEqual(codes.map(() => 'success'));
    expect(codeOf(await fixture.call('spawn_agent', external('a0', ENOUGH), fixture.agentWith('eve', [SPAWN, ...ENOUGH])))).toBe(
      'RESOURCE_EXCEEDED',
    );
    for (let index = 60; index < 64; index++) await fixture.call('spawn_agent', external(`b${index}`, ENOUGH));
    expect(codeOf(await fixture.call('spawn_agent', external('b64', ENOUGH)))).toBe('RESOURCE_EXCEEDED');
  });

  test('gives an agent no more agents through the children of its children', async () => {
    const fixture = await startedFixture();
    const bob = fixture.agentWith('bob', [SPAWN, ...ENOUGH]);
    const spawn = (name: string, by: Principal) => fixture.call('spawn_agent', external(name, [SPAWN, ...ENOUGH]), by);
    const child = fixture.issuer.principalOf(String(resultOf(await spawn('child', bob)).token));
    for (let index = 1; index < 16; index++) expect(codeOf(await spawn(`c${index}`, child))).toBe('success');
    expect(codeOf(await spawn('c16', child))).toBe('RESOURCE_EXCEEDED');
    expect(codeOf(await spawn('another', bob))).toBe('RESOURCE_EXCEEDED');
  });

  test('counts the agents that its agents spawn as its own', async () => {
    const fixture = await startedFixture();
    const bob = fixture.agentWith('bob', [SPAWN, ...ENOUGH]);
    const { token } = resultOf(await fixture.call('spawn_agent', external('son', [SPAWN, ...ENOUGH]), bob));
    const son = fixture.issuer.principalOf(String(token));
    const codes = await Promise.all(
      Array.from({ length: 20 }, async (_, index) => codeOf(await fixture.call('spawn_agent', external(`a${index}`, ENOUGH), son))),
    );
    expect(codes.filter((code) => code === 'success')).toHaveLength(15);
    expect(codeOf(await fixture.call('spawn_agent', external('more', ENOUGH), bob))).toBe('RESOURCE_EXCEEDED');
    expect(codeOf(await fixture.call('spawn_agent', external('other', ENOUGH), fixture.agentWith('bobby', [SPAWN, ...ENOUGH])))).toBe(
      'success',
    );
  });

  test('leaves no token behind when the agent cannot be stored', async () => {
    const fixture = await startedFixture();
    const set = fixture.store.set.bind(fixture.store);
    fixture.store.set = (...args) => {
      if (args[0] === 'agents') throw new Error('disk full');
      set(...args);
    };
    expect(codeOf(await fixture.spawn(WHEN_HOT))).toBe('INTERNAL_ERROR');
    expect(fixture.issuer.list().map(({ revokedAtMs }) => revokedAtMs)).toEqual([fixture.clock.now()]);
    expect(fixture.runner.directory.list({ id: 'owner', kind: 'owner', permissions: ['*', 'admin:*'] })).toEqual([]);
  });

  test('shows examples that are configurations', async () => {
    const fixture = await startedFixture();
    const examples = fixture.registry.resolve('spawn_agent').definition.metadata.examples;
    for (const { params } of examples) parseAutomation(params.config as JsonObject, new SchemaValidator());
    expect(examples.length).toBeGreaterThan(0);
  });
});

test('any other word is the kind of an external agent, and rules and the journal see what it is', async () => {
  const judged: JsonObject[] = [];
  const rules = {
    judge: ({ params }: { readonly params: JsonObject }) => {
      judged.push(params);
      return params.agent_type === 'external' ? ({ kind: 'deny', rule: 'quiet', reason: 'no' } as const) : ({ kind: 'allow' } as const);
    },
  };
  const denied = await startedFixture({ rules });
  for (const agent_type of ['external', 'researcher', 'External', 'Automation']) {
    expect(codeOf(await denied.call('spawn_agent', { agent_type, name: 'ida', permissions: ENOUGH }))).toBe('RULE_BLOCKED');
  }
  expect(judged.map(({ agent_type, kind }) => [agent_type, kind])).toEqual([
    ['external', undefined],
    ['external', 'researcher'],
    ['external', 'External'],
    ['external', 'Automation'],
  ]);
  const fixture = await startedFixture();
  const params = { agent_type: 'researcher', name: 'ida', permissions: ENOUGH };
  expect(await fixture.call('spawn_agent', params)).toMatchObject({ status: 'success' });
  expect(resultOf(await fixture.call('list_agents'))).toMatchObject({
    agents: [{ agent_id: 'ida', agent_type: 'external', kind: 'researcher' }],
  });
  for (const extra of [{ agent_type: 'a\u{e0041}b' }, { agent_type: 'external', kind: 'researcher' }]) {
    expect(codeOf(await fixture.call('spawn_agent', { ...params, ...extra }))).toBe('VALIDATION_ERROR');
  }
});

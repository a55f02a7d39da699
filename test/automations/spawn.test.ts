import { describe, expect, test } from 'vitest';
import { parseAutomation } from '../../src/automations/parse-automation.ts';
import { parseGrant } from '../../src/core/auth/permission.ts';
import type { Principal } from '../../src/core/auth/principal.ts';
import type { JsonObject } from '../../src/core/json.ts';
import { SchemaValidator } from '../../src/tools/schema/schema-validator.ts';
import { codeOf, ENOUGH, LAMP_ON, resultOf, SENSOR, startedRoom, WHEN_HOT } from './agent-fixture.ts';

const SPAWN = 'agent:spawn';
const external = (name: string, permissions: readonly string[]): JsonObject => ({ agent_type: 'external', name, permissions });

describe('spawn_agent', () => {
  test('is declared with its full schema', async () => {
    const { definition } = (await startedRoom()).registry.resolve('spawn_agent');
    expect(definition).toMatchObject({ namespace: 'core', requires: { permissions: ['agent:spawn'] }, execution: { timeoutMs: 10_000 } });
    expect(Object.keys(definition.parameters.properties as object)).toEqual(['agent_type', 'name', 'config', 'permissions', 'ttl_seconds']);
    expect(definition.parameters.required).toEqual(['agent_type']);
    expect(definition.returns.required).toEqual(expect.arrayContaining(['agent_id', 'status', 'token']));
  });

  test('has an example whose plan and permissions are taken, with placeholders for what only a home knows', async () => {
    const { registry } = await startedRoom();
    const [params] = registry.resolve('spawn_agent').definition.metadata.examples.map((example) => example.params);
    const { config, permissions } = (params ?? {}) as { config: JsonObject; permissions: readonly string[] };
    expect(parseAutomation(config, new SchemaValidator()).actions).toHaveLength(1);
    expect(permissions.map((permission) => parseGrant(permission)?.kind)).toEqual(['any-resource', 'group']);
  });

  test('gives an automation a token of its own that does what it may, and no more', async () => {
    const room = await startedRoom();
    const answer = resultOf(await room.spawn(WHEN_HOT));
    expect(answer).toMatchObject({ agent_id: 'auto', status: 'active', expires_at: '2026-01-02T00:00:00.000Z' });
    const principal = room.issuer.principalOf(String(answer.token));
    expect(principal).toMatchObject({ id: 'auto', kind: 'agent', permissions: ['device:control:lamp', `sensor:read:${SENSOR}`] });
    expect(codeOf(await room.call('matter:lamp_turn_on', {}, principal))).toBe('success');
    expect(codeOf(await room.call('spawn_agent', external('x', ['device:control:lamp']), principal))).toBe('TOOL_NOT_FOUND');
  });

  test('keeps the token of an outside agent nowhere, and shows no token in list or events', async () => {
    const room = await startedRoom();
    const token = String(resultOf(await room.call('spawn_agent', external('bob', ['device:control:lamp']))).token);
    expect(token).toMatch(/^at1\./);
    await room.spawn(WHEN_HOT);
    expect(JSON.stringify(room.store.entries('agents'))).not.toContain(token);
    const seen = JSON.stringify([await room.call('list_agents'), room.heard]);
    expect(seen).not.toContain('at1.');
  });

  test('lives for 400 days at most, as a token does', async () => {
    const room = await startedRoom();
    const days = 86_400;
    expect(codeOf(await room.spawn(WHEN_HOT, { ttl_seconds: 400 * days }))).toBe('success');
    expect(codeOf(await room.spawn(WHEN_HOT, { name: 'more', ttl_seconds: 400 * days + 1 }))).toBe('VALIDATION_ERROR');
  });

  test('makes children below their parent, with at most its rights and its lifetime', async () => {
    const room = await startedRoom();
    const bob = room.agentWith('bob', [SPAWN, ...ENOUGH], 600_000);
    expect(resultOf(await room.spawn(WHEN_HOT, { ttl_seconds: 3600 }, bob))).toMatchObject({
      agent_id: 'bob/auto',
      expires_at: '2026-01-01T00:10:00.000Z',
    });
    for (const permissions of [['device:control:*'], ['*'], ['admin:hub'], ['agent:spawn:*'], [...ENOUGH, 'device:control:door']]) {
      const answer = await room.spawn(WHEN_HOT, { name: 'more', permissions }, bob);
      expect(codeOf(answer), permissions.join()).toBe('PERMISSION_DENIED');
    }
    expect(room.runner.list(bob).map(({ id }) => id)).toEqual(['bob/auto']);
  });

  test('refuses permissions that are none, and none at all', async () => {
    const room = await startedRoom();
    expect(codeOf(await room.spawn(WHEN_HOT, { permissions: [] }))).toBe('VALIDATION_ERROR');
    expect(codeOf(await room.spawn(WHEN_HOT, { permissions: ['device:*:lamp'] }))).toBe('VALIDATION_ERROR');
    expect(room.issuer.list()).toEqual([]);
  });

  test('makes ids of names for people and refuses those that would be a path', async () => {
    const room = await startedRoom();
    const ids = async (name: string) => resultOf(await room.spawn(WHEN_HOT, { name })).agent_id ?? 'refused';
    expect(await ids('Küche: Licht')).toBe('kueche-licht');
    expect(await ids('a.b_c-d')).toBe('a.b_c-d');
    for (const name of ['../owner', 'bob/auto', '/', 'a\nb', '', '***', 'x'.repeat(65)]) expect(await ids(name), name).toBe('refused');
    expect(resultOf(await room.call('spawn_agent', { ...external('', ENOUGH), name: undefined as never })).agent_id).toMatch(/^external-/);
  });

  test('refuses an id that somebody has, until its token has ended', async () => {
    const room = await startedRoom();
    room.agentWith('bob', ENOUGH);
    await room.spawn(WHEN_HOT);
    expect(codeOf(await room.spawn(WHEN_HOT))).toBe('CONFLICT');
    expect(codeOf(await room.spawn(WHEN_HOT, { name: 'bob' }))).toBe('CONFLICT');
    await room.call('kill_agent', { agent_id: 'auto' });
    expect(codeOf(await room.spawn(WHEN_HOT))).toBe('success');
  });

  test('refuses a trigger or condition on what the agent may not read, as if it did not exist', async () => {
    const room = await startedRoom();
    const permissions = ['device:control:lamp'];
    const refusal = async (config: JsonObject) =>
      resultOf(await room.spawn({ ...WHEN_HOT, ...config }, { permissions })).error as JsonObject;
    const hidden = await refusal({});
    const absent = await refusal({ trigger: { type: 'reading', sensor_id: 'no-sensor/temperature', above: 25 } });
    expect(hidden.code).toBe('SENSOR_NOT_FOUND');
    expect(String(hidden.message).replace(SENSOR, '')).toBe(String(absent.message).replace('no-sensor/temperature', ''));
    const other = { permissions: ['device:control:lamp', `sensor:tune:${SENSOR}`] };
    expect(resultOf(await room.spawn(WHEN_HOT, other)).error).toMatchObject({ code: 'SENSOR_NOT_FOUND' });
    const time = { type: 'time', at: '07:30' };
    expect((await refusal({ trigger: time, conditions: [{ type: 'reading', sensor_id: SENSOR, above: 1 }] })).code).toBe(
      'SENSOR_NOT_FOUND',
    );
    expect((await refusal({ trigger: { type: 'device_event', device_id: 'switch', event: 'E' } })).code).toBe('DEVICE_NOT_FOUND');
    expect((await refusal({ trigger: { type: 'reachability', device_id: 'none', becomes: 'reachable' } })).code).toBe('DEVICE_NOT_FOUND');
    expect(room.issuer.list()).toEqual([]);
  });

  test('tells an agent nothing of sensors beyond its own rights, whatever it asks for', async () => {
    const room = await startedRoom();
    const bob = room.agentWith('bob', [SPAWN, 'device:control:lamp']);
    const answers = [SENSOR, 'no-sensor/temperature'].map((sensor_id) =>
      room.spawn({ ...WHEN_HOT, trigger: { type: 'reading', sensor_id, above: 1 } }, { permissions: ['sensor:read:*'] }, bob),
    );
    expect((await Promise.all(answers)).map(codeOf)).toEqual(['PERMISSION_DENIED', 'PERMISSION_DENIED']);
  });

  test('refuses actions that could never be allowed', async () => {
    const room = await startedRoom();
    const code = async (action: JsonObject, permissions = ENOUGH) =>
      codeOf(await room.spawn({ ...WHEN_HOT, actions: [action] }, { permissions }));
    expect(await code({ tool: 'matter:no_such' })).toBe('TOOL_NOT_FOUND');
    expect(await code(LAMP_ON, [`sensor:read:${SENSOR}`])).toBe('TOOL_NOT_FOUND');
    expect(await code(LAMP_ON, [`sensor:read:${SENSOR}`, 'device:read:lamp'])).toBe('PERMISSION_DENIED');
    expect(await code({ ...LAMP_ON, params: { level: 'high' } })).toBe('VALIDATION_ERROR');
    expect(await code({ ...LAMP_ON, params: { level: { trigger: 'value' } } })).toBe('success');
  });

  test('ends at so many agents, for one agent with all that come from it and for the owner', async () => {
    const room = await startedRoom();
    const bob = room.agentWith('bob', [SPAWN, ...ENOUGH]);
    const flood = async (count: number, by = bob) =>
      (await Promise.all(Array.from({ length: count }, (_, index) => room.call('spawn_agent', external(`a${index}`, ENOUGH), by)))).map(
        codeOf,
      );
    expect(Map.groupBy(await flood(20), String).get('success')).toHaveLength(16);
    const codes = await Promise.all(
      Array.from({ length: 60 }, async (_, index) => codeOf(await room.call('spawn_agent', external(`b${index}`, ENOUGH)))),
    );
    expect(codes).toEqual(codes.map(() => 'success'));
    expect(codeOf(await room.call('spawn_agent', external('a0', ENOUGH), room.agentWith('eve', [SPAWN, ...ENOUGH])))).toBe(
      'RESOURCE_EXCEEDED',
    );
    for (let index = 60; index < 64; index++) await room.call('spawn_agent', external(`b${index}`, ENOUGH));
    expect(codeOf(await room.call('spawn_agent', external('b64', ENOUGH)))).toBe('RESOURCE_EXCEEDED');
  });

  test('gives an agent no more by children of its children', async () => {
    const room = await startedRoom();
    const bob = room.agentWith('bob', [SPAWN, ...ENOUGH]);
    const spawn = (name: string, by: Principal) => room.call('spawn_agent', external(name, [SPAWN, ...ENOUGH]), by);
    const child = room.issuer.principalOf(String(resultOf(await spawn('child', bob)).token));
    for (let index = 1; index < 16; index++) expect(codeOf(await spawn(`c${index}`, child))).toBe('success');
    expect(codeOf(await spawn('c16', child))).toBe('RESOURCE_EXCEEDED');
    expect(codeOf(await spawn('another', bob))).toBe('RESOURCE_EXCEEDED');
  });

  test('counts what its agents spawn as its own', async () => {
    const room = await startedRoom();
    const bob = room.agentWith('bob', [SPAWN, ...ENOUGH]);
    const { token } = resultOf(await room.call('spawn_agent', external('son', [SPAWN, ...ENOUGH]), bob));
    const son = room.issuer.principalOf(String(token));
    const codes = await Promise.all(
      Array.from({ length: 20 }, async (_, index) => codeOf(await room.call('spawn_agent', external(`a${index}`, ENOUGH), son))),
    );
    expect(codes.filter((code) => code === 'success')).toHaveLength(15);
    expect(codeOf(await room.call('spawn_agent', external('more', ENOUGH), bob))).toBe('RESOURCE_EXCEEDED');
    expect(codeOf(await room.call('spawn_agent', external('other', ENOUGH), room.agentWith('bobby', [SPAWN, ...ENOUGH])))).toBe('success');
  });

  test('leaves no token behind when the agent cannot be kept', async () => {
    const room = await startedRoom();
    const set = room.store.set.bind(room.store);
    room.store.set = (...args) => {
      if (args[0] === 'agents') throw new Error('disk full');
      set(...args);
    };
    expect(codeOf(await room.spawn(WHEN_HOT))).toBe('INTERNAL_ERROR');
    expect(room.issuer.list().map(({ revokedAtMs }) => revokedAtMs)).toEqual([room.clock.now()]);
    expect(room.runner.list({ id: 'owner', kind: 'owner', permissions: ['*', 'admin:*'] })).toEqual([]);
  });

  test('shows examples that are configurations', async () => {
    const room = await startedRoom();
    const examples = room.registry.resolve('spawn_agent').definition.metadata.examples;
    for (const { params } of examples) parseAutomation(params.config as JsonObject, new SchemaValidator());
    expect(examples.length).toBeGreaterThan(0);
  });
});

test('a word of its own names the kind of an outside agent', async () => {
  const room = await startedRoom();
  const params = { agent_type: 'researcher', name: 'ida', permissions: ENOUGH };
  expect(await room.call('spawn_agent', params)).toMatchObject({ status: 'success' });
  expect(resultOf(await room.call('list_agents'))).toMatchObject({ agents: [{ agent_id: 'ida', agent_type: 'researcher' }] });
  expect(codeOf(await room.call('spawn_agent', { ...params, agent_type: 'a\u{e0041}b' }))).toBe('VALIDATION_ERROR');
});

import { describe, expect, test } from 'vitest';
import type { Principal } from '../../src/core/auth/principal.ts';
import { AtmoError } from '../../src/core/errors.ts';
import type { JsonObject } from '../../src/core/json.ts';
import { settled } from '../calls/pipeline-fixture.ts';
import { codeOf, ENOUGH, restarted, resultOf, SENSOR, startedRoom, WHEN_HOT } from './agent-fixture.ts';

const SPAWN = 'agent:spawn';
const PERMISSIONS = [SPAWN, ...ENOUGH];
const ADJUSTABLE: JsonObject = {
  ...WHEN_HOT,
  parameters: { limit: { value: 25, minimum: 10, maximum: 40, unit: '°C' }, note: { value: 'warm' } },
  trigger: { type: 'reading', sensor_id: SENSOR, above: { param: 'limit' } },
};

test('what is secret in an action of an automation stands in no journal and no event', async () => {
  const room = await startedRoom();
  await room.spawn({ ...WHEN_HOT, actions: [{ tool: 'matter:lamp_turn_on', params: { pin: '4711-0815', level: 3 } }] });
  const told = JSON.stringify([room.audited, room.heard]);
  expect(told).toContain('"params":{"pin":"[secret]","level":3}');
  expect(told).not.toContain('4711-0815');
});

describe('kill_agent', () => {
  test('ends token, triggers and running call of an agent', async () => {
    const room = await startedRoom();
    const token = String(resultOf(await room.spawn(WHEN_HOT)).token);
    const principal = room.issuer.principalOf(token);
    await room.report(20);
    expect(resultOf(await room.call('kill_agent', { agent_id: 'auto', reason: 'too warm' }))).toEqual({ success: true });
    await room.report(26);
    expect(room.calls).toEqual([]);
    expect(codeOf(await room.call('matter:lamp_turn_on', {}, principal))).not.toBe('success');
    expect(await room.view('auto')).toMatchObject({ status: 'killed', reason: 'Ended by owner: too warm' });
    expect(resultOf(await room.call('kill_agent', { agent_id: 'auto' }))).toEqual({ success: false });
    expect(JSON.stringify(room.store.entries('agents'))).not.toContain('at1.');
  });

  test('takes the permission for this agent, and tells others nothing', async () => {
    const room = await startedRoom();
    await room.spawn(WHEN_HOT);
    const eve = room.agentWith('eve', [...PERMISSIONS, 'agent:kill:other']);
    expect(codeOf(await room.call('kill_agent', { agent_id: 'auto' }, eve))).toBe('PERMISSION_DENIED');
    expect(codeOf(await room.call('kill_agent', { agent_id: 'nobody' }, eve))).toBe('PERMISSION_DENIED');
    expect(codeOf(await room.call('dismiss_agent', { child: 'auto' }, eve))).toBe('NOT_FOUND');
    const keeper = room.agentWith('keeper', ['agent:kill:auto']);
    expect(codeOf(await room.call('kill_agent', { agent_id: 'auto' }, keeper))).toBe('success');
    expect(codeOf(await room.call('kill_agent', { agent_id: 'nobody' }))).toBe('NOT_FOUND');
  });

  test('ends what the agent spawned as well, by whatever way its token ends', async () => {
    const room = await startedRoom();
    const child = async (name: string) => {
      const spawned = await room.call('spawn_agent', { agent_type: 'external', name, permissions: PERMISSIONS });
      return room.issuer.principalOf(String(resultOf(spawned).token));
    };
    const killed = await child('killed');
    await room.spawn(WHEN_HOT, {}, killed);
    await room.call('kill_agent', { agent_id: 'killed' });
    const revoked = await child('revoked');
    const grandchild = resultOf(await room.call('spawn_agent', { agent_type: 'external', name: 'mid', permissions: PERMISSIONS }, revoked));
    await room.spawn(WHEN_HOT, {}, room.issuer.principalOf(String(grandchild.token)));
    room.issuer.revoke(revoked.token?.id ?? '');
    await settled();
    for (const id of ['killed', 'killed/auto', 'revoked', 'revoked/mid', 'revoked/mid/auto']) {
      expect(await room.view(id), id).toMatchObject({ status: 'killed' });
    }
    await room.report(20);
    await room.report(26);
    expect(room.calls).toEqual([]);
  });
});

test('a kill whose revocation the disk did not take ends the actions, and the token when it is said again', async () => {
  const room = await startedRoom();
  const spawned = await room.call('spawn_agent', { agent_type: 'external', name: 'bob', permissions: ENOUGH });
  const bob = room.issuer.principalOf(String(resultOf(spawned).token));
  const set = room.store.set.bind(room.store);
  room.store.set = () => {
    throw new AtmoError('STORAGE_FAILED', 'The disk is full');
  };
  expect(codeOf(await room.call('kill_agent', { agent_id: 'bob' }))).toBe('STORAGE_FAILED');
  expect(await room.view('bob')).toMatchObject({ status: 'killed' });
  room.store.set = set;
  expect(resultOf(await room.call('kill_agent', { agent_id: 'bob' }))).toEqual({ success: true });
  expect(codeOf(await room.call('matter:lamp_turn_on', {}, bob))).not.toBe('success');
});

test('a parent may dismiss its own without any other permission', async () => {
  const room = await startedRoom();
  const bob = room.agentWith('bob', PERMISSIONS);
  await room.spawn(WHEN_HOT, {}, bob);
  expect(codeOf(await room.call('kill_agent', { agent_id: 'bob/auto' }, bob))).not.toBe('success');
  expect(resultOf(await room.call('dismiss_agent', { child: 'auto' }, bob))).toEqual({ success: true });
  expect(await room.view('bob/auto')).toMatchObject({ status: 'killed', parent: 'bob' });
});

test('the name of an agent that ended with its parent can be given again', async () => {
  const room = await startedRoom();
  const spawn = async (name: string, by?: Principal) => {
    const answer = await room.call('spawn_agent', { agent_type: 'external', name, permissions: PERMISSIONS }, by);
    return room.issuer.principalOf(String(resultOf(answer).token));
  };
  await spawn('child', await spawn('parent'));
  await room.call('kill_agent', { agent_id: 'parent' });
  expect((await spawn('child', await spawn('parent'))).id).toBe('parent/child');
});

test('an agent ends with its lifetime, even when that is longer than a timer can be', async () => {
  const room = await startedRoom();
  await room.spawn(WHEN_HOT, { ttl_seconds: 40 * 86_400 });
  await room.pass(40 * 86_400 - 1);
  expect(await room.view('auto')).toMatchObject({ status: 'active' });
  await room.pass(1);
  expect(await room.view('auto')).toMatchObject({ status: 'expired' });
  await room.report(20);
  await room.report(26);
  expect(room.calls).toEqual([]);
});

describe('adjust_threshold', () => {
  test('counts from the next evaluation on, and after a restart', async () => {
    const room = await startedRoom();
    await room.report(20);
    await room.spawn(ADJUSTABLE);
    await room.report(24);
    expect(resultOf(await room.call('adjust_threshold', { agent_id: 'auto', param: 'limit', value: 22 }))).toEqual({
      success: true,
      old_value: 25,
    });
    expect(room.calls).toHaveLength(0);
    await room.report(24);
    expect(room.calls).toHaveLength(1);
    await room.runner[Symbol.asyncDispose]();
    const after = await restarted(room);
    expect(await after.view('auto')).toMatchObject({ parameters: { limit: 22, note: 'warm' } });
    await after.report(20);
    await after.report(23);
    expect(after.calls).toHaveLength(1);
  });

  test('refuses what is not declared, out of bounds or of another type', async () => {
    const room = await startedRoom();
    await room.spawn(ADJUSTABLE);
    const code = async (param: string, value: unknown) =>
      codeOf(await room.call('adjust_threshold', { agent_id: 'auto', param, value: value as never }));
    expect(await code('limit', 41)).toBe('VALIDATION_ERROR');
    expect(await code('limit', 9.9)).toBe('VALIDATION_ERROR');
    expect(await code('limit', '22')).toBe('VALIDATION_ERROR');
    expect(await code('limit', { param: 'note' })).toBe('VALIDATION_ERROR');
    expect(await code('note', 'x'.repeat(300))).toBe('VALIDATION_ERROR');
    expect(await code('cooldown_seconds', 0)).toBe('NOT_FOUND');
    expect(await code('constructor', 0)).toBe('NOT_FOUND');
    expect(await room.view('auto')).toMatchObject({ parameters: { limit: 25, note: 'warm' } });
  });

  test('refuses a value that the place where it is used does not take', async () => {
    const room = await startedRoom();
    await room.spawn({ ...WHEN_HOT, parameters: { at: { value: '07:30' } }, trigger: { type: 'time', at: { param: 'at' } } });
    expect(codeOf(await room.call('adjust_threshold', { agent_id: 'auto', param: 'at', value: 'noon' }))).toBe('VALIDATION_ERROR');
    expect(codeOf(await room.call('adjust_threshold', { agent_id: 'auto', param: 'at', value: '00:01' }))).toBe('success');
    await room.pass(60);
    expect(room.calls).toHaveLength(1);
  });

  test('takes the permission for this agent', async () => {
    const room = await startedRoom();
    await room.spawn(ADJUSTABLE);
    const change = { agent_id: 'auto', param: 'limit', value: 22 };
    expect(codeOf(await room.call('adjust_threshold', change, room.agentWith('eve', ['agent:configure:other'])))).toBe('PERMISSION_DENIED');
    expect(codeOf(await room.call('adjust_threshold', change, room.agentWith('ann', ['agent:configure:auto'])))).toBe('success');
  });

  test('reaches an outside agent through what it can list of itself', async () => {
    const room = await startedRoom();
    const config = { parameters: { limit: { value: 3 } } };
    const spawned = await room.call('spawn_agent', { agent_type: 'external', name: 'bob', config, permissions: ENOUGH });
    const bob = room.issuer.principalOf(String(resultOf(spawned).token));
    await room.call('adjust_threshold', { agent_id: 'bob', param: 'limit', value: 4 });
    expect(resultOf(await room.call('list_agents', {}, bob))).toMatchObject({ agents: [{ agent_id: 'bob', parameters: { limit: 4 } }] });
    const automation = { agent_type: 'external', name: 'eve', config: WHEN_HOT, permissions: ENOUGH };
    expect(codeOf(await room.call('spawn_agent', automation))).toBe('VALIDATION_ERROR');
  });
});

describe('list_agents', () => {
  test('shows an agent its own, and everything to the owner and to administrators of agents', async () => {
    const room = await startedRoom();
    const bob = room.agentWith('bob', PERMISSIONS);
    const bobby = room.agentWith('bobby', PERMISSIONS);
    await room.spawn(WHEN_HOT);
    await room.spawn(WHEN_HOT, {}, bob);
    await room.spawn(WHEN_HOT, {}, bobby);
    const ids = async (by?: Parameters<typeof room.call>[2]) =>
      (resultOf(await room.call('list_agents', {}, by)).agents as readonly JsonObject[]).map(({ agent_id }) => agent_id);
    expect(await ids(bob)).toEqual(['bob/auto']);
    expect(await ids()).toEqual(['auto', 'bob/auto', 'bobby/auto']);
    expect(await ids(room.agentWith('warden', ['admin:agents']))).toEqual(['auto', 'bob/auto', 'bobby/auto']);
  });

  test('keeps the ended for a week, and only so many', async () => {
    const room = await startedRoom();
    for (let index = 0; index < 70; index++) {
      await room.call('spawn_agent', { agent_type: 'external', name: `a${index}`, permissions: ENOUGH });
      await room.call('kill_agent', { agent_id: `a${index}` });
    }
    expect(room.store.entries('agents')).toHaveLength(64);
    room.clock.advance(7 * 86_400_000);
    const after = await restarted(room);
    expect(resultOf(await after.call('list_agents'))).toEqual({ agents: [] });
  });
});

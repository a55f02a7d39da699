import { describe, expect, test } from 'vitest';
import type { Principal } from '../../src/core/auth/principal.ts';
import { AtmoError } from '../../src/core/errors.ts';
import type { JsonObject } from '../../src/core/json.ts';
import { settled } from '../calls/pipeline-fixture.ts';
import { codeOf, ENOUGH, restarted, resultOf, SENSOR, startedFixture, WHEN_HOT } from './agent-fixture.ts';

const SPAWN = 'agent:spawn';
const PERMISSIONS = [SPAWN, ...ENOUGH];
const ADJUSTABLE: JsonObject = {
  ...WHEN_HOT,
  parameters: { limit: { value: 25, minimum: 10, maximum: 40, unit: '°C' }, note: { value: 'warm' } },
  trigger: { type: 'reading', sensor_id: SENSOR, above: { param: 'limit' } },
};

test('a secret in an action of an automation is in no audit log and no event', async () => {
  const fixture = await startedFixture();
  await fixture.spawn({ ...WHEN_HOT, actions: [{ tool: 'matter:lamp_turn_on', params: { pin: '4711-0815', level: 3 } }] });
  const told = JSON.stringify([fixture.audited, fixture.heard]);
  expect(told).toContain('"params":{"pin":"[secret]","level":3}');
  expect(told).not.toContain('4711-0815');
});

describe('kill_agent', () => {
  test('ends token, triggers and running call of an agent', async () => {
    const fixture = await startedFixture();
    const token = String(resultOf(await fixture.spawn(WHEN_HOT)).token);
    const principal = fixture.issuer.principalOf(token);
    await fixture.report(20);
    expect(resultOf(await fixture.call('kill_agent', { agent_id: 'auto', reason: 'too warm' }))).toEqual({ success: true });
    await fixture.report(26);
    expect(fixture.calls).toEqual([]);
    expect(codeOf(await fixture.call('matter:lamp_turn_on', {}, principal))).not.toBe('success');
    expect(await fixture.view('auto')).toMatchObject({ status: 'killed', reason: 'Ended by owner: too warm' });
    expect(resultOf(await fixture.call('kill_agent', { agent_id: 'auto' }))).toEqual({ success: false });
    expect(JSON.stringify(fixture.store.entries('agents'))).not.toContain('at1.');
  });

  test('needs the permission for this agent, and reveals nothing to others', async () => {
    const fixture = await startedFixture();
    await fixture.spawn(WHEN_HOT);
    const eve = fixture.agentWith('eve', [...PERMISSIONS, 'agent:kill:other']);
    expect(codeOf(await fixture.call('kill_agent', { agent_id: 'auto' }, eve))).toBe('PERMISSION_DENIED');
    expect(codeOf(await fixture.call('kill_agent', { agent_id: 'nobody' }, eve))).toBe('PERMISSION_DENIED');
    expect(codeOf(await fixture.call('dismiss_agent', { child: 'auto' }, eve))).toBe('NOT_FOUND');
    const keeper = fixture.agentWith('keeper', ['agent:kill:auto']);
    expect(codeOf(await fixture.call('kill_agent', { agent_id: 'auto' }, keeper))).toBe('success');
    expect(codeOf(await fixture.call('kill_agent', { agent_id: 'nobody' }))).toBe('NOT_FOUND');
  });

  test('ends the children of the agent too, however its token ends', async () => {
    const fixture = await startedFixture();
    const child = async (name: string) => {
      const spawned = await fixture.call('spawn_agent', { agent_type: 'external', name, permissions: PERMISSIONS });
      return fixture.issuer.principalOf(String(resultOf(spawned).token));
    };
    const killed = await child('killed');
    await fixture.spawn(WHEN_HOT, {}, killed);
    await fixture.call('kill_agent', { agent_id: 'killed' });
    const revoked = await child('revoked');
    const grandchild = resultOf(
      await fixture.call('spawn_agent', { agent_type: 'external', name: 'mid', permissions: PERMISSIONS }, revoked),
    );
    await fixture.spawn(WHEN_HOT, {}, fixture.issuer.principalOf(String(grandchild.token)));
    fixture.issuer.revoke(revoked.token?.id ?? '');
    await settled();
    for (const id of ['killed', 'killed/auto', 'revoked', 'revoked/mid', 'revoked/mid/auto']) {
      expect(await fixture.view(id), id).toMatchObject({ status: 'killed' });
    }
    const causes = Object.fromEntries(fixture.runner.directory.records().map(({ id, ended }) => [id, ended?.cause]));
    expect(causes).toMatchObject({ killed: undefined, revoked: 'token_revoked', 'revoked/mid/auto': 'token_revoked' });
    await fixture.report(20);
    await fixture.report(26);
    expect(fixture.calls).toEqual([]);
  });
});

test('a kill whose revocation the disk refused ends the actions, and the token when it is called again', async () => {
  const fixture = await startedFixture();
  const spawned = await fixture.call('spawn_agent', { agent_type: 'external', name: 'bob', permissions: ENOUGH });
  const bob = fixture.issuer.principalOf(String(resultOf(spawned).token));
  const set = fixture.store.set.bind(fixture.store);
  fixture.store.set = () => {
    throw new AtmoError('STORAGE_FAILED', 'The disk is full');
  };
  expect(codeOf(await fixture.call('kill_agent', { agent_id: 'bob' }))).toBe('STORAGE_FAILED');
  expect(await fixture.view('bob')).toMatchObject({ status: 'killed' });
  fixture.store.set = set;
  expect(resultOf(await fixture.call('kill_agent', { agent_id: 'bob' }))).toEqual({ success: true });
  expect(codeOf(await fixture.call('matter:lamp_turn_on', {}, bob))).not.toBe('success');
});

test('a parent may dismiss its own without any other permission', async () => {
  const fixture = await startedFixture();
  const bob = fixture.agentWith('bob', PERMISSIONS);
  await fixture.spawn(WHEN_HOT, {}, bob);
  expect(codeOf(await fixture.call('kill_agent', { agent_id: 'bob/auto' }, bob))).not.toBe('success');
  expect(resultOf(await fixture.call('dismiss_agent', { child: 'auto' }, bob))).toEqual({ success: true });
  expect(await fixture.view('bob/auto')).toMatchObject({ status: 'killed', parent: 'bob' });
});

test('the name of an agent that ended with its parent can be used again', async () => {
  const fixture = await startedFixture();
  const spawn = async (name: string, by?: Principal) => {
    const answer = await fixture.call('spawn_agent', { agent_type: 'external', name, permissions: PERMISSIONS }, by);
    return fixture.issuer.principalOf(String(resultOf(answer).token));
  };
  await spawn('child', await spawn('parent'));
  await fixture.call('kill_agent', { agent_id: 'parent' });
  expect((await spawn('child', await spawn('parent'))).id).toBe('parent/child');
});

test('an agent ends with its lifetime, even when that is longer than a timer can be', async () => {
  const fixture = await startedFixture();
  await fixture.spawn(WHEN_HOT, { ttl_seconds: 40 * 86_400 });
  await fixture.pass(40 * 86_400 - 1);
  expect(await fixture.view('auto')).toMatchObject({ status: 'active' });
  await fixture.pass(1);
  expect(await fixture.view('auto')).toMatchObject({ status: 'expired' });
  expect(fixture.runner.directory.records()).toMatchObject([{ ended: { cause: 'lifetime_over' } }]);
  await fixture.report(20);
  await fixture.report(26);
  expect(fixture.calls).toEqual([]);
});

describe('adjust_threshold', () => {
  test('counts from the next evaluation on, and after a restart', async () => {
    const fixture = await startedFixture();
    await fixture.report(20);
    await fixture.spawn(ADJUSTABLE);
    await fixture.report(24);
    expect(resultOf(await fixture.call('adjust_threshold', { agent_id: 'auto', param: 'limit', value: 22 }))).toEqual({
      success: true,
      old_value: 25,
    });
    expect(fixture.calls).toHaveLength(0);
    await fixture.report(24);
    expect(fixture.calls).toHaveLength(1);
    await fixture.runner[Symbol.asyncDispose]();
    const after = await restarted(fixture);
    expect(await after.view('auto')).toMatchObject({ parameters: { limit: 22, note: 'warm' } });
    await after.report(20);
    await after.report(23);
    expect(after.calls).toHaveLength(1);
  });

  test('rejects a parameter that is not declared and a value out of bounds or of another type', async () => {
    const fixture = await startedFixture();
    await fixture.spawn(ADJUSTABLE);
    const code = async (param: string, value: unknown) =>
      codeOf(await fixture.call('adjust_threshold', { agent_id: 'auto', param, value: value as never }));
    expect(await code('limit', 41)).toBe('VALIDATION_ERROR');
    expect(await code('limit', 9.9)).toBe('VALIDATION_ERROR');
    expect(await code('limit', '22')).toBe('VALIDATION_ERROR');
    expect(await code('limit', { param: 'note' })).toBe('VALIDATION_ERROR');
    expect(await code('note', 'x'.repeat(300))).toBe('VALIDATION_ERROR');
    expect(await code('cooldown_seconds', 0)).toBe('NOT_FOUND');
    expect(await code('constructor', 0)).toBe('NOT_FOUND');
    expect(await fixture.view('auto')).toMatchObject({ parameters: { limit: 25, note: 'warm' } });
  });

  test('rejects a value that does not fit where the parameter is used', async () => {
    const fixture = await startedFixture();
    await fixture.spawn({ ...WHEN_HOT, parameters: { at: { value: '07:30' } }, trigger: { type: 'time', at: { param: 'at' } } });
    expect(codeOf(await fixture.call('adjust_threshold', { agent_id: 'auto', param: 'at', value: 'noon' }))).toBe('VALIDATION_ERROR');
    expect(codeOf(await fixture.call('adjust_threshold', { agent_id: 'auto', param: 'at', value: '00:01' }))).toBe('success');
    await fixture.pass(60);
    expect(fixture.calls).toHaveLength(1);
  });

  test('needs the permission for this agent', async () => {
    const fixture = await startedFixture();
    await fixture.spawn(ADJUSTABLE);
    const change = { agent_id: 'auto', param: 'limit', value: 22 };
    expect(codeOf(await fixture.call('adjust_threshold', change, fixture.agentWith('eve', ['agent:configure:other'])))).toBe(
      'PERMISSION_DENIED',
    );
    expect(codeOf(await fixture.call('adjust_threshold', change, fixture.agentWith('ann', ['agent:configure:auto'])))).toBe('success');
  });

  test('shows its new value to an external agent in list_agents', async () => {
    const fixture = await startedFixture();
    const config = { parameters: { limit: { value: 3 } } };
    const spawned = await fixture.call('spawn_agent', { agent_type: 'external', name: 'bob', config, permissions: ENOUGH });
    const bob = fixture.issuer.principalOf(String(resultOf(spawned).token));
    await fixture.call('adjust_threshold', { agent_id: 'bob', param: 'limit', value: 4 });
    expect(resultOf(await fixture.call('list_agents', {}, bob))).toMatchObject({ agents: [{ agent_id: 'bob', parameters: { limit: 4 } }] });
    const automation = { agent_type: 'external', name: 'eve', config: WHEN_HOT, permissions: ENOUGH };
    expect(codeOf(await fixture.call('spawn_agent', automation))).toBe('VALIDATION_ERROR');
  });
});

describe('list_agents', () => {
  test('shows an agent its own agents, and all of them to the owner and to administrators of agents', async () => {
    const fixture = await startedFixture();
    const bob = fixture.agentWith('bob', PERMISSIONS);
    const bobby = fixture.agentWith('bobby', PERMISSIONS);
    await fixture.spawn(WHEN_HOT);
    await fixture.spawn(WHEN_HOT, {}, bob);
    await fixture.spawn(WHEN_HOT, {}, bobby);
    const ids = async (by?: Parameters<typeof fixture.call>[2]) =>
      (resultOf(await fixture.call('list_agents', {}, by)).agents as readonly JsonObject[]).map(({ agent_id }) => agent_id);
    expect(await ids(bob)).toEqual(['bob/auto']);
    expect(await ids()).toEqual(['auto', 'bob/auto', 'bobby/auto']);
    expect(await ids(fixture.agentWith('warden', ['admin:agents']))).toEqual(['auto', 'bob/auto', 'bobby/auto']);
  });

  test('keeps ended agents for a week, and at most 64 of them', async () => {
    const fixture = await startedFixture();
    for (let index = 0; index < 70; index++) {
      await fixture.call('spawn_agent', { agent_type: 'external', name: `a${index}`, permissions: ENOUGH });
      await fixture.call('kill_agent', { agent_id: `a${index}` });
    }
    expect(fixture.store.entries('agents')).toHaveLength(64);
    fixture.clock.advance(7 * 86_400_000);
    const after = await restarted(fixture);
    expect(resultOf(await after.call('list_agents'))).toEqual({ agents: [] });
  });
});

test('the flags of the house are listed only for who may read them', async () => {
  const fixture = await startedFixture();
  for (const flag of ['night', 'guests']) await fixture.call('set_flag', { flag, value: true });
  const flagsFor = async (by?: Principal) => resultOf(await fixture.call('list_flags', {}, by)).flags;
  expect(await flagsFor()).toHaveLength(2);
  expect(await flagsFor(fixture.agentWith('reader', ['flag:read:night']))).toMatchObject([{ flag: 'night' }]);
});

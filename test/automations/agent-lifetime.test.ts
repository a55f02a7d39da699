import { describe, expect, test } from 'vitest';
import { AtmoError } from '../../src/core/errors.ts';
import type { JsonObject } from '../../src/core/json.ts';
import { settled } from '../calls/pipeline-fixture.ts';
import { type AgentFixture, codeOf, ENOUGH, LAMP_ON, restarted, resultOf, SENSOR, startedFixture, WHEN_HOT } from './agent-fixture.ts';

const DAY = 86_400;
const EVERY_HOUR: JsonObject = { trigger: { type: 'every', seconds: 3_600 }, actions: [LAMP_ON], cooldown_seconds: 0 };

/** The sensor crosses the limit of `WHEN_HOT`. */
async function cross(fixture: AgentFixture): Promise<void> {
  await fixture.report(20);
  await fixture.report(26);
}

const enable = (fixture: AgentFixture, enabled: boolean) => fixture.call('set_agent_enabled', { agent_id: 'auto', enabled });
const renew = (fixture: AgentFixture, params: JsonObject = {}) => fixture.call('renew_agent', { agent_id: 'auto', ...params });

/** Ends the process of a hub at the write with this number. Nothing that it writes later reaches the disk. */
function killAtWrite(fixture: AgentFixture, writes: number): { readonly revive: () => void; readonly isDead: () => boolean } {
  const [set, remove] = [fixture.store.set.bind(fixture.store), fixture.store.delete.bind(fixture.store)];
  let left = writes;
  const count = (): void => {
    left -= 1;
    if (left < 0) throw new AtmoError('STORAGE_FAILED', 'killed');
  };
  fixture.store.set = (...write) => {
    count();
    set(...write);
  };
  fixture.store.delete = (...write) => {
    count();
    return remove(...write);
  };
  return { revive: () => Object.assign(fixture.store, { set, delete: remove }), isDead: () => left < 0 };
}

describe('a disabled automation', () => {
  test('never runs, also after a restart, until it is enabled again', async () => {
    const fixture = await startedFixture();
    await fixture.spawn(WHEN_HOT);
    await cross(fixture);
    expect(resultOf(await enable(fixture, false))).toEqual({ changed: true });
    expect(resultOf(await enable(fixture, false))).toEqual({ changed: false });
    await cross(fixture);
    expect(fixture.calls).toHaveLength(1);
    expect(await fixture.view('auto')).toMatchObject({ status: 'disabled', disabled_by: 'owner' });
    const after = await restarted(fixture);
    await cross(after);
    expect(after.calls).toEqual([]);
    expect(await after.view('auto')).toMatchObject({ status: 'disabled' });
    await enable(after, true);
    await cross(after);
    expect(after.calls).toHaveLength(1);
    expect(await after.view('auto')).toMatchObject({ status: 'active' });
  });

  test('gives up the run that is in progress, and a parameter that is changed does not enable it', async () => {
    const fixture = await startedFixture();
    const limit = { value: 25, minimum: 10, maximum: 40 };
    const trigger = { type: 'reading', sensor_id: SENSOR, above: { param: 'limit' } };
    await fixture.spawn({ ...WHEN_HOT, actions: [LAMP_ON, LAMP_ON], parameters: { limit }, trigger });
    fixture.onLamp(() => new Promise(() => {}));
    await cross(fixture);
    await enable(fixture, false);
    await fixture.pass(60);
    expect(fixture.calls).toHaveLength(1);
    await fixture.call('adjust_threshold', { agent_id: 'auto', param: 'limit', value: 22 });
    fixture.onLamp(async () => ({}));
    await cross(fixture);
    expect(fixture.calls).toHaveLength(1);
    expect(await fixture.view('auto')).toMatchObject({ status: 'disabled', parameters: { limit: 22 }, is_running: false });
  });

  test('still ends with its lifetime, and an agent elsewhere cannot be disabled', async () => {
    const fixture = await startedFixture();
    await fixture.spawn(WHEN_HOT, { ttl_seconds: DAY });
    await enable(fixture, false);
    await fixture.pass(DAY);
    expect(await fixture.view('auto')).toMatchObject({ status: 'expired' });
    expect(codeOf(await enable(fixture, true))).toBe('CONFLICT');
    await fixture.call('spawn_agent', { agent_type: 'external', name: 'bob', permissions: ENOUGH });
    expect(codeOf(await fixture.call('set_agent_enabled', { agent_id: 'bob', enabled: false }))).toBe('NOT_SUPPORTED');
  });

  test('needs the permission to configure it, and the change is in the audit log', async () => {
    const fixture = await startedFixture();
    await fixture.spawn(WHEN_HOT);
    const eve = fixture.agentWith('eve', ['agent:configure:other']);
    expect(codeOf(await fixture.call('set_agent_enabled', { agent_id: 'auto', enabled: false }, eve))).toBe('PERMISSION_DENIED');
    await enable(fixture, false);
    expect(JSON.stringify(fixture.audited)).toContain('set_agent_enabled');
  });

  test('is disabled or not after a kill at any write, as the disk says', async () => {
    for (let writes = 0; writes < 3; writes++) {
      const fixture = await startedFixture();
      await fixture.spawn(WHEN_HOT);
      const killed = killAtWrite(fixture, writes);
      const answer = codeOf(await enable(fixture, false));
      killed.revive();
      const after = await restarted(fixture);
      await cross(after);
      if (answer === 'success') expect(after.calls, `${writes}`).toHaveLength(0);
      expect(after.calls).toHaveLength((await after.view('auto')).status === 'disabled' ? 0 : 1);
    }
  });
});

describe('an automation of the owner', () => {
  test('has no end unless one is set: the hub renews its token for years, and it keeps running', async () => {
    const fixture = await startedFixture();
    expect(resultOf(await fixture.spawn(EVERY_HOUR))).toMatchObject({ renews_itself: true });
    const tokens = new Set<unknown>();
    for (let month = 0; month < 36; month++) {
      await fixture.pass(30 * DAY);
      tokens.add((await fixture.view('auto')).expires_at);
      expect(await fixture.view('auto')).toMatchObject({ status: 'active', renews_itself: true });
    }
    expect(tokens.size).toBeGreaterThan(12);
    expect(Number((await fixture.view('auto')).runs)).toBeGreaterThanOrEqual(36);
  });

  test('goes on after the hub was off for longer than its token lived', async () => {
    const fixture = await startedFixture();
    await fixture.spawn(WHEN_HOT);
    await fixture.runner[Symbol.asyncDispose]();
    fixture.clock.advance(200 * DAY * 1000);
    const after = await restarted(fixture);
    await cross(after);
    expect(after.calls).toHaveLength(1);
  });

  test('waits for a trusted time before its token is renewed', async () => {
    const fixture = await startedFixture();
    await fixture.spawn(WHEN_HOT);
    await fixture.runner[Symbol.asyncDispose]();
    fixture.clock.advance(200 * DAY * 1000);
    let isTrusted = false;
    const after = await restarted(fixture, { isTimeTrusted: () => isTrusted });
    await cross(after);
    expect(after.calls).toHaveLength(0);
    expect(await after.view('auto')).toMatchObject({ status: 'active' });
    isTrusted = true;
    await after.pass(600);
    await cross(after);
    expect(after.calls).toHaveLength(1);
  });

  test('has one valid token after a renewal, and none when it is killed', async () => {
    const fixture = await startedFixture();
    await fixture.spawn(WHEN_HOT);
    await renew(fixture);
    expect(fixture.issuer.list().filter(({ revokedAtMs }) => revokedAtMs === undefined)).toHaveLength(1);
    await fixture.call('kill_agent', { agent_id: 'auto' });
    expect(fixture.issuer.list().map(({ revokedAtMs }) => revokedAtMs !== undefined)).toEqual([true, true]);
  });
});

describe('renew_agent', () => {
  test('sets a new end, or none; one whose time is over starts again', async () => {
    const fixture = await startedFixture();
    await fixture.spawn(WHEN_HOT, { ttl_seconds: DAY });
    expect(resultOf(await renew(fixture, { ttl_seconds: 10 * DAY }))).toEqual({
      expires_at: '2026-01-11T00:00:00.000Z',
      renews_itself: false,
    });
    await fixture.pass(10 * DAY);
    expect(await fixture.view('auto')).toMatchObject({ status: 'expired' });
    expect(resultOf(await renew(fixture))).toMatchObject({ renews_itself: true });
    await fixture.pass(100 * DAY);
    await cross(fixture);
    expect(fixture.calls).toHaveLength(1);
    expect(await fixture.view('auto')).toMatchObject({ status: 'active', last_outcome: 'success' });
  });

  test('in the middle of a run leaves the run as it is: the steps after it are done', async () => {
    const fixture = await startedFixture();
    const gate = Promise.withResolvers<void>();
    fixture.onLamp(async () => {
      await gate.promise;
      return {};
    });
    await fixture.spawn({ ...WHEN_HOT, actions: [LAMP_ON, LAMP_ON] }, { ttl_seconds: DAY });
    await cross(fixture);
    expect(fixture.calls).toHaveLength(1);
    expect(codeOf(await renew(fixture, { ttl_seconds: 10 * DAY }))).toBe('success');
    expect(await fixture.view('auto')).toMatchObject({ is_running: true });
    gate.resolve();
    await settled();
    expect(fixture.calls).toHaveLength(2);
    expect(await fixture.view('auto')).toMatchObject({ is_running: false, runs: 1, last_outcome: 'success' });
    await fixture.pass(2 * DAY);
    expect(await fixture.view('auto')).toMatchObject({ status: 'active' });
  });

  test('with an earlier end, the token from before ends then too', async () => {
    const fixture = await startedFixture();
    const { token } = resultOf(await fixture.spawn(WHEN_HOT, { ttl_seconds: 30 * DAY }));
    const principal = fixture.issuer.principalOf(String(token));
    await renew(fixture, { ttl_seconds: DAY });
    await fixture.pass(DAY);
    expect(await fixture.view('auto')).toMatchObject({ status: 'expired' });
    expect(codeOf(await fixture.call('matter:lamp_turn_on', {}, principal))).not.toBe('success');
  });

  test('is for the owner and holders of admin:agents alone; no agent lengthens its own life', async () => {
    const fixture = await startedFixture();
    const { token } = resultOf(
      await fixture.spawn(WHEN_HOT, { ttl_seconds: DAY, permissions: [...ENOUGH, 'agent:configure:auto', 'admin:agents'] }),
    );
    const itself = fixture.issuer.principalOf(String(token));
    expect(codeOf(await fixture.call('renew_agent', { agent_id: 'auto' }, itself))).toBe('PERMISSION_DENIED');
    const warden = fixture.agentWith('warden', ['agent:configure:*', 'admin:agents']);
    expect(codeOf(await fixture.call('renew_agent', { agent_id: 'auto' }, warden))).toBe('success');
    await fixture.call('kill_agent', { agent_id: 'auto' });
    expect(codeOf(await renew(fixture))).toBe('CONFLICT');
  });

  test('after a kill at any write leaves one agent that runs, and no token that nobody ends', async () => {
    for (let writes = 0; writes < 8; writes++) {
      const fixture = await startedFixture();
      await fixture.spawn(WHEN_HOT, { ttl_seconds: 2 * DAY });
      const killed = killAtWrite(fixture, writes);
      const answer = codeOf(await renew(fixture, { ttl_seconds: 10 * DAY }));
      killed.revive();
      const after = await restarted(fixture);
      await cross(after);
      expect(after.calls, `${writes}`).toHaveLength(1);
      const { expires_at: until } = await after.view('auto');
      expect(until).toBe(answer === 'success' ? '2026-01-11T00:00:00.000Z' : '2026-01-03T00:00:00.000Z');
      await after.call('kill_agent', { agent_id: 'auto' });
      expect(after.issuer.list().filter(({ id }) => after.issuer.revoke(id))).toEqual([]);
    }
  });
});

describe('kill_agent', () => {
  const isValid = ({ revokedAtMs }: { readonly revokedAtMs?: number }) => revokedAtMs === undefined;

  test('cut off at any write leaves after a restart an agent that lives, or one that has ended with all its tokens and children', async () => {
    const ends = new Set<unknown>();
    for (let writes = 0; writes < 12; writes++) {
      const fixture = await startedFixture();
      const permissions = [...ENOUGH, 'agent:spawn', 'agent:configure:*'];
      const { token } = resultOf(await fixture.spawn(WHEN_HOT, { permissions }));
      const kid = { agent_type: 'external', name: 'kid', permissions: [`sensor:read:${SENSOR}`] };
      await fixture.call('spawn_agent', kid, fixture.issuer.principalOf(String(token)));
      await renew(fixture);
      const killed = killAtWrite(fixture, writes);
      await fixture.call('kill_agent', { agent_id: 'auto' });
      killed.revive();
      const after = await restarted(fixture);
      const states = ['auto', 'auto/kid'].map((id) => after.runner.directory.require(id).status);
      ends.add(states[0]);
      expect(new Set(states).size, `${writes}: ${states}`).toBe(1);
      const left = after.issuer.list().filter(isValid).length;
      if (states[0] === 'killed') expect(left, `${writes}`).toBe(0);
      else expect(left, `${writes}`).toBe(3);
    }
    expect(ends).toEqual(new Set(['active', 'killed']));
  });

  test('keeps the record of the oldest agent that ended last, by which a restart knows what to end', async () => {
    const fixture = await startedFixture();
    await fixture.spawn(WHEN_HOT, { name: 'first' });
    for (let count = 0; count < 65; count++) {
      await fixture.pass(1);
      await fixture.spawn(WHEN_HOT, { name: `later-${count}` });
      await fixture.call('kill_agent', { agent_id: `later-${count}` });
    }
    await fixture.call('kill_agent', { agent_id: 'first' });
    expect(fixture.runner.directory.require('first').status).toBe('killed');
    expect(() => fixture.runner.directory.require('later-0')).toThrow('no agent');
  });

  test('an outside agent whose token was revoked and whose end a full disk did not take has ended after the restart', async () => {
    const fixture = await startedFixture();
    await fixture.call('spawn_agent', { agent_type: 'external', name: 'helper', permissions: [`sensor:read:${SENSOR}`] });
    const { set } = fixture.store;
    fixture.store.set = (space, ...write) => {
      if (space === 'agents') throw new AtmoError('STORAGE_FAILED', 'full');
      set.call(fixture.store, space, ...write);
    };
    await fixture.call('kill_agent', { agent_id: 'helper' });
    fixture.store.set = set;
    expect((await restarted(fixture)).runner.directory.require('helper').status).toBe('killed');
  });
});

test('list_automations has triggers and tools, and no parameter that may be a secret', async () => {
  const fixture = await startedFixture();
  const params = { pin: '4711-0815', device_id: 'lamp' };
  await fixture.spawn({ ...EVERY_HOUR, actions: [{ tool: 'matter:lamp_turn_on', params }] });
  await fixture.pass(600);
  const answer = await fixture.call('list_automations');
  expect(resultOf(answer).automations).toMatchObject([
    {
      agent_id: 'auto',
      status: 'active',
      renews_itself: true,
      next_run_at: '2026-01-01T01:00:00.000Z',
      triggers: [{ type: 'every', seconds: 3_600 }],
      conditions: [],
      actions: [{ tool: 'matter:lamp_turn_on', device_id: 'lamp' }],
    },
  ]);
  expect(JSON.stringify(answer)).not.toContain('4711');
  await renew(fixture, { ttl_seconds: DAY });
  expect(resultOf(await fixture.call('list_automations')).automations).toMatchObject([{ renews_itself: false }]);
});

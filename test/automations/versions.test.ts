import { describe, expect, test } from 'vitest';
import type { Principal } from '../../src/core/auth/principal.ts';
import { AtmoError } from '../../src/core/errors.ts';
import type { JsonObject } from '../../src/core/json.ts';
import { settled } from '../calls/pipeline-fixture.ts';
import { ManualClock } from '../manual-clock.ts';
import { MemoryKeyValueStore } from '../memory-key-value-store.ts';
import { type AgentFixture, codeOf, ENOUGH, LAMP_ON, restarted, resultOf, SENSOR, startedFixture, WHEN_HOT } from './agent-fixture.ts';

const above = (limit: number): JsonObject => ({ ...WHEN_HOT, trigger: { type: 'reading', sensor_id: SENSOR, above: limit } });
const edit = (fixture: AgentFixture, params: JsonObject, by?: Principal) =>
  fixture.call('edit_automation', { agent_id: 'auto', ...params }, by);
const versionsOf = async (fixture: AgentFixture, id = 'auto') =>
  resultOf(await fixture.call('list_automation_versions', { agent_id: id })).versions as readonly JsonObject[];
const recordOf = (fixture: AgentFixture, id = 'auto') => {
  const record = fixture.runner.directory.records().find((one) => one.id === id);
  if (!record) throw new Error(`no agent ${id}`);
  return record;
};

describe('edit_automation', () => {
  test('changes what an automation does in place: its id, its end and its counts stay', async () => {
    const fixture = await startedFixture();
    await fixture.spawn(above(25));
    await fixture.report(20);
    await fixture.report(26);
    const before = recordOf(fixture);
    const answer = resultOf(await edit(fixture, { config: above(28), note: 'too early' }));
    expect(answer).toMatchObject({ version: 2, is_changed: true, conflicts: [] });
    expect(recordOf(fixture)).toMatchObject({
      id: 'auto',
      expiresAtMs: before.expiresAtMs,
      runs: 1,
      tokenId: before.tokenId,
      status: 'active',
    });
    await fixture.report(20);
    await fixture.report(27);
    expect(fixture.calls).toHaveLength(1);
    await fixture.report(29);
    expect(fixture.calls).toHaveLength(2);
    expect(await versionsOf(fixture)).toEqual([
      {
        version: 2,
        at: expect.any(String),
        by: 'owner',
        note: 'too early',
        hash: answer.hash,
        is_current: true,
        diff: [{ path: '/config/trigger/above', before: 25, after: 28 }],
      },
      { version: 1, at: expect.any(String), by: 'owner', hash: expect.any(String), is_current: false, diff: [] },
    ]);
  });

  test('the same definition again is no new version', async () => {
    const fixture = await startedFixture();
    await fixture.spawn(above(25));
    const again = { trigger: { sensor_id: SENSOR, above: 25, type: 'reading' }, cooldown_seconds: 0, actions: [{ tool: 'lamp_turn_on' }] };
    const permissions = [...ENOUGH].reverse();
    expect(resultOf(await edit(fixture, { config: again, permissions }))).toMatchObject({ version: 1, is_changed: false });
    expect(await versionsOf(fixture)).toHaveLength(1);
  });

  test('the token has the permissions of the new version, and the token before has ended', async () => {
    const fixture = await startedFixture();
    await fixture.spawn(above(25), { permissions: [...ENOUGH, 'device:control:switch'] });
    const before = recordOf(fixture);
    const old = fixture.issuer.principalOf(before.token ?? '');
    await edit(fixture, { config: above(25), permissions: ENOUGH });
    const { token = '', tokenId, expiresAtMs } = recordOf(fixture);
    expect(fixture.issuer.principalOf(token).permissions).toEqual([...ENOUGH].sort());
    expect(tokenId).not.toBe(before.tokenId);
    expect(expiresAtMs).toBe(before.expiresAtMs);
    expect(codeOf(await fixture.call('matter:lamp_turn_on', {}, old))).not.toBe('success');
    expect(fixture.issuer.inspect(before.token ?? '').state).toBe('revoked');
    await fixture.report(20);
    await fixture.report(26);
    expect(fixture.calls).toHaveLength(1);
  });

  test('gives nobody permissions that the editor lacks', async () => {
    const fixture = await startedFixture();
    await fixture.spawn(above(25));
    const manager = fixture.agentWith('manager', ['admin:agents', 'agent:configure:auto', `sensor:read:${SENSOR}`]);
    expect(codeOf(await edit(fixture, { config: above(28) }, manager))).toBe('PERMISSION_DENIED');
    expect(codeOf(await edit(fixture, { config: above(28), permissions: ['*'] }, manager))).toBe('PERMISSION_DENIED');
    expect(await versionsOf(fixture)).toHaveLength(1);
    const own = fixture.agentWith('parent', ['agent:spawn', 'agent:configure:parent/*', ...ENOUGH]);
    await fixture.spawn(above(25), {}, own);
    const beyond = { agent_id: 'parent/auto', config: above(25), permissions: [...ENOUGH, 'device:control:switch'] };
    expect(codeOf(await fixture.call('edit_automation', beyond, own))).toBe('PERMISSION_DENIED');
    expect(codeOf(await fixture.call('edit_automation', { ...beyond, config: above(30), permissions: ENOUGH }, own))).toBe('success');
    const chain = fixture.issuer.principalOf(recordOf(fixture, 'parent/auto').token ?? '').token?.chain;
    expect(chain?.[0]).toBe(own.token?.id);
  });

  test('lets no automation edit itself, not even with the right to manage agents', async () => {
    const fixture = await startedFixture();
    await fixture.spawn(above(25), { permissions: [...ENOUGH, 'agent:configure:auto', 'admin:agents'] });
    const itself = fixture.issuer.principalOf(recordOf(fixture, 'auto').token ?? '');
    expect(codeOf(await edit(fixture, { config: above(28) }, itself))).toBe('PERMISSION_DENIED');
    expect(await versionsOf(fixture)).toHaveLength(1);
  });

  test('is for who may renew the automation: neither for itself nor for others', async () => {
    const fixture = await startedFixture();
    await fixture.spawn(above(25), { permissions: [...ENOUGH, 'agent:configure:auto'] });
    const itself = fixture.issuer.principalOf(recordOf(fixture).token ?? '');
    const eve = fixture.agentWith('eve', ['agent:configure:*', ...ENOUGH]);
    for (const by of [itself, eve]) {
      expect(codeOf(await edit(fixture, { config: above(28), permissions: ENOUGH }, by))).toBe('PERMISSION_DENIED');
      for (const tool of ['list_automation_versions', 'show_automation'])
        expect(codeOf(await fixture.call(tool, { agent_id: 'auto' }, by)), tool).toBe('PERMISSION_DENIED');
    }
  });

  test('an invalid definition changes nothing', async () => {
    const fixture = await startedFixture();
    await fixture.spawn(above(25));
    for (const config of [{ trigger: [] }, { ...above(25), actions: [{ tool: 'no_such' }] }] as JsonObject[])
      expect(codeOf(await edit(fixture, { config }))).not.toBe('success');
    await fixture.report(20);
    await fixture.report(26);
    expect(fixture.calls).toHaveLength(1);
  });

  test('a run in progress is given up, and what it does later touches no run of the new version', async () => {
    const fixture = await startedFixture();
    const waiting = { ...above(25), actions: [{ type: 'wait', seconds: 60 }, LAMP_ON] };
    await fixture.spawn(waiting);
    await fixture.report(20);
    await fixture.report(26);
    await edit(fixture, { config: { ...waiting, trigger: { type: 'webhook', name: 'go' } } });
    expect(recordOf(fixture)).toMatchObject({ runs: 1, failures: 0, lastOutcome: 'stopped', lastError: { code: 'CANCELLED' } });
    await fixture.call('post_to_webhook', { agent_id: 'auto', webhook: 'go' });
    await settled();
    expect(recordOf(fixture)).toMatchObject({ runs: 1, running: { runId: expect.any(String) } });
    await fixture.pass(60);
    expect(fixture.calls).toHaveLength(1);
    expect(recordOf(fixture)).toMatchObject({ runs: 2, lastOutcome: 'success' });
  });

  test('an edit does not enable a disabled automation', async () => {
    const fixture = await startedFixture();
    await fixture.spawn(above(25));
    await fixture.call('set_agent_enabled', { agent_id: 'auto', enabled: false });
    await edit(fixture, { config: above(21) });
    await fixture.report(20);
    await fixture.report(26);
    expect(fixture.calls).toEqual([]);
    await fixture.call('set_agent_enabled', { agent_id: 'auto', enabled: true });
    await fixture.report(20);
    await fixture.report(22);
    expect(fixture.calls).toHaveLength(1);
  });
});

describe('versions', () => {
  test('an earlier version comes back with its definition and its permissions, as a new version', async () => {
    const fixture = await startedFixture();
    await fixture.spawn(above(25));
    await edit(fixture, { config: above(28), permissions: [...ENOUGH, 'device:control:switch'] });
    const first = (await versionsOf(fixture)).find(({ version }) => version === 1);
    const answer = resultOf(await fixture.call('roll_back_automation', { agent_id: 'auto', version: 1 }));
    expect(answer).toMatchObject({ version: 3, is_changed: true, hash: first?.hash });
    expect(recordOf(fixture)).toMatchObject({ config: above(25), permissions: [...ENOUGH].sort() });
    const [current] = await versionsOf(fixture);
    expect(current).toMatchObject({
      note: 'As version 1',
      diff: [{ path: '/config/trigger/above' }, { path: '/permissions', before: 'device:control:switch' }],
    });
    expect(codeOf(await fixture.call('roll_back_automation', { agent_id: 'auto', version: 9 }))).toBe('NOT_FOUND');
  });

  test('a parameter that was set belongs to the version in which it was set', async () => {
    const fixture = await startedFixture();
    const config = { ...above(25), parameters: { limit: { value: 1 } } };
    await fixture.spawn(config);
    await fixture.call('adjust_threshold', { agent_id: 'auto', param: 'limit', value: 7 });
    await edit(fixture, { config: above(28) });
    const shown = resultOf(await fixture.call('show_automation', { agent_id: 'auto', version: 1 }));
    expect(shown.config).toMatchObject({ parameters: { limit: { value: 7 } } });
    expect(resultOf(await fixture.call('show_automation', { agent_id: 'auto' }))).toMatchObject({ version: 2, config: above(28) });
  });

  test('20 are kept, also over restarts', async () => {
    const fixture = await startedFixture();
    await fixture.spawn(above(1));
    for (let limit = 2; limit <= 25; limit++) await edit(fixture, { config: above(limit) });
    const after = await restarted(fixture);
    const versions = await versionsOf(after);
    expect(versions.map(({ version }) => version)).toEqual(Array.from({ length: 20 }, (_, index) => 25 - index));
  });

  test('an automation that gets the name of one that ended has no version of it', async () => {
    const fixture = await startedFixture();
    await fixture.spawn(above(1));
    await edit(fixture, { config: above(2) });
    await fixture.call('kill_agent', { agent_id: 'auto' });
    fixture.clock.advance(1);
    await fixture.spawn(above(3));
    expect(await versionsOf(fixture)).toHaveLength(1);
  });

  test('what a secret parameter was is in no audit log and no event', async () => {
    const fixture = await startedFixture();
    const withPin = (pin: string) => ({ ...WHEN_HOT, actions: [{ ...LAMP_ON, params: { pin } }] });
    await fixture.spawn(withPin('4711-0815'));
    await edit(fixture, { config: withPin('4712-0816') });
    await versionsOf(fixture);
    await fixture.call('show_automation', { agent_id: 'auto' });
    expect(JSON.stringify([fixture.audited, fixture.heard])).not.toMatch(/4711-0815|4712-0816/);
  });
});

/** A store that stops writing after some writes, as a hub that is killed does. */
class CutStore extends MemoryKeyValueStore {
  writesLeft = Number.POSITIVE_INFINITY;

  override set(...args: Parameters<MemoryKeyValueStore['set']>): void {
    this.#count();
    super.set(...args);
  }

  override delete(space: string, key: string): boolean {
    this.#count();
    return super.delete(space, key);
  }

  #count(): void {
    if (this.writesLeft <= 0) throw new AtmoError('STORAGE_FAILED', 'The hub was killed');
    this.writesLeft -= 1;
  }
}

test('a hub that is killed at any write of an edit has the old version or the new one after its restart, and one valid token', async () => {
  const found = new Set<string>();
  for (let writes = 0; writes < 9; writes++) {
    const clock = new ManualClock();
    const store = new CutStore(clock);
    const fixture = await startedFixture({ clock, store });
    await fixture.spawn(above(25), { permissions: [...ENOUGH, 'device:control:switch'] });
    store.writesLeft = writes;
    await edit(fixture, { config: above(28), permissions: ENOUGH });
    store.writesLeft = Number.POSITIVE_INFINITY;
    const after = await restarted(fixture);
    const { config, permissions, token = '', tokenId } = recordOf(after);
    const isNew = JSON.stringify(config) === JSON.stringify(above(28));
    found.add(isNew ? 'new' : 'old');
    expect(config, `after ${writes} writes`).toEqual(isNew ? above(28) : above(25));
    expect(permissions).toHaveLength(isNew ? 2 : 3);
    expect(after.issuer.principalOf(token).permissions).toEqual(permissions);
    const valid = after.issuer.list().filter((one) => one.agentId === 'auto' && one.revokedAtMs === undefined);
    expect(valid.map(({ id }) => id)).toEqual([tokenId]);
    expect(await versionsOf(after)).toHaveLength(isNew ? 2 : 1);
    await after.report(20);
    await after.report(27);
    expect(after.calls).toHaveLength(isNew ? 0 : 1);
  }
  expect([...found].sort()).toEqual(['new', 'old']);
});

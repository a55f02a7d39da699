import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { figure } from './mesh/figures.ts';
import { LabMesh } from './mesh/lab-mesh.ts';
import { runsOf } from './mesh/lab-tools.ts';
import type { MeshHub } from './mesh/mesh-hub.ts';
import { timeUntil, until } from './mesh/until.ts';

const SPREAD_LIMIT_MS = 10_000;

describe('a member that is revoked', () => {
  let mesh: LabMesh;
  let founder: MeshHub;
  let friend: MeshHub;
  let thief: MeshHub;

  beforeAll(async () => {
    mesh = await new LabMesh().start();
    [founder, friend, thief] = (await mesh.addMesh(3)) as [MeshHub, MeshHub, MeshHub];
  });
  afterAll(() => mesh?.[Symbol.asyncDispose]());

  test('could call before', async () => {
    expect(await thief.result(`lab:count_${friend.name}`, { ticket: 'before' })).toMatchObject({ ticket: 'before' });
  });

  test('is cut off by everybody', async () => {
    await founder.result('hub:mesh_revoke', { hub: thief.id });
    const isCutOff = async (hub: MeshHub) => (await hub.peer(thief))?.isReachable !== true;
    const cutMs = await timeUntil(
      SPREAD_LIMIT_MS,
      async () => (await isCutOff(founder)) && (await isCutOff(friend)),
      'everybody to cut it off',
    );
    figure('revoked.cut_off', cutMs, 'ms');
    expect(await thief.call(`lab:count_${friend.name}`, { ticket: 'after' }, '?timeout_ms=3000')).toMatchObject({ status: 'error' });
    expect(runsOf(friend.stateDir)).toEqual(['before']);
    expect(await friend.call(`lab:count_${thief.name}`, { ticket: 'to the thief' }, '?timeout_ms=3000')).toMatchObject({ status: 'error' });
  });

  test('stays out after both have restarted', async () => {
    await Promise.all([friend.stop(), thief.stop()]);
    await Promise.all([friend.start(), thief.start()]);
    await until(SPREAD_LIMIT_MS, async () => friend.knows(founder), 'the friend to be back');
    expect(await thief.call(`lab:count_${friend.name}`, { ticket: 'again' }, '?timeout_ms=3000')).toMatchObject({ status: 'error' });
    expect((await friend.peer(thief))?.isReachable).not.toBe(true);
    expect(runsOf(friend.stateDir)).toEqual(['before']);
  });
});

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { figure } from './mesh/figures.ts';
import { admit, foundMesh, LabMesh } from './mesh/lab-mesh.ts';
import { runsOf } from './mesh/lab-tools.ts';
import type { MeshHub } from './mesh/mesh-hub.ts';
import { timeUntil, until } from './mesh/until.ts';

const REACH_LIMIT_MS = 20_000;

describe('three hubs in a line, without routing between the networks', () => {
  let mesh: LabMesh;
  let a: MeshHub;
  let b: MeshHub;
  let c: MeshHub;

  beforeAll(async () => {
    mesh = await new LabMesh().start();
    const host = (name: string, lans: readonly number[]) => mesh.lab.addHost(name, { lans });
    [a, b, c] = [
      await mesh.addHub(await host('a', [1])),
      await mesh.addHub(await host('b', [1, 2])),
      await mesh.addHub(await host('c', [2])),
    ];
    await foundMesh([b]);
    await admit(b, a);
    await admit(b, c);
    const knownMs = await timeUntil(REACH_LIMIT_MS, async () => (await c.knows(a)) && (await a.knows(c)), 'the ends to know each other');
    figure('line.ends_complete', knownMs, 'ms');
  });
  afterAll(() => mesh?.[Symbol.asyncDispose]());

  test('the ends see each other two steps away', async () => {
    expect(await c.peer(a)).toMatchObject({ isReachable: true, hops: 2 });
    expect(await c.peer(b)).toMatchObject({ isReachable: true, hops: 1 });
  });

  test('one end calls a tool of the other through the middle, which answers for itself', async () => {
    const answer = await c.call('lab:count_a', { ticket: 'through the middle' });
    expect(answer).toMatchObject({ status: 'success', execution: { node_id: a.id, hops: 2 } });
    expect(runsOf(a.stateDir)).toEqual(['through the middle']);
    expect(JSON.stringify(await a.get('/api/v1/audit?limit=10'))).toContain(c.id);
  });

  test('a budget of one hop does not reach the other end', async () => {
    const answer = await c.call('lab:count_a', { ticket: 'too far' }, '?hop_limit=1');
    expect(answer).toMatchObject({ status: 'error', error: { code: 'NO_CAPABLE_NODE' } });
    expect(runsOf(a.stateDir)).not.toContain('too far');
  });

  test('without the middle the ends are out of reach, and with it again in reach', async () => {
    await b.kill();
    await until(REACH_LIMIT_MS, async () => (await c.peer(a))?.isReachable !== true, 'the other end to be out of reach');
    expect(await c.call('lab:count_a', { ticket: 'no way' })).toMatchObject({ status: 'error' });
    await b.start();
    const backMs = await timeUntil(REACH_LIMIT_MS, async () => c.knows(a), 'the other end to be in reach again');
    figure('line.back', backMs, 'ms');
    expect(runsOf(a.stateDir)).not.toContain('no way');
  });
});

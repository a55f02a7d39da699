import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { HubId } from '../../src/core/ids.ts';
import { chooseBorders } from '../../src/mesh/sites/sites.ts';
import { figure } from './mesh/figures.ts';
import { foundMesh, LabMesh, untilComplete } from './mesh/lab-mesh.ts';
import { runsOf } from './mesh/lab-tools.ts';
import { MESH_PORT, type MeshHub } from './mesh/mesh-hub.ts';
import { timeUntil } from './mesh/until.ts';

const FOUND_LIMIT_MS = 60_000;
const HEAL_LIMIT_MS = 10_000;

describe('two sites in one network', () => {
  let mesh: LabMesh;
  let north: readonly MeshHub[];
  let south: readonly MeshHub[];

  beforeAll(async () => {
    mesh = await new LabMesh().start();
    const hosts = await mesh.lab.addHosts(5);
    const [first, second, ...others] = hosts;
    const [target] = others;
    if (!first || !second || !target) throw new RangeError('no hosts');
    const peers = [`${target.address()}:${MESH_PORT}`];
    north = [await mesh.addHub(first, { mesh: { site: 'north', peers } }), await mesh.addHub(second, { mesh: { site: 'north' } })];
    const started: MeshHub[] = [];
    for (const host of others) started.push(await mesh.addHub(host, { mesh: { site: 'south' } }));
    south = started;
    await foundMesh([...north, ...south]);
    await untilComplete(north);
    await untilComplete(south);
  });
  afterAll(() => mesh?.[Symbol.asyncDispose]());

  const borders = () =>
    chooseBorders(
      'south',
      south.map(({ id }) => id as HubId),
    );
  const inside = () => {
    const hub = south.find(({ id }) => !borders().includes(id as HubId));
    if (!hub) throw new RangeError('no hub inside');
    return hub;
  };
  const callFrom = async (caller: MeshHub, ticket: string) =>
    (await caller.call(`lab:count_${inside().name}`, { ticket }, `?only_nodes=${inside().id}`)).status === 'success';

  test('know only the hubs of their own site', async () => {
    const idsOf = async (hub: MeshHub) => (await hub.peers()).filter(({ state }) => state === 'fresh').map(({ id }) => id);
    const [a, b] = north;
    expect(await idsOf(a as MeshHub)).toEqual([b?.id]);
    expect((await idsOf(south[0] as MeshHub)).toSorted()).toEqual(
      south
        .slice(1)
        .map(({ id }) => id)
        .toSorted(),
    );
  });

  test('call a tool of the other site, whose hub decides and writes it down', async () => {
    const caller = north[1] as MeshHub;
    const foundMs = await timeUntil(FOUND_LIMIT_MS, () => callFrom(caller, 'across'), 'the call to cross');
    figure('sites.first_call', foundMs, 'ms');
    expect(runsOf(inside().stateDir)).toContain('across');
    expect(JSON.stringify(await inside().get('/api/v1/audit?limit=20'))).toContain(caller.id);
  });

  test('call again within 10 s of the loss of a border member', async () => {
    const lost = south.find(({ id }) => id === borders()[0]) as MeshHub;
    await lost.kill();
    const healedMs = await timeUntil(
      2 * HEAL_LIMIT_MS,
      () => callFrom(north[1] as MeshHub, `healed-${Date.now()}`),
      'calls to cross again',
    );
    figure('sites.healed', healedMs, 'ms');
    expect(healedMs).toBeLessThanOrEqual(HEAL_LIMIT_MS);
  });
});

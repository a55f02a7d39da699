import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findDebianTool } from '../../scripts/network-lab/debian-tool.ts';
import { figure, IS_LONG, LONG_REASON } from './mesh/figures.ts';
import { admit, foundMesh, LabMesh } from './mesh/lab-mesh.ts';
import { runsOf } from './mesh/lab-tools.ts';
import type { MeshHub } from './mesh/mesh-hub.ts';
import { timeUntil } from './mesh/until.ts';

const REACH_LIMIT_MS = 20_000;
const hasNft = findDebianTool('nft') !== undefined;
const REASON = hasNft ? '' : ' (skipped: nft is missing; scripts/netlab tools gets it)';

describe.skipIf(!hasNft || !IS_LONG)(
  `two hubs, each behind a router of its own, and one that both can dial${REASON || LONG_REASON}`,
  () => {
    let mesh: LabMesh;
    let relay: MeshHub;
    let home: MeshHub;
    let cabin: MeshHub;

    beforeAll(async () => {
      mesh = await new LabMesh().start();
      relay = await mesh.addHub(await mesh.lab.addHost('relay'));
      home = await behindRouter('home', 1);
      cabin = await behindRouter('cabin', 2);
      await foundMesh([relay]);
      await admit(relay, home);
      await admit(relay, cabin);
      const ms = await timeUntil(
        REACH_LIMIT_MS,
        async () => (await home.knows(cabin)) && (await cabin.knows(home)),
        'the two to know each other',
      );
      figure('nat.complete', ms, 'ms');
    });
    afterAll(() => mesh?.[Symbol.asyncDispose]());

    async function behindRouter(name: string, lan: number): Promise<MeshHub> {
      const router = await mesh.lab.addHost(`r${name}`, { lans: [0, lan] });
      const host = await mesh.lab.addHost(name, { lans: [lan] });
      await router.route({ outsideCard: 0 });
      await host.defaultRoute(router.address(1));
      return mesh.addHub(host, { mesh: { peers: [relay.meshAddress] } });
    }

    test('call each other through it', async () => {
      expect(await home.call('lab:count_cabin', { ticket: 'from home' })).toMatchObject({
        status: 'success',
        execution: { node_id: cabin.id, hops: 2 },
      });
      expect(await cabin.call('lab:count_home', { ticket: 'from the cabin' })).toMatchObject({
        status: 'success',
        execution: { node_id: home.id },
      });
      expect([runsOf(cabin.stateDir), runsOf(home.stateDir)]).toEqual([['from home'], ['from the cabin']]);
    });

    test('dial again after the relay has restarted', async () => {
      await relay.kill();
      await relay.start();
      const backMs = await timeUntil(REACH_LIMIT_MS, async () => home.knows(cabin), 'the way to be back');
      figure('nat.back', backMs, 'ms');
      expect(await home.result('lab:count_cabin', { ticket: 'again' })).toMatchObject({ ticket: 'again' });
    });
  },
);

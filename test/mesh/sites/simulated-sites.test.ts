import { describe, expect, test } from 'vitest';
import { makeIdentity } from '../../../scripts/simulation/simulated-authority.ts';
import type { SimulatedHub } from '../../../scripts/simulation/simulated-hub.ts';
import { SimulatedSites } from '../../../scripts/simulation/simulated-sites.ts';
import { siteTool } from '../../../scripts/simulation/simulated-tools.ts';
import { lookupRequestCodec } from '../../../src/codec/messages/site.ts';
import { chooseBorders } from '../../../src/mesh/sites/sites.ts';

const NEVER = new AbortController().signal;

async function threeSites(): Promise<SimulatedSites> {
  const sim = new SimulatedSites();
  await sim.start({ sites: 3, hubsPerSite: 4, tools: 4 });
  await sim.mesh.clock.run(30_000);
  return sim;
}

/** Looks for a tool; answers how long it took and whether it was found. */
async function look(sim: SimulatedSites, { gossip }: SimulatedHub, name: string) {
  let isAnswered = false;
  const startMs = sim.mesh.clock.monotonic();
  const answered = gossip.catalogue.awaitComplete(undefined, { name });
  void answered?.then(() => {
    isAnswered = true;
  });
  if (answered) await sim.mesh.clock.run(20_000, () => isAnswered);
  const tool = gossip.catalogue.resolve(name, {});
  return { isFound: tool !== undefined, hubs: tool?.hubs?.(), ms: sim.mesh.clock.monotonic() - startMs };
}

const insider = (hubs: readonly SimulatedHub[] | undefined) => {
  const hub = hubs?.find(({ gossip }) => !gossip.sites?.isBorder());
  if (!hub) throw new RangeError('every hub is a border member');
  return hub;
};

describe('sites of a mesh', () => {
  test('gossip inside, agree on their border members and know the summaries of all others', async () => {
    await using sim = await threeSites();
    for (const hubs of sim.sites) {
      const ids = hubs.map(({ id }) => id).toSorted();
      const borders = new Set(hubs.map(({ gossip }) => String(gossip.sites?.borders())));
      expect(borders).toEqual(new Set([String(chooseBorders(hubs[0]?.site ?? '', ids))]));
      for (const { id, gossip } of hubs) {
        expect(gossip.directory.hubs().map((other) => other.id)).toEqual(ids.filter((other) => other !== id));
        expect(gossip.sites?.views().map(({ hubs: count, borders: theirs }) => [count, theirs.length])).toEqual([
          [4, 2],
          [4, 2],
        ]);
      }
    }
  });

  test('find a tool of another site when somebody looks for it, and nothing without', async () => {
    await using sim = await threeSites();
    const finder = insider(sim.sites[0]);
    expect(finder.gossip.catalogue.all().filter(({ id }) => id.includes('s1h2'))).toEqual([]);
    const { isFound, hubs, ms } = await look(sim, finder, 's1h2_hall_light_0_turn_on');
    expect([isFound, hubs]).toEqual([true, [sim.sites[1]?.[2]?.id]]);
    expect(ms).toBeLessThan(1_000);
    const peer = finder.gossip.peers.peers().find(({ id }) => id === sim.sites[1]?.[2]?.id);
    expect(peer).toMatchObject({ isReachable: true, toolCount: 4 });
    expect(peer?.hops).toBeGreaterThan(0);
    expect(finder.gossip.directory.vector().map(({ hubId }) => hubId)).not.toContain(peer?.id);
    expect((await look(sim, finder, 's1h2_boat')).isFound).toBe(false);
    await sim.mesh.clock.run(300_000);
    expect(finder.gossip.hubs.hubs()).toHaveLength(3);
  });

  test('mean the tool of their own site by a name that another site has too', async () => {
    await using sim = await threeSites();
    const finder = insider(sim.sites[0]);
    const [own, other] = [sim.sites[0]?.find((hub) => hub !== finder), sim.sites[1]?.[1]];
    const shared = siteTool(30, 'garden');
    for (const hub of [own, other]) hub?.registry.register(shared);
    await sim.mesh.clock.run(5_000);
    await look(sim, finder, 's1h1_hall_light_0_turn_on');
    expect((await look(sim, finder, 's1h1_hall_light_0_turn_on')).hubs).toEqual([other?.id]);
    expect((await look(sim, finder, shared.definition.name)).hubs).toContain(own?.id);
  });

  test('find a new tool of another site within 5 s', async () => {
    await using sim = await threeSites();
    const finder = insider(sim.sites[2]);
    const tool = siteTool(30, 'new');
    sim.sites[0]?.[3]?.registry.register(tool);
    await sim.mesh.clock.run(4_000);
    const { isFound, ms } = await look(sim, finder, tool.definition.name);
    expect([isFound, ms < 1_000]).toEqual([true, true]);
  });

  test('find tools while a border member has lost its power, and choose another one within 10 s', async () => {
    await using sim = await threeSites();
    const [home = [], away = []] = sim.sites;
    const finder = insider(home);
    const borders = away[0]?.gossip.sites?.borders() ?? [];
    const lost = away.find(({ id }) => id === borders[0]);
    const rest = away.filter(({ id }) => id !== borders[0]);
    const tooled = rest.find(({ id }) => !borders.includes(id));
    if (!lost || !tooled) throw new RangeError('no border member');
    sim.losePower(lost);
    const name = [...tooled.registry.all()].find(({ id }) => id.includes('s1h'))?.definition.name ?? '';
    const { isFound, ms } = await look(sim, finder, name);
    expect([isFound, ms < 2_000]).toEqual([true, true]);
    await sim.mesh.clock.run(10_000 - ms);
    for (const { gossip } of rest)
      expect(gossip.sites?.borders()).toEqual(
        chooseBorders(
          'site-1',
          rest.map(({ id }) => id),
        ),
      );
    await sim.mesh.clock.run(2_000);
    expect(
      finder.gossip.sites
        ?.views()
        .find(({ site }) => site === 'site-1')
        ?.borders.slice(0, 2),
    ).toEqual(rest[0]?.gossip.sites?.borders());
  });

  test('forget the hubs and the summary of a removed member', async () => {
    await using sim = await threeSites();
    const finder = insider(sim.sites[0]);
    const target = sim.sites[1]?.[2];
    await look(sim, finder, 's1h2_hall_light_0_turn_on');
    const border = sim.sites[1]?.[0]?.gossip.sites?.borders()[0];
    if (!target || !border) throw new RangeError('no hub');
    for (const id of [target.id, border]) sim.mesh.authority.revoke(id);
    finder.gossip.recheck();
    expect(finder.gossip.hubs.hub(target.id)).toBeUndefined();
    expect(finder.gossip.sites?.views().map(({ site }) => site)).toEqual(['site-2']);
  });

  test('answer a lookup with hubs of their own site only, and accept none of another site in an answer', async () => {
    await using sim = await threeSites();
    const [asker, border] = [insider(sim.sites[0]), sim.sites[1]?.find(({ gossip }) => gossip.sites?.isBorder())];
    const sites = asker.gossip.sites;
    if (!border || !sites) throw new RangeError('no border member');
    const envelopes = [...asker.gossip.directory.envelopesOf(asker.id)];
    sites.visited.record('site-1', { envelopes, blobs: [] }, border.id);
    expect(sites.visited.hubs()).toEqual([]);
    const words = ['s2h1_hall_light_0_turn_on'];
    const body = lookupRequestCodec.encode({ site: 'site-9', words, hopsLeft: 8 });
    const asked = border.links.answer('lookup', body, { from: makeIdentity().hubId, signal: NEVER });
    const refused = expect(asked).rejects.toMatchObject({ code: 'NODE_UNAVAILABLE' });
    await sim.mesh.clock.run(10_000);
    await refused;
  });
});

import { describe, expect, test } from 'vitest';
import { SimulatedMesh } from '../../../scripts/simulation/simulated-mesh.ts';
import { simulatedTool } from '../../../scripts/simulation/simulated-tools.ts';

const tools = (count: number, device = 'any') => Array.from({ length: count }, (_, index) => simulatedTool(index, device));

describe('a mesh of 20 hubs', () => {
  test('knows all tools everywhere, a new one within milliseconds, and admits a late joiner', async () => {
    await using mesh = new SimulatedMesh();
    for (let index = 0; index < 20; index++) await mesh.add({ tools: tools(10) });
    await mesh.connectAll();
    expect(await mesh.converge(60_000)).toBeLessThan(60_000);

    mesh.hubs[0]?.registry.register(simulatedTool(40, 'any'));
    expect(await mesh.converge(60_000)).toBeLessThan(500);

    const late = await mesh.add({ tools: tools(5) });
    const joined = mesh.join(late);
    expect(await mesh.converge(60_000)).toBeLessThan(1_000);
    await joined;
    expect(late.gossip.catalogue.all()).toHaveLength(11);
  });

  test('keeps hubs fresh between their heartbeats, shows within seconds that one is not there any more, and forgets it in time', async () => {
    await using mesh = new SimulatedMesh();
    for (let index = 0; index < 20; index++) await mesh.add({ tools: tools(1) });
    await mesh.connectAll();
    await mesh.converge(60_000);
    await mesh.clock.run(100_000);
    const [first, ...others] = mesh.hubs;
    const seen = () => [...new Set(others.map(({ gossip }) => first && gossip.directory.hub(first.id)?.state))];
    const freshEverywhere = () =>
      others.every(({ gossip }) => gossip.directory.hubs().every(({ id, state }) => id === first?.id || state === 'fresh'));
    expect([seen(), freshEverywhere()]).toEqual([['fresh'], true]);
    await first?.crash();
    await mesh.clock.run(15_000);
    expect([seen(), freshEverywhere()]).toEqual([['stale'], true]);
    await mesh.clock.run(200_000);
    expect([seen(), freshEverywhere()]).toEqual([['gone'], true]);
  });
});

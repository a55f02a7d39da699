import { describe, expect, test } from 'vitest';
import { SimulatedMesh } from '../../../scripts/simulation/simulated-mesh.ts';
import { simulatedTool } from '../../../scripts/simulation/simulated-tools.ts';

const tools = (count: number, device = 'any') => Array.from({ length: count }, (_, index) => simulatedTool(index, device));

describe('a mesh of 20 hubs', () => {
  test('knows all tools everywhere, hears of a new one in milliseconds, and takes a late joiner in', async () => {
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
});

import { describe, expect, test } from 'vitest';
import { makeIdentity } from '../../../scripts/simulation/simulated-authority.ts';
import type { SimulatedHub } from '../../../scripts/simulation/simulated-hub.ts';
import { SimulatedMesh } from '../../../scripts/simulation/simulated-mesh.ts';
import { simulatedTool } from '../../../scripts/simulation/simulated-tools.ts';
import { NO_DEVICES } from '../../../src/core/devices/device-directory.ts';
import type { Device } from '../../../src/core/devices/device-model.ts';
import type { StatementSource } from '../../../src/mesh/gossip/statement-exchange.ts';
import { ToolDirectory } from '../../../src/tools/registry/tool-directory.ts';
import { makeTool } from '../../calls/pipeline-fixture.ts';
import { MemoryKeyValueStore } from '../../memory-key-value-store.ts';

const tools = (count: number, device = 'any') => Array.from({ length: count }, (_, index) => simulatedTool(index, device));

/** A chain of hubs: each is connected with the one before. */
async function chainOf(mesh: SimulatedMesh, hubs: readonly SimulatedHub[]): Promise<void> {
  const dials = hubs.slice(1).map((hub, index) => hub.connect(hubs[index] ?? hub));
  await mesh.clock.run(50);
  await Promise.all(dials);
}

/** Statements that are whatever bytes somebody adds. */
class Statements implements StatementSource {
  readonly kind = 'token_revocation';
  readonly #known = new Map<string, Uint8Array>();

  statements(): readonly Uint8Array[] {
    return [...this.#known.values()];
  }

  merge(statement: Uint8Array): boolean {
    const name = Buffer.from(statement).toString('hex');
    const isNew = !this.#known.has(name);
    this.#known.set(name, statement);
    return isNew;
  }
}

describe('Gossip', () => {
  test('announces no tools of administration', async () => {
    await using mesh = new SimulatedMesh();
    const permissions = ['admin:hub'];
    const hub = await mesh.add({
      tools: [makeTool({ namespace: 'hub', name: 'restart', requires: { permissions } }), makeTool({ name: 'look' })],
    });
    const other = await mesh.add({ tools: [] });
    await chainOf(mesh, [hub, other]);
    await mesh.clock.run(1_000);
    expect(other.gossip.catalogue.all().map(({ id }) => id)).toEqual(['core:look@1.0.0']);
  });

  test('announces within seconds that a hub has lost its network, and that it has one again', async () => {
    await using mesh = new SimulatedMesh();
    let isOnline = true;
    const hub = await mesh.add({ tools: [], isOnline: () => isOnline });
    const other = await mesh.add({ tools: [] });
    await chainOf(mesh, [hub, other]);
    const seen = async () => {
      await mesh.clock.run(12_000);
      return other.gossip.peers.peers().map((peer) => [peer.isOnline, peer.capabilities]);
    };
    expect(await seen()).toEqual([[undefined, ['light_control']]]);
    isOnline = false;
    expect(await seen()).toEqual([[false, ['light_control']]]);
    isOnline = true;
    expect(await seen()).toEqual([[undefined, ['light_control']]]);
  });

  test('resolves the former name of a tool of a device, also on a hub that joins after the rename', async () => {
    await using mesh = new SimulatedMesh();
    const lamp = { id: 'lamp', name: 'Hall lamp', deviceTypes: ['on_off_light'], reachability: 'reachable' } as unknown as Device;
    const called = (name: string, ...aliases: string[]) => ({
      ...makeTool({ namespace: 'matter', name, metadata: { device: 'lamp' } }),
      aliases,
    });
    const before = called('attic_lamp_turn_on');
    const hub = await mesh.add({ tools: [before], devices: { ...NO_DEVICES, list: () => [lamp] } });
    const other = await mesh.add({ tools: [] });
    await chainOf(mesh, [hub, other]);
    await mesh.converge(30_000);
    hub.registry.unregister(before.id);
    const after = called('hall_lamp_turn_on', 'attic_lamp_turn_on');
    hub.registry.register(after);
    await mesh.clock.run(30_000);
    const late = await mesh.add({ tools: [] });
    await chainOf(mesh, [hub, late]);
    await mesh.clock.run(30_000);
    for (const { id, registry, gossip } of [other, late]) {
      const known = new ToolDirectory({ registry, self: { id, name: 'here' }, remote: gossip.catalogue, mesh: gossip.peers });
      for (const onlyNodes of [undefined, [hub.id]]) {
        const meant = known.resolve('attic_lamp_turn_on', { ...(onlyNodes && { onlyNodes }) });
        expect([meant.id, meant.hubs?.(), meant.definition.metadata.tags]).toEqual([after.id, [hub.id], []]);
      }
    }
  });

  test('finds the route to hubs that are not directly connected', async () => {
    await using mesh = new SimulatedMesh();
    const hubs = [await mesh.add({ tools: [] }), await mesh.add({ tools: [] }), await mesh.add({ tools: tools(1) })];
    await chainOf(mesh, hubs);
    await mesh.converge(30_000);
    await mesh.clock.run(1_000);
    const [first, second, third] = hubs;
    expect(third && first?.gossip.peers.routeTo(third.id)).toEqual({ nextHop: second?.id, hops: 2 });
    expect(first?.gossip.peers.peers().find(({ id }) => id === third?.id)).toMatchObject({
      name: 'hub2',
      state: 'fresh',
      isReachable: true,
      hops: 2,
      toolCount: 1,
      missingTools: 0,
      capabilities: ['light_control'],
    });
  });

  test('announces that a hub leaves', async () => {
    await using mesh = new SimulatedMesh();
    const hubs = [await mesh.add({ tools: [] }), await mesh.add({ tools: tools(2) })];
    await chainOf(mesh, hubs);
    await mesh.converge(30_000);
    await hubs[1]?.gossip[Symbol.asyncDispose]();
    await mesh.clock.run(100);
    expect(hubs[0]?.gossip.directory.hubs().map(({ state }) => state)).toEqual(['left']);
    expect(hubs[0]?.gossip.catalogue.all()).toEqual([]);
    await mesh.clock.run(60_000);
    const [gone] = tools(1);
    const departed = (name = '', isVisible = () => true) => hubs[0]?.gossip.catalogue.departedHubs(name, { isVisible });
    expect(departed(gone?.id)).toEqual([{ id: hubs[1]?.id, name: 'hub1' }]);
    expect([departed('matter:nothing'), departed(gone?.id, () => false)]).toEqual([[], []]);
    await mesh.clock.run(400_000);
    expect(departed(gone?.id)).toEqual([]);
  });

  test('fetches the definition of a tool that this hub has just removed from a hub that still has the tool', async () => {
    await using mesh = new SimulatedMesh();
    const [hub, other] = [await mesh.add({ tools: tools(3) }), await mesh.add({ tools: tools(3) })];
    await chainOf(mesh, [hub, other]);
    await mesh.converge(30_000);
    // Until nobody has news any more: nothing but the loss itself lets it look.
    await mesh.clock.run(60_000);
    for (const { id } of tools(3)) hub.registry.unregister(id);
    await mesh.clock.run(25_000);
    expect(hub.gossip.peers.peers()).toMatchObject([{ toolCount: 3, missingTools: 0 }]);
    expect(hub.gossip.catalogue.all()).toHaveLength(3);
  });

  test('has all definitions of a hub that was away and comes back with the same tools', async () => {
    await using mesh = new SimulatedMesh();
    const [identity, store] = [makeIdentity(), new MemoryKeyValueStore(mesh.clock)];
    const other = await mesh.add({ tools: tools(2) });
    const first = await mesh.add({ tools: tools(5), identity, store, name: 'first' });
    await chainOf(mesh, [other, first]);
    await mesh.converge(30_000);
    await first.stop();
    mesh.hubs.pop();
    // Long enough for what nobody needs to be forgotten.
    await mesh.clock.run(25_000);
    const second = await mesh.add({ tools: tools(5), identity, store, name: 'second' });
    await chainOf(mesh, [other, second]);
    await mesh.clock.run(2_000);
    expect(other.gossip.peers.peers()).toMatchObject([{ state: 'fresh', toolCount: 5, missingTools: 0 }]);
  });

  test('counts its starts, and exceeds the count that others remember when its own was lost and its clock is wrong', async () => {
    await using mesh = new SimulatedMesh();
    const identity = makeIdentity();
    const other = await mesh.add({ tools: [] });
    const store = new MemoryKeyValueStore(mesh.clock);
    store.set('mesh.gossip', 'epoch', 9_000_000_000);
    const first = await mesh.add({ tools: tools(3), identity, store, name: 'first' });
    expect(first.gossip.announcer.epoch).toBe(9_000_000_001);
    await chainOf(mesh, [other, first]);
    await mesh.converge(30_000);
    await first.stop();
    mesh.hubs.pop();
    const second = await mesh.add({ tools: tools(1), identity, name: 'second' });
    expect(second.gossip.announcer.epoch).toBe(Math.floor(Date.UTC(2026, 0, 1) / 1000));
    await chainOf(mesh, [other, second]);
    expect(await mesh.converge(60_000)).toBeLessThan(60_000);
    expect(second.gossip.announcer.epoch).toBe(9_000_000_002);
    expect(other.gossip.directory.hub(identity.hubId)?.state).toBe('fresh');
  });

  test('converges although half of the gossip is lost', async () => {
    await using mesh = new SimulatedMesh();
    for (let index = 0; index < 8; index++) await mesh.add({ tools: tools(2) });
    await chainOf(mesh, mesh.hubs);
    await mesh.converge(30_000);
    mesh.network.loseGossip(0.5);
    for (const hub of mesh.hubs) hub.registry.register(simulatedTool(50, 'any'));
    expect(await mesh.converge(120_000)).toBeLessThan(70_000);
  });

  test('spreads a statement to every hub at once', async () => {
    await using mesh = new SimulatedMesh();
    const sources = [new Statements(), new Statements(), new Statements(), new Statements()];
    const hubs: SimulatedHub[] = [];
    for (const source of sources) hubs.push(await mesh.add({ tools: [], statements: [source] }));
    await chainOf(mesh, hubs);
    await mesh.clock.run(2_000);
    sources[0]?.merge(Uint8Array.of(1, 2, 3));
    hubs[0]?.gossip.statements.spread();
    const everywhere = () => sources.every((source) => source.statements().length === 1);
    expect(await mesh.clock.run(30_000, everywhere)).toBeLessThan(1_000);
  });

  test('deletes a revoked member as soon as the revocation arrives', async () => {
    await using mesh = new SimulatedMesh();
    const sources = [new Statements(), new Statements()];
    const hubs = [
      await mesh.add({ tools: [], statements: sources.slice(0, 1) }),
      await mesh.add({ tools: [], statements: sources.slice(1) }),
    ];
    const bad = await mesh.add({ tools: tools(1) });
    await chainOf(mesh, [...hubs, bad]);
    await mesh.converge(30_000);
    mesh.authority.revoke(bad.id);
    sources[1]?.merge(Uint8Array.of(1));
    hubs[1]?.gossip.statements.spread();
    await mesh.clock.run(1_000);
    expect(hubs[0]?.gossip.directory.hub(bad.id)).toBeUndefined();
  });
});

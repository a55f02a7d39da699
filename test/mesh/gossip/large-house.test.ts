import { describe, expect, test } from 'vitest';
import { makeIdentity, SimulatedAuthority } from '../../../scripts/simulation/simulated-authority.ts';
import { SimulatedMesh } from '../../../scripts/simulation/simulated-mesh.ts';
import { type HubState, inCanonicalOrder } from '../../../src/codec/messages/announced-state.ts';
import { openAnnouncement } from '../../../src/codec/messages/announcement.ts';
import { silentLogger } from '../../../src/core/logger.ts';
import { Announcer } from '../../../src/mesh/gossip/announcer.ts';
import { offeredDefinition, prepareOffers } from '../../../src/mesh/gossip/definition-store.ts';
import { AnnouncedEpoch } from '../../../src/mesh/gossip/hub-record.ts';
import { makeTool } from '../../calls/pipeline-fixture.ts';
import { MemoryKeyValueStore } from '../../memory-key-value-store.ts';
import { makeDirectory } from './gossip-fixture.ts';

const NOBODY: HubState = { name: 'attic', version: '1.0.0', addresses: [], links: [], capabilities: [], tools: [], devices: [] };

/** An announcer of a house of so many tools, whose definitions are hashed some at a time. */
function houseOf(count: number) {
  const authority = new SimulatedAuthority();
  const { clock, directory, blobs } = makeDirectory(authority);
  const hub = makeIdentity();
  const certificate = authority.certify(hub);
  const tools = Array.from({ length: count }, (_, index) => makeTool({ name: `tool_${index}` }));
  const told: string[] = [];
  const announcer = new Announcer({
    hub,
    certificate: () => certificate,
    epoch: new AnnouncedEpoch({ store: new MemoryKeyValueStore(clock), clock }),
    state: () => {
      if (!prepareOffers(tools)) return undefined;
      const entries = tools.map((tool) => ({ id: tool.id as string, hash: offeredDefinition(tool).hash }));
      return { state: { ...NOBODY, tools: inCanonicalOrder(entries) }, definitions: [] };
    },
    directory,
    blobs,
    publish: async (envelope) => void told.push(openAnnouncement(envelope, () => hub.publicKey).kind),
    clock,
    logger: silentLogger,
    random: () => 0.5,
  });
  return { announcer, clock, told };
}

describe('the announcer of a house with many tools', () => {
  test('lets other work run before the first announcement, and announces nothing until then', async () => {
    const { announcer, clock, told } = houseOf(600);
    await announcer.start();
    clock.advance(2);
    expect(told).toEqual([]);
    clock.advance(100);
    await expect.poll(() => told).toEqual(['full']);
    await announcer[Symbol.asyncDispose]();
    expect(told).toEqual(['full', 'withdrawal']);
  });

  test('announces no leave when it has announced nothing', async () => {
    const { announcer, clock, told } = houseOf(600);
    await announcer.start();
    await announcer[Symbol.asyncDispose]();
    clock.advance(300_000);
    expect(told).toEqual([]);
  });
});

test('definitions are hashed 32 at a time, and each once', () => {
  const tools = Array.from({ length: 70 }, (_, index) => makeTool({ name: `tool_${index}` }));
  expect([prepareOffers(tools), prepareOffers(tools), prepareOffers(tools)]).toEqual([false, false, true]);
  expect(tools.map(offeredDefinition)).toEqual(tools.map(offeredDefinition));
  expect(prepareOffers(tools)).toBe(true);
});

test.each([
  { count: 400, others: 2 },
  { count: 2_000, others: 1 },
])(
  'a house of $count tools is announced in pages, and a change of one tool reaches $others others in a chain',
  async ({ count, others }) => {
    await using mesh = new SimulatedMesh();
    const large = await mesh.add({ tools: Array.from({ length: count }, (_, index) => makeTool({ name: `tool_${index}` })) });
    let last = large;
    for (let index = 0; index < others; index++) {
      const next = await mesh.add({ tools: [] });
      const dialled = next.connect(last);
      await mesh.clock.run(20);
      await dialled;
      last = next;
    }
    expect(await mesh.converge(30_000)).toBeLessThan(5_000);
    const sentBytes = large.sent.bytes;
    large.registry.register(makeTool({ name: `tool_${count}` }));
    expect(await mesh.converge(30_000)).toBeLessThan(1_000);
    expect(large.sent.bytes - sentBytes).toBeLessThan(1_000);
    expect(last.gossip.directory.hub(large.id)?.tools).toHaveLength(count + 1);
    const envelopes = large.gossip.directory.envelopesBeyond([], 1_000_000);
    expect(envelopes.every(({ length }) => length <= 4_096)).toBe(true);
  },
);

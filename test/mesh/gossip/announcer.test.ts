import { describe, expect, test } from 'vitest';
import { makeIdentity, SimulatedAuthority } from '../../../scripts/simulation/simulated-authority.ts';
import type { HubState } from '../../../src/codec/messages/announced-state.ts';
import { type Announcement, openAnnouncement } from '../../../src/codec/messages/announcement.ts';
import { silentLogger } from '../../../src/core/logger.ts';
import { isSameChain } from '../../../src/mesh/gossip/announcement-validator.ts';
import { Announcer } from '../../../src/mesh/gossip/announcer.ts';
import { AnnouncedEpoch } from '../../../src/mesh/gossip/hub-record.ts';
import { MemoryKeyValueStore } from '../../memory-key-value-store.ts';
import { makeDirectory, namedTools } from './gossip-fixture.ts';

/** An announcer of a hub whose state and certificate a test sets, and all that it said. */
async function speaker(authority = new SimulatedAuthority()) {
  const { clock, directory, blobs } = makeDirectory(authority);
  const hub = makeIdentity();
  const told: Announcement[] = [];
  const own = {
    certificate: authority.certify(hub),
    state: { name: 'attic', version: '1.0.0', addresses: [], links: [], capabilities: [], tools: [], devices: [] } as HubState,
  };
  const announcer = new Announcer({
    hub,
    certificate: () => own.certificate,
    epoch: new AnnouncedEpoch({ store: new MemoryKeyValueStore(clock), clock }),
    state: () => ({ state: own.state, definitions: [] }),
    directory,
    blobs,
    publish: async (envelope) => void told.push(openAnnouncement(envelope, () => hub.publicKey)),
    clock,
    logger: silentLogger,
    random: () => 0.5,
  });
  await announcer.start();
  /** Sets the tools and gives the announcer time to say so. */
  const change = (...names: readonly string[]) => {
    own.state = { ...own.state, tools: namedTools(...names) };
    announcer.changed();
  };
  return { announcer, clock, told, own, hub, authority, change, kinds: () => told.map(({ kind }) => kind) };
}

describe('an announcer', () => {
  test('announces the whole state at first, a heartbeat every two minutes, and its leave at the end', async () => {
    const { announcer, clock, told, kinds } = await speaker();
    clock.advance(119_999);
    expect(kinds()).toEqual(['full']);
    clock.advance(120_001);
    expect(kinds()).toEqual(['full', 'heartbeat', 'heartbeat']);
    await announcer[Symbol.asyncDispose]();
    clock.advance(240_000);
    expect(kinds()).toEqual(['full', 'heartbeat', 'heartbeat', 'withdrawal']);
    expect(told.map(({ sequence }) => sequence)).toEqual([1, 2, 3, 4]);
    expect(new Set(told.map(({ digest }) => digest)).size).toBe(1);
  });

  test('announces the changes of 20 ms together, relative to its last announcement, and nothing that is unchanged', async () => {
    const { clock, told, kinds, change, announcer } = await speaker();
    change('one');
    clock.advance(10);
    change('one', 'two');
    clock.advance(10);
    expect(told.at(-1)).toMatchObject({ kind: 'delta', baseSequence: 1, changes: { toolsAdded: namedTools('one', 'two') } });
    announcer.changed();
    clock.advance(1_000);
    expect(kinds()).toEqual(['full', 'delta']);
  });

  test('announces a new certificate with the whole state, although nothing else changed', async () => {
    const { clock, told, kinds, own, announcer, hub, authority } = await speaker();
    own.certificate = authority.certify(hub);
    announcer.changed();
    clock.advance(20);
    expect(kinds()).toEqual(['full', 'full']);
    const last = told.at(-1);
    expect(last?.kind === 'full' && isSameChain(last.certificate, own.certificate)).toBe(true);
  });

  test('stays below the rate that others accept, however much changes, and announces the last state in the end', async () => {
    const { clock, told, change } = await speaker();
    for (let count = 1; count <= 500; count++) {
      change(`tool${count}`);
      clock.advance(20);
    }
    expect(told.length).toBeLessThan(45);
    clock.advance(2_000);
    expect(JSON.stringify(told.at(-1))).toContain('tool500');
  });
});

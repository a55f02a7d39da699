import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { SimulatedAuthority } from '../../../scripts/simulation/simulated-authority.ts';
import type { DropReason } from '../../../src/mesh/gossip/gossip-limits.ts';
import type { KnownHub } from '../../../src/mesh/gossip/known-hub.ts';
import { makeDirectory, namedTools, Origin } from './gossip-fixture.ts';

type DirectoryFixture = ReturnType<typeof makeDirectory>;

function dropsOf({ drops }: DirectoryFixture): Partial<Record<DropReason, number>> {
  return Object.fromEntries(Object.entries(drops.counts()).filter(([, count]) => count > 0));
}

/** What does not depend on when something was heard. */
function wordsOf(hub: KnownHub | undefined) {
  const { lastSeenMs: _, ...words } = hub ?? { lastSeenMs: 0 };
  return words;
}

/** One hub tells another everything that it lacks, as `AntiEntropy` does. */
function sync(from: DirectoryFixture, to: DirectoryFixture): void {
  for (const envelope of from.directory.envelopesBeyond(to.directory.vector(), 1_000_000)) to.directory.receive(envelope, from.neighbour);
}

describe('MeshDirectory', () => {
  test('knows a hub by its full announcement, its changes and its heartbeats', () => {
    const room = makeDirectory();
    const origin = new Origin(room.authority);
    const verdicts = [
      origin.full({ tools: namedTools('light', 'light2') }),
      origin.delta({ tools: namedTools('light', 'lamp', 'light_a') }),
      origin.heartbeat(),
    ].map((envelope) => room.directory.receive(envelope, room.neighbour));
    expect(verdicts).toEqual(['accept', 'accept', 'accept']);
    expect(room.toolsOf(origin.id)).toEqual(['lamp', 'light', 'light_a']);
    expect(dropsOf(room)).toEqual({});
  });

  test('in any order, with losses and repetitions, ends with what the origin says after two comparisons', () => {
    const step = fc.record({
      kind: fc.constantFrom('full', 'delta', 'delta', 'delta', 'heartbeat', 'restart'),
      names: fc.subarray(['a', 'b', 'c2', 'c', 'c_d', 'e']),
    });
    const authority = new SimulatedAuthority();
    fc.assert(
      fc.property(fc.array(step, { minLength: 2, maxLength: 7 }), fc.array(fc.nat(7), { maxLength: 8 }), (steps, order) => {
        const [complete, tested] = [makeDirectory(authority), makeDirectory(authority)];
        const origin = new Origin(authority);
        const said: (readonly string[])[] = [];
        const envelopes = [origin.full()];
        said.push([]);
        for (const { kind, names } of steps) {
          if (kind === 'restart') origin.restart();
          envelopes.push(
            kind === 'heartbeat'
              ? origin.heartbeat()
              : kind === 'delta'
                ? origin.delta({ tools: namedTools(...names) })
                : origin.full({ tools: namedTools(...names) }),
          );
          said.push(origin.state.tools.map(({ id }) => id));
        }
        for (const envelope of envelopes) complete.directory.receive(envelope, complete.neighbour);
        for (const index of order) {
          const envelope = envelopes[index % envelopes.length];
          if (envelope) tested.directory.receive(envelope, tested.neighbour);
          const tools = tested.directory.hub(origin.id)?.tools.map(({ id }) => id);
          if (tools) expect(said).toContainEqual(tools);
        }
        // A later announcement with the digest that is known hides what was missed before it: the first comparison shows the gap.
        sync(complete, tested);
        sync(complete, tested);
        expect(wordsOf(tested.directory.hub(origin.id))).toEqual(wordsOf(complete.directory.hub(origin.id)));
        expect(tested.directory.vector()).toEqual(complete.directory.vector());
        expect(tested.directory.hub(origin.id)?.tools).toEqual(origin.state.tools);
      }),
      { numRuns: 50 },
    );
  });

  test('sends a third hub the bytes that the origin signed', () => {
    const authority = new SimulatedAuthority();
    const [first, second, third] = [makeDirectory(authority), makeDirectory(authority), makeDirectory(authority)];
    const origin = new Origin(authority);
    const envelopes = [origin.full(), origin.delta({ tools: namedTools('a') }), origin.heartbeat()];
    for (const envelope of envelopes) first.directory.receive(envelope, first.neighbour);
    sync(first, second);
    sync(second, third);
    expect(third.directory.envelopesBeyond([], 1_000_000)).toEqual(envelopes);
    expect(third.toolsOf(origin.id)).toEqual(['a']);
  });

  test('lets only the origin change its entry', () => {
    const room = makeDirectory();
    const [origin, thief] = [new Origin(room.authority), new Origin(room.authority)];
    room.directory.receive(origin.full({ tools: namedTools('a') }), room.neighbour);
    const header = { ...origin.header(), sequence: 9 };
    const stolen = thief.sign({ kind: 'heartbeat', ...header });
    const withOwnCertificate = thief.sign({
      ...header,
      kind: 'full',
      certificate: thief.certificate,
      state: { ...thief.state, name: 'mine now', tools: { kind: 'inline', entries: [] }, devices: null },
    });
    expect(room.directory.receive(stolen, room.neighbour)).toBe('reject');
    expect(room.directory.receive(withOwnCertificate, room.neighbour)).toBe('ignore');
    expect(dropsOf(room)).toEqual({ forged: 1, not_a_member: 1 });
    expect(room.directory.hub(origin.id)?.name).toBe('attic');
    expect(room.toolsOf(origin.id)).toEqual(['a']);
  });

  test('records none of a thousand invented identities, and no more members than its limit', () => {
    const room = makeDirectory(new SimulatedAuthority(), { maxHubs: 2 });
    const stranger = new Origin(new SimulatedAuthority());
    const state = { ...stranger.state, tools: { kind: 'inline', entries: [] }, devices: null } as const;
    for (let made = 0; made < 1_000; made++) {
      const hubId = `hub-${made.toString(16).padStart(16, '0')}` as Origin['id'];
      const madeUp = stranger.sign({ kind: 'full', ...stranger.header(), hubId, certificate: stranger.certificate, state });
      room.directory.receive(madeUp, room.neighbour);
    }
    expect(room.directory.hubs()).toEqual([]);
    expect(room.directory.bytes).toBe(0);
    expect(dropsOf(room)).toEqual({ not_a_member: 1_000 });
    for (let member = 0; member < 4; member++) room.directory.receive(new Origin(room.authority).full(), room.neighbour);
    expect(room.directory.hubs()).toHaveLength(2);
    expect(dropsOf(room).too_many_hubs).toBe(2);
  });

  test('records no more than its memory limit allows', () => {
    const room = makeDirectory(new SimulatedAuthority(), { maxBytes: 20_000 });
    const names = Array.from({ length: 20 }, (_, index) => `tool_${index}`);
    for (let member = 0; member < 10; member++)
      room.directory.receive(new Origin(room.authority).full({ tools: namedTools(...names) }), room.neighbour);
    expect(room.directory.bytes).toBeLessThan(20_000 + 8_000);
    expect(dropsOf(room).out_of_memory).toBeGreaterThan(0);
  });

  test('shows a hub as stale after 90 s and gone after 300 s, then deletes it, whatever time the clock of that hub has', () => {
    const room = makeDirectory();
    const origin = new Origin(room.authority);
    origin.timeMs -= 600_000;
    room.directory.receive(origin.full(), room.neighbour);
    const states = [0, 89_000, 2_000, 208_000, 2_000, 30_000].map((ms) => {
      room.clock.advance(ms);
      room.directory.sweep();
      return room.directory.hub(origin.id)?.state;
    });
    expect(states).toEqual(['fresh', 'fresh', 'stale', 'stale', 'gone', undefined]);
  });

  test('keeps a hub fresh as long as it is directly connected', () => {
    const room = makeDirectory();
    const origin = new Origin(room.authority);
    room.directory.receive(origin.full(), room.neighbour);
    room.linked.add(origin.id);
    room.clock.advance(1_000_000);
    room.directory.sweep();
    expect(room.directory.hub(origin.id)?.state).toBe('fresh');
  });

  test('keeps a hub with a route fresh, until it is gone by its own announcements', () => {
    const room = makeDirectory();
    const origin = new Origin(room.authority);
    room.directory.receive(origin.full(), room.neighbour);
    room.ways.add(origin.id);
    const stateAfter = (ms: number) => {
      room.clock.advance(ms);
      room.directory.sweep();
      return room.directory.hub(origin.id)?.state;
    };
    expect(stateAfter(100_000)).toBe('fresh');
    room.ways.clear();
    expect(stateAfter(0)).toBe('stale');
    room.ways.add(origin.id);
    expect([stateAfter(199_000), stateAfter(1_000)]).toEqual(['fresh', 'gone']);
  });

  test('ignores old announcements of a deleted hub from a neighbour', () => {
    const authority = new SimulatedAuthority();
    const [room, slow] = [makeDirectory(authority), makeDirectory(authority)];
    const origin = new Origin(authority);
    const full = origin.full();
    for (const { directory, neighbour } of [room, slow]) directory.receive(full, neighbour);
    room.clock.advance(400_000);
    room.directory.sweep();
    sync(slow, room);
    expect(room.directory.hubs()).toEqual([]);
    room.directory.receive(origin.full(), room.neighbour);
    expect(room.directory.hubs()).toHaveLength(1);
  });

  test('shows that a hub has left at once, and that it is back', () => {
    const room = makeDirectory();
    const origin = new Origin(room.authority);
    room.directory.receive(origin.full({ tools: namedTools('a') }), room.neighbour);
    room.directory.receive(origin.withdrawal(), room.neighbour);
    expect(room.directory.hub(origin.id)?.state).toBe('left');
    origin.restart();
    room.directory.receive(origin.full(), room.neighbour);
    expect(room.directory.hub(origin.id)?.state).toBe('fresh');
  });

  test('ignores announcements of an earlier start of a hub, and repeated ones', () => {
    const room = makeDirectory();
    const origin = new Origin(room.authority, 5);
    const old = origin.full({ tools: namedTools('old') });
    origin.restart();
    room.directory.receive(origin.full({ tools: namedTools('new') }), room.neighbour);
    expect(room.directory.receive(old, room.neighbour)).toBe('ignore');
    expect(room.toolsOf(origin.id)).toEqual(['new']);
    expect(dropsOf(room)).toEqual({ stale: 1 });
  });

  test('names the neighbour to query after a gap', () => {
    const room = makeDirectory();
    const origin = new Origin(room.authority);
    const asked: string[] = [];
    room.directory.onBehind((from) => asked.push(from));
    room.directory.receive(origin.heartbeat(), room.neighbour);
    room.directory.receive(origin.full(), room.neighbour);
    origin.delta({ tools: namedTools('a') });
    room.directory.receive(origin.heartbeat(), room.neighbour);
    expect(room.directory.receive(origin.delta({ tools: namedTools('b') }), room.neighbour)).toBe('accept');
    expect(asked).toEqual([room.neighbour, room.neighbour, room.neighbour]);
    expect(room.toolsOf(origin.id)).toEqual([]);
  });

  test('verifies no more signatures than a neighbour and an origin may cost, and lets them go on later', () => {
    const room = makeDirectory();
    const [origin, thief] = [new Origin(room.authority), new Origin(room.authority)];
    room.directory.receive(origin.full(), room.neighbour);
    for (let forged = 0; forged < 300; forged++)
      room.directory.receive(thief.sign({ kind: 'heartbeat', ...origin.header() }), 'hub-hostile' as Origin['id']);
    expect(dropsOf(room)).toEqual({ forged: 80, origin_rate: 220 });
    expect(room.verified.count).toBe(81);
    // Over another neighbour the hub is heard all the same.
    expect(room.directory.receive(origin.heartbeat(), room.neighbour)).toBe('accept');
  });

  test('limits the rate of a neighbour to that of a whole mesh', () => {
    const room = makeDirectory();
    const garbage = Uint8Array.of(1);
    for (let sent = 0; sent < 3_000; sent++) room.directory.receive(garbage, room.neighbour);
    expect(dropsOf(room)).toEqual({ malformed: 2_048, neighbour_rate: 952 });
    room.clock.advance(1_000);
    expect(room.directory.receive(new Origin(room.authority).full(), room.neighbour)).toBe('accept');
    expect(room.directory.receive(new Uint8Array(4_097), room.neighbour)).toBe('reject');
    expect(dropsOf(room).oversized).toBe(1);
  });

  test('refuses a state that is not what its digest says', () => {
    const room = makeDirectory();
    const origin = new Origin(room.authority);
    const header = origin.header();
    const state = { ...origin.state, name: 'other', tools: { kind: 'inline', entries: [] }, devices: null } as const;
    expect(room.directory.receive(origin.sign({ kind: 'full', ...header, certificate: origin.certificate, state }), room.neighbour)).toBe(
      'reject',
    );
    expect(dropsOf(room)).toEqual({ wrong_digest: 1 });
    expect(room.directory.hubs()).toEqual([]);
  });

  test('distinguishes two hubs with one name, and cleans their names', () => {
    const room = makeDirectory();
    for (const origin of [new Origin(room.authority), new Origin(room.authority)])
      room.directory.receive(origin.full({ name: 'at\u001b[2Jtic' }), room.neighbour);
    expect(room.directory.hubs().map(({ name }) => name)).toEqual(['at [2Jtic', 'at [2Jtic']);
  });

  test('deletes a hub whose certificate is no longer valid, and does not record it again', () => {
    const room = makeDirectory();
    const origin = new Origin(room.authority);
    room.directory.receive(origin.full(), room.neighbour);
    room.authority.revoke(origin.id);
    room.directory.recheck();
    expect(room.directory.hubs()).toEqual([]);
    expect(room.directory.receive(origin.full(), room.neighbour)).toBe('ignore');
    expect(room.directory.hubs()).toEqual([]);
  });
});

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
    const setup = makeDirectory();
    const origin = new Origin(setup.authority);
    const verdicts = [
      origin.full({ tools: namedTools('light', 'light2') }),
      origin.delta({ tools: namedTools('light', 'lamp', 'light_a') }),
      origin.heartbeat(),
    ].map((envelope) => setup.directory.receive(envelope, setup.neighbour));
    expect(verdicts).toEqual(['accept', 'accept', 'accept']);
    expect(setup.toolsOf(origin.id)).toEqual(['lamp', 'light', 'light_a']);
    expect(dropsOf(setup)).toEqual({});
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
    const setup = makeDirectory();
    const [origin, thief] = [new Origin(setup.authority), new Origin(setup.authority)];
    setup.directory.receive(origin.full({ tools: namedTools('a') }), setup.neighbour);
    const header = { ...origin.header(), sequence: 9 };
    const stolen = thief.sign({ kind: 'heartbeat', ...header });
    const withOwnCertificate = thief.sign({
      ...header,
      kind: 'full',
      certificate: thief.certificate,
      state: { ...thief.state, name: 'mine now', tools: { kind: 'inline', entries: [] }, devices: null },
    });
    expect(setup.directory.receive(stolen, setup.neighbour)).toBe('reject');
    expect(setup.directory.receive(withOwnCertificate, setup.neighbour)).toBe('ignore');
    expect(dropsOf(setup)).toEqual({ forged: 1, not_a_member: 1 });
    expect(setup.directory.hub(origin.id)?.name).toBe('attic');
    expect(setup.toolsOf(origin.id)).toEqual(['a']);
  });

  test('records none of a thousand invented identities, and no more members than its limit', () => {
    const setup = makeDirectory(new SimulatedAuthority(), { maxHubs: 2 });
    const stranger = new Origin(new SimulatedAuthority());
    const state = { ...stranger.state, tools: { kind: 'inline', entries: [] }, devices: null } as const;
    for (let made = 0; made < 1_000; made++) {
      const hubId = `hub-${made.toString(16).padStart(16, '0')}` as Origin['id'];
      const madeUp = stranger.sign({ kind: 'full', ...stranger.header(), hubId, certificate: stranger.certificate, state });
      setup.directory.receive(madeUp, setup.neighbour);
    }
    expect(setup.directory.hubs()).toEqual([]);
    expect(setup.directory.bytes).toBe(0);
    expect(dropsOf(setup)).toEqual({ not_a_member: 1_000 });
    for (let member = 0; member < 4; member++) setup.directory.receive(new Origin(setup.authority).full(), setup.neighbour);
    expect(setup.directory.hubs()).toHaveLength(2);
    expect(dropsOf(setup).too_many_hubs).toBe(2);
  });

  test('records no more than its memory limit allows', () => {
    const setup = makeDirectory(new SimulatedAuthority(), { maxBytes: 20_000 });
    const names = Array.from({ length: 20 }, (_, index) => `tool_${index}`);
    for (let member = 0; member < 10; member++)
      setup.directory.receive(new Origin(setup.authority).full({ tools: namedTools(...names) }), setup.neighbour);
    expect(setup.directory.bytes).toBeLessThan(20_000 + 8_000);
    expect(dropsOf(setup).out_of_memory).toBeGreaterThan(0);
  });

  test('shows a hub as stale after 90 s and gone after 300 s, then deletes it, whatever time the clock of that hub has', () => {
    const setup = makeDirectory();
    const origin = new Origin(setup.authority);
    origin.timeMs -= 600_000;
    setup.directory.receive(origin.full(), setup.neighbour);
    const states = [0, 89_000, 2_000, 208_000, 2_000, 30_000].map((ms) => {
      setup.clock.advance(ms);
      setup.directory.sweep();
      return setup.directory.hub(origin.id)?.state;
    });
    expect(states).toEqual(['fresh', 'fresh', 'stale', 'stale', 'gone', undefined]);
  });

  test('keeps a hub fresh as long as it is directly connected', () => {
    const setup = makeDirectory();
    const origin = new Origin(setup.authority);
    setup.directory.receive(origin.full(), setup.neighbour);
    setup.linked.add(origin.id);
    setup.clock.advance(1_000_000);
    setup.directory.sweep();
    expect(setup.directory.hub(origin.id)?.state).toBe('fresh');
  });

  test('keeps a hub with a route fresh, until it is gone by its own announcements', () => {
    const setup = makeDirectory();
    const origin = new Origin(setup.authority);
    setup.directory.receive(origin.full(), setup.neighbour);
    setup.ways.add(origin.id);
    const stateAfter = (ms: number) => {
      setup.clock.advance(ms);
      setup.directory.sweep();
      return setup.directory.hub(origin.id)?.state;
    };
    expect(stateAfter(100_000)).toBe('fresh');
    setup.ways.clear();
    expect(stateAfter(0)).toBe('stale');
    setup.ways.add(origin.id);
    expect([stateAfter(199_000), stateAfter(1_000)]).toEqual(['fresh', 'gone']);
  });

  test('ignores old announcements of a deleted hub from a neighbour', () => {
    const authority = new SimulatedAuthority();
    const [setup, slow] = [makeDirectory(authority), makeDirectory(authority)];
    const origin = new Origin(authority);
    const full = origin.full();
    for (const { directory, neighbour } of [setup, slow]) directory.receive(full, neighbour);
    setup.clock.advance(400_000);
    setup.directory.sweep();
    sync(slow, setup);
    expect(setup.directory.hubs()).toEqual([]);
    setup.directory.receive(origin.full(), setup.neighbour);
    expect(setup.directory.hubs()).toHaveLength(1);
  });

  test('knows a deleted hub again that was only cut off: it says that it is alive, and nothing else', () => {
    const authority = new SimulatedAuthority();
    const [setup, back] = [makeDirectory(authority), makeDirectory(authority)];
    const origin = new Origin(authority);
    const before = [origin.full({ tools: namedTools('lamp') }), origin.delta({ tools: namedTools('lamp', 'door') }), origin.heartbeat()];
    for (const { directory, neighbour } of [setup, back]) for (const envelope of before) directory.receive(envelope, neighbour);
    setup.clock.advance(400_000);
    setup.directory.sweep();
    sync(back, setup);
    expect(setup.directory.hubs()).toEqual([]);
    back.directory.receive(origin.heartbeat(), back.neighbour);
    for (let round = 0; round < 2; round++) sync(back, setup);
    expect(setup.toolsOf(origin.id)).toEqual(['door', 'lamp']);
    expect(setup.directory.isBehind(back.directory.vector())).toBe(false);
  });

  test('shows that a hub has left at once, and that it is back', () => {
    const setup = makeDirectory();
    const origin = new Origin(setup.authority);
    setup.directory.receive(origin.full({ tools: namedTools('a') }), setup.neighbour);
    setup.directory.receive(origin.withdrawal(), setup.neighbour);
    expect(setup.directory.hub(origin.id)?.state).toBe('left');
    origin.restart();
    setup.directory.receive(origin.full(), setup.neighbour);
    expect(setup.directory.hub(origin.id)?.state).toBe('fresh');
  });

  test('ignores announcements of an earlier start of a hub, and repeated ones', () => {
    const setup = makeDirectory();
    const origin = new Origin(setup.authority, 5);
    const old = origin.full({ tools: namedTools('old') });
    origin.restart();
    setup.directory.receive(origin.full({ tools: namedTools('new') }), setup.neighbour);
    expect(setup.directory.receive(old, setup.neighbour)).toBe('ignore');
    expect(setup.toolsOf(origin.id)).toEqual(['new']);
    expect(dropsOf(setup)).toEqual({ stale: 1 });
  });

  test('names the neighbour to query after a gap', () => {
    const setup = makeDirectory();
    const origin = new Origin(setup.authority);
    const asked: string[] = [];
    setup.directory.onBehind((from) => asked.push(from));
    setup.directory.receive(origin.heartbeat(), setup.neighbour);
    setup.directory.receive(origin.full(), setup.neighbour);
    origin.delta({ tools: namedTools('a') });
    setup.directory.receive(origin.heartbeat(), setup.neighbour);
    expect(setup.directory.receive(origin.delta({ tools: namedTools('b') }), setup.neighbour)).toBe('accept');
    expect(asked).toEqual([setup.neighbour, setup.neighbour, setup.neighbour]);
    expect(setup.toolsOf(origin.id)).toEqual([]);
  });

  test('verifies no more signatures than a neighbour and an origin may cost, and lets them go on later', () => {
    const setup = makeDirectory();
    const [origin, thief] = [new Origin(setup.authority), new Origin(setup.authority)];
    setup.directory.receive(origin.full(), setup.neighbour);
    for (let forged = 0; forged < 300; forged++)
      setup.directory.receive(thief.sign({ kind: 'heartbeat', ...origin.header() }), 'hub-hostile' as Origin['id']);
    expect(dropsOf(setup)).toEqual({ forged: 80, origin_rate: 220 });
    expect(setup.verified.count).toBe(81);
    // Over another neighbour the hub is heard all the same.
    expect(setup.directory.receive(origin.heartbeat(), setup.neighbour)).toBe('accept');
  });

  test('limits the rate of a neighbour to that of a whole mesh', () => {
    const setup = makeDirectory();
    const garbage = Uint8Array.of(1);
    for (let sent = 0; sent < 3_000; sent++) setup.directory.receive(garbage, setup.neighbour);
    expect(dropsOf(setup)).toEqual({ malformed: 2_048, neighbour_rate: 952 });
    setup.clock.advance(1_000);
    expect(setup.directory.receive(new Origin(setup.authority).full(), setup.neighbour)).toBe('accept');
    expect(setup.directory.receive(new Uint8Array(4_097), setup.neighbour)).toBe('reject');
    expect(dropsOf(setup).oversized).toBe(1);
  });

  test('refuses a state that is not what its digest says', () => {
    const setup = makeDirectory();
    const origin = new Origin(setup.authority);
    const header = origin.header();
    const state = { ...origin.state, name: 'other', tools: { kind: 'inline', entries: [] }, devices: null } as const;
    expect(setup.directory.receive(origin.sign({ kind: 'full', ...header, certificate: origin.certificate, state }), setup.neighbour)).toBe(
      'reject',
    );
    expect(dropsOf(setup)).toEqual({ wrong_digest: 1 });
    expect(setup.directory.hubs()).toEqual([]);
  });

  test('distinguishes two hubs with one name, and cleans their names', () => {
    const setup = makeDirectory();
    for (const origin of [new Origin(setup.authority), new Origin(setup.authority)])
      setup.directory.receive(origin.full({ name: 'at\u001b[2Jtic' }), setup.neighbour);
    expect(setup.directory.hubs().map(({ name }) => name)).toEqual(['at [2Jtic', 'at [2Jtic']);
  });

  test('deletes a hub whose certificate is no longer valid, and does not record it again', () => {
    const setup = makeDirectory();
    const origin = new Origin(setup.authority);
    setup.directory.receive(origin.full(), setup.neighbour);
    setup.authority.revoke(origin.id);
    setup.directory.recheck();
    expect(setup.directory.hubs()).toEqual([]);
    expect(setup.directory.receive(origin.full(), setup.neighbour)).toBe('ignore');
    expect(setup.directory.hubs()).toEqual([]);
  });
});

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { frameCodec } from '../../../src/codec/messages/connection.ts';
import type { AtmoError } from '../../../src/core/errors.ts';
import type { Json } from '../../../src/core/json.ts';
import { makeTool, settled } from '../../calls/pipeline-fixture.ts';
import { CallFixture } from './call-fixture.ts';
import { requireLink } from './link-fixture.ts';

/** Frames of a conversation other than those of the heartbeat. */
function isOfCall(frame: Uint8Array): boolean {
  return !['ping', 'pong'].includes(frameCodec.decode(frame).type);
}

const actingTool = (handler: () => Promise<Json>) =>
  makeTool({ execution: { side_effects: true }, requires: { permissions: ['probe:run'] }, handler });

interface Accident {
  /** Numbers of frames, of both hubs together, at which the connection is cut. */
  readonly cuts: readonly number[];
  readonly where: 'cut-before' | 'cut-after';
  /** How long the hubs are apart each time; `never` comes back. */
  readonly awayMs: number | 'never';
  readonly runsMs: number;
}

const accidents: fc.Arbitrary<Accident> = fc.record({
  cuts: fc.uniqueArray(fc.integer({ min: 0, max: 7 }), { minLength: 1, maxLength: 3 }),
  where: fc.constantFrom('cut-before', 'cut-after'),
  awayMs: fc.oneof(fc.integer({ min: 0, max: 4_000 }), fc.constant('never')),
  runsMs: fc.integer({ min: 0, max: 3_000 }),
});

/** Makes one call of a tool that acts while the connection breaks as told. */
async function callThrough({ cuts, where, awayMs, runsMs }: Accident) {
  const setup = await CallFixture.of(2);
  await setup.connect([0, 1]);
  const [entry, executor] = [setup.hub(0), setup.hub(1)];
  let runs = 0;
  const tool = actingTool(async () => {
    runs++;
    if (runsMs > 0) await new Promise<void>((resolve) => setup.clock.after(runsMs, resolve));
    return 'done';
  });
  executor.registry.register(tool);
  let frames = 0;
  const tap = (frame: Uint8Array) => {
    if (!isOfCall(frame) || !cuts.includes(frames++)) return frame;
    if (awayMs !== 'never') setup.clock.after(awayMs, () => void setup.links.connect(0, 1));
    return where;
  };
  entry.tap.current = tap;
  executor.tap.current = tap;
  const deadlineMs = setup.clock.now() + 10_000;
  const aborter = new AbortController();
  setup.clock.after(10_000, () => aborter.abort());
  const call = setup.forwarded(tool, { untilMs: deadlineMs, signal: aborter.signal });
  const outcome = await setup.within(
    12_000,
    entry.client.router.forward(executor.id, call).then(
      ({ result }) => ({ result }),
      (error: AtmoError) => ({ code: error.code }),
    ),
    250,
  );
  const runsThen = runs;
  // Whatever was on its way has time to do harm.
  await setup.run(5_000, 500);
  return { outcome, runsThen, runs, tookMs: setup.clock.now() - deadlineMs + 10_000 - 5_000 };
}

describe('a call that acts, wherever its connection breaks', () => {
  test('never runs twice, never runs after its answer, and is told honestly', async () => {
    const seen = new Set<string>();
    await fc.assert(
      fc.asyncProperty(accidents, async (accident) => {
        const { outcome, runsThen, runs } = await callThrough(accident);
        const told = 'result' in outcome ? 'success' : outcome.code;
        seen.add(told);
        expect(runs).toBeLessThanOrEqual(1);
        if (told === 'success') expect([runsThen, runs]).toEqual([1, 1]);
        else if (told === 'NODE_UNAVAILABLE') expect(runs).toBe(0);
        else expect(told).toBe('OUTCOME_UNKNOWN');
      }),
      { numRuns: 40, seed: 4711 },
    );
    expect([...seen].sort()).toEqual(['NODE_UNAVAILABLE', 'OUTCOME_UNKNOWN', 'success']);
  });

  test.each([0, 1, 2])('is answered when the connection is back after it broke at frame %i', async (frame) => {
    const { outcome, runs } = await callThrough({ cuts: [frame], where: 'cut-after', awayMs: 1_000, runsMs: 500 });
    expect([outcome, runs]).toEqual(frame === 0 ? [{ code: 'NODE_UNAVAILABLE' }, 0] : [{ result: 'done' }, 1]);
  });

  test('waits for its deadline before it says that nobody knows', async () => {
    const { outcome, tookMs } = await callThrough({ cuts: [1], where: 'cut-after', awayMs: 'never', runsMs: 100 });
    expect(outcome).toEqual({ code: 'OUTCOME_UNKNOWN' });
    expect(tookMs).toBeGreaterThanOrEqual(10_000);
  });
});

describe('a lost call', () => {
  test('that only reads is given up after two seconds, so that another hub can be asked', async () => {
    const setup = await CallFixture.of(2);
    await setup.connect([0, 1]);
    const tool = makeTool({ handler: () => new Promise(() => {}) });
    setup.hub(1).registry.register(tool);
    const answer = setup
      .hub(0)
      .client.router.forward(setup.hub(1).id, setup.forwarded(tool))
      .catch((error) => error.code);
    await settled();
    await setup.hub(0).engine.disconnect(setup.hub(1).id);
    const startMs = setup.clock.now();
    expect(await setup.within(5_000, answer)).toBe('NODE_UNAVAILABLE');
    expect(setup.clock.now() - startMs).toBeLessThanOrEqual(2_600);
  });

  test('is found again over another way', async () => {
    const setup = await CallFixture.of(3);
    await setup.connect([0, 1], [1, 2], [0, 2]);
    const gate = Promise.withResolvers<Json>();
    let runs = 0;
    const tool = actingTool(() => {
      runs++;
      return gate.promise;
    });
    setup.hub(2).registry.register(tool);
    const answer = setup.hub(0).client.router.forward(setup.hub(2).id, setup.forwarded(tool));
    await settled();
    await setup.hub(0).engine.disconnect(setup.hub(2).id);
    await setup.run(0);
    setup.route();
    await setup.run(500);
    gate.resolve('done');
    expect(await setup.within(5_000, answer)).toMatchObject({ result: 'done', hops: 1 });
    expect(runs).toBe(1);
  });

  test('that was given up does not run when its request comes late, over a hub in between', async () => {
    const setup = await CallFixture.of(3);
    await setup.connect([0, 1], [1, 2]);
    const [entry, relay, executor] = [setup.hub(0), setup.hub(1), setup.hub(2)];
    let runs = 0;
    const tool = actingTool(async () => ++runs);
    executor.registry.register(tool);
    const held: Uint8Array[] = [];
    relay.tap.current = (bytes, to) => {
      const frame = frameCodec.decode(bytes);
      if (to !== executor.id || frame.type !== 'request') return bytes;
      held.push(frame.body);
      return undefined;
    };
    const answer = entry.client.router.forward(executor.id, setup.forwarded(tool)).catch((error) => error.code);
    await settled();
    await entry.engine.disconnect(relay.id);
    await setup.run(0);
    await setup.connect([0, 2]);
    expect(await setup.within(3_000, answer)).toBe('NODE_UNAVAILABLE');
    relay.tap.current = undefined;
    const { signal } = new AbortController();
    const late = requireLink(relay.links.to(executor.id)).request('invoke', held[0] ?? new Uint8Array(0), { signal });
    await expect(late).rejects.toMatchObject({ code: 'NODE_UNAVAILABLE' });
    expect([held.length, runs, executor.drops.counts]).toEqual([1, 0, { 'call.replayed': 1 }]);
  });

  test('of a hub that started anew meanwhile has an unknown outcome at once', async () => {
    const setup = await CallFixture.of(3);
    await setup.connect([0, 1]);
    const [entry, executor] = [setup.hub(0), setup.hub(1)];
    const tool = actingTool(() => new Promise(() => {}));
    executor.registry.register(tool);
    let frames = 0;
    entry.tap.current = (frame) => (isOfCall(frame) && frames++ === 0 ? 'cut-before' : frame);
    const answer = entry.client.router.forward(executor.id, setup.forwarded(tool)).catch((error) => error.code);
    executor.epoch.value = 8;
    await setup.run(0);
    setup.epochs.set(executor.id, 8);
    await setup.links.connect(0, 1);
    expect(await setup.within(3_000, answer)).toBe('OUTCOME_UNKNOWN');
  });
});

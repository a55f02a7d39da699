import { describe, expect, test } from 'vitest';
import { type ForwardedRequest, forwardedRequestCodec } from '../../../src/codec/messages/call.ts';
import { frameCodec } from '../../../src/codec/messages/connection.ts';
import { decodeSessionCall } from '../../../src/codec/messages/session-call.ts';
import { REQUEST_KINDS } from '../../../src/mesh/rpc/peer-link.ts';
import { makeTool } from '../../calls/pipeline-fixture.ts';
import { seededRandom } from '../../seeded-random.ts';
import { Draw } from '../../simulation/draw.ts';
import { CallFixture } from './call-fixture.ts';

const CALLS_AT_ONCE = 30;
const LONGEST_MS = 800;

/** Hubs in a line, of which the last one has a tool that notes by how much it acted before the deadline of its call. */
async function lineOf(hubs: number, seed: number) {
  const draw = new Draw(seededRandom(seed));
  const way = { leastMs: 5, mostMs: 5 };
  const setup = await CallFixture.of(hubs, { latencyMs: () => draw.between(way.leastMs, way.mostMs) });
  await setup.connect(...Array.from({ length: hubs - 1 }, (_, index) => [index, index + 1] as const));
  const leftMs: number[] = [];
  const tool = makeTool({
    parameters: { type: 'object', properties: { until_ms: { type: 'number' } } },
    execution: { side_effects: true },
    requires: { permissions: ['probe:run'] },
    handler: async (params) => {
      leftMs.push(Number(params.until_ms) - setup.clock.monotonic());
      return null;
    },
  });
  const [entry, executor] = [setup.hub(0), setup.hub(hubs - 1)];
  executor.registry.register(tool);
  const call = () => {
    const untilMs = setup.clock.monotonic() + draw.between(1, LONGEST_MS);
    const forwarded = setup.forwarded(tool, { params: { until_ms: untilMs }, untilMs });
    return entry.client.router.forward(executor.id, forwarded).then(
      () => 'success',
      (error) => error.code,
    );
  };
  /** Makes calls while a message takes up to `mostMs` on each way. */
  const callAll = async (mostMs: number) => {
    Object.assign(way, { leastMs: 0.2, mostMs });
    const calls = Array.from({ length: CALLS_AT_ONCE }, call);
    await setup.run(LONGEST_MS + 4 * hubs * mostMs, 5);
    return Promise.all(calls);
  };
  return { setup, draw, leftMs, callAll };
}

describe.each([2, 3])('calls over a line of %i hubs', (hubs) => {
  test.each([1, 2, 3])('never act after their deadline, whatever the delays are: seed %i', async (seed) => {
    const { setup, draw, leftMs, callAll } = await lineOf(hubs, seed);
    for (let round = 0; round < 12; round++) {
      await callAll(draw.pick([2, 20, 100, 500]));
      await setup.run(1_000 * draw.index(20), 500);
    }
    expect(leftMs.length).toBeGreaterThan(100);
    expect(Math.min(...leftMs)).toBeGreaterThanOrEqual(0);
  });
});

const isSigned = ({ kind }: { readonly kind: number }) => kind === REQUEST_KINDS.invoke;

/** Two hubs, of which the second one has a tool; what the first one sends to it is kept, and `holdsPings` keeps its pings back. */
async function pair({
  holdsPings,
  isOlder,
  signs = false,
}: {
  readonly holdsPings: boolean;
  readonly isOlder: boolean;
  readonly signs?: boolean;
}) {
  const setup = await CallFixture.of(2);
  if (signs) setup.unread.add('wire:session');
  const [entry, executor] = [setup.hub(0), setup.hub(1)];
  if (isOlder) setup.firstHubs.add(executor.id);
  const requests: Pick<ForwardedRequest, 'remainingMs' | 'deadlineMs'>[] = [];
  entry.tap.current = (bytes) => {
    const frame = frameCodec.decode(bytes);
    if (frame.type === 'request') requests.push(isSigned(frame) ? forwardedRequestCodec.decode(frame.body) : decodeSessionCall(frame.body));
    return bytes;
  };
  if (holdsPings) executor.tap.current = (bytes) => (frameCodec.decode(bytes).type === 'ping' ? undefined : bytes);
  await setup.connect([0, 1]);
  const tool = makeTool({ handler: async () => 'done' });
  executor.registry.register(tool);
  const forward = (extra = {}) =>
    entry.client.router.forward(executor.id, setup.forwarded(tool, extra)).then(
      ({ result }) => result,
      (error) => error.code,
    );
  return { setup, entry, executor, requests, forward };
}

describe('a call', () => {
  test('names its deadline by the clock of the next hub, and an older hub gets only the time that is left', async () => {
    for (const [isOlder, signs] of [
      [false, false],
      [false, true],
      [true, true],
    ] as const) {
      const { setup, requests, forward } = await pair({ holdsPings: false, isOlder, signs });
      const untilMs = setup.clock.monotonic() + 2_000;
      expect(await setup.within(1_000, forward({ untilMs }))).toBe('done');
      expect(requests).toMatchObject([{ remainingMs: 2_000 }]);
      const [{ deadlineMs } = {}] = requests;
      if (isOlder) expect(deadlineMs).toBeUndefined();
      else expect(untilMs - Number(deadlineMs)).toSatisfy((earlyMs: number) => earlyMs >= 0 && earlyMs < 10);
    }
  });

  test('waits for the first ping of a hub whose clock is not known yet, and has less time then', async () => {
    const { setup, executor, requests, forward } = await pair({ holdsPings: true, isOlder: false });
    const answer = forward({ untilMs: setup.clock.monotonic() + 20_000 });
    await setup.run(1_000);
    expect(requests).toEqual([]);
    executor.tap.current = undefined;
    expect(await setup.within(60_000, answer)).toMatch(/done|TIMEOUT/);
    expect(requests[0]?.remainingMs).toBeLessThanOrEqual(19_000);
  });

  test('has not run if its caller leaves or the link ends while it waits for that', async () => {
    for (const end of ['leave', 'cut']) {
      const { setup, entry, executor, requests, forward } = await pair({ holdsPings: true, isOlder: false });
      const caller = new AbortController();
      const answer = forward({ signal: caller.signal });
      await setup.run(500);
      if (end === 'leave') caller.abort();
      else await entry.engine.disconnect(executor.id);
      expect(await setup.within(5_000, answer)).toBe('NODE_UNAVAILABLE');
      expect(requests).toEqual([]);
    }
  });
});

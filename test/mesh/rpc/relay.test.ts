import { describe, expect, test } from 'vitest';
import { forwardedRequestCodec } from '../../../src/codec/messages/call.ts';
import { frameCodec } from '../../../src/codec/messages/connection.ts';
import { AtmoError } from '../../../src/core/errors.ts';
import type { HubId } from '../../../src/core/ids.ts';
import type { Json } from '../../../src/core/json.ts';
import { makeTool, settled } from '../../calls/pipeline-fixture.ts';
import { CallFixture, type Tap } from './call-fixture.ts';

async function line(tool = makeTool({ handler: async (_, { nodeId }) => nodeId }), options = {}) {
  const setup = await CallFixture.of(3, options);
  await setup.connect([0, 1], [1, 2]);
  const [entry, relay, executor] = [setup.hub(0), setup.hub(1), setup.hub(2)];
  executor.registry.register(tool);
  const forward = (extra = {}) => entry.client.router.forward(executor.id, setup.forwarded(tool, extra));
  return { setup, entry, relay, executor, forward };
}

/** A line whose executing hub has a tool that acts, and ends only when `gate` is resolved. */
async function lineThatWaits() {
  const gate = Promise.withResolvers<Json>();
  const runs = { count: 0 };
  const tool = makeTool({
    execution: { side_effects: true },
    requires: { permissions: ['probe:run'] },
    handler: () => {
      runs.count++;
      return gate.promise;
    },
  });
  return { ...(await line(tool)), gate, runs };
}

/** Keeps the signed parts and answers that go by. */
function witness(signed: Buffer[], bodies: Buffer[]): Tap {
  return (bytes) => {
    const frame = frameCodec.decode(bytes);
    if (frame.type === 'request') signed.push(Buffer.from(forwardedRequestCodec.decode(frame.body).signed));
    if (frame.type === 'result') bodies.push(Buffer.from(frame.body));
    return bytes;
  };
}

describe('a hub in between', () => {
  test('hands a call on and its answer back, each as it was signed', async () => {
    const { setup, entry, relay, executor, forward } = await line();
    const [signed, bodies]: [Buffer[], Buffer[]] = [[], []];
    for (const hub of setup.hubs) hub.tap.current = witness(signed, bodies);
    expect(await forward()).toEqual({ result: executor.id, nodeId: executor.id, hops: 2 });
    expect([signed.length, bodies.length]).toEqual([2, 2]);
    expect(signed[0]?.equals(signed[1] ?? Buffer.of())).toBe(true);
    expect(bodies[0]?.equals(bodies[1] ?? Buffer.of())).toBe(true);
    expect([entry, relay, executor].map(({ drops }) => drops.counts)).toEqual([{}, {}, {}]);
  });

  test('is not asked when the hop budget allows none', async () => {
    const { relay, executor, forward } = await line();
    const refused = forward({ hopBudget: 0 });
    await expect(refused).rejects.toMatchObject({ code: 'NODE_UNAVAILABLE', details: { code: 'NO_CAPABLE_NODE' } });
    expect([relay, executor].map(({ setup }) => setup.audited)).toEqual([[], []]);
  });

  test('does not hand on what has no hops left', async () => {
    const setup = await CallFixture.of(4);
    await setup.connect([0, 1], [1, 2], [2, 3]);
    const tool = makeTool({});
    setup.hub(3).registry.register(tool);
    const way = (from: number, over: number) => setup.ways.set(`${setup.hub(from).id}>${setup.hub(3).id}`, setup.hub(over).id);
    way(0, 1);
    way(1, 2);
    const forward = (hopBudget: number) => setup.hub(0).client.router.forward(setup.hub(3).id, setup.forwarded(tool, { hopBudget }));
    await expect(forward(1)).rejects.toMatchObject({ details: { code: 'NO_CAPABLE_NODE' } });
    expect(await forward(2)).toMatchObject({ hops: 3 });
  });

  test('does not hand a request back to where it was', async () => {
    const { setup, entry, relay, executor, forward } = await line();
    await relay.engine.disconnect(executor.id);
    await setup.run(0);
    setup.ways.set(`${relay.id}>${executor.id}`, entry.id);
    setup.ways.set(`${entry.id}>${executor.id}`, relay.id);
    await expect(forward()).rejects.toMatchObject({ code: 'NODE_UNAVAILABLE', details: { code: 'NO_CAPABLE_NODE' } });
  });

  test('hands nothing on where its owner does not want it', async () => {
    const { relay, forward } = await line(undefined, { relays: false });
    await expect(forward()).rejects.toMatchObject({ code: 'NODE_UNAVAILABLE', details: { code: 'NO_CAPABLE_NODE' } });
    expect(relay.drops.counts).toEqual({ 'relay.disabled': 1 });
  });

  test('hands on errors, the acceptance and a cancel', async () => {
    const told: string[] = [];
    const tool = makeTool({
      handler: (_, { signal }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => {
            told.push('aborted');
            reject(new AtmoError('CLUSTER_STATUS', 'Stopped half way', { at: 'half' }));
          });
        }),
    });
    const { setup, forward } = await line(tool);
    const controller = new AbortController();
    const answer = forward({ signal: controller.signal, onAccept: () => told.push('accepted') }).catch((error: AtmoError) => error);
    await settled();
    expect(told).toEqual(['accepted']);
    controller.abort();
    expect(await setup.within(2_000, answer)).toMatchObject({ code: 'CLUSTER_STATUS', details: { at: 'half' } });
    expect(told).toEqual(['accepted', 'aborted']);
  });

  test('bounds how many requests of a neighbour it hands on at once', async () => {
    const gate = Promise.withResolvers<Json>();
    const tool = makeTool({ handler: () => gate.promise });
    const { relay, forward } = await line(tool);
    const asked = Array.from({ length: 33 }, () =>
      forward().then(
        () => 'ok',
        (error: AtmoError) => error.details.code,
      ),
    );
    await settled();
    gate.resolve('done');
    expect((await Promise.all(asked)).filter((told) => told !== 'ok')).toEqual(['RESOURCE_EXCEEDED']);
    expect(relay.drops.counts).toEqual({ 'relay.too_many': 1 });
  });

  test('takes off what the way needed', async () => {
    const tool = makeTool({ handler: async (_, { deadlineMs }) => deadlineMs });
    const { setup, forward } = await line(tool, { latencyMs: 40 });
    await setup.run(2_000, 20);
    const deadlineMs = setup.clock.now() + 5_000;
    const { result } = await setup.within(2_000, forward({ untilMs: deadlineMs }), 20);
    expect(Number(result)).toBeLessThanOrEqual(deadlineMs);
    expect(Number(result)).toBeGreaterThan(deadlineMs - 200);
  });
});

describe('a way that breaks behind the hub in between', () => {
  test('leaves the call running, and its answer is found when there is a way again', async () => {
    const { setup, relay, executor, forward, gate, runs } = await lineThatWaits();
    const answer = forward();
    await settled();
    await relay.engine.disconnect(executor.id);
    await setup.run(1_000);
    gate.resolve('done');
    await setup.connect([1, 2]);
    expect(await setup.within(10_000, answer)).toMatchObject({ result: 'done', hops: 2 });
    expect(runs.count).toBe(1);
  });

  test('before the call was accepted leaves it in doubt, not to be given to another hub', async () => {
    const { setup, relay, executor, forward, gate, runs } = await lineThatWaits();
    executor.tap.current = (bytes) => (frameCodec.decode(bytes).type === 'accept' ? 'cut-before' : bytes);
    const answer = forward();
    await settled();
    expect([runs.count, relay.links.to(executor.id)]).toEqual([1, undefined]);
    executor.tap.current = undefined;
    gate.resolve('done');
    await setup.connect([1, 2]);
    expect(await setup.within(10_000, answer)).toMatchObject({ result: 'done', hops: 2 });
    expect(runs.count).toBe(1);
  });

  test('before the hub in between leaves the call running too', async () => {
    const { setup, entry, relay, forward, gate } = await lineThatWaits();
    const answer = forward();
    await settled();
    await entry.engine.disconnect(relay.id);
    await setup.run(500);
    gate.resolve('done');
    await setup.connect([0, 1]);
    expect(await setup.within(10_000, answer)).toMatchObject({ result: 'done' });
  });

  test('without a way at all nothing was sent and another hub may be tried', async () => {
    const { setup, relay, executor, forward } = await line();
    await relay.engine.disconnect(executor.id);
    await setup.run(0);
    const nobody: HubId = executor.id;
    expect(relay.links.to(nobody)).toBeUndefined();
    await expect(forward()).rejects.toMatchObject({ code: 'NODE_UNAVAILABLE' });
  });
});

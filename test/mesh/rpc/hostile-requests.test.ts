import { describe, expect, test, vi } from 'vitest';
import {
  type ForwardedRequest,
  forwardedRequestCodec,
  type MeshQuery,
  meshQueryCodec,
  signToolInvoke,
  signToolResponse,
  type ToolInvoke,
} from '../../../src/codec/messages/call.ts';
import { frameCodec } from '../../../src/codec/messages/connection.ts';
import type { AtmoError } from '../../../src/core/errors.ts';
import type { HubId } from '../../../src/core/ids.ts';
import type { RequestKind } from '../../../src/mesh/rpc/peer-link.ts';
import { makeTool, settled } from '../../calls/pipeline-fixture.ts';
import { CallFixture, HOUR_MS, tokenText } from './call-fixture.ts';
import { identities, never, requireLink } from './link-fixture.ts';

/** Two members; the first sends what it likes. */
async function stage(count = 2) {
  const setup = await CallFixture.of(count);
  await setup.connect([0, 1]);
  const [entry, executor] = [setup.hub(0), setup.hub(1)];
  let runs = 0;
  executor.registry.register(makeTool({ handler: async () => ++runs }));
  const invoke: ToolInvoke = {
    id: 'req-1',
    entryHub: entry.id,
    executingHub: executor.id,
    executorEpoch: 7,
    timeMs: setup.clock.now(),
    token: tokenText({ id: 'agent-1', key: entry.identity.publicKey, permissions: ['*'], expiresAtMs: setup.clock.now() + HOUR_MS }),
    tool: 'probe',
    params: {},
    context: { agentId: 'agent-1', traceId: 'trace-1' },
    routing: { hopBudget: 1 },
    timeoutMs: 5_000,
    mode: 'sync',
  };
  const sendBytes = (body: Uint8Array, kind: RequestKind = 'invoke') =>
    requireLink(entry.links.to(executor.id))
      .request(kind, body, { signal: never })
      .then(
        () => 'answered',
        (error: AtmoError) => error.code,
      );
  const send = (change: Partial<ToolInvoke> = {}, wrapper: Partial<ForwardedRequest> = {}, key = entry.identity.key) =>
    sendBytes(
      forwardedRequestCodec.encode({
        ...signToolInvoke({ ...invoke, ...change }, key),
        remainingMs: 5_000,
        hopsLeft: 0,
        visited: [entry.id],
        ...wrapper,
      }),
    );
  return { setup, entry, executor, invoke, send, sendBytes, runs: () => runs };
}

describe('a request is refused and counted', () => {
  test('when it comes a second time', async () => {
    const { send, executor, runs } = await stage();
    expect([await send(), await send()]).toEqual(['answered', 'CONFLICT']);
    expect([runs(), executor.drops.counts]).toEqual([1, { 'call.replayed': 1 }]);
  });

  test('when it comes a second time after minutes, as long as its time would let it in', async () => {
    const { setup, send, executor, runs } = await stage();
    const request = { timeMs: setup.clock.now() + 59_000 };
    expect(await send(request, { remainingMs: 1_000 })).toBe('answered');
    await setup.run(117_000, 1_000);
    expect(await send({ id: 'req-2', timeMs: setup.clock.now() })).toBe('answered');
    expect(await send(request, { remainingMs: 1_000 })).toBe('CONFLICT');
    expect([runs(), executor.drops.counts]).toEqual([2, { 'call.replayed': 1 }]);
  });

  test('when it comes a second time, and a hub on the way had called its time over at first, or without end', async () => {
    for (const first of [{ deadlineMs: 0 }, { remainingMs: 0 }, { remainingMs: 2 ** 32 - 1 }]) {
      const { setup, send, runs } = await stage();
      await send({}, first);
      const ran = runs();
      await setup.run(30_000, 1_000);
      expect(await send({ id: 'req-2', timeMs: setup.clock.now() })).toBe('answered');
      await send({}, { remainingMs: 60_000 });
      // The answer of then may be given again. Nothing runs.
      expect(runs()).toBe(ran + 1);
    }
  });

  test('when its id was used for another one', async () => {
    const { send, executor, runs } = await stage();
    expect([await send(), await send({ params: {}, tool: 'core:probe' })]).toEqual(['answered', 'CONFLICT']);
    expect([runs(), executor.drops.counts]).toEqual([1, { 'call.replayed': 1 }]);
  });

  test('when it is older or newer than the clocks of two hubs may differ', async () => {
    const { setup, send, executor, runs } = await stage();
    const nowMs = setup.clock.now();
    expect(await send({ timeMs: nowMs - 60_001 })).toBe('VALIDATION_ERROR');
    expect(await send({ timeMs: nowMs + 60_001 })).toBe('VALIDATION_ERROR');
    expect([runs(), executor.drops.counts]).toEqual([0, { 'call.outside_time': 2 }]);
    expect(await send({ timeMs: nowMs - 59_999 })).toBe('answered');
  });

  test('when it was made for a former start of the hub', async () => {
    const { send, executor, runs } = await stage();
    expect(await send({ executorEpoch: 6 })).toBe('NODE_UNAVAILABLE');
    expect([runs(), executor.drops.counts]).toEqual([0, { 'call.former_epoch': 1 }]);
  });

  test('when it names the start before the first, also by a hub that has not counted one', async () => {
    const { send, executor, runs } = await stage();
    executor.epoch.value = 0;
    expect(await send({ executorEpoch: 0 })).toBe('NODE_UNAVAILABLE');
    expect([runs(), executor.drops.counts]).toEqual([0, { 'call.former_epoch': 1 }]);
  });

  test('when it is for a hub that is not there', async () => {
    const { send, runs } = await stage();
    const [stranger] = identities(1);
    expect(await send({ executingHub: stranger?.id ?? ('' as never) }, { hopsLeft: 3 })).toBe('NODE_UNAVAILABLE');
    expect(runs()).toBe(0);
  });

  test('when its entry hub is no member, or is one no longer', async () => {
    const { setup, entry, send, executor, runs } = await stage();
    setup.members.delete(entry.id);
    expect(await send()).toBe('PERMISSION_DENIED');
    expect([runs(), executor.drops.counts]).toEqual([0, { 'call.no_member': 1 }]);
  });

  test('when another key than that of the entry hub has signed it', async () => {
    const { send, executor, runs } = await stage();
    expect(await send({}, {}, executor.identity.key)).toBe('VALIDATION_ERROR');
    expect([runs(), executor.drops.counts]).toEqual([0, { 'call.forged_or_malformed': 1 }]);
  });

  test('when its parameters are not those that were signed', async () => {
    const { send, executor, runs } = await stage();
    expect(await send({}, { params: '{"a":1}' })).toBe('VALIDATION_ERROR');
    expect([runs(), executor.drops.counts]).toEqual([0, { 'call.forged_or_malformed': 1 }]);
  });

  test('when it came another way than it says', async () => {
    const { executor, entry, send, runs } = await stage();
    expect(await send({}, { visited: [executor.id] })).toBe('VALIDATION_ERROR');
    expect(await send({}, { visited: [entry.id, executor.id] })).toBe('VALIDATION_ERROR');
    expect(await send({}, { visited: [executor.id, entry.id] })).toBe('VALIDATION_ERROR');
    expect([runs(), executor.drops.counts]).toEqual([0, { 'call.wrong_path': 3 }]);
  });

  test('wherever one bit of it is another', async () => {
    const { entry, invoke, sendBytes, executor, runs } = await stage();
    const signed = signToolInvoke(invoke, entry.identity.key);
    const body = forwardedRequestCodec.encode({ ...signed, remainingMs: 5_000, hopsLeft: 0, visited: [entry.id] });
    const honest = forwardedRequestCodec.decode(body).signed;
    const start = Buffer.from(body).indexOf(Buffer.from(honest));
    for (let at = start; at < start + honest.length; at += 7) {
      const mutated = Uint8Array.from(body);
      mutated[at] = (mutated[at] ?? 0) ^ (1 << (at % 8));
      expect(await sendBytes(mutated), `byte ${at}`).not.toBe('answered');
    }
    expect(runs()).toBe(0);
    expect(Object.values(executor.drops.counts).reduce((sum, count) => sum + count, 0)).toBe(Math.ceil(honest.length / 7));
    expect(await sendBytes(body)).toBe('answered');
  });

  test('a question of one kind does not serve as another, nor twice', async () => {
    const { setup, entry, executor, invoke, sendBytes } = await stage();
    const { id, entryHub, executingHub, executorEpoch, timeMs, token } = invoke;
    const query: MeshQuery = { kind: 'job_status', id, entryHub, executingHub, executorEpoch, timeMs, token, jobId: 'j' };
    const signed = meshQueryCodec.sign(query, entry.identity.key);
    const body = forwardedRequestCodec.encode({ signed, remainingMs: 1_000, hopsLeft: 0, visited: [entry.id] });
    expect(await sendBytes(body, 'job_cancel')).toBe('VALIDATION_ERROR');
    expect(await sendBytes(body, 'invoke')).toBe('VALIDATION_ERROR');
    expect(await sendBytes(body, 'job_status')).toBe('answered');
    expect(await sendBytes(body, 'job_status')).toBe('CONFLICT');
    await setup.run(0);
    expect(executor.drops.counts['call.replayed']).toBe(1);
  });
});

test('a neighbour cannot send a request in a circle, nor to a hub where it says that it has been', async () => {
  const { setup, entry, executor: relay, send } = await stage(3);
  await setup.connect([1, 2]);
  const far = setup.hub(2);
  const sendOver = (id: string, between: HubId) =>
    send({ id, executingHub: far.id }, { hopsLeft: 3, visited: [entry.id, between, entry.id] });
  expect(await sendOver('one', relay.id)).toBe('NO_CAPABLE_NODE');
  expect(relay.drops.counts).toEqual({ 'relay.loop': 1 });
  expect(await sendOver('two', far.id)).toBe('NO_CAPABLE_NODE');
  expect(far.setup.audited).toEqual([]);
});

test('whoever may call a hub cannot have it call another one in its own name', async () => {
  const { send, executor } = await stage();
  const call = vi.spyOn(executor.setup.pipeline, 'call');
  expect(await send()).toBe('answered');
  expect(call.mock.calls.map(([{ routing }]) => routing)).toEqual([{ only_nodes: [executor.id] }]);
});

describe('a token', () => {
  test('that is bound to another key than the entry hub has is of no use to it', async () => {
    const { setup, executor } = await stage();
    setup.claims = { key: executor.identity.publicKey };
    const tool = makeTool({});
    const answer = setup.hub(0).client.router.forward(executor.id, setup.forwarded(tool));
    await expect(answer).rejects.toMatchObject({ code: 'TOKEN_INVALID' });
    expect(executor.drops.counts).toEqual({ 'call.no_possession': 1 });
  });

  test('belongs to who has the key of its last link: who handed it down cannot use it', async () => {
    const { setup, entry, executor } = await stage();
    const [child] = identities(1);
    setup.claims = { parentKey: entry.identity.publicKey, key: child?.publicKey ?? '' };
    const forward = () => entry.client.router.forward(executor.id, setup.forwarded(makeTool({})));
    await expect(forward()).rejects.toMatchObject({ code: 'TOKEN_INVALID' });
    setup.claims = { parentKey: child?.publicKey ?? '', key: entry.identity.publicKey };
    expect(await forward()).toMatchObject({ result: 1 });
  });

  test('of somebody else than the call says is refused', async () => {
    const { setup, executor } = await stage();
    setup.claims = { id: 'boss' };
    const answer = setup.hub(0).client.router.forward(executor.id, setup.forwarded(makeTool({})));
    await expect(answer).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
    expect(executor.drops.counts).toEqual({ 'call.other_agent': 1 });
  });

  test('that has ended is TOKEN_EXPIRED, and the call did not run', async () => {
    const { setup, executor, runs } = await stage();
    setup.claims = { expiresAtMs: setup.clock.now() - 1 };
    const answer = setup.hub(0).client.router.forward(executor.id, setup.forwarded(makeTool({})));
    await expect(answer).rejects.toMatchObject({ code: 'TOKEN_EXPIRED' });
    expect(runs()).toBe(0);
  });

  test('goes no further than it may', async () => {
    const setup = await CallFixture.of(3);
    await setup.connect([0, 1], [1, 2]);
    const tool = makeTool({});
    setup.hub(2).registry.register(tool);
    setup.claims = { maxHops: 1 };
    const answer = setup.hub(0).client.router.forward(setup.hub(2).id, setup.forwarded(tool));
    await expect(answer).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
    setup.claims = { maxHops: 2 };
    expect(await setup.hub(0).client.router.forward(setup.hub(2).id, setup.forwarded(tool))).toMatchObject({ hops: 2 });
  });
});

describe('an answer', () => {
  test('that the executing hub did not sign is not believed: it is asked what really happened', async () => {
    const { setup, executor, runs } = await stage();
    setup.unread.add('wire:session');
    const entry = setup.hub(0);
    executor.tap.current = (bytes) => {
      const frame = frameCodec.decode(bytes);
      if (frame.type !== 'result') return bytes;
      executor.tap.current = undefined;
      const execution = { nodeId: executor.id, durationUs: 1, hops: 1 };
      const forged = { id: 'x', requestId: 'req-1', status: 'success', execution, timeMs: 1, result: 'forged' } as const;
      return frameCodec.encode({ ...frame, body: signToolResponse(forged, entry.identity.key) });
    };
    const answer = await entry.client.router.forward(executor.id, setup.forwarded(makeTool({})));
    expect([answer.result, runs()]).toEqual([1, 1]);
    expect(entry.drops.counts).toEqual({ 'call.forged_answer': 1 });
  });

  test('of an earlier call does not serve for a later one', async () => {
    const { setup, executor } = await stage();
    setup.unread.add('wire:session');
    const entry = setup.hub(0);
    const results: Uint8Array[] = [];
    executor.tap.current = (bytes) => {
      const frame = frameCodec.decode(bytes);
      if (frame.type !== 'result') return bytes;
      results.push(frame.body);
      return results.length === 2 ? frameCodec.encode({ ...frame, body: results[0] ?? frame.body }) : bytes;
    };
    const forward = () => entry.client.router.forward(executor.id, setup.forwarded(makeTool({})));
    expect([(await forward()).result, (await forward()).result]).toEqual([1, 2]);
    expect(entry.drops.counts).toEqual({ 'call.forged_answer': 1 });
  });
});

describe('the same request over two ways', () => {
  test('runs once and both get the answer', async () => {
    const { setup, entry, executor, invoke, sendBytes } = await stage();
    let runs = 0;
    const gate = Promise.withResolvers<string>();
    executor.registry.register(
      makeTool({
        name: 'slow',
        handler: () => {
          runs++;
          return gate.promise;
        },
      }),
    );
    const signed = signToolInvoke({ ...invoke, tool: 'slow' }, entry.identity.key);
    const body = forwardedRequestCodec.encode({ ...signed, remainingMs: 5_000, hopsLeft: 0, visited: [entry.id] });
    const answers = [sendBytes(body), sendBytes(body)];
    await settled();
    gate.resolve('done');
    expect(await Promise.all(answers)).toEqual(['answered', 'answered']);
    expect(runs).toBe(1);
    expect(setup.hub(1).drops.counts).toEqual({});
  });

  test('is not another request with the id of one that runs: that neither runs nor hears its answer', async () => {
    const { executor, send, runs } = await stage();
    const gate = Promise.withResolvers<string>();
    executor.registry.register(makeTool({ name: 'slow', handler: () => gate.promise }));
    const running = send({ tool: 'slow' });
    await settled();
    expect(await send({ tool: 'probe' })).toBe('CONFLICT');
    gate.resolve('done');
    expect([await running, runs(), executor.drops.counts]).toEqual(['answered', 0, { 'call.replayed': 1 }]);
  });
});

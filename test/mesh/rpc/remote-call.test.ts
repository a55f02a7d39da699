import { describe, expect, test } from 'vitest';
import { frameCodec } from '../../../src/codec/messages/connection.ts';
import { AtmoError } from '../../../src/core/errors.ts';
import type { Json } from '../../../src/core/json.ts';
import { makeTool, settled } from '../../calls/pipeline-fixture.ts';
import { CallFixture } from './call-fixture.ts';

const acting = { side_effects: true };

async function pairWith(tool: ReturnType<typeof makeTool>, options = {}) {
  const setup = await CallFixture.of(2, options);
  await setup.connect([0, 1]);
  const [entry, executor] = [setup.hub(0), setup.hub(1)];
  executor.registry.register(tool);
  return { setup, entry, executor };
}

/** What a caller is told who cancels once the other hub has the call. */
async function codeOnceCancelled(tool: ReturnType<typeof makeTool>): Promise<unknown> {
  const { setup, entry, executor } = await pairWith(tool);
  const controller = new AbortController();
  const answer = entry.client.router
    .forward(executor.id, setup.forwarded(tool, { signal: controller.signal }))
    .catch((error) => error.code);
  await settled();
  controller.abort();
  return setup.within(1_000, answer);
}

describe('a call of a tool on another hub', () => {
  test('answers the result, the hub that ran it, and the hops', async () => {
    const tool = makeTool({ handler: async (_, context) => ({ agent: context.agentId, hub: context.nodeId, session: context.sessionId }) });
    const { setup, entry, executor } = await pairWith(tool);
    const answer = await entry.client.router.forward(executor.id, setup.forwarded(tool, { sessionId: 's-1' }));
    expect(answer).toEqual({ result: { agent: `agent-1@${entry.id}`, hub: executor.id, session: 's-1' }, nodeId: executor.id, hops: 1 });
  });

  test('passes every check of the executing hub and is in its journal under the same trace', async () => {
    const tool = makeTool({ requires: { permissions: ['probe:run'] } });
    const { setup, entry, executor } = await pairWith(tool);
    const principal = { id: 'agent-1', kind: 'agent', permissions: [] } as const;
    const refused = entry.client.router.forward(executor.id, setup.forwarded(tool, { principal }));
    await expect(refused).rejects.toMatchObject({ code: 'TOOL_NOT_FOUND' });
    await entry.client.router.forward(executor.id, setup.forwarded(tool));
    expect(executor.setup.audited.map(({ kind, traceId }) => [kind, traceId])).toEqual([
      ['refusal', 'trace-1'],
      ['intent', 'trace-1'],
      ['outcome', 'trace-1'],
    ]);
    expect(executor.setup.audited.at(-1)?.requestId).toMatch(/^req-1~/);
  });

  test('takes version, parameters and idempotency key along', async () => {
    let runs = 0;
    const tool = makeTool({
      version: '2.1.0',
      parameters: { type: 'object', properties: { level: { type: 'integer', description: 'Percent' } } },
      handler: async (params) => ({ params, runs: ++runs }),
    });
    const { setup, entry, executor } = await pairWith(tool);
    const call = setup.forwarded(tool, { params: { level: 3 }, idempotencyKey: 'k', versionRange: '>=2.0.0' });
    const first = await entry.client.router.forward(executor.id, call);
    const second = await entry.client.router.forward(executor.id, call);
    expect([first.result, second.result]).toEqual([
      { params: { level: 3 }, runs: 1 },
      { params: { level: 3 }, runs: 1 },
    ]);
    const missing = entry.client.router.forward(executor.id, setup.forwarded(tool, { versionRange: '^3.0.0' }));
    await expect(missing).rejects.toMatchObject({ code: 'TOOL_NOT_FOUND' });
  });

  test('tells the errors of the executing hub as they are', async () => {
    const details = { status: 135, where: ['a'] };
    const tool = makeTool({
      handler: async () => {
        throw new AtmoError('CLUSTER_STATUS', 'The device said no', details);
      },
    });
    const { setup, entry, executor } = await pairWith(tool);
    const failed = entry.client.router.forward(executor.id, setup.forwarded(tool));
    await expect(failed).rejects.toMatchObject({ code: 'CLUSTER_STATUS', message: 'The device said no', details });
  });

  test('that needs an approval names it and the hub where it waits', async () => {
    const setup = await CallFixture.of(2);
    await setup.connect([0, 1]);
    const [entry, executor] = [setup.hub(0), setup.hub(1)];
    const tool = makeTool({
      handler: async () => {
        throw new AtmoError('APPROVAL_REQUIRED', 'Somebody has to approve', { approval_id: 'ap-1' });
      },
    });
    executor.registry.register(tool);
    const waiting = entry.client.router.forward(executor.id, setup.forwarded(tool));
    await expect(waiting).rejects.toMatchObject({ code: 'APPROVAL_REQUIRED', details: { approval_id: 'ap-1', node_id: executor.id } });
  });

  test('is told to be accepted when it was let through and before it ends', async () => {
    const gate = Promise.withResolvers<Json>();
    const tool = makeTool({ handler: () => gate.promise });
    const { setup, entry, executor } = await pairWith(tool);
    const told: string[] = [];
    const answer = entry.client.router.forward(executor.id, setup.forwarded(tool, { onAccept: () => told.push('accepted') }));
    await settled();
    expect(told).toEqual(['accepted']);
    gate.resolve('done');
    expect((await answer).result).toBe('done');
  });

  test('that ends at once is answered in one frame; one that fails after it was let through says so first', async () => {
    const tool = makeTool({});
    const { setup, entry, executor } = await pairWith(tool);
    const failing = makeTool({
      name: 'failing',
      handler: async () => {
        throw new AtmoError('RESOURCE_EXCEEDED', 'Too much for me');
      },
    });
    executor.registry.register(failing);
    const frames: string[] = [];
    executor.tap.current = (bytes) => {
      frames.push(frameCodec.decode(bytes).type);
      return bytes;
    };
    const told: string[] = [];
    await entry.client.router.forward(executor.id, setup.forwarded(tool, { onAccept: () => told.push('accepted') }));
    await settled();
    expect([frames.splice(0), told]).toEqual([['result'], ['accepted']]);
    await expect(entry.client.router.forward(executor.id, setup.forwarded(failing))).rejects.toMatchObject({ code: 'RESOURCE_EXCEEDED' });
    expect(frames).toEqual(['accept', 'result']);
  });

  test('works whatever id its caller gave it', async () => {
    const tool = makeTool({});
    const { setup, entry, executor } = await pairWith(tool);
    for (const requestId of ['', 'ü'.repeat(200), 'x'.repeat(200)]) {
      expect(await entry.client.router.forward(executor.id, setup.forwarded(tool, { requestId }))).toMatchObject({ result: { ok: true } });
    }
  });

  test('a refusal is not an acceptance', async () => {
    const tool = makeTool({});
    const { setup, entry, executor } = await pairWith(tool);
    const told: string[] = [];
    const call = setup.forwarded(makeTool({ name: 'absent' }), { onAccept: () => told.push('accepted') });
    await expect(entry.client.router.forward(executor.id, call)).rejects.toMatchObject({ code: 'TOOL_NOT_FOUND' });
    expect(told).toEqual([]);
  });

  test('a hub that is stopping lets the next one be tried', async () => {
    const tool = makeTool({});
    const { setup, entry, executor } = await pairWith(tool);
    await executor.setup.pipeline.drain(1);
    const refused = entry.client.router.forward(executor.id, setup.forwarded(tool));
    await expect(refused).rejects.toMatchObject({ code: 'NODE_UNAVAILABLE', details: { code: 'SHUTTING_DOWN' } });
  });

  test('a tool that is out of room while it runs is not tried elsewhere', async () => {
    const tool = makeTool({
      handler: async () => {
        throw new AtmoError('RESOURCE_EXCEEDED', 'Too much for me');
      },
    });
    const { setup, entry, executor } = await pairWith(tool);
    await expect(entry.client.router.forward(executor.id, setup.forwarded(tool))).rejects.toMatchObject({ code: 'RESOURCE_EXCEEDED' });
  });

  test('a hub to which no way leads is NODE_UNAVAILABLE at once', async () => {
    const setup = await CallFixture.of(2);
    const tool = makeTool({});
    const nowhere = setup.hub(0).client.router.forward(setup.hub(1).id, setup.forwarded(tool));
    await expect(nowhere).rejects.toMatchObject({ code: 'NODE_UNAVAILABLE' });
  });

  test('a hub that has started anew since it was heard of is asked again with what it says', async () => {
    const tool = makeTool({});
    const { setup, entry, executor } = await pairWith(tool);
    executor.epoch.value = 8;
    expect(await entry.client.router.forward(executor.id, setup.forwarded(tool))).toMatchObject({ result: { ok: true } });
    expect(executor.drops.counts).toEqual({ 'call.former_epoch': 1 });
  });

  test('long parameters and results travel', async () => {
    const text = 'x'.repeat(60_000);
    const tool = makeTool({
      parameters: { type: 'object', properties: { text: { type: 'string', description: 'Long' } } },
      handler: async ({ text: given }) => ({ text: String(given).repeat(10) }),
    });
    const { setup, entry, executor } = await pairWith(tool);
    const { result } = await entry.client.router.forward(executor.id, setup.forwarded(tool, { params: { text } }));
    expect((result as { text: string }).text).toHaveLength(600_000);
  });
});

describe('time and cancelling', () => {
  test('a cancelled call is cancelled on the other hub too', async () => {
    let aborted = false;
    const tool = makeTool({
      handler: (_, { signal }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => {
            aborted = true;
            reject(signal.reason);
          });
        }),
    });
    expect(await codeOnceCancelled(tool)).toBe('CANCELLED');
    expect(aborted).toBe(true);
  });

  test('a cancelled call that acts and does not say how it ended has an unknown outcome', async () => {
    const tool = makeTool({ execution: acting, requires: { permissions: ['probe:run'] }, handler: () => new Promise(() => {}) });
    expect(await codeOnceCancelled(tool)).toBe('OUTCOME_UNKNOWN');
  });

  test('the time that is left shrinks on the way', async () => {
    const tool = makeTool({ handler: async (_, context) => context.deadlineMs });
    const { setup, entry, executor } = await pairWith(tool, { latencyMs: 50 });
    await setup.run(1_000, 10);
    const deadlineMs = setup.clock.now() + 5_000;
    const { result } = await setup.within(
      1_000,
      entry.client.router.forward(executor.id, setup.forwarded(tool, { untilMs: deadlineMs })),
      10,
    );
    expect(Number(result)).toBeGreaterThan(deadlineMs - 150);
    expect(Number(result)).toBeLessThanOrEqual(deadlineMs);
  });

  test('a call whose time is over when it comes does not run', async () => {
    const tool = makeTool({});
    const { setup, entry, executor } = await pairWith(tool);
    const late = entry.client.router.forward(executor.id, setup.forwarded(tool, { untilMs: setup.clock.monotonic() }));
    await expect(late).rejects.toMatchObject({ code: 'TIMEOUT' });
  });
});

import { describe, expect, test } from 'vitest';
import type { ForwardedCall } from '../../src/calls/pipeline-context.ts';
import type { Principal } from '../../src/core/auth/principal.ts';
import { CallerConcurrencyLimiter } from '../../src/core/concurrency-limiter.ts';
import type { Json } from '../../src/core/json.ts';
import type { ToolContext } from '../../src/tools/definition/tool-definition.ts';
import { agent, codeOf, makePipeline, makeTool, owner, settled, withToken } from '../calls/pipeline-fixture.ts';
import { RemoteToolsFake } from '../tools/registry/remote-tools-fake.ts';

const named = (id: string): Principal => ({ id, kind: 'agent', permissions: ['*'] });
const signal = new AbortController().signal;

describe('slots', () => {
  const makeLimiter = (perCaller = 2) =>
    new CallerConcurrencyLimiter({ maxRunning: 3, maxWaiting: 10, maxRunningPerCaller: perCaller, maxWaitingPerCaller: 2 });

  test('one caller with a long queue never stands in the way of another', async () => {
    const limiter = makeLimiter();
    const held = await Promise.all([limiter.enter(named('greedy'), signal), limiter.enter(named('greedy'), signal)]);
    const waiting = [limiter.enter(named('greedy'), signal), limiter.enter(named('greedy'), signal)];
    const leave = await limiter.enter(named('modest'), signal);
    leave();
    await expect(limiter.enter(named('greedy'), signal)).rejects.toMatchObject({
      code: 'RESOURCE_EXCEEDED',
      message: expect.stringContaining('This caller already has 2 calls running and 2 waiting'),
    });
    for (const free of held) free();
    for (const free of await Promise.all(waiting)) free();
    expect(limiter.callers).toBe(0);
  });

  test('an agent and what it spawned share the bound', async () => {
    const limiter = makeLimiter();
    const child = withToken(named('parent/child'), { id: 'bb', chain: ['aa', 'bb'] });
    await limiter.enter(withToken(named('parent')), signal);
    await limiter.enter(child, signal);
    const third = limiter.enter(child, signal);
    await settled();
    const other = await limiter.enter(withToken(named('other'), { id: 'cc', chain: ['cc'] }), signal);
    expect(await Promise.race([third, Promise.resolve('waits')])).toBe('waits');
    other();
  });

  test('a caller that gives up leaves its place, and callers that are gone are forgotten', async () => {
    const limiter = makeLimiter(1);
    const leave = await limiter.enter(named('a'), signal);
    const controller = new AbortController();
    const waiting = limiter.enter(named('a'), controller.signal);
    controller.abort(new Error('gave up'));
    await expect(waiting).rejects.toThrow('gave up');
    leave();
    expect(limiter.callers).toBe(0);
    await expect(limiter.enter(named('b'), controller.signal)).rejects.toThrow('gave up');
    expect(limiter.callers).toBe(0);
  });

  test('bound the calls of one caller, the others go on', async () => {
    const setup = makePipeline({}, { maxConcurrentPerCaller: 1, maxQueuedPerCaller: 0 });
    const gate = Promise.withResolvers<Json>();
    setup.registry.register(makeTool({ handler: () => gate.promise }));
    const call = (id: string) => setup.pipeline.call({ principal: named(id), tool: 'probe', params: {} });
    const first = call('a');
    await settled();
    expect(codeOf(await call('a'))).toBe('RESOURCE_EXCEEDED');
    const other = call('b');
    gate.resolve('done');
    expect([codeOf(await first), codeOf(await other)]).toEqual(['success', 'success']);
  });
});

describe('a step of a running call', () => {
  function nested(setup: ReturnType<typeof makePipeline>, more = {}) {
    setup.registry.register(makeTool({ name: 'inner', handler: async (_, context) => context.deadlineMs }));
    setup.registry.register(
      makeTool({
        name: 'outer',
        handler: async (_, context) => {
          const answer = await setup.pipeline.call({ principal: owner, tool: 'inner', params: {}, within: context, ...more });
          return answer.status === 'success' ? answer.result : answer.error.code;
        },
      }),
    );
    return setup.pipeline.call({ principal: owner, tool: 'outer', params: {}, timeoutMs: 5_000 });
  }

  test('runs in the slot of that call and not longer than it', async () => {
    const setup = makePipeline({}, { maxConcurrent: 1 });
    expect(await nested(setup)).toMatchObject({ result: setup.clock.now() + 5_000 });
  });

  test('is let through by a hub that is stopping and waits for it', async () => {
    const setup = makePipeline();
    const gate = Promise.withResolvers<void>();
    setup.registry.register(makeTool({ name: 'inner', handler: async () => 'inner ran' }));
    setup.registry.register(
      makeTool({
        name: 'outer',
        handler: async (_, context) => {
          await gate.promise;
          const answer = await setup.pipeline.call({ principal: owner, tool: 'inner', params: {}, within: context });
          return answer.status === 'success' ? answer.result : answer.error.code;
        },
      }),
    );
    const pending = setup.pipeline.call({ principal: owner, tool: 'outer', params: {} });
    await settled();
    const drained = setup.pipeline.drain(1_000);
    expect(codeOf(await setup.pipeline.call({ principal: owner, tool: 'inner', params: {} }))).toBe('SHUTTING_DOWN');
    gate.resolve();
    expect(await pending).toMatchObject({ result: 'inner ran' });
    expect(await drained).toBe(true);
  });

  test('ends with it', async () => {
    const setup = makePipeline();
    const outer = Promise.withResolvers<ToolContext>();
    setup.registry.register(
      makeTool({
        name: 'outer',
        handler: (_, context) => {
          outer.resolve(context);
          return new Promise<Json>(() => {});
        },
      }),
    );
    setup.registry.register(makeTool({ name: 'inner', handler: () => new Promise<Json>(() => {}) }));
    const controller = new AbortController();
    const pending = setup.pipeline.call({ principal: owner, tool: 'outer', params: {}, signal: controller.signal });
    const step = setup.pipeline.call({ principal: owner, tool: 'inner', params: {}, within: await outer.promise });
    await settled();
    controller.abort();
    setup.clock.advance(250);
    expect([codeOf(await step), codeOf(await pending)]).toEqual(['CANCELLED', 'CANCELLED']);
  });

  test('of a call that is over needs a slot of its own', async () => {
    const setup = makePipeline({}, { maxConcurrent: 1, maxQueued: 0 });
    let kept: ToolContext | undefined;
    const gate = Promise.withResolvers<Json>();
    setup.registry.register(
      makeTool({
        handler: async (_, context) => {
          kept = context;
          return 'done';
        },
      }),
    );
    setup.registry.register(makeTool({ name: 'slow', handler: () => gate.promise }));
    await setup.pipeline.call({ principal: owner, tool: 'probe', params: {} });
    const slow = setup.pipeline.call({ principal: owner, tool: 'slow', params: {} });
    await settled();
    const late = await setup.pipeline.call({ principal: owner, tool: 'probe', params: {}, ...(kept && { within: kept }) });
    expect(codeOf(late)).toBe('RESOURCE_EXCEEDED');
    gate.resolve('done');
    await slow;
  });
});

describe('time', () => {
  const deadlineOf = async (tool: object, request: object, options = {}) => {
    const setup = makePipeline({}, options);
    setup.registry.register(makeTool({ handler: async (_, context) => context.deadlineMs - setup.clock.now(), ...tool }));
    const answer = await setup.pipeline.call({ principal: owner, tool: 'probe', params: {}, ...request });
    return answer.status === 'success' ? answer.result : answer.error.code;
  };

  test('is the default of the hub only where the tool says nothing', async () => {
    const options = { defaultTimeoutMs: 7_000 };
    expect(await deadlineOf({}, {}, options)).toBe(7_000);
    expect(await deadlineOf({ execution: { timeout_ms: 30_000 } }, {}, options)).toBe(30_000);
    expect(await deadlineOf({}, { timeoutMs: 100 }, options)).toBe(100);
    expect(await deadlineOf({}, { timeoutMs: 60_000 }, options)).toBe(7_000);
    expect(await deadlineOf({}, {})).toBe(30_000);
  });

  test('ends with the token', async () => {
    const start = makePipeline().clock.now();
    expect(await deadlineOf({}, { principal: withToken(agent(), { expiresAtMs: start + 1_500 }) })).toBe(1_500);
    expect(await deadlineOf({}, { principal: withToken(agent(), { expiresAtMs: start - 60_000 }) })).toBe('TOKEN_EXPIRED');
  });

  test('after the end of the token is what clocks may differ by', async () => {
    const start = makePipeline().clock.now();
    expect(await deadlineOf({}, { principal: withToken(agent(), { expiresAtMs: start }) })).toBe(30_000);
    expect(await deadlineOf({}, { principal: withToken(agent(), { expiresAtMs: start - 59_000 }) })).toBe(1_000);
  });

  test('of a job ends with the token too', async () => {
    const setup = makePipeline();
    setup.registry.register(makeTool({ execution: { async_allowed: true }, handler: () => new Promise<Json>(() => {}) }));
    const principal = withToken(agent(), { expiresAtMs: setup.clock.now() + 1_000 });
    const started = await setup.pipeline.callAsync({ principal, tool: 'probe', params: {} });
    await settled();
    setup.clock.advance(1_250);
    await settled();
    const id = started.kind === 'job' ? started.job.job_id : '';
    expect(setup.jobs.get(id, principal)).toMatchObject({ status: 'failed', error: { code: 'TIMEOUT' } });
  });
});

describe('size and memory', () => {
  const texts = { parameters: { type: 'object', properties: { text: { type: 'string', description: 'Text' } } } };

  test('parameters longer than the bound are refused, counted in bytes of UTF-8', async () => {
    const setup = makePipeline({}, { maxParamsBytes: 100 });
    setup.registry.register(makeTool(texts));
    const call = (text: string) => setup.pipeline.call({ principal: owner, tool: 'probe', params: { text } });
    expect(codeOf(await call('x'.repeat(89)))).toBe('success');
    expect(codeOf(await call('x'.repeat(90)))).toBe('PAYLOAD_TOO_LARGE');
    expect(codeOf(await call('ü'.repeat(60)))).toBe('PAYLOAD_TOO_LARGE');
    expect(codeOf(await call('\u0000'.repeat(30)))).toBe('PAYLOAD_TOO_LARGE');
  });

  test('64 KiB are allowed unless the owner says otherwise', async () => {
    const setup = makePipeline();
    setup.registry.register(makeTool(texts));
    const call = (length: number) => setup.pipeline.call({ principal: owner, tool: 'probe', params: { text: 'x'.repeat(length) } });
    expect(codeOf(await call(65_000))).toBe('success');
    expect(codeOf(await call(65_536))).toBe('PAYLOAD_TOO_LARGE');
  });

  test('a tool has a bound of its own where it says one, above and below that of the hub', async () => {
    const setup = makePipeline();
    setup.registry.register(makeTool({ ...texts, execution: { max_params_bytes: 2_000_000 } }));
    setup.registry.register(makeTool({ ...texts, name: 'tiny', execution: { max_params_bytes: 100 } }));
    const call = (tool: string, length: number) => setup.pipeline.call({ principal: owner, tool, params: { text: 'x'.repeat(length) } });
    expect(codeOf(await call('probe', 1_999_989))).toBe('success');
    expect(codeOf(await call('probe', 1_999_990))).toBe('PAYLOAD_TOO_LARGE');
    expect([codeOf(await call('tiny', 89)), codeOf(await call('tiny', 90))]).toEqual(['success', 'PAYLOAD_TOO_LARGE']);
    expect(JSON.stringify([setup.audited, setup.heard]).length).toBeLessThan(10_000);
  });

  test('no tool may ask for more than 16 MiB', () => {
    const tool = makeTool({ ...texts, execution: { max_params_bytes: 16_777_217 } });
    expect(() => makePipeline().registry.register(tool)).toThrow(/max_params_bytes/);
  });

  test('no call begins while memory is short; the system is asked once a second', async () => {
    let free = 20_000_000;
    let looks = 0;
    const availableMemory = () => {
      looks++;
      return free;
    };
    const setup = makePipeline({ process: { availableMemory, availableHeap: () => Number.MAX_SAFE_INTEGER } });
    setup.registry.register(makeTool({}));
    const call = async () => codeOf(await setup.pipeline.call({ principal: owner, tool: 'probe', params: {} }));
    expect([await call(), await call()]).toEqual(['success', 'success']);
    expect(looks).toBe(1);
    free = 15_999_999;
    expect(await call()).toBe('success');
    setup.clock.advance(1_000);
    expect(await call()).toBe('RESOURCE_EXCEEDED');
    free = 16_000_000;
    setup.clock.advance(1_000);
    expect(await call()).toBe('success');
  });
});

describe('hops and hubs', () => {
  const vision = { requires: { capabilities: ['vision'] }, routing: { hop_limit: 3 } };
  const peer = (id: string, hops: number) => ({ id: id as never, name: id, isReachable: true, hops, capabilities: ['vision'] });

  async function route(facts: object, request = {}) {
    const forwarded: { readonly hub: string; readonly budget: number }[] = [];
    const setup = makePipeline({
      remote: new RemoteToolsFake([], { 'core:probe@1.0.0': ['near', 'far'] }),
      mesh: { peers: () => [peer('near', 1), peer('far', 3)] },
      router: {
        forward: async (hub: string, call: ForwardedCall) => {
          forwarded.push({ hub, budget: call.hopBudget });
          return { result: 'seen', nodeId: hub, hops: 1 };
        },
      },
    });
    setup.registry.register(makeTool(vision));
    const answer = await setup.pipeline.call({ principal: withToken(agent(), facts), tool: 'probe', params: {}, ...request });
    return { forwarded, code: codeOf(answer) };
  }

  test('a call goes as far as request, tool and token all allow', async () => {
    expect(await route({})).toEqual({ forwarded: [{ hub: 'near', budget: 2 }], code: 'success' });
    expect(await route({ maxHops: 1 })).toEqual({ forwarded: [{ hub: 'near', budget: 0 }], code: 'success' });
    expect(await route({ maxHops: 9 }, { routing: { hop_budget: 2 } })).toEqual({
      forwarded: [{ hub: 'near', budget: 1 }],
      code: 'success',
    });
    expect(await route({ maxHops: 9 }, { routing: { hop_budget: 9 } })).toEqual({
      forwarded: [{ hub: 'near', budget: 2 }],
      code: 'success',
    });
    expect(await route({ maxHops: 0 })).toEqual({ forwarded: [], code: 'NO_CAPABLE_NODE' });
  });

  test('only hubs that the token names may act for it', async () => {
    expect(await route({ allowedNodes: ['far'] })).toMatchObject({ forwarded: [{ hub: 'far' }] });
    expect(await route({ allowedNodes: ['hub-1'] })).toEqual({ forwarded: [], code: 'NO_CAPABLE_NODE' });
    expect(await route({ allowedNodes: [] })).toEqual({ forwarded: [], code: 'NO_CAPABLE_NODE' });
  });
});

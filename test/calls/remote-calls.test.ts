import { describe, expect, test } from 'vitest';
import { GrantAuthorizer } from '../../src/auth/grant-authorizer.ts';
import { JobLocations } from '../../src/calls/jobs/job-directory.ts';
import type { CallPeer, CallRouter, ForwardedCall, RemoteResult } from '../../src/calls/pipeline-context.ts';
import { NO_GROUPS } from '../../src/core/auth/permission.ts';
import { AtmoError, type ErrorCode } from '../../src/core/errors.ts';
import { type RegisteredTool, RUN_ON, unconfigured } from '../../src/tools/definition/tool-definition.ts';
import { ManualClock } from '../manual-clock.ts';
import { MemoryKeyValueStore } from '../memory-key-value-store.ts';
import { NO_REMOTE_GROUPS } from '../no-device-facts.ts';
import { processorMs } from '../processor-time.ts';
import { makePeer, RemoteToolsFake, toolOf } from '../tools/registry/remote-tools-fake.ts';
import { agent, codeOf, makePipeline, makeTool, owner, settled, withToken } from './pipeline-fixture.ts';

type Forward = (hubId: string, call: ForwardedCall) => Promise<RemoteResult>;

const PARAMETERS = { type: 'object', properties: { room: { type: 'string', description: 'Where' } } };

/** A router that remembers what it was asked. */
class RouterFake implements CallRouter {
  readonly asked: { readonly hub: string; readonly call: ForwardedCall }[] = [];
  readonly #answer: Forward;

  constructor(answer: Forward = async (hub) => ({ result: { ok: true }, nodeId: hub, hops: 1 })) {
    this.#answer = answer;
  }

  get hubs(): readonly string[] {
    return this.asked.map(({ hub }) => hub);
  }

  forward(hub: string, call: ForwardedCall): Promise<RemoteResult> {
    this.asked.push({ hub, call });
    return this.#answer(hub, call);
  }
}

interface House {
  readonly own?: readonly RegisteredTool[];
  readonly others?: readonly RegisteredTool[];
  readonly peers?: readonly CallPeer[];
  readonly router?: RouterFake;
}

function makeHouse(
  { own = [], others = [], peers = [makePeer('hub-2'), makePeer('hub-3')], router = new RouterFake() }: House,
  extra = {},
  options: Parameters<typeof makePipeline>[1] = {},
) {
  const setup = makePipeline({ remote: new RemoteToolsFake(others), mesh: { peers: () => peers }, router, ...extra }, options);
  for (const tool of own) setup.registry.register(tool);
  const call = (request: object = {}) => setup.pipeline.call({ principal: owner, tool: 'probe', params: {}, ...request });
  return { ...setup, router, call };
}

const refuses = (code: ErrorCode, details = {}): RouterFake =>
  new RouterFake(async () => {
    throw new AtmoError(code, 'no', details);
  });

const LARGE = {
  parameters: { type: 'object', properties: { text: { type: 'string', description: 'x' } } },
  execution: { max_params_bytes: 2_000_000 },
};

describe('a tool that names the hub which has to run the call', () => {
  test('runs there, and fails with its own error if that hub is not known or not allowed', async () => {
    const canonicalize = () => {
      throw new AtmoError('NODE_UNAVAILABLE', 'The hub hub-2 ran this', { [RUN_ON]: 'hub-2' });
    };
    const own = [makeTool({ canonicalize })];
    const { call, router } = makeHouse({ own, others: [toolOf(['hub-2', 'hub-3'], {})] });
    expect(await call()).toMatchObject({ status: 'success', execution: { node_id: 'hub-2' } });
    expect(router.hubs).toEqual(['hub-2']);
    expect(codeOf(await call({ routing: { exclude_nodes: ['hub-2'] } }))).toBe('NODE_UNAVAILABLE');
    expect(codeOf(await makeHouse({ own, peers: [] }).call())).toBe('NODE_UNAVAILABLE');
  });
});

describe('parameters above the bound of the hub', () => {
  const params = { text: 'x'.repeat(1_100_000) };

  test('go to another hub as far as a message between hubs holds them, for a tool that takes files', async () => {
    const { call, router } = makeHouse({ others: [toolOf(['hub-2'], LARGE)] });
    expect(await call({ params: { text: 'x'.repeat(900_000) } })).toMatchObject({ status: 'success', execution: { node_id: 'hub-2' } });
    const plain = makeHouse({ others: [toolOf(['hub-2'], { parameters: LARGE.parameters })] });
    expect(codeOf(await plain.call({ params: { text: 'x'.repeat(70_000) } }))).toBe('PAYLOAD_TOO_LARGE');
    expect([router.hubs, plain.router.hubs]).toEqual([['hub-2'], []]);
  });

  test('never go to another hub', async () => {
    const { call, router } = makeHouse({ others: [toolOf(['hub-2'], LARGE)] });
    expect(await call({ params })).toMatchObject({ error: { code: 'PAYLOAD_TOO_LARGE', message: expect.stringContaining('another hub') } });
    const missing = makeHouse({ own: [unconfigured(makeTool(LARGE), 'set x')], others: [] });
    expect(codeOf(await missing.call({ params }))).toBe('NOT_CONFIGURED');
    expect(router.asked).toEqual([]);
  });

  test('stay here although another hub is preferred, and are refused where only that one may run it', async () => {
    const own = makeTool(LARGE);
    const remote = new RemoteToolsFake([], { [own.id]: ['hub-2'] });
    const { call, router } = makeHouse({ own: [own] }, { remote });
    expect(await call({ params, routing: { prefer_nodes: ['hub-2'] } })).toMatchObject({ result: { ok: true } });
    const refused = await call({ params, routing: { exclude_nodes: ['hub-1'] } });
    expect(refused).toMatchObject({ error: { code: 'PAYLOAD_TOO_LARGE', details: { max_bytes: 1_048_576 } } });
    expect(router.asked).toEqual([]);
  });
});

describe('a service that this hub cannot reach', () => {
  const down = (execution = {}) =>
    makeTool({
      execution,
      requires: { permissions: ['net:write'] },
      handler: () => Promise.reject(new AtmoError('SERVICE_UNAVAILABLE', 'The service does not answer')),
    });
  const houseOf = (own: RegisteredTool, elsewhere: readonly string[], failOverTools: readonly string[] = ['probe']) =>
    makeHouse({ own: [own] }, { remote: new RemoteToolsFake([], { [own.id]: elsewhere }) }, { failOverTools });

  test.each([
    ['nothing', []],
    ['other tools', ['llm_complete', 'core:probe@2.0.0']],
  ])('keeps what a call carries on this hub where the owner names %s', async (_what, named) => {
    const { call, router } = houseOf(down(), ['hub-2'], named);
    expect(codeOf(await call())).toBe('SERVICE_UNAVAILABLE');
    expect(router.hubs).toEqual([]);
  });

  test.each(['probe', 'core:probe', 'core:probe@1.0.0'])(
    'is asked over another hub that has the tool where the owner names %s',
    async (name) => {
      const { call, router } = houseOf(down(), ['hub-2'], [name]);
      expect(await call()).toMatchObject({ status: 'success', execution: { node_id: 'hub-2' } });
      expect(router.hubs).toEqual(['hub-2']);
    },
  );

  test('is not asked twice by a call that acts, and is told as it is where there is no other hub', async () => {
    const acting = houseOf(down({ side_effects: true }), ['hub-2']);
    expect(codeOf(await acting.call())).toBe('SERVICE_UNAVAILABLE');
    expect(acting.router.hubs).toEqual([]);
    expect(codeOf(await houseOf(down(), []).call())).toBe('SERVICE_UNAVAILABLE');
  });
});

describe('a call that takes what hubs tell of themselves', () => {
  test('of a network is refused at once where no hub has one, and goes to a hub that has it', async () => {
    const own = makeTool({ requires: { network: true }, handler: () => Promise.reject(new Error('it ran without a network')) });
    const self = { isOnline: false };
    const alone = makeHouse({ own: [own] }, { self });
    expect(await alone.call()).toMatchObject({ error: { code: 'NO_CAPABLE_NODE', message: expect.stringContaining('has no network') } });
    const remote = new RemoteToolsFake([], { [own.id]: ['hub-2', 'hub-3'] });
    const peers = [makePeer('hub-2', { isOnline: false }), makePeer('hub-3')];
    const { call, router } = makeHouse({ own: [own], peers }, { remote, self });
    expect(codeOf(await call())).toBe('success');
    expect(router.hubs).toEqual(['hub-3']);
  });

  test('of a model or of space for a picture goes to the hub that has it', async () => {
    const PICTURE = {
      requires: { capabilities: ['vision'] },
      parameters: {
        type: 'object',
        properties: { image: { type: 'string', description: 'x' }, model: { type: 'string', description: 'x' } },
      },
      execution: { max_params_bytes: 2_000_000 },
    };
    const eyes = (constraints: object) =>
      ({ capabilities: ['vision'], constraints: new Map([['vision', constraints]]) }) as Partial<CallPeer>;
    const peers = [makePeer('hub-2', eyes({ max_image_mb: 0, model: 'eyes' })), makePeer('hub-3', eyes({ model: 'big' }))];
    const { call, router } = makeHouse({ others: [toolOf(['hub-2', 'hub-3'], PICTURE)], peers });
    for (const params of [{ image: 'AAAA' }, { image: 'https://example.org/a.jpg', model: 'eyes' }, { model: 'big' }])
      expect(codeOf(await call({ params }))).toBe('success');
    expect(router.hubs).toEqual(['hub-3', 'hub-2', 'hub-3']);
    expect(codeOf(await call({ params: { model: 'huge' } }))).toBe('NO_CAPABLE_NODE');
    const own = makeHouse(
      { own: [makeTool(PICTURE)] },
      { self: { capabilities: ['vision'], constraints: new Map([['vision', { model: 'eyes' }]]) } },
    );
    expect(codeOf(await own.call({ params: { model: 'huge' } }))).toBe('success');
  });
});

describe('a call of a tool that only another hub has', () => {
  test('goes there and is answered as one that ran here, with the hub that ran it', async () => {
    const { call, router } = makeHouse({ others: [toolOf(['hub-2'])] });
    const answer = await call({ params: {}, sessionId: 's1', idempotencyKey: 'k1', requestId: 'r1', traceId: 't1' });
    expect(answer).toMatchObject({ status: 'success', result: { ok: true }, execution: { node_id: 'hub-2', hops: 1 } });
    expect(router.asked).toMatchObject([
      { hub: 'hub-2', call: { requestId: 'r1', traceId: 't1', sessionId: 's1', idempotencyKey: 'k1', mode: 'sync', hopBudget: 2 } },
    ]);
    const here = makeHouse({ own: [makeTool({})] });
    expect(answer.response_hash).toBe((await here.call()).response_hash);
  });

  test('is checked here before it leaves: permission, parameters, the owner and the tool are known', async () => {
    const { call, router } = makeHouse({ others: [toolOf(['hub-2'], { parameters: PARAMETERS, requires: { permissions: ['eye:see'] } })] });
    expect(codeOf(await call({ principal: agent('eye:look') }))).toBe('PERMISSION_DENIED');
    expect(codeOf(await call({ principal: agent('ear:hear') }))).toBe('TOOL_NOT_FOUND');
    expect(codeOf(await call({ params: { room: 7 } }))).toBe('VALIDATION_ERROR');
    expect(router.asked).toEqual([]);
  });

  test('with a permission for some resource is let through: only the other hub knows which it is', async () => {
    const { call, router } = makeHouse({
      others: [toolOf(['hub-2'], { parameters: PARAMETERS, requires: { permissions: ['device:control:{room}'] } })],
    });
    expect(codeOf(await call({ principal: agent('device:control:lamp'), params: { room: 'The Lamp' } }))).toBe('success');
    expect(codeOf(await call({ principal: agent('device:read:lamp'), params: { room: 'lamp' } }))).toBe('PERMISSION_DENIED');
    expect(router.asked).toHaveLength(1);
  });

  test('is forbidden by a rule of this hub', async () => {
    const rules = { judge: () => ({ kind: 'deny' as const, rule: 'no-eyes', reason: 'not at night' }) };
    const { call, router } = makeHouse({ others: [toolOf(['hub-2'])] }, { rules });
    expect(codeOf(await call())).toBe('RULE_BLOCKED');
    expect(router.asked).toEqual([]);
  });

  test('stands in the journal of this hub with intent and outcome', async () => {
    const { call, audited } = makeHouse({ others: [toolOf(['hub-2'])] });
    await call();
    expect(audited).toMatchObject([
      { kind: 'intent', toolId: 'core:probe@1.0.0', nodeId: 'hub-2' },
      { kind: 'outcome', toolId: 'core:probe@1.0.0', nodeId: 'hub-2' },
    ]);
  });

  test('answers what the other hub refuses, and which hub it was', async () => {
    const router = refuses('APPROVAL_REQUIRED', { approval_id: 'a1' });
    const { call, audited } = makeHouse({ others: [toolOf(['hub-2'])], router });
    expect(await call()).toMatchObject({ error: { code: 'APPROVAL_REQUIRED', details: { approval_id: 'a1', node_id: 'hub-2' } } });
    expect(audited.at(-1)).toMatchObject({ kind: 'refusal', error: 'APPROVAL_REQUIRED' });
  });

  test('that was refused there may be repeated with the same idempotency key', async () => {
    let answers = 0;
    const router = new RouterFake(async (hub) => {
      if (answers++ === 0) throw new AtmoError('APPROVAL_REQUIRED', 'wait');
      return { result: { ok: true }, nodeId: hub, hops: 1 };
    });
    const { call } = makeHouse({ others: [toolOf(['hub-2'])], router });
    expect(codeOf(await call({ idempotencyKey: 'k' }))).toBe('APPROVAL_REQUIRED');
    expect(codeOf(await call({ idempotencyKey: 'k' }))).toBe('success');
    expect(codeOf(await call({ idempotencyKey: 'k' }))).toBe('success');
    expect(answers).toBe(2);
  });

  test('is answered without its result being held against the schema, which the other hub made as it made the result', async () => {
    const returns = { type: 'object', required: ['seen'], properties: { seen: { type: 'string', pattern: '^(a+)+$' } } };
    const router = new RouterFake(async (nodeId) => ({ result: { seen: `${'a'.repeat(40)}!` }, nodeId, hops: 1 }));
    const { call } = makeHouse({ others: [toolOf(['hub-2'], { returns })], router });
    const workMs = await processorMs(async () => expect(await call()).toMatchObject({ status: 'success' }));
    expect(workMs).toBeLessThan(5_000);
  });

  test('is asked for in the versions that the call names', async () => {
    const { call, router } = makeHouse({ others: [toolOf(['hub-2'])] });
    expect(codeOf(await call({ version: '1.0.0' }))).toBe('success');
    expect(codeOf(await call())).toBe('success');
    expect(router.asked.map(({ call: { versionRange } }) => versionRange)).toEqual(['1.0.0', undefined]);
  });

  test('is NODE_UNAVAILABLE while the hub cannot be reached, NO_CAPABLE_NODE when it may not go there', async () => {
    const others = [toolOf(['hub-2'])];
    const { call } = makeHouse({ others, peers: [makePeer('hub-2', { isReachable: false })] });
    const message = 'hub-2 with core:probe@1.0.0 cannot be reached; try again later';
    expect(await call()).toMatchObject({ error: { code: 'NODE_UNAVAILABLE', message, retryable: true } });
    const far = makeHouse({ others, peers: [makePeer('hub-2', { hops: 2 })] });
    expect(codeOf(await far.call({ routing: { hop_budget: 1 } }))).toBe('NO_CAPABLE_NODE');
    expect(codeOf(await far.call({ routing: { hop_budget: 2 } }))).toBe('success');
    expect(codeOf(await far.call({ routing: { exclude_nodes: ['hub-2'] } }))).toBe('NO_CAPABLE_NODE');
    expect(codeOf(await far.call({ principal: withToken(agent(), { allowedNodes: ['hub-1'] }) }))).toBe('NO_CAPABLE_NODE');
  });

  test('is not to be repeated where only another request, token or hub would help', async () => {
    const others = [toolOf(['hub-2'])];
    const retryable = async (house: ReturnType<typeof makeHouse>, request: Parameters<typeof house.call>[0] = {}) => {
      const answer = await house.call(request);
      return 'error' in answer ? [answer.error?.code, answer.error?.retryable] : answer.status;
    };
    const far = makeHouse({ others, peers: [makePeer('hub-2', { hops: 2 })] });
    expect(await retryable(far, { routing: { hop_budget: 1 } })).toEqual(['NO_CAPABLE_NODE', false]);
    expect(await retryable(far, { routing: { exclude_nodes: ['hub-2'] } })).toEqual(['NO_CAPABLE_NODE', false]);
    expect(await retryable(far, { principal: withToken(agent(), { allowedNodes: ['hub-1'] }) })).toEqual(['NO_CAPABLE_NODE', false]);
    const both = [toolOf(['hub-2', 'hub-3'])];
    const away = makeHouse({ others: both, peers: [makePeer('hub-2'), makePeer('hub-3', { isReachable: false })] });
    expect(await retryable(away, { routing: { exclude_nodes: ['hub-2'] } })).toEqual(['NO_CAPABLE_NODE', true]);
  });

  test('tells its door that it was let through before the other hub is asked', async () => {
    const order: string[] = [];
    const router = new RouterFake(async (hub) => {
      order.push('asked');
      return { result: { ok: true }, nodeId: hub, hops: 1 };
    });
    const { call } = makeHouse({ others: [toolOf(['hub-2'])], router });
    await call({ onDispatch: () => order.push('dispatched') });
    expect(order).toEqual(['dispatched', 'asked']);
  });
});

describe('when the best hub does not take the call', () => {
  const others = [toolOf(['hub-2', 'hub-3'])];
  const peers = [makePeer('hub-2', { roundTripMs: 1 }), makePeer('hub-3', { roundTripMs: 2 })];
  const failing = (code: ErrorCode, isAccepted: boolean) =>
    new RouterFake(async (hub, { onAccept }) => {
      if (hub === 'hub-3') return { result: { ok: true }, nodeId: hub, hops: 1 };
      if (isAccepted) onAccept?.();
      throw new AtmoError(code, 'lost');
    });

  test.each(['NODE_UNAVAILABLE', 'SHUTTING_DOWN', 'RESOURCE_EXCEEDED'] as const)('with %s, the next one is asked', async (code) => {
    const { call, router } = makeHouse({ others, peers, router: failing(code, false) });
    expect(await call()).toMatchObject({ status: 'success', execution: { node_id: 'hub-3' } });
    expect(router.hubs).toEqual(['hub-2', 'hub-3']);
  });

  test('but has let it through, nobody else may run it', async () => {
    const { call, router, audited } = makeHouse({ others, peers, router: failing('OUTCOME_UNKNOWN', true) });
    expect(codeOf(await call())).toBe('OUTCOME_UNKNOWN');
    expect(router.hubs).toEqual(['hub-2']);
    expect(audited.at(-1)).toMatchObject({ kind: 'outcome', error: 'OUTCOME_UNKNOWN' });
  });

  test('but has let it through, the next one may run what is idempotent', async () => {
    const idempotent = [toolOf(['hub-2', 'hub-3'], { execution: { idempotent: true } })];
    const { call, router } = makeHouse({ others: idempotent, peers, router: failing('OUTCOME_UNKNOWN', true) });
    expect(codeOf(await call())).toBe('success');
    expect(router.hubs).toEqual(['hub-2', 'hub-3']);
  });

  test.each([
    { what: 'acts, nobody else may run it', acts: true, asked: ['hub-2'] },
    { what: 'only reads, the next one is asked', acts: false, asked: ['hub-2', 'hub-3'] },
  ])('as a hub on the way claims, and the call $what', async ({ acts, asked }) => {
    const claimed = new RouterFake(async (hub) => {
      if (hub === 'hub-3') return { result: { ok: true }, nodeId: hub, hops: 1 };
      throw new AtmoError('NODE_UNAVAILABLE', 'not there', { via: 'hub-9' });
    });
    const tools = [toolOf(['hub-2', 'hub-3'], { execution: { side_effects: acts } })];
    await makeHouse({ others: tools, peers, router: claimed }).call();
    expect(claimed.hubs).toEqual(asked);
  });

  test('because it refuses, that is the answer', async () => {
    const { call, router } = makeHouse({ others, peers, router: failing('PERMISSION_DENIED', false) });
    expect(codeOf(await call())).toBe('PERMISSION_DENIED');
    expect(router.hubs).toEqual(['hub-2']);
  });

  test.each(['OUTCOME_UNKNOWN', 'NODE_UNAVAILABLE'] as const)(
    'nor any other, but one was lost with an idempotent call (%s), nobody says that it was not done',
    async (code) => {
      const idempotent = [toolOf(['hub-2', 'hub-3'], { execution: { idempotent: true } })];
      const acceptingRouter = new RouterFake(async (hub, { onAccept }) => {
        if (hub === 'hub-3') throw new AtmoError('NODE_UNAVAILABLE', 'It does not answer');
        onAccept?.();
        throw new AtmoError(code, 'It was lost');
      });
      const { call, router } = makeHouse({ others: idempotent, peers, router: acceptingRouter });
      expect(await call()).toMatchObject({ status: 'error', error: { code, message: expect.stringContaining('It was lost') } });
      expect(router.hubs).toEqual(['hub-2', 'hub-3']);
    },
  );

  test('and one was lost with an idempotent call, no refusal of another hub says that it was not done', async () => {
    const idempotent = [toolOf(['hub-2', 'hub-3'], { execution: { idempotent: true } })];
    const losingRouter = new RouterFake(async (hub, { onAccept }) => {
      if (hub === 'hub-3') throw new AtmoError('PERMISSION_DENIED', 'Not here');
      onAccept?.();
      throw new AtmoError('OUTCOME_UNKNOWN', 'It was lost');
    });
    const { call, router } = makeHouse({ others: idempotent, peers, router: losingRouter });
    expect(codeOf(await call())).toBe('OUTCOME_UNKNOWN');
    expect(router.hubs).toEqual(['hub-2', 'hub-3']);
  });

  test('nor any other, NO_CAPABLE_NODE lists what was tried', async () => {
    const { call } = makeHouse({ others, peers, router: refuses('NODE_UNAVAILABLE') });
    expect(await call()).toMatchObject({
      error: { code: 'NO_CAPABLE_NODE', details: { tried: [{ node_id: 'hub-2' }, { node_id: 'hub-3' }] } },
    });
  });
});

describe('a caller that gives up', () => {
  const acting = [toolOf(['hub-2'], { execution: { side_effects: true } })];

  async function givenUp(isAccepted: boolean) {
    const router = new RouterFake(
      (_hub, { onAccept, signal }) =>
        new Promise((_resolve, reject) => {
          if (isAccepted) onAccept?.();
          signal.addEventListener('abort', () => reject(new AtmoError('CANCELLED', 'stopped')));
        }),
    );
    const { call } = makeHouse({ others: acting, router });
    const caller = new AbortController();
    const answer = call({ signal: caller.signal });
    await settled();
    caller.abort();
    return codeOf(await answer);
  }

  test('before the other hub has let the call through knows that nothing happened', async () => {
    expect(await givenUp(false)).toBe('CANCELLED');
  });

  test('after that does not know what happened', async () => {
    expect(await givenUp(true)).toBe('OUTCOME_UNKNOWN');
  });
});

describe('a tool that this hub has too', () => {
  const elsewhere = { 'core:probe@1.0.0': ['hub-2'] };
  function makePair(tool: RegisteredTool) {
    const router = new RouterFake();
    const setup = makePipeline({ remote: new RemoteToolsFake([], elsewhere), mesh: { peers: () => [makePeer('hub-2')] }, router });
    setup.registry.register(tool);
    return { router, run: (routing: object) => setup.pipeline.call({ principal: owner, tool: 'probe', params: {}, routing }) };
  }

  test('runs here, and elsewhere only when the caller leaves this hub out', async () => {
    const { run, router } = makePair(makeTool({}));
    expect(await run({})).toMatchObject({ execution: { node_id: 'hub-1', hops: 0 } });
    expect(await run({ exclude_nodes: ['hub-1'] })).toMatchObject({ execution: { node_id: 'hub-2', hops: 1 } });
    expect(await run({ only_nodes: ['hub-1'] })).toMatchObject({ execution: { node_id: 'hub-1' } });
    expect(router.hubs).toEqual(['hub-2']);
  });

  test.each([
    ['is about the hub itself', makeTool({ namespace: 'hub' })],
    ['names devices', makeTool({ canonicalize: (params) => params })],
    ['has effects on devices', makeTool({ effects: () => [] })],
  ])('never runs elsewhere when it %s', async (_what, tool) => {
    const { run, router } = makePair(tool);
    expect(codeOf(await run({ exclude_nodes: ['hub-1'] }))).toBe('NO_CAPABLE_NODE');
    expect(router.hubs).toEqual([]);
  });
});

describe('a device of another hub', () => {
  const PARAMS = { type: 'object', required: ['device_id'], properties: { device_id: { type: 'string', description: 'Which' } } };
  const definition = { parameters: PARAMS, requires: { permissions: ['device:control:{device_id}'] } };
  const lamp = { id: 'attic-lamp', name: 'Attic lamp', type: 'light', isReachable: true };
  const own = makeTool({
    ...definition,
    canonicalize: (params) => {
      if (params.device_id === 'hall-lamp') return params;
      throw new AtmoError('DEVICE_NOT_FOUND', 'There is no such device');
    },
    handler: async () => ({ here: true }),
  });
  const house = (...hubs: readonly string[]) =>
    makeHouse({
      own: [own],
      others: hubs.map((hub) => toolOf([hub], definition)),
      peers: [...hubs.map((hub) => makePeer(hub, { devices: [lamp] })), makePeer('hub-9')],
    });
  const dim = (device: string, request = {}) => ({ params: { device_id: device }, ...request });

  test('is reached by the same tool, by id and by name, as if it were one of this hub', async () => {
    const { call, router } = house('hub-2');
    expect(await call(dim('attic-lamp'))).toMatchObject({ status: 'success', execution: { node_id: 'hub-2', hops: 1 } });
    expect(codeOf(await call(dim('ATTIC lamp')))).toBe('success');
    expect(await call(dim('hall-lamp'))).toMatchObject({ result: { here: true }, execution: { node_id: 'hub-1' } });
    expect(router.asked.map(({ call: { params } }) => params)).toEqual([{ device_id: 'attic-lamp' }, { device_id: 'ATTIC lamp' }]);
  });

  test("is not called in a way that the other hub's tool does not support", async () => {
    const peers = [makePeer('hub-2', { devices: [lamp] })];
    const streaming = makeTool({
      ...definition,
      execution: { stream_supported: true },
      ...(own.canonicalize && { canonicalize: own.canonicalize }),
    });
    const { call, router } = makeHouse({ own: [streaming], others: [toolOf(['hub-2'], definition)], peers });
    expect(await call(dim('attic-lamp', { wantsChunks: true }))).toMatchObject({ error: { code: 'NOT_SUPPORTED' } });
    expect(router.hubs).toEqual([]);
  });

  test('goes to no other hub that has the same tool, however near', async () => {
    const peers = [makePeer('hub-2', { devices: [lamp], roundTripMs: 40 }), makePeer('hub-3', { roundTripMs: 1 })];
    const { call, router } = makeHouse({ own: [own], others: [toolOf(['hub-2', 'hub-3'], definition)], peers });
    expect(codeOf(await call(dim('attic-lamp')))).toBe('success');
    expect(router.hubs).toEqual(['hub-2']);
  });

  test('by a name that its own hub alone knows is reached where the caller names that hub', async () => {
    const { call, router } = house('hub-2', 'hub-3');
    expect(await call(dim('Old lamp'))).toMatchObject({ error: { code: 'DEVICE_NOT_FOUND' } });
    const principal = agent('device:control:attic-lamp');
    expect(await call({ ...dim('Old lamp', { routing: { only_nodes: ['hub-3'] } }), principal })).toMatchObject({ status: 'success' });
    expect(router.asked.map(({ hub, call: { params } }) => [hub, params])).toEqual([['hub-3', { device_id: 'Old lamp' }]]);
  });

  test('that two hubs have is AMBIGUOUS_DEVICE until the caller names the hub', async () => {
    const { call } = house('hub-2', 'hub-3');
    expect(await call(dim('attic-lamp'))).toMatchObject({ error: { code: 'AMBIGUOUS_DEVICE', details: { hubs: ['hub-2', 'hub-3'] } } });
    expect(await call(dim('attic-lamp', { routing: { only_nodes: ['hub-3'] } }))).toMatchObject({ execution: { node_id: 'hub-3' } });
  });

  test('that measures in a room of another hub is reached by the name of the room, and no appliance in it is', async () => {
    const place = { type: 'object', properties: { location: { type: 'string', description: 'Room' } } };
    const read = { parameters: place, requires: { permissions: ['sensor:read:{location}'] }, metadata: { tags: ['temperature', 'room'] } };
    const here = makeTool({
      ...read,
      canonicalize: () => {
        throw new AtmoError('SENSOR_NOT_FOUND', 'No sensor fits');
      },
    });
    const gauge = (hub: string, device: string, tag: string) =>
      toolOf([hub], { name: `${device}_get`, namespace: 'matter', metadata: { device, area: 'Garden', tags: [tag] } });
    const sensor = { id: 'weather', name: 'Weather', type: 'temperature_sensor', isReachable: true };
    const boiler = { id: 'boiler', name: 'Boiler', type: 'water_heater', isReachable: true };
    const { call, router } = makeHouse({
      own: [here],
      others: [
        toolOf(['hub-2', 'hub-3', 'hub-4'], read),
        gauge('hub-2', 'lamp', 'brightness'),
        gauge('hub-3', 'boiler', 'temperature'),
        gauge('hub-4', 'weather', 'temperature'),
      ],
      peers: [makePeer('hub-2', { devices: [lamp] }), makePeer('hub-3', { devices: [boiler] }), makePeer('hub-4', { devices: [sensor] })],
    });
    expect(await call({ params: { location: 'garden' } })).toMatchObject({ status: 'success', execution: { node_id: 'hub-4' } });
    expect(codeOf(await call({ params: { location: 'attic' } }))).toBe('SENSOR_NOT_FOUND');
    expect(codeOf(await call({ params: { location: 'garden' }, principal: agent('sensor:read:hall/temperature') }))).toBe(
      'SENSOR_NOT_FOUND',
    );
    expect(router.hubs).toEqual(['hub-4']);
  });

  test('does not exist for a caller that may not see it, nor where the hub cannot be reached', async () => {
    const hall = agent('device:control:hall-lamp');
    expect(codeOf(await house('hub-2').call(dim('attic-lamp', { principal: hall })))).toBe('DEVICE_NOT_FOUND');
    expect(codeOf(await house('hub-2', 'hub-3').call(dim('attic-lamp', { principal: hall })))).toBe('DEVICE_NOT_FOUND');
    const peers = [makePeer('hub-2', { devices: [lamp], isReachable: false })];
    expect(codeOf(await makeHouse({ own: [own], others: [toolOf(['hub-2'], definition)], peers }).call(dim('attic-lamp')))).toBe(
      'DEVICE_NOT_FOUND',
    );
  });
});

describe('a job on another hub', () => {
  const view = { job_id: 'j1', tool: 'core:probe@1.0.0', status: 'queued', created_at: '2026-01-01T00:00:00.000Z' } as const;
  const others = [toolOf(['hub-2'], { execution: { async_allowed: true } })];

  test('lives there, and this hub remembers where for the one who started it', async () => {
    const jobPlaces = new JobLocations(new MemoryKeyValueStore(new ManualClock()));
    const router = new RouterFake(async (hub) => ({ result: view, nodeId: hub, hops: 1 }));
    const { pipeline, jobs } = makeHouse({ others, router }, { jobPlaces });
    const me = agent();
    const started = await pipeline.callAsync({ principal: me, tool: 'probe', params: {}, idempotencyKey: 'k' });
    expect(started).toMatchObject({ kind: 'job', job: view });
    expect(await pipeline.callAsync({ principal: me, tool: 'probe', params: {}, idempotencyKey: 'k' })).toMatchObject({
      kind: 'job',
      job: view,
    });
    expect(router.asked).toMatchObject([{ call: { mode: 'job' } }]);
    expect(jobs.list(owner)).toEqual([]);
    expect(jobPlaces.hubOf('j1', me)).toBe('hub-2');
    expect(jobPlaces.hubOf('j1', { ...me, id: 'other' })).toBeUndefined();
    expect(jobPlaces.hubOf('j1', owner)).toBe('hub-2');
  });

  test('that the other hub refuses is refused here', async () => {
    const { pipeline } = makeHouse({ others, router: refuses('RATE_LIMITED') });
    expect(await pipeline.callAsync({ principal: owner, tool: 'probe', params: {} })).toMatchObject({
      kind: 'refused',
      answer: { error: { code: 'RATE_LIMITED', details: { node_id: 'hub-2' } } },
    });
  });

  test('that is none is RESULT_INVALID', async () => {
    const { pipeline } = makeHouse({ others });
    expect(await pipeline.callAsync({ principal: owner, tool: 'probe', params: {} })).toMatchObject({
      answer: { error: { code: 'RESULT_INVALID' } },
    });
  });
});

test('a token that ended is not sent on', async () => {
  const validity = { isStillValid: () => false };
  const authorizer = new GrantAuthorizer({ groups: NO_GROUPS, elsewhere: NO_REMOTE_GROUPS, validity });
  const { call, router } = makeHouse({ others: [toolOf(['hub-2'])] }, { validity, authorizer });
  expect(codeOf(await call({ principal: withToken(agent()) }))).toBe('TOKEN_INVALID');
  expect(router.asked).toEqual([]);
});

describe('a tool whose service is not configured here', () => {
  const missing = () => unconfigured(makeTool({}), 'set connectors.probe');

  test('says what to set', async () => {
    const { call, router } = makeHouse({ own: [missing()] });
    const answer = await call();
    expect(answer).toMatchObject({
      status: 'error',
      error: { code: 'NOT_CONFIGURED', message: expect.stringContaining('set connectors.probe') },
    });
    expect(router.asked).toEqual([]);
  });

  test('is run by a hub that has the service', async () => {
    const remote = new RemoteToolsFake([], { 'core:probe@1.0.0': ['hub-2'] });
    const router = new RouterFake();
    const setup = makePipeline({ remote, mesh: { peers: () => [makePeer('hub-2')] }, router });
    setup.registry.register(unconfigured(makeTool(LARGE), 'set connectors.probe'));
    const ask = (text: string) => setup.pipeline.call({ principal: owner, tool: 'probe', params: { text } });
    expect(await ask('hello')).toMatchObject({ status: 'success', execution: { node_id: 'hub-2' } });
    // A photo is as long.
    expect(await ask('x'.repeat(900_000))).toMatchObject({ status: 'success', execution: { node_id: 'hub-2' } });
  });
});

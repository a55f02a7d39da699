import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, test } from 'vitest';
import { openToolResponse } from '../../../src/codec/messages/call.ts';
import { frameCodec } from '../../../src/codec/messages/connection.ts';
import { decodeSessionAnswer, encodeSessionAnswer, encodeSessionCall, type SessionCall } from '../../../src/codec/messages/session-call.ts';
import { AtmoError } from '../../../src/core/errors.ts';
import { REQUEST_KINDS } from '../../../src/mesh/rpc/peer-link.ts';
import { makeTool, settled } from '../../calls/pipeline-fixture.ts';
import { CallFixture, HOUR_MS, tokenText } from './call-fixture.ts';
import { identities, never, requireLink } from './link-fixture.ts';

type Probe = Parameters<typeof makeTool>[0];

const KIND_NAMES = new Map<number, string>(Object.entries(REQUEST_KINDS).map(([name, kind]) => [kind, name]));

/** Two neighbours, of which the second one has the tool. Keeps the kinds of requests, and the bodies of results. */
async function stage(tool: Probe = {}, count = 2) {
  const setup = await CallFixture.of(count);
  await setup.connect(...Array.from({ length: count - 1 }, (_, index) => [index, index + 1] as const));
  const [entry, executor] = [setup.hub(0), setup.hub(count - 1)];
  let runs = 0;
  const probe = makeTool({ handler: async () => ++runs, ...tool });
  executor.registry.register(probe);
  const asked: string[] = [];
  const results: Uint8Array[] = [];
  for (const { tap } of setup.hubs) {
    tap.current = (bytes) => {
      const frame = frameCodec.decode(bytes);
      if (frame.type === 'request') asked.push(KIND_NAMES.get(frame.kind) ?? '');
      if (frame.type === 'result') results.push(frame.body);
      return bytes;
    };
  }
  const forward = (extra = {}, called = probe) =>
    entry.client.router.forward(executor.id, setup.forwarded(called, extra)).then(
      ({ result }) => result,
      (error: AtmoError) => error.code,
    );
  return { setup, entry, executor, probe, asked, results, forward, runs: () => runs };
}

/** The same, with a neighbour that sends what it likes. */
async function hostileStage(tool: Probe = {}) {
  const scene = await stage(tool);
  const { setup, entry, executor, probe } = scene;
  const call: SessionCall = {
    id: 'req-1',
    executorEpoch: 7,
    token: tokenText({
      id: 'agent-1',
      key: entry.identity.publicKey,
      permissions: ['*', 'admin:probe'],
      expiresAtMs: setup.clock.now() + HOUR_MS,
    }),
    tool: probe.id,
    params: {},
    agentId: 'agent-1',
    traceId: 'trace-1',
    remainingMs: 5_000,
    mode: 'sync',
  };
  const send = async (change: Partial<SessionCall> = {}) => {
    const link = requireLink(entry.links.to(executor.id));
    try {
      const answer = decodeSessionAnswer(await link.request('session_call', encodeSessionCall({ ...call, ...change }), { signal: never }));
      return answer.status === 'success' ? answer.result : `${answer.error.code} ${answer.error.details.signature ?? ''}`.trim();
    } catch (error) {
      return (error as AtmoError).code;
    }
  };
  return { ...scene, call, send };
}

/** Tools of which a neighbour has to sign each call. */
const GRAVE: readonly (readonly [string, Probe])[] = [
  ['is dangerous', { dangerous: true, permissions: ['probe:run'] }],
  ['has a dangerous effect', { effects: () => [{ permission: 'probe:open', risk: 'dangerous', target: 'door' }] }],
  ['administers', { permissions: ['admin:probe'] }],
  ['has an administrative effect', { effects: () => [{ permission: 'admin:probe', risk: 'low', target: 'door' }] }],
  ['is one of the hub itself', { namespace: 'hub' }],
];

describe('a call to a neighbour', () => {
  test('goes without a signature, and so does its answer', async () => {
    const { forward, asked, results, executor } = await stage();
    expect([await forward(), asked]).toEqual([1, ['session_call']]);
    expect(decodeSessionAnswer(results[0] ?? new Uint8Array(0))).toEqual({ status: 'success', result: 1 });
    expect(() => openToolResponse(results[0] ?? new Uint8Array(0), () => executor.identity.verifyKey)).toThrow();
  });

  test('is signed if it goes over another hub, waits for people, or the hub does not read it otherwise', async () => {
    const far = await stage({}, 3);
    expect([await far.forward(), far.asked]).toEqual([1, ['invoke', 'invoke']]);
    const waiting = await stage();
    await waiting.forward({ mode: 'waiting_job' });
    expect(waiting.asked).toEqual(['invoke']);
    const older = await stage();
    older.setup.firstHubs.add(older.executor.id);
    expect([await older.forward(), older.asked]).toEqual([1, ['invoke']]);
  });

  test.each(GRAVE.filter(([, tool]) => !tool.effects))('is signed if the tool %s', async (_, tool) => {
    const { forward, asked } = await stage(tool);
    await forward();
    expect(asked).toEqual(['invoke']);
  });

  test('is signed when the hub demands it, and from then on', async () => {
    const { forward, asked, executor, runs } = await stage();
    executor.verdict.current = { kind: 'approve', persons: 1, rule: 'ask' };
    expect(await forward()).toBe('PERMISSION_DENIED');
    expect([asked.splice(0), runs()]).toEqual([['session_call', 'invoke'], 0]);
    executor.verdict.current = { kind: 'allow' };
    expect([await forward(), asked]).toEqual([1, ['invoke']]);
  });

  test('is signed for a hub that has become an older one since its announcement', async () => {
    const { forward, asked, executor } = await stage();
    executor.links.handle('session_call', async () => {
      throw new AtmoError('NOT_SUPPORTED', 'This hub answers no requests of kind 10');
    });
    expect([await forward(), asked]).toEqual([1, ['session_call', 'invoke']]);
  });

  test('is not sent a second time with a signature once it may have run', async () => {
    let runs = 0;
    const handler = async () => {
      runs++;
      throw new AtmoError('PERMISSION_DENIED', 'The tool itself says so', { signature: 'required' });
    };
    const { forward, asked } = await stage({ handler });
    expect([await forward(), runs, asked]).toEqual(['PERMISSION_DENIED', 1, ['session_call']]);
  });

  test('carries everything that a signed one does', async () => {
    for (const signs of [false, true]) {
      const { forward, setup, asked } = await stage({
        version: '2.1.0',
        parameters: { type: 'object', properties: { image: { type: 'string', description: 'Picture', contentEncoding: 'base64' } } },
        returns: { type: 'object', properties: { image: { type: 'string', contentEncoding: 'base64' } } },
        handler: async ({ image = '' }, { agentId, sessionId, traceId }) => ({ image, agentId, sessionId, traceId }),
      });
      if (signs) setup.unread.add('wire:session');
      const call = { params: { image: 'AAEC' }, sessionId: 's-1', versionRange: '>=2.0.0', idempotencyKey: 'k' };
      const agentId = `agent-1@${setup.hub(0).id}`;
      expect(await forward(call)).toEqual({ image: 'AAEC', agentId, sessionId: 's-1', traceId: 'trace-1' });
      expect(await forward({ versionRange: '^3.0.0' })).toBe('TOOL_NOT_FOUND');
      expect(asked).toEqual(signs ? ['invoke', 'invoke'] : ['session_call', 'session_call']);
    }
  });

  test('whose answer is lost is asked for with a signature, and answered with one', async () => {
    const { setup, executor, entry, results, asked, forward, runs } = await stage({
      execution: { side_effects: true },
      permissions: ['probe:run'],
    });
    const keep = executor.tap.current;
    executor.tap.current = (bytes, to) => {
      if (frameCodec.decode(bytes).type !== 'result') return keep?.(bytes, to);
      executor.tap.current = keep;
      setup.clock.after(500, () => void setup.links.connect(0, 1));
      return 'cut-before';
    };
    const answer = forward({ untilMs: setup.clock.monotonic() + 10_000 });
    expect([await setup.within(10_000, answer), runs(), asked]).toEqual([1, 1, ['session_call', 'call_status']]);
    const { status, execution } = openToolResponse(results[0] ?? new Uint8Array(0), () => executor.identity.verifyKey);
    // The call took no time; what was waited for its answer is no part of it.
    expect([status, execution.durationUs, entry.drops.counts]).toEqual(['success', 0, {}]);
  });
});

test.each([
  ['without a signature', []],
  ['that is signed', ['wire:session']],
] as const)('of a call %s, nothing but the bytes of its answer stays in memory, also if it is refused', async (_, unread) => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const objects = () => Array.from({ length: 10_000 }, () => ({}));
  const { setup, forward, executor } = await stage({
    parameters: { type: 'object', properties: { list: { type: 'array', items: {}, description: 'Objects' } } },
    handler: async () => objects(),
  });
  const refused = makeTool({ name: 'refused', permissions: ['admin:nobody'] });
  executor.registry.register(refused);
  for (const feature of unread) setup.unread.add(feature);
  const used = async (calls: number) => {
    for (let call = 0; call < calls; call++) {
      expect(await forward({ params: { list: objects() } })).toHaveLength(10_000);
      expect(await forward({ params: { list: objects() } }, refused)).toBe('TOOL_NOT_FOUND');
    }
    await settled();
    collect();
    return process.memoryUsage().heapUsed;
  };
  const before = await used(1);
  expect((await used(40)) - before).toBeLessThan(5_000_000);
});

describe('a call without a signature is refused', () => {
  test.each(GRAVE)('if the tool %s', async (_, tool) => {
    const { send, runs } = await hostileStage(tool);
    expect([await send(), runs()]).toEqual(['PERMISSION_DENIED required', 0]);
  });

  test('if a rule wants people to approve it', async () => {
    const { send, runs, executor } = await hostileStage();
    executor.verdict.current = { kind: 'approve', persons: 1, rule: 'ask' };
    expect([await send(), runs()]).toEqual(['PERMISSION_DENIED required', 0]);
  });

  test('if a step of it is dangerous', async () => {
    let opened = 0;
    const { send, executor } = await hostileStage({
      handler: async (_, within) => {
        const { traceId } = within;
        return (await executor.setup.pipeline.call({ principal: within.principal, tool: 'open', params: {}, traceId, within })).status;
      },
    });
    executor.registry.register(makeTool({ name: 'open', dangerous: true, permissions: ['probe:open'], handler: async () => ++opened }));
    expect([await send(), opened]).toEqual(['error', 0]);
    const [refusal] = executor.setup.audited.filter(({ kind }) => kind === 'refusal');
    expect(refusal).toMatchObject({ error: 'PERMISSION_DENIED', message: expect.stringContaining('signs it') });
  });

  test('if the token is bound to the key of another hub, as that of a call which is passed on', async () => {
    const { setup, send, executor, runs } = await hostileStage();
    const [other] = identities(1);
    const expiresAtMs = setup.clock.now() + HOUR_MS;
    const token = tokenText({ id: 'agent-1', key: other?.publicKey ?? '', permissions: ['*'], expiresAtMs });
    expect([await send({ token }), runs(), executor.drops.counts]).toEqual(['TOKEN_INVALID', 0, { 'call.no_possession': 1 }]);
  });

  test('if the neighbour is no member, or the session has another key than its certificate', async () => {
    const { setup, send, entry, executor, runs } = await hostileStage();
    const [other] = identities(1);
    setup.members.delete(entry.id);
    expect(await send()).toBe('PERMISSION_DENIED');
    if (other) setup.members.set(entry.id, other);
    expect(await send()).toBe('PERMISSION_DENIED');
    expect([runs(), executor.drops.counts]).toEqual([0, { 'call.no_member': 1, 'call.other_key': 1 }]);
  });

  test('if it names another agent than its token', async () => {
    const { send, executor, runs } = await hostileStage();
    expect([await send({ agentId: 'agent-2' }), runs(), executor.drops.counts]).toEqual([
      'PERMISSION_DENIED',
      0,
      { 'call.other_agent': 1 },
    ]);
  });

  test('if it comes a second time, or was made for a former start of the hub', async () => {
    const { send, executor, runs } = await hostileStage();
    expect([await send(), await send(), await send({ id: 'req-2', executorEpoch: 6 })]).toEqual([1, 'CONFLICT', 'NODE_UNAVAILABLE']);
    expect([runs(), executor.drops.counts]).toEqual([1, { 'call.replayed': 1, 'call.former_epoch': 1 }]);
  });

  test('if it is malformed', async () => {
    const { entry, executor, runs } = await hostileStage();
    const link = requireLink(entry.links.to(executor.id));
    await expect(link.request('session_call', Uint8Array.of(0xa0), { signal: never })).rejects.toMatchObject({ code: 'VALIDATION_ERROR' });
    expect([runs(), executor.drops.counts]).toEqual([0, { 'call.forged_or_malformed': 1 }]);
  });

  test('once its token, which was checked before, has been revoked or has expired', async () => {
    const { setup, send, entry, runs } = await hostileStage();
    const token = tokenText({ id: 'agent-1', key: entry.identity.publicKey, permissions: ['*'], expiresAtMs: setup.clock.now() + 5_000 });
    expect(await send({ token })).toBe(1);
    setup.revoked.add(`agent-1@${entry.id}`);
    expect(await send({ token, id: 'req-2' })).toBe('TOKEN_INVALID');
    setup.revoked.clear();
    expect(await send({ token, id: 'req-3' })).toBe(2);
    await setup.run(6_000, 1_000);
    expect([await send({ token, id: 'req-4' }), runs()]).toEqual(['TOKEN_EXPIRED', 2]);
  });

  test('once a rule forbids what it allowed before', async () => {
    const { send, executor, runs } = await hostileStage();
    expect(await send()).toBe(1);
    executor.verdict.current = { kind: 'deny', rule: 'never', reason: 'nobody' };
    expect([await send({ id: 'req-2' }), runs()]).toEqual(['RULE_BLOCKED', 1]);
  });
});

describe('an answer without a signature', () => {
  test('is not believed where the call was signed: the hub is asked what happened', async () => {
    const { setup, entry, executor, forward, asked, runs } = await stage();
    setup.unread.add('wire:session');
    const keep = executor.tap.current;
    executor.tap.current = (bytes, to) => {
      const frame = frameCodec.decode(bytes);
      if (frame.type !== 'result') return keep?.(bytes, to);
      executor.tap.current = keep;
      return frameCodec.encode({ ...frame, body: encodeSessionAnswer({ status: 'success', result: 'forged' }) });
    };
    expect([await forward(), runs()]).toEqual([1, 1]);
    expect([asked, entry.drops.counts]).toEqual([['invoke', 'call_status'], { 'call.forged_answer': 1 }]);
  });

  test('that is malformed is not believed either', async () => {
    const { entry, executor, forward, asked, runs } = await stage();
    const keep = executor.tap.current;
    executor.tap.current = (bytes, to) => {
      const frame = frameCodec.decode(bytes);
      if (frame.type !== 'result') return keep?.(bytes, to);
      executor.tap.current = keep;
      return frameCodec.encode({ ...frame, body: Uint8Array.of(0xa0) });
    };
    expect([await forward(), runs()]).toEqual([1, 1]);
    expect([asked, entry.drops.counts]).toEqual([['session_call', 'call_status'], { 'call.forged_answer': 1 }]);
  });

  test('is for its own call, also where calls end in another order', async () => {
    const gates = [Promise.withResolvers<string>(), Promise.withResolvers<string>()];
    let started = 0;
    const { forward } = await stage({ handler: async () => gates[started++]?.promise ?? '' });
    const answers = [forward(), forward()];
    await settled();
    gates[1]?.resolve('second');
    await settled();
    gates[0]?.resolve('first');
    expect(await Promise.all(answers)).toEqual(['first', 'second']);
  });
});

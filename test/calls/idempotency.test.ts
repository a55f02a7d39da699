import { describe, expect, test } from 'vitest';
import { IdempotencyStore } from '../../src/calls/idempotency-store.ts';
import { CallPipeline } from '../../src/calls/pipeline.ts';
import { AtmoError } from '../../src/core/errors.ts';
import type { Json } from '../../src/core/json.ts';
import { agent, makePipeline, makeTool, settled, TEST_OPTIONS } from './pipeline-fixture.ts';

const me = agent('device:control');
const acting = { permissions: ['device:control'], execution: { side_effects: true, async_allowed: true } };

function countingRoom(handler: (run: number) => Promise<Json>) {
  const setup = makePipeline();
  const counter = { runs: 0 };
  const parameters = { type: 'object', properties: { n: { type: 'integer' }, pin: { type: 'string', 'x-secret': true } } };
  setup.registry.register(makeTool({ ...acting, parameters, handler: () => handler(++counter.runs) }));
  const call = (params: Json, key = 'k', principal = me) => setup.pipeline.call({ principal, tool: 'probe', params, idempotencyKey: key });
  return { ...setup, counter, call };
}

describe('an idempotency key', () => {
  test('answers a repeat with the stored answer for ten minutes, and runs again after', async () => {
    const { call, counter, clock } = countingRoom(async (run) => run);
    const first = await call({ n: 1 });
    expect(await call({ n: 1 })).toEqual(first);
    clock.advance(599_000);
    expect(await call({ n: 1 })).toEqual(first);
    expect(counter.runs).toBe(1);
    clock.advance(1_000);
    expect(await call({ n: 1 })).toMatchObject({ result: 2 });
  });

  test('lets concurrent repeats wait for the first', async () => {
    const gate = Promise.withResolvers<Json>();
    const { call, counter } = countingRoom(() => gate.promise);
    const calls = [call({ n: 1 }), call({ n: 1 }), call({ n: 1 })];
    await settled();
    gate.resolve('once');
    const answers = await Promise.all(calls);
    expect(answers.map((answer) => answer.id)).toEqual(Array(3).fill(answers[0]?.id));
    expect(counter.runs).toBe(1);
  });

  test('has 1 to 256 bytes, as in a call to another hub', async () => {
    const { call } = countingRoom(async (run) => run);
    expect(await call({ n: 1 }, 'k'.repeat(256))).toMatchObject({ result: 1 });
    for (const key of ['', 'k'.repeat(257), 'ä'.repeat(129)])
      expect(await call({ n: 1 }, key)).toMatchObject({
        error: { code: 'VALIDATION_ERROR', message: expect.stringContaining('1 to 256') },
      });
  });

  test('refuses other parameters, secret ones included', async () => {
    const { call } = countingRoom(async (run) => run);
    await call({ n: 1, pin: '1111' });
    expect(await call({ n: 2, pin: '1111' })).toMatchObject({ error: { code: 'IDEMPOTENCY_CONFLICT' } });
    expect(await call({ n: 1, pin: '2222' })).toMatchObject({ error: { code: 'IDEMPOTENCY_CONFLICT' } });
  });

  test('costs no memory when its ten minutes are over', async () => {
    const { call, clock, idempotency } = countingRoom(async (run) => run);
    for (let turn = 0; turn < 50; turn++) await call({ n: turn }, `early ${turn}`, turn % 2 === 0 ? me : agent('device:control', 'a:b'));
    clock.advance(300_000);
    await call({ n: 0 }, 'later');
    expect(idempotency.counted).toBe(51);
    clock.advance(300_000);
    await call({ n: 0 }, 'last');
    expect(idempotency.counted).toBe(2);
  });

  test('keeps only so much for one caller; a key whose answer is gone stays used', async () => {
    const { call, counter, store } = countingRoom(async (run) => `${run} ${'x'.repeat(500_000)}`);
    const family = [agent('device:control'), { ...me, id: `${me.id}/child` }];
    for (let key = 0; key < 20; key++) await call({ n: 1 }, `k${key}`, family[key % 2]);
    await call({ n: 1 }, 'mine', { ...me, id: 'somebody-else' });
    const kept = store.entries('idempotency').map(({ value }) => JSON.stringify(value).length);
    expect(kept).toHaveLength(21);
    expect(kept.reduce((sum, length) => sum + length, 0)).toBeLessThan(5_000_000);
    expect(await call({ n: 1 }, 'k0', family[0])).toMatchObject({
      error: { code: 'OUTCOME_UNKNOWN', message: expect.stringContaining('no longer kept') },
    });
    expect(await call({ n: 1 }, 'k19', family[1])).toMatchObject({ status: 'success' });
    expect(counter.runs).toBe(21);
  });

  test('that is used again after the clock was set back keeps its new call when answers are dropped', async () => {
    const { call, clock } = countingRoom(async (run) => `${run} ${'x'.repeat(run > 2 ? 500_000 : 200_000)}`);
    clock.correctBy(300_000);
    await call({ n: 1 }, 'first');
    clock.correctBy(-300_000);
    await call({ n: 2 }, 'again');
    clock.advance(720_000);
    const answer = await call({ n: 3 }, 'again');
    // The last of these is too much by more than the first answer, so the second one is dropped with it.
    for (let key = 0; key < 7; key++) await call({ n: 4 }, `k${key}`);
    expect(await call({ n: 3 }, 'again')).toEqual(answer);
  });

  test('belongs to one caller', async () => {
    const { call, counter } = countingRoom(async (run) => run);
    await call({ n: 1 });
    await call({ n: 1 }, 'k', { ...me, id: 'agent-2' });
    expect(counter.runs).toBe(2);
  });

  test('keeps an unknown outcome, but not a failure after which nothing was delivered', async () => {
    for (const [code, runs] of [
      ['OUTCOME_UNKNOWN', 1],
      ['DEVICE_UNREACHABLE', 2],
    ] as const) {
      const { call, counter } = countingRoom(async () => {
        throw new AtmoError(code, 'no');
      });
      await call({ n: 1 });
      expect(await call({ n: 1 })).toMatchObject({ error: { code } });
      expect(counter.runs).toBe(runs);
    }
  });

  test('whose call was running when the hub died never runs it again', async () => {
    const setup = countingRoom(() => new Promise(() => {}));
    void setup.call({ n: 1 });
    await settled();
    const idempotency = new IdempotencyStore({ store: setup.store, clock: setup.clock, hasLostState: false });
    const afterCrash = new CallPipeline({ ...setup.collaborators, idempotency }, TEST_OPTIONS);
    const answer = await afterCrash.call({ principal: me, tool: 'probe', params: { n: 1 }, idempotencyKey: 'k' });
    expect(answer).toMatchObject({ error: { code: 'OUTCOME_UNKNOWN' } });
    expect(setup.counter.runs).toBe(1);
  });

  test('that may have been lost with the last changes of the state does not run its call, over restarts and for ten minutes', async () => {
    const { store, clock, counter, registry, call: before, ...setup } = countingRoom(async (run) => run);
    registry.register(
      makeTool({ ...acting, name: 'light', execution: { side_effects: true, idempotent: true }, handler: async () => 'on' }),
    );
    await before({ n: 1 });
    for (const { key } of store.entries('idempotency')) store.delete('idempotency', key);
    for (const hasLostState of [true, false]) {
      const idempotency = new IdempotencyStore({ store, clock, hasLostState });
      idempotency.load();
      const pipeline = new CallPipeline({ ...setup.collaborators, idempotency }, TEST_OPTIONS);
      const call = (tool = 'probe', key = 'k') =>
        pipeline.call({ principal: me, tool, params: tool === 'probe' ? { n: 1 } : {}, idempotencyKey: key });
      expect(await call()).toMatchObject({ error: { code: 'OUTCOME_UNKNOWN', message: expect.stringContaining('older state') } });
      expect([counter.runs, await call('light', 'l')]).toMatchObject([1, { result: 'on' }]);
      if (hasLostState) continue;
      const uuid = (ms: number) =>
        `${ms.toString(16).padStart(12, '0')}7abc8def0123456789ab`.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
      expect(await call('probe', uuid(clock.now() + 60_000))).toMatchObject({ error: { code: 'OUTCOME_UNKNOWN' } });
      expect(await call('probe', uuid(clock.now() + 60_001))).toMatchObject({ result: 2 });
      clock.advance(600_000);
      expect(await call()).toMatchObject({ result: 3 });
    }
  });

  test('of a job answers the same job again', async () => {
    const { pipeline, counter } = countingRoom(async (run) => run);
    const start = () => pipeline.callAsync({ principal: me, tool: 'probe', params: {}, idempotencyKey: 'k' });
    const [first, second] = [await start(), await start()];
    await settled();
    expect(first.kind === 'job' && first.job.job_id).toBe(second.kind === 'job' && second.job.job_id);
    expect(counter.runs).toBe(1);
  });
});

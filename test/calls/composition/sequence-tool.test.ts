import { describe, expect, test } from 'vitest';
import { sequenceTool } from '../../../src/calls/composition/steps.ts';
import type { Principal } from '../../../src/core/auth/principal.ts';
import type { JsonObject } from '../../../src/core/json.ts';
import { approvalsSaying } from '../approvals-fake.ts';
import { agent, makePipeline, makeTool, owner } from '../pipeline-fixture.ts';

const pending = {
  state: 'pending',
  approvalId: 'ap-1',
  expiresAt: '2026-01-01T00:10:00Z',
  waitsForS: 600,
  needed: 1,
  given: 0,
  summary: 'kitchen wants it',
  willDo: [],
} as const;

function makeHome(options: Parameters<typeof makePipeline>[1] = {}) {
  const ran: JsonObject[] = [];
  const setup = makePipeline({ approvals: approvalsSaying(pending) }, options);
  const handler = async (params: JsonObject) => {
    ran.push(params);
    return { level: 7, ...params };
  };
  const acting = { execution: { side_effects: true }, handler };
  const device = {
    type: 'object',
    properties: { device_id: { type: 'string', description: 'Device' }, level: { type: 'number', description: 'Level' } },
  };
  setup.registry.register(makeTool({ ...acting, name: 'dim', parameters: device, permissions: ['device:control:{device_id}'] }));
  setup.registry.register(makeTool({ ...acting, name: 'unlock', permissions: ['device:control:door'], dangerous: true }));
  setup.registry.register(sequenceTool(() => setup.pipeline));
  const run = (steps: readonly JsonObject[], principal: Principal = owner) =>
    setup.pipeline.call({ principal, tool: 'sequence', params: { steps } });
  return { ...setup, ran, run };
}

const dim = (device: string, level: unknown = 1) => ({ tool: 'dim', params: { device_id: device, level } }) as JsonObject;

describe('a sequence of calls', () => {
  test('runs its steps in order, with results of earlier ones as parameters', async () => {
    const { run, ran, audited } = makeHome();
    const answer = await run([dim('a', 3), dim('b', { $result: '0/level' })]);
    expect(answer).toMatchObject({ status: 'success', result: { completed: 2, results: [{ level: 3 }, { device_id: 'b', level: 3 }] } });
    expect(ran).toEqual([dim('a', 3).params, dim('b', 3).params]);
    expect(new Set(audited.map(({ traceId }) => traceId)).size).toBe(1);
  });

  test('what is secret in a step, or in its result, stands in no journal and no event', async () => {
    const { run, registry, audited, events } = makeHome();
    const secrets = { pin: '4711-0815', setupCode: 'MT:SECRETCODE' };
    const told: unknown[] = [];
    events.listen((event) => told.push(event));
    const properties = { pin: { type: 'string', 'x-secret': true, description: 'PIN' }, level: { type: 'number', description: 'Level' } };
    const returns = { type: 'object', properties: { setup_code: { type: 'string', 'x-secret': true } } };
    const handler = async () => ({ setup_code: secrets.setupCode, level: 7 });
    registry.register(makeTool({ name: 'guard', parameters: { type: 'object', properties }, returns, handler }));
    const answer = await run([{ tool: 'guard', params: { pin: secrets.pin, level: 3 } }]);
    expect(answer).toMatchObject({ result: { results: [{ setup_code: secrets.setupCode }] } });
    const kept = JSON.stringify([audited, told]);
    for (const secret of Object.values(secrets)) expect(kept).not.toContain(secret);
    expect(kept).toContain('"params":{"pin":"[secret]","level":3}');
    expect(kept).toContain('"results":[{"level":7,"setup_code":"[secret]"}]');
  });

  test('a step that the caller may not do stops everything before the first step', async () => {
    const { run, ran } = makeHome();
    const answer = await run([dim('a'), dim('b')], agent('sequence:run', 'device:control:a'));
    expect(answer).toMatchObject({ error: { code: 'PERMISSION_DENIED', details: { step: 1, required: ['device:control:b'] } } });
    expect(ran).toEqual([]);
  });

  test('a reference cannot carry a call to where the caller may not go', async () => {
    const { run, ran } = makeHome();
    const step = { tool: 'dim', params: { device_id: { $result: '0/0' } } };
    const answer = await run([{ tool: 'dim', params: { device_id: 'a' } }, step], agent('sequence:run', 'device:control:a'));
    expect(answer).toMatchObject({ result: { completed: 1, failed: { step: 1 } } });
    expect(ran).toHaveLength(1);
  });

  test('says of a step that it waits for approval, counted from one', async () => {
    const { run } = makeHome();
    const answer = await run([dim('a'), { tool: 'unlock', params: {} }]);
    const message = answer.status === 'error' ? answer.error.message : '';
    expect(message).toContain('Step 2 of 2 (unlock) waits for approval, so no step ran');
  });

  test('says of a step that it would be refused', async () => {
    const { run } = makeHome();
    const answer = await run([dim('a'), dim('b')], agent('sequence:run', 'device:control:a'));
    const message = answer.status === 'error' ? answer.error.message : '';
    expect(message).toContain('Step 2 of 2 (dim) would be refused, so no step ran');
  });

  test('tells how far it is, step by step', async () => {
    const { pipeline, registry } = makeHome();
    registry.register(makeTool({ name: 'look', handler: async () => 1 }));
    const told: unknown[] = [];
    const steps = [{ tool: 'look' }, { tool: 'look' }];
    await pipeline.call({ principal: owner, tool: 'sequence', params: { steps }, onChunk: (chunk) => told.push(chunk) });
    expect(told).toEqual([
      { fraction: 0, note: 'Step 1 of 2: look' },
      { fraction: 0.5, note: 'Step 2 of 2: look' },
    ]);
  });

  test('a dangerous step asks for approval before any step runs', async () => {
    const { run, ran } = makeHome();
    expect(await run([dim('a'), { tool: 'unlock' }])).toMatchObject({
      error: { code: 'APPROVAL_REQUIRED', details: { approval_id: 'ap-1', step: 1 } },
    });
    expect(ran).toEqual([]);
  });

  test('what ran before a failure is told', async () => {
    const { run } = makeHome();
    const answer = await run([dim('a'), dim('b', { $result: '0/nothing' })]);
    expect(answer).toMatchObject({
      result: { completed: 1, results: [{ device_id: 'a' }], failed: { step: 1, error: { code: 'VALIDATION_ERROR' } } },
    });
  });

  test('sequences do not nest, under any of their names', async () => {
    const { run } = makeHome();
    for (const tool of ['sequence', 'core:sequence', 'core:sequence@1.0.0', 'sequence@^1']) {
      expect(await run([{ tool, params: { steps: [] } }])).toMatchObject({ error: { code: 'VALIDATION_ERROR' } });
    }
  });

  test('more sequences than slots do not wait for each other for ever', async () => {
    const { run } = makeHome({ maxConcurrent: 2, maxConcurrentPerCaller: 2 });
    const answers = await Promise.all(Array.from({ length: 6 }, (_, index) => run([dim(`d${index}`), dim(`e${index}`)])));
    expect(answers.map(({ status }) => status)).toEqual(Array(6).fill('success'));
  });
});

import { describe, expect, test } from 'vitest';
import { replayTools } from '../../src/calls/replay.ts';
import type { Principal } from '../../src/core/auth/principal.ts';
import { AtmoError } from '../../src/core/errors.ts';
import type { Json, JsonObject } from '../../src/core/json.ts';
import type { AuditStore } from '../../src/storage/audit/audit-store.ts';
import { basicTools } from '../../src/tools/builtin/basic-tools.ts';
import { AuditFixture } from '../storage/audit-fixture.ts';
import { agent, makePipeline, makeTool, owner } from './pipeline-fixture.ts';

interface Replayed {
  readonly tool: string;
  readonly verdict: string;
  readonly recorded_hash: string;
  readonly replayed_hash?: string;
  readonly result?: Json;
  readonly error?: string;
}

/** A pipeline that writes into a real journal, and the tools that read it. */
function roomOver(log: AuditStore, fixture: AuditFixture) {
  const setup = makePipeline({ audit: log, clock: fixture.journal.clock });
  let runs = 0;
  const counting = async () => ++runs;
  setup.registry.register(
    makeTool({
      name: 'draw',
      execution: { determinism: 'bounded' },
      handler: async (_params, { clock, random }) => [clock.now(), random(), random()],
    }),
  );
  setup.registry.register(makeTool({ name: 'weather', handler: counting }));
  const acting = { execution: { side_effects: true }, permissions: ['device:control:lamp'], handler: counting };
  setup.registry.register(makeTool({ ...acting, name: 'toggle' }));
  setup.registry.register(makeTool({ ...acting, name: 'silent', audit: { log_result: false } }));
  setup.registry.register(
    makeTool({
      ...acting,
      name: 'refuse',
      handler: async () => {
        throw new AtmoError('DEVICE_UNREACHABLE', 'No light answers');
      },
    }),
  );
  const pin = { type: 'object', properties: { pin: { type: 'string', description: 'PIN', 'x-secret': true } } };
  const checkPin = { execution: { determinism: 'deterministic' }, parameters: pin, handler: async () => true };
  setup.registry.register(makeTool({ ...checkPin, name: 'check_pin' }));
  setup.registry.register(makeTool({ name: 'liar', execution: { determinism: 'deterministic' }, handler: counting }));
  for (const tool of [...basicTools, ...replayTools({ log, registry: setup.registry })]) setup.registry.register(tool);
  const call = (tool: string, params: JsonObject = {}, principal: Principal = owner) => setup.pipeline.call({ principal, tool, params });
  const replay = async (params: JsonObject = {}) => {
    const answer = await call('hub:replay_audit', params);
    if (answer.status === 'error') throw new Error(answer.error.message);
    return answer.result as unknown as { readonly calls: readonly Replayed[]; readonly differing: number };
  };
  return { ...setup, call, replay, runs: () => runs };
}

async function setUp() {
  const fixture = new AuditFixture();
  return { fixture, ...roomOver(await fixture.open(), fixture), [Symbol.asyncDispose]: () => fixture[Symbol.asyncDispose]() };
}

describe('replay of the journal', () => {
  test('gives pure and bounded answers bit for bit, at another time and after a restart', async () => {
    await using setup = await setUp();
    const { call, fixture } = setup;
    await call('calculator', { operation: 'add', operand1: 0.1, operand2: 0.2 });
    await call('calculator', { operation: 'divide', operand1: 1, operand2: 0 });
    await call('current_time');
    await call('draw');
    await call('draw');
    fixture.journal.clock.advance(86_400_000);
    await fixture.close();
    const { replay } = roomOver(await fixture.open(), fixture);
    const { calls, differing } = await replay();
    expect(differing).toBe(0);
    expect(calls.map(({ tool, verdict }) => `${tool} ${verdict}`)).toEqual([
      'core:draw@1.0.0 reproduced',
      'core:draw@1.0.0 reproduced',
      'core:current_time@1.0.0 reproduced',
      'core:calculator@1.0.0 reproduced',
      'core:calculator@1.0.0 reproduced',
    ]);
    for (const { recorded_hash, replayed_hash } of calls) expect(replayed_hash).toBe(recorded_hash);
    expect(calls[0]?.recorded_hash).not.toBe(calls[1]?.recorded_hash);
    expect(calls[3]?.error).toBe('VALIDATION_ERROR');
  });

  test('takes all other answers from the journal and does nothing again', async () => {
    await using setup = await setUp();
    const { call, replay, runs } = setup;
    for (const tool of ['weather', 'toggle', 'silent']) await call(tool);
    await call('check_pin', { pin: '40961' });
    expect((await replay()).calls).toMatchObject([
      { tool: 'core:check_pin@1.0.0', verdict: 'from_log', result: true },
      { tool: 'core:silent@1.0.0', verdict: 'not_kept' },
      { tool: 'core:toggle@1.0.0', verdict: 'from_log', result: 2 },
      { tool: 'core:weather@1.0.0', verdict: 'from_log', result: 1 },
    ]);
    expect(runs()).toBe(3);
  });

  test('finds out a tool that promised too much, and has the answer of one that is gone', async () => {
    await using setup = await setUp();
    const { call, replay, registry } = setup;
    await call('liar');
    await call('draw');
    const draw = registry.resolve('draw');
    registry.unregister(draw.id);
    const { calls, differing } = await replay();
    expect(calls).toMatchObject([{ verdict: 'from_log', result: expect.any(Array) }, { verdict: 'differs' }]);
    expect(differing).toBe(1);
    expect(await call('hub:check_determinism')).toMatchObject({ result: { dishonest: [{ tool: 'core:liar@1.0.0' }] } });
  });

  test('has the code and the message of a call that failed, and says of a silent tool that it is gone', async () => {
    await using setup = await setUp();
    const { call, replay, registry } = setup;
    await call('refuse');
    await call('silent');
    registry.unregister(registry.resolve('silent').id);
    expect((await replay()).calls).toMatchObject([
      { tool: 'core:silent@1.0.0', verdict: 'tool_gone' },
      { tool: 'core:refuse@1.0.0', verdict: 'from_log', error: 'DEVICE_UNREACHABLE', message: 'No light answers' },
    ]);
  });

  test('of a removed tool is asked for by its name', async () => {
    await using setup = await setUp();
    const { call, registry } = setup;
    await call('weather');
    await call('toggle');
    registry.unregister(registry.resolve('weather').id);
    for (const name of ['weather', 'core:weather', 'core:weather@1.0.0']) {
      expect(await call('hub:replay_audit', { tool: name })).toMatchObject({
        result: { calls: [{ tool: 'core:weather@1.0.0', verdict: 'from_log' }] },
      });
    }
    expect(await call('hub:replay_audit', { tool: 'eather' })).toMatchObject({ result: { calls: [] } });
  });

  test('is of the calls that are asked for', async () => {
    await using setup = await setUp();
    const { call, replay, fixture } = setup;
    const first = await call('echo', { value: 1 });
    fixture.journal.clock.advance(60_000);
    const since = new Date(fixture.journal.clock.now()).toISOString();
    await call('echo', { value: 2 });
    await call('hash', { input: 'x' });
    const asked = async (params: JsonObject) => (await replay(params)).calls.map(({ tool }) => tool.split('@')[0]);
    expect(await asked({ request: first.request_id })).toEqual(['core:echo']);
    expect(await asked({ tool: 'core:echo@1.0.0' })).toEqual(['core:echo', 'core:echo']);
    expect(await asked({ since, tool: 'core:echo@1.0.0' })).toEqual(['core:echo']);
    expect(await asked({ until: since, limit: 1 })).toHaveLength(1);
    // RFC 3339 knows leap seconds, JavaScript does not.
    expect(await call('hub:replay_audit', { since: '2016-12-31T23:59:60Z' })).toMatchObject({ error: { code: 'VALIDATION_ERROR' } });
  });

  test.each(['hub:replay_audit', 'hub:check_determinism'])('%s does not exist for who may not administer', async (tool) => {
    await using setup = await setUp();
    expect(await setup.call(tool, {}, agent('*'))).toMatchObject({ error: { code: 'TOOL_NOT_FOUND' } });
  });
});

import { describe, expect, test } from 'vitest';
import { AtmoError } from '../../src/core/errors.ts';
import type { JsonObject } from '../../src/core/json.ts';
import { silentLogger } from '../../src/core/logger.ts';
import type { AuditIntent, AuditOutcome } from '../../src/core/storage/audit-sink.ts';
import { approvalsSaying } from './approvals-fake.ts';
import { agent, makePipeline, makeTool, owner, settled, withToken } from './pipeline-fixture.ts';

const PIN = '482917';
const pin = {
  type: 'object',
  properties: { pin: { type: 'string', description: 'PIN', 'x-secret': true }, note: { type: 'string', description: 'Note' } },
};
const call = (setup: ReturnType<typeof makePipeline>, params: JsonObject = {}, more = {}) =>
  setup.pipeline.call({ principal: owner, tool: 'probe', params, ...more });
const intentOf = (setup: ReturnType<typeof makePipeline>) => setup.audited.find((entry): entry is AuditIntent => entry.kind === 'intent');
const endOf = (setup: ReturnType<typeof makePipeline>) => setup.audited.find((entry): entry is AuditOutcome => entry.kind !== 'intent');

describe('the row before a call', () => {
  test('says who, what with which parameters, what it touches and in which world it runs', async () => {
    const setup = makePipeline();
    setup.registry.register(makeTool({ parameters: pin, permissions: ['device:read'], execution: { determinism: 'bounded' } }));
    const principal = withToken(agent('device:read'));
    await call(setup, { pin: PIN, note: 'hello' }, { principal, requestId: 'req', traceId: 'trace' });
    expect(intentOf(setup)).toMatchObject({
      requestId: 'req',
      traceId: 'trace',
      principal,
      toolId: 'core:probe@1.0.0',
      atMs: setup.clock.now(),
      params: { pin: '[secret]', note: 'hello' },
      effects: [{ permission: 'device:read' }],
      decision: {},
      run: { logicalTimeMs: setup.clock.now(), randomSeed: expect.stringMatching(/^[0-9a-f]{32}$/) },
      mustSync: false,
    });
  });

  test('says who approved a dangerous call and which rule decided, and has to be on the disk', async () => {
    const approvals = approvalsSaying({ state: 'approved', approvalId: 'ap-1', by: ['ann', 'bob'] });
    const setup = makePipeline({ approvals, rules: { judge: () => ({ kind: 'allow', rule: 'daytime' }) } });
    setup.registry.register(makeTool({ dangerous: true, permissions: ['device:control:lock'] }));
    await call(setup);
    expect(intentOf(setup)).toMatchObject({
      decision: { approvedBy: ['ann', 'bob'], approvalId: 'ap-1', rule: 'daytime' },
      mustSync: true,
    });
  });

  test('binds a secret by a hash that tells another one apart and cannot be guessed without the key', async () => {
    const hashes: (string | undefined)[] = [];
    for (const [value, key] of [
      [PIN, 'k'],
      [PIN, 'k'],
      ['1111', 'k'],
      [PIN, 'other'],
    ]) {
      const setup = makePipeline({ sealSecret: (secret) => `${key}-${JSON.stringify(secret).length}-${secret === PIN}` });
      setup.registry.register(makeTool({ parameters: pin }));
      await call(setup, { pin: value ?? '' });
      hashes.push(intentOf(setup)?.argumentsHash);
    }
    expect(hashes[0]).toMatch(/^[0-9a-f]{64}$/);
    expect(hashes[1]).toBe(hashes[0]);
    expect(new Set(hashes).size).toBe(3);
  });

  test('leaves parameters and result out where the tool says so, or where they are long', async () => {
    for (const [change, params] of [
      [{ audit: { log_params: false, log_result: false } }, { note: 'hello' }],
      [{}, { note: 'x'.repeat(5_000) }],
    ] as const) {
      const setup = makePipeline();
      setup.registry.register(makeTool({ parameters: pin, ...change, handler: async (given) => given }));
      await call(setup, params);
      expect(intentOf(setup)).not.toHaveProperty('params');
      expect(endOf(setup)).not.toHaveProperty('result');
      expect(endOf(setup)?.responseHash).toMatch(/^[0-9a-f]{64}$/);
      expect(JSON.stringify([setup.audited, setup.heard])).not.toContain(params.note);
    }
  });
});

describe('the row after a call', () => {
  test('has the result with its secrets masked, also where it repeats one that it was given', async () => {
    const setup = makePipeline();
    const returns = { type: 'object', properties: { code: { type: 'string', 'x-secret': true }, said: { type: 'string' } } };
    setup.registry.register(makeTool({ parameters: pin, returns, handler: async () => ({ code: 'zzz', said: `your PIN is ${PIN}` }) }));
    await call(setup, { pin: PIN });
    expect(endOf(setup)).toMatchObject({ kind: 'outcome', result: { code: '[secret]', said: 'your PIN is [secret]' }, durationMs: 0 });
  });

  test('has the error as it was told, without the secrets that its text repeats', async () => {
    const lines: JsonObject[] = [];
    const logger = { ...silentLogger, error: (_: string, fields: JsonObject = {}) => void lines.push(fields) };
    for (const error of [new AtmoError('CLUSTER_STATUS', `PIN ${PIN} is wrong`, { given: [PIN] }), new TypeError(`cannot use ${PIN}`)]) {
      const setup = makePipeline({ logger });
      setup.registry.register(makeTool({ parameters: pin, handler: () => Promise.reject(error) }));
      const answer = await call(setup, { pin: PIN });
      expect(answer.status).toBe('error');
      expect(endOf(setup)).toMatchObject({ kind: 'outcome', error: expect.any(String), message: expect.any(String) });
      expect(JSON.stringify([answer, setup.audited, setup.heard, lines])).not.toContain(PIN);
    }
    expect(lines).toHaveLength(1);
    expect(String(lines[0]?.stack)).toContain('cannot use [secret]');
  });

  test('is there for what was refused at any stage, also for a name that no tool has', async () => {
    const setup = makePipeline();
    setup.registry.register(
      makeTool({ parameters: { type: 'object', required: ['x'], properties: { x: { type: 'string', description: 'X' } } } }),
    );
    await call(setup, {});
    await call(setup, {}, { tool: `at1.${'A'.repeat(40)}` });
    await call(setup, {}, { tool: 'n'.repeat(500) });
    expect(setup.audited).toMatchObject([
      { kind: 'refusal', toolId: 'core:probe@1.0.0', error: 'VALIDATION_ERROR' },
      { kind: 'refusal', toolId: '[redacted]', error: 'TOOL_NOT_FOUND' },
      { kind: 'refusal', toolId: 'n'.repeat(160), error: 'TOOL_NOT_FOUND' },
    ]);
    expect(JSON.stringify(setup.audited)).not.toContain('AAAA');
  });

  test('comes before the answer', async () => {
    const written = Promise.withResolvers<void>();
    const setup = makePipeline({ audit: { record: (entry) => (entry.kind === 'outcome' ? written.promise : Promise.resolve()) } });
    setup.registry.register(makeTool({}));
    let isAnswered = false;
    const pending = call(setup).then(() => {
      isAnswered = true;
    });
    await settled();
    expect(isAnswered).toBe(false);
    written.resolve();
    await pending;
    expect(isAnswered).toBe(true);
  });
});

describe('the log', () => {
  const lines = async (logCalls?: boolean) => {
    const seen: JsonObject[] = [];
    const logger = { ...silentLogger, info: (event: string, fields: JsonObject = {}) => void seen.push({ event, ...fields }) };
    const setup = makePipeline({ logger }, logCalls === undefined ? {} : { logCalls });
    setup.registry.register(makeTool({ parameters: pin }));
    await call(setup, { pin: PIN }, { traceId: 't' });
    await call(setup, { pin: 5 }, { traceId: 't' });
    return seen;
  };

  test('has one line for each finished call, without what it was given', async () => {
    const seen = await lines();
    expect(seen).toEqual([
      { event: 'call.finished', tool: 'core:probe@1.0.0', agent: 'owner', status: 'success', duration_ms: 0, trace_id: 't' },
      {
        event: 'call.finished',
        tool: 'core:probe@1.0.0',
        agent: 'owner',
        status: 'error',
        code: 'VALIDATION_ERROR',
        duration_ms: 0,
        trace_id: 't',
      },
    ]);
  });

  test('has none when that is switched off', async () => {
    expect(await lines(false)).toEqual([]);
  });
});

test('a call that turns out to be dangerous is marked for administrators, whatever its tool says', async () => {
  const setup = makePipeline({ approvals: approvalsSaying({ state: 'approved', approvalId: 'ap-1', by: ['ann'] }) });
  const effects = ({ command }: JsonObject) => [
    { permission: 'device:control:door', risk: command === 'unlock' ? ('dangerous' as const) : ('low' as const), target: 'door' },
  ];
  const parameters = { type: 'object', properties: { command: { type: 'string' } } };
  setup.registry.register(makeTool({ effects, parameters, permissions: ['device:control:door'], execution: { side_effects: true } }));
  await call(setup, { command: 'unlock' });
  await call(setup, { command: 'lock' });
  expect(setup.heard.map((event) => event.data.notify_admins ?? false)).toEqual([true, true, false, false]);
});

test('calls that administrators are to hear of are marked in the events', async () => {
  const setup = makePipeline();
  setup.registry.register(makeTool({ audit: { notify_admins: true } }));
  setup.registry.register(makeTool({ name: 'quiet' }));
  await call(setup);
  await call(setup, {}, { tool: 'quiet' });
  expect(setup.heard.map((event) => event.data.notify_admins ?? false)).toEqual([true, true, false, false]);
});

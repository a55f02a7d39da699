import { describe, expect, test } from 'vitest';
import { ToolOrchestrator } from '../../src/calls/tool-orchestrator.ts';
import type { Json, JsonObject } from '../../src/core/json.ts';
import { silentLogger } from '../../src/core/logger.ts';
import { approvalsSaying } from './approvals-fake.ts';
import { agent, makePipeline, makeTool, owner } from './pipeline-fixture.ts';

const parameters = { type: 'object', required: ['device_id'], properties: { device_id: { type: 'string', description: 'Device' } } };
const dim = { name: 'dim', parameters, permissions: ['device:control:{device_id}'], execution: { side_effects: true } };
const onLamp = { device_id: 'lamp-1' };
const holder = agent('device:control:lamp-1');

function room(extra = {}, options = {}) {
  let runs = 0;
  const made = makePipeline(extra, options);
  made.registry.register(makeTool({ ...dim, handler: async () => ++runs }));
  return { ...made, runs: () => runs };
}

describe('a preflight', () => {
  test('returns the effects of the call and runs nothing', async () => {
    let charged = 0;
    const { pipeline, runs, audited, heard, collaborators } = room({ rateLimiter: { charge: () => void charged++, left: () => [] } });
    expect(await pipeline.preflight({ principal: holder, tool: 'dim', params: onLamp, idempotencyKey: 'k' })).toEqual({
      allowed: true,
      risk: 'low',
      effects: [{ permission: 'device:control:lamp-1', risk: 'low', target: 'core:dim@1.0.0' }],
    });
    expect([runs(), charged, audited, heard, collaborators.usage.tools()]).toEqual([0, 0, [], [], []]);
    expect(await pipeline.call({ principal: holder, tool: 'dim', params: onLamp, idempotencyKey: 'k' })).toMatchObject({ result: 1 });
  });

  test.each([
    ['an unknown tool', { tool: 'dam' }, 'TOOL_NOT_FOUND'],
    ['another device', { params: { device_id: 'lock-1' } }, 'PERMISSION_DENIED'],
    ['wrong parameters', { params: {} }, 'VALIDATION_ERROR'],
    ['a wrong timeout', { timeoutMs: -1 }, 'VALIDATION_ERROR'],
    ['partial results of a tool that has none', { wantsChunks: true }, 'NOT_SUPPORTED'],
  ] as const)('refuses %s as the call would', async (_, change, code) => {
    const { pipeline } = room();
    const request = { principal: holder, tool: 'dim', params: onLamp as Json, ...change };
    const verdict = await pipeline.preflight(request);
    const answer = await pipeline.call(request);
    expect(verdict).toMatchObject({ allowed: false, error: { code } });
    expect(verdict.allowed === false && verdict.error).toEqual(answer.status === 'error' && answer.error);
  });

  test('refuses partial results of a tool that has none, before its parameters are known too', async () => {
    const asked = { principal: holder, tool: 'dim', wantsChunks: true } as const;
    expect(await room().pipeline.preflightTool(asked)).toMatchObject({ allowed: false, error: { code: 'NOT_SUPPORTED' } });
  });

  test('tells of rules, and of an approval without using it up', async () => {
    const ruled = room({ rules: { judge: () => ({ kind: 'deny', rule: 'r', reason: 'not now' }) } });
    expect(await ruled.pipeline.preflight({ principal: holder, tool: 'dim', params: onLamp })).toMatchObject({
      error: { code: 'RULE_BLOCKED' },
    });
    const used: string[] = [];
    const queue = approvalsSaying({ state: 'approved', approvalId: 'ap-1', by: ['ann'] });
    const check: typeof queue.check = (request) => {
      used.push('ap-1');
      return queue.check(request);
    };
    const dangerous = makePipeline({ approvals: { ...queue, check } });
    dangerous.registry.register(makeTool({ ...dim, dangerous: true }));
    const request = { principal: owner, tool: 'dim', params: onLamp };
    expect(await dangerous.pipeline.preflight(request)).toMatchObject({ allowed: true, risk: 'dangerous' });
    expect(used).toEqual([]);
    await dangerous.pipeline.call(request);
    expect(used).toEqual(['ap-1']);
  });

  test.each([
    [6, { allowed: true }],
    [7, { allowed: false, error: { code: 'RESOURCE_EXCEEDED', details: { permanent: true } } }],
  ])('of calls that are nested %i deep judges the innermost, or refuses what it cannot judge', async (levels, verdict) => {
    const { pipeline, registry } = makePipeline();
    registry.register(makeTool({ name: 'level0' }));
    for (let level = 1; level <= levels; level++)
      registry.register({ ...makeTool({ name: `level${level}` }), innerCalls: () => [{ tool: `level${level - 1}`, params: {} }] });
    expect(await pipeline.preflight({ principal: owner, tool: `level${levels}`, params: {} })).toMatchObject(verdict);
  });

  test('refuses a call whose innermost call is refused', async () => {
    const { pipeline, registry } = room();
    for (let level = 1; level <= 6; level++) {
      const inner = level === 1 ? { tool: 'dim', params: { device_id: 'lock-1' } } : { tool: `level${level - 1}`, params: {} };
      registry.register({ ...makeTool({ name: `level${level}` }), innerCalls: () => [inner] });
    }
    expect(await pipeline.preflight({ principal: holder, tool: 'level6', params: {} })).toMatchObject({
      error: { code: 'PERMISSION_DENIED' },
    });
  });

  test('is logged under the trace of its request, with what it judges of inner calls', async () => {
    const traces = new Set<unknown>();
    const logger = { ...silentLogger, debug: (_event: string, fields: JsonObject = {}) => void traces.add(fields.trace_id) };
    const { pipeline, registry } = room({ logger });
    registry.register({ ...makeTool({ name: 'outer' }), innerCalls: () => [{ tool: 'dim', params: onLamp }] });
    expect(await pipeline.preflight({ principal: holder, tool: 'outer', params: {}, traceId: 'trace-1' })).toMatchObject({ allowed: true });
    expect([...traces]).toEqual(['trace-1']);
  });

  test('of a stopping hub answers that', async () => {
    const { pipeline } = room();
    await pipeline.drain(10);
    expect(await pipeline.preflight({ principal: holder, tool: 'dim', params: onLamp })).toMatchObject({
      error: { code: 'SHUTTING_DOWN' },
    });
  });
});

describe('isExecutionAllowed', () => {
  const ask = async (grants: readonly string[], params?: JsonObject, options = {}) => {
    const { pipeline, registry, collaborators } = room({}, options);
    const authenticator = { authenticate: async () => ({ principal: agent(...grants) }) };
    const parts = { pipeline, registry, authenticator, capabilities: { add: () => {} } };
    const tools = { all: () => collaborators.tools.all(), modelName: () => '' };
    const orchestrator = new ToolOrchestrator({ ...parts, tools }, { orchestratorId: 'hub-1', isDynamicRegistrationAllowed: false });
    return orchestrator.isExecutionAllowed({ token: 'at1.text', tool: 'dim', ...(params && { params }) });
  };

  test('with parameters returns the verdict of the pipeline', async () => {
    expect(await ask(['device:control:lamp-1'], onLamp)).toEqual({ isAllowed: true });
    expect(await ask(['device:control:lamp-1'], { device_id: 'lock-1' })).toMatchObject({
      isAllowed: false,
      reason: expect.stringContaining('PERMISSION_DENIED: agent-1 lacks device:control:lock-1'),
    });
  });

  test('without parameters names each permission of which the caller has none', async () => {
    const { pipeline, registry } = room();
    const permissions = ['device:control:{device_id}', 'device:read:{device_id}'];
    registry.register(makeTool({ name: 'all', parameters, permissions: [...permissions, 'sensor:read:{device_id}'] }));
    expect(await pipeline.preflightTool({ principal: agent('sensor:read:*'), tool: 'all' })).toMatchObject({
      error: { code: 'PERMISSION_DENIED', message: `agent-1 lacks ${permissions.join(', ')} for any resource` },
    });
  });

  test('without parameters returns whether any call is permitted', async () => {
    expect(await ask(['device:control:lamp-1'])).toEqual({ isAllowed: true });
    expect(await ask(['device:read:lamp-1'])).toMatchObject({ isAllowed: false, reason: expect.stringContaining('for any resource') });
    expect(await ask(['notify:send'])).toMatchObject({ isAllowed: false, reason: expect.stringContaining('TOOL_NOT_FOUND') });
    expect(await ask(['device:control:*'], undefined, { disabledTools: ['dim'] })).toMatchObject({
      isAllowed: false,
      reason: expect.stringContaining('RULE_BLOCKED'),
    });
  });
});

describe('features', () => {
  const features = (required: Record<string, readonly string[]>, granted: readonly string[] = []) => ({
    features: { required, granted: () => granted },
  });
  const codeFor = async (extra: object) => {
    const answer = await room(extra).pipeline.call({ principal: holder, tool: 'dim', params: onLamp });
    return answer.status === 'success' ? 'success' : `${answer.error.code} ${JSON.stringify(answer.error.details)}`;
  };

  test('are required by id or by name of the tool', async () => {
    const denied = 'PERMISSION_DENIED {"features":["pro"]}';
    expect(await codeFor(features({ other: ['pro'] }))).toBe('success');
    for (const key of ['dim', 'core:dim', 'core:dim@1.0.0']) {
      expect(await codeFor(features({ [key]: ['pro'] }, []))).toBe(denied);
      expect(await codeFor(features({ [key]: ['pro', 'base'] }, ['base']))).toBe(denied);
      expect(await codeFor(features({ [key]: ['pro'] }, ['pro', 'base']))).toBe('success');
    }
  });

  test('never lock the owner out', async () => {
    const { pipeline, registry } = room(features({ dim: ['pro'] }, []));
    expect((await pipeline.call({ principal: owner, tool: 'dim', params: onLamp })).status).toBe('success');
    expect(pipeline.offeredTo(owner)(registry.find('dim') ?? makeTool(dim))).toBe(true);
  });

  test('are not taken from the prototype of an object', async () => {
    const made = makePipeline(features({}));
    made.registry.register(makeTool({ name: 'constructor' }));
    expect(await made.pipeline.call({ principal: owner, tool: 'constructor', params: {} })).toMatchObject({ status: 'success' });
  });
});

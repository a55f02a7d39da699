import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { GrantAuthorizer } from '../../src/auth/grant-authorizer.ts';
import type { PipelineCollaborators } from '../../src/calls/pipeline-context.ts';
import { GRACE_MS } from '../../src/calls/stages/execution.ts';
import { blake3Hex } from '../../src/codec/hashes.ts';
import { NO_GROUPS } from '../../src/core/auth/permission.ts';
import type { CallToJudge, Effect, RuleVerdict } from '../../src/core/auth/principal.ts';
import { AtmoError, toAtmoError } from '../../src/core/errors.ts';
import type { Json, JsonObject } from '../../src/core/json.ts';
import { silentLogger } from '../../src/core/logger.ts';
import type { ToolHandler } from '../../src/tools/definition/tool-definition.ts';
import { NO_REMOTE_GROUPS } from '../no-device-facts.ts';
import { RemoteToolsFake } from '../tools/registry/remote-tools-fake.ts';
import { approvalsSaying } from './approvals-fake.ts';
import { agent, codeOf, makePipeline, makeTool, owner, settled } from './pipeline-fixture.ts';

const level = {
  type: 'object',
  required: ['level'],
  properties: { level: { type: 'integer', minimum: 0, maximum: 100, description: 'Percent' } },
};
const acting = { side_effects: true };
const never = () => new Promise<Json>(() => {});

describe('a call that works', () => {
  test('answers the normalised result with its BLAKE3 hash, the executing hub and the ids of the request', async () => {
    const { pipeline, registry } = makePipeline();
    registry.register(makeTool({ handler: async () => ({ b: 1, a: [2, 1] }) }));
    const answer = await pipeline.call({ principal: owner, tool: 'probe', params: {}, requestId: 'req-1', traceId: 'trace-1' });
    expect(answer).toMatchObject({ request_id: 'req-1', trace_id: 'trace-1', status: 'success', result: { a: [2, 1], b: 1 } });
    expect(answer.execution).toMatchObject({ node_id: 'hub-1', hops: 0 });
    expect(answer.response_hash).toBe(blake3Hex('{"a":[2,1],"b":1}'));
    expect(JSON.stringify(answer.status === 'success' && answer.result)).toBe('{"a":[2,1],"b":1}');
  });

  test('gives the handler defaults, the caller and a deadline', async () => {
    const { pipeline, registry, clock } = makePipeline();
    const parameters = { type: 'object', properties: { unit: { type: 'string', default: 'celsius', description: 'Unit' } } };
    registry.register(
      makeTool({
        parameters,
        handler: async (params, context) => ({ params, agent: context.agentId, hub: context.nodeId, deadline: context.deadlineMs }),
      }),
    );
    const params = {};
    const answer = await pipeline.call({ principal: agent(), tool: 'probe', params, timeoutMs: 500 });
    expect(answer).toMatchObject({
      result: { params: { unit: 'celsius' }, agent: 'agent-1', hub: 'hub-1', deadline: clock.now() + 500 },
    });
    expect(params).toEqual({});
  });

  test('is audited before and after, told as events, and counted', async () => {
    const { pipeline, registry, audited, heard, collaborators } = makePipeline();
    registry.register(makeTool({}));
    await pipeline.call({ principal: owner, tool: 'probe', params: {} });
    expect(audited.map((entry) => entry.kind)).toEqual(['intent', 'outcome']);
    expect(heard.map(({ type, subject }) => [type, subject])).toEqual([
      ['agi.tool.invoked', 'core:probe@1.0.0'],
      ['agi.tool.result', 'core:probe@1.0.0'],
    ]);
    const [invoked, result] = heard.map(({ data }) => data);
    const about = { tool: 'core:probe@1.0.0', request_id: expect.any(String), trace_id: expect.any(String), agent_id: 'owner' };
    expect(invoked).toEqual({ ...about, params: {} });
    const hash = expect.stringMatching(/^[0-9a-f]{64}$/);
    expect(result).toEqual({ ...about, duration_ms: expect.any(Number), response_hash: hash });
    expect(collaborators.usage.tools()).toMatchObject([{ toolId: 'core:probe@1.0.0', calls: 1, errors: 0 }]);
    expect(collaborators.usage.history()).toMatchObject([{ toolId: 'core:probe@1.0.0', agentId: 'owner' }]);
  });

  test('identical concurrent calls all run', async () => {
    const { pipeline, registry } = makePipeline();
    let runs = 0;
    registry.register(makeTool({ handler: async () => ++runs }));
    await Promise.all(Array.from({ length: 100 }, () => pipeline.call({ principal: owner, tool: 'probe', params: {} })));
    expect(runs).toBe(100);
  });
});

describe('the way of a call', () => {
  test('is traced stage by stage, in the order of the design', async () => {
    const stages: unknown[] = [];
    const logger = { ...silentLogger, debug: (_: string, fields: JsonObject = {}) => void stages.push(fields.stage) };
    const { pipeline, registry } = makePipeline({ logger });
    registry.register(makeTool({}));
    await pipeline.call({ principal: owner, tool: 'probe', params: {} });
    expect(stages).toEqual([
      'refuseWhileDraining',
      'refuseWhileMemoryIsShort',
      'requireValidToken',
      'chargeRateLimit',
      'awaitRemoteTools',
      'resolveTool',
      'refuseUnsupportedMode',
      'checkStaticPermissions',
      'checkFeatures',
      'refuseDisabledTools',
      'readParameters',
      'validateParameters',
      'canonicalizeParameters',
      'authorizeEffects',
      'claimIdempotencyKey',
      'applyRules',
      'requireSignature',
      'requireApproval',
      'takeSlot',
      'chooseRoute',
      'writeIntent',
      'confirmCallerWaits',
      'confirmEffects',
      'confirmRules',
      'runTool',
      'checkResult',
    ]);
  });
});

describe('a call that is refused', () => {
  test('a timeout that is none is refused', async () => {
    const { pipeline, registry } = makePipeline();
    registry.register(makeTool({}));
    for (const timeoutMs of [0, -1, Number.NaN]) {
      expect(await pipeline.call({ principal: owner, tool: 'probe', params: {}, timeoutMs })).toMatchObject({
        error: { code: 'VALIDATION_ERROR' },
      });
    }
  });

  test('a tool that the caller may not see answers exactly like one that does not exist', async () => {
    const { pipeline, registry } = makePipeline();
    registry.register(makeTool({ name: 'kitchen_on', permissions: ['device:control:kitchen'] }));
    const answers = await Promise.all(
      ['kitchen_on', 'kitchen_of'].map((tool) => pipeline.call({ principal: agent('device:control:hall'), tool, params: {} })),
    );
    const errors = answers.map((answer) => JSON.stringify(answer.status === 'error' && answer.error).replace('kitchen_of', 'kitchen_on'));
    expect(errors[0]).toContain('TOOL_NOT_FOUND');
    expect(errors[0]).toBe(errors[1]);
  });

  test('a reader of a thing that it may not change learns which permission is needed and which it has', async () => {
    const { pipeline, registry } = makePipeline();
    registry.register(makeTool({ name: 'notify', permissions: ['notify:send'] }));
    const answer = await pipeline.call({ principal: agent('notify:read'), tool: 'notify', params: {} });
    expect(answer).toMatchObject({
      status: 'error',
      error: { code: 'PERMISSION_DENIED', retryable: false, details: { required: ['notify:send'], actual: ['notify:read'] } },
    });
  });

  test('wrong parameters name the field, the range and an example, and never reach the handler', async () => {
    const { pipeline, registry } = makePipeline();
    let runs = 0;
    registry.register(makeTool({ parameters: level, handler: async () => ++runs }));
    const answer = await pipeline.call({ principal: owner, tool: 'probe', params: { level: 101 } });
    expect(answer).toMatchObject({
      error: { code: 'VALIDATION_ERROR', details: { problems: [{ pointer: '/level', allowed: '0 to 100' }] } },
    });
    expect(answer.status === 'error' && answer.error.message).toContain('0 to 100, for example 50');
    expect(runs).toBe(0);
  });

  test('the static permission is asked before the parameters are looked at', async () => {
    const { pipeline, registry } = makePipeline();
    registry.register(makeTool({ parameters: level, permissions: ['notify:send'] }));
    const answer = await pipeline.call({ principal: agent('notify:read'), tool: 'probe', params: { level: 'x' } });
    expect(answer).toMatchObject({ error: { code: 'PERMISSION_DENIED' } });
  });

  test('refusals are audited and told', async () => {
    const { pipeline, registry, audited, heard } = makePipeline();
    registry.register(makeTool({ parameters: level }));
    await pipeline.call({ principal: owner, tool: 'probe', params: {} });
    expect(audited).toMatchObject([{ kind: 'refusal', error: 'VALIDATION_ERROR', toolId: 'core:probe@1.0.0' }]);
    expect(heard).toMatchObject([
      {
        type: 'agi.tool.failed',
        subject: 'core:probe@1.0.0',
        data: { code: 'VALIDATION_ERROR', agent_id: 'owner', duration_ms: expect.any(Number) },
      },
    ]);
  });

  test('templated permissions are judged on canonical values', async () => {
    const { pipeline, registry } = makePipeline();
    registry.register(
      makeTool({
        parameters: { type: 'object', required: ['device_id'], properties: { device_id: { type: 'string', description: 'Device' } } },
        permissions: ['device:control:{device_id}'],
        execution: acting,
        canonicalize: (params) => ({ ...params, device_id: params.device_id === 'Lamp' ? 'lamp-1' : (params.device_id ?? '') }),
        handler: async (params) => params,
      }),
    );
    const principal = agent('device:control:lamp-1');
    const call = (deviceId: string) => pipeline.call({ principal, tool: 'probe', params: { device_id: deviceId } });
    expect(await call('Lamp')).toMatchObject({ status: 'success', result: { device_id: 'lamp-1' } });
    expect(await call('lock-1')).toMatchObject({ error: { code: 'PERMISSION_DENIED', details: { required: ['device:control:lock-1'] } } });
    for (const trick of ['*', '@type/lock', 'a:b', '../x', '', '{device_id}', 'lamp-1/*']) {
      expect(await call(trick)).toMatchObject({ error: { code: 'PERMISSION_DENIED' } });
    }
  });

  test('every effect of a call needs its permission', async () => {
    const { pipeline, registry } = makePipeline();
    registry.register(
      makeTool({
        permissions: ['device:control'],
        effects: () => ['lamp-1', 'lock-1'].map((id) => ({ permission: `device:control:${id}`, risk: 'low' as const, target: id })),
      }),
    );
    const call = (...grants: readonly string[]) =>
      pipeline.call({ principal: agent('device:control', ...grants), tool: 'probe', params: {} });
    expect(await call('device:control:lamp-1', 'device:read:lock-1')).toMatchObject({
      error: { code: 'PERMISSION_DENIED', details: { required: ['device:control:lock-1'] } },
    });
    const blind = await call('device:control:lamp-1');
    expect(blind).toMatchObject({ error: { code: 'PERMISSION_DENIED', details: { required: [] } } });
    expect(JSON.stringify(blind)).not.toContain('lock');
  });

  test('a rule, a switched off tool, a rate limit and a stopping hub refuse with their own codes', async () => {
    const limited = makePipeline({
      rateLimiter: {
        left: () => [],
        charge: () => {
          throw new AtmoError('RATE_LIMITED', 'Too many calls');
        },
      },
    });
    const ruled = makePipeline({ rules: { judge: () => ({ kind: 'deny', rule: 'night', reason: 'not at night' }) } });
    const off = makePipeline({}, { disabledTools: ['probe'] });
    const stopping = makePipeline();
    await stopping.pipeline.drain(10);
    const codes: unknown[] = [];
    for (const { pipeline, registry } of [limited, ruled, off, stopping]) {
      registry.register(makeTool({}));
      const answer = await pipeline.call({ principal: owner, tool: 'probe', params: {} });
      codes.push(answer.status === 'error' && answer.error.code);
    }
    expect(codes).toEqual(['RATE_LIMITED', 'RULE_BLOCKED', 'RULE_BLOCKED', 'SHUTTING_DOWN']);
  });

  test('what the owner said of a tool by a former name holds: rules, switches and features', async () => {
    const judged: unknown[] = [];
    const ruled = makePipeline({
      rules: {
        judge: ({ toolId, formerToolIds }) => {
          judged.push([toolId, formerToolIds]);
          return { kind: 'allow' };
        },
      },
    });
    const off = makePipeline({}, { disabledTools: ['matter:bedroom_on'] });
    const featured = makePipeline({ features: { required: { bedroom_on: ['night'] }, granted: () => [] } });
    const codes: unknown[] = [];
    for (const { pipeline, registry } of [ruled, off, featured]) {
      registry.register(makeTool({ namespace: 'matter', name: 'nightstand_on', aliases: ['bedroom_on'] }));
      codes.push(codeOf(await pipeline.call({ principal: agent('*'), tool: 'nightstand_on', params: {} })));
    }
    expect(codes).toEqual(['success', 'RULE_BLOCKED', 'PERMISSION_DENIED']);
    expect(judged).toContainEqual(['matter:nightstand_on@1.0.0', ['matter:bedroom_on@1.0.0']]);
  });

  test('a device that is away is listed and answers DEVICE_UNREACHABLE', async () => {
    const { pipeline, registry } = makePipeline();
    registry.register(makeTool({ isAvailable: () => false }));
    expect(await pipeline.call({ principal: owner, tool: 'probe', params: {} })).toMatchObject({
      error: { code: 'DEVICE_UNREACHABLE', retryable: true },
    });
  });
});

describe('dangerous calls', () => {
  const unlock = { name: 'unlock', permissions: ['device:control:lock'], execution: acting, dangerous: true };

  test('are refused where nobody can approve them', async () => {
    const { pipeline, registry } = makePipeline();
    registry.register(makeTool(unlock));
    expect(await pipeline.call({ principal: owner, tool: 'unlock', params: {} })).toMatchObject({ error: { code: 'PERMISSION_DENIED' } });
  });

  test('wait for approval and tell which', async () => {
    const approvals = approvalsSaying({
      state: 'pending',
      approvalId: 'ap-1',
      expiresAt: '2026-01-01T00:10:00Z',
      waitsForS: 600,
      needed: 2,
      given: 1,
      summary: 'kitchen wants it',
      willDo: [],
    });
    const { pipeline, registry } = makePipeline({ approvals });
    registry.register(makeTool(unlock));
    expect(await pipeline.call({ principal: owner, tool: 'unlock', params: {} })).toMatchObject({
      error: { code: 'APPROVAL_REQUIRED', details: { approval_id: 'ap-1', expires_at: '2026-01-01T00:10:00Z', needed: 2, given: 1 } },
    });
  });

  test('the same idempotency key goes on once approved', async () => {
    let isApproved = false;
    const approvals = approvalsSaying(() =>
      isApproved
        ? { state: 'approved', approvalId: 'ap-1', by: ['ann'] }
        : {
            state: 'pending',
            approvalId: 'ap-1',
            expiresAt: '2026-01-01T00:10:00Z',
            waitsForS: 600,
            needed: 1,
            given: 0,
            summary: 'kitchen wants it',
            willDo: [],
          },
    );
    const { pipeline, registry } = makePipeline({ approvals });
    registry.register(makeTool(unlock));
    const request = { principal: owner, tool: 'unlock', params: {}, idempotencyKey: 'k' };
    expect(await pipeline.call(request)).toMatchObject({ error: { code: 'APPROVAL_REQUIRED' } });
    isApproved = true;
    expect(await pipeline.call(request)).toMatchObject({ status: 'success' });
  });

  test('do not run when their intent cannot be written', async () => {
    let runs = 0;
    const audit = {
      record: async () => {
        throw new AtmoError('STORAGE_FAILED', 'The disk is full');
      },
    };
    const errors: string[] = [];
    const logger = { ...silentLogger, error: (event: string) => void errors.push(event) };
    const approvals = approvalsSaying({ state: 'approved', approvalId: 'ap-1', by: ['ann'] });
    const { pipeline, registry } = makePipeline({ audit, logger, approvals });
    registry.register(makeTool({ ...unlock, handler: async () => ++runs }));
    registry.register(makeTool({}));
    expect(await pipeline.call({ principal: owner, tool: 'unlock', params: {} })).toMatchObject({ error: { code: 'STORAGE_FAILED' } });
    expect(runs).toBe(0);
    errors.length = 0;
    expect(await pipeline.call({ principal: owner, tool: 'probe', params: {} })).toMatchObject({ status: 'success' });
    // The journal has said so once.
    expect(errors).toEqual([]);
  });
});

describe('deadlines and cancelling', () => {
  const run = async (input: Parameters<typeof makeTool>[0], advanceMs: number) => {
    const { pipeline, registry, clock } = makePipeline();
    registry.register(makeTool({ permissions: ['device:control'], ...input }));
    const pending = pipeline.call({ principal: owner, tool: 'probe', params: {}, timeoutMs: 1_000 });
    await settled();
    clock.advance(advanceMs);
    return pending;
  };

  test('a reader that ignores the abort answers TIMEOUT after the grace time', async () => {
    expect(await run({ handler: never }, 1_250)).toMatchObject({ error: { code: 'TIMEOUT' } });
  });

  test('an acting tool that ignores the abort answers OUTCOME_UNKNOWN, unless it is idempotent', async () => {
    expect(await run({ handler: never, execution: acting }, 1_250)).toMatchObject({ error: { code: 'OUTCOME_UNKNOWN', retryable: false } });
    expect(await run({ handler: never, execution: { ...acting, idempotent: true } }, 1_250)).toMatchObject({ error: { code: 'TIMEOUT' } });
  });

  test.each([
    ['reads', {}, { code: 'TIMEOUT', retryable: true }],
    ['acts', acting, { code: 'OUTCOME_UNKNOWN', retryable: false }],
  ])('a tool that %s and ends with what its signal throws is told by what ended it, and is no bug', async (_, execution, error) => {
    const handler = (_params: unknown, { signal }: { signal: AbortSignal }) => sleep(60_000, null, { signal });
    expect(await run({ handler, execution }, 1_000)).toMatchObject({ error });
  });

  test('within the grace time a handler may say more precisely what happened', async () => {
    const handler = (_: unknown, context: { signal: AbortSignal }) =>
      new Promise<Json>((_resolve, reject) => {
        context.signal.addEventListener('abort', () => reject(new AtmoError('DEVICE_UNREACHABLE', 'Nothing was delivered')));
      });
    expect(await run({ handler, execution: acting }, 1_000)).toMatchObject({ error: { code: 'DEVICE_UNREACHABLE' } });
  });

  test('the caller can cancel', async () => {
    const { pipeline, registry, clock } = makePipeline();
    registry.register(makeTool({ handler: never }));
    const controller = new AbortController();
    const pending = pipeline.call({ principal: owner, tool: 'probe', params: {}, signal: controller.signal });
    await settled();
    controller.abort();
    clock.advance(250);
    expect(await pending).toMatchObject({ error: { code: 'CANCELLED' } });
  });

  test('waiting for a slot counts, and a full queue refuses', async () => {
    const { pipeline, registry, clock } = makePipeline({}, { maxConcurrent: 1, maxQueued: 1 });
    registry.register(makeTool({ handler: never }));
    const call = () => pipeline.call({ principal: owner, tool: 'probe', params: {}, timeoutMs: 1_000 });
    const calls = [call(), call(), call()];
    await settled();
    clock.advance(1_250);
    const codes = (await Promise.all(calls)).map((answer) => answer.status === 'error' && answer.error.code);
    expect(codes).toEqual(['TIMEOUT', 'TIMEOUT', 'RESOURCE_EXCEEDED']);
  });
});

describe('repeats', () => {
  const failing = (code: 'DEVICE_UNREACHABLE' | 'OUTCOME_UNKNOWN' | 'STORAGE_FAILED', execution: object, details = {}) => {
    const setup = makePipeline();
    const seen: number[] = [];
    setup.registry.register(
      makeTool({
        permissions: ['device:control'],
        execution,
        handler: async (_, context) => {
          seen.push(context.clock.now());
          throw new AtmoError(code, 'no', details);
        },
      }),
    );
    return { ...setup, seen };
  };

  test('a tool with retries is tried again after 1 s and 2 s when nothing was delivered', async () => {
    const { pipeline, clock, seen } = failing('DEVICE_UNREACHABLE', { ...acting, retries: 2 });
    const start = clock.now();
    const pending = pipeline.call({ principal: owner, tool: 'probe', params: {} });
    for (const ms of [1_000, 2_000]) {
      await settled();
      clock.advance(ms);
    }
    expect(await pending).toMatchObject({ error: { code: 'DEVICE_UNREACHABLE' } });
    expect(seen.map((ms) => ms - start)).toEqual([0, 1_000, 3_000]);
  });

  test('a call that ended between two tries leaves nothing for later', async () => {
    const { pipeline, clock, seen } = failing('DEVICE_UNREACHABLE', { ...acting, retries: 2 });
    const caller = new AbortController();
    const pending = pipeline.call({ principal: owner, tool: 'probe', params: {}, signal: caller.signal });
    await settled();
    caller.abort();
    expect(await pending).toMatchObject({ error: { code: 'CANCELLED' } });
    expect([seen.length, clock.timers]).toEqual([1, 0]);
  });

  test('what may have taken effect is never repeated, what has no retries neither', async () => {
    for (const [code, execution] of [
      ['OUTCOME_UNKNOWN', { ...acting, retries: 2 }],
      ['STORAGE_FAILED', { ...acting, retries: 2 }],
      ['DEVICE_UNREACHABLE', acting],
    ] as const) {
      const { pipeline, seen } = failing(code, execution);
      expect(await pipeline.call({ principal: owner, tool: 'probe', params: {} })).toMatchObject({ error: { code } });
      expect(seen).toHaveLength(1);
    }
  });

  test('what time alone does not mend is not tried again', async () => {
    const { pipeline, seen } = failing('DEVICE_UNREACHABLE', { ...acting, retries: 2 }, { permanent: true });
    expect(await pipeline.call({ principal: owner, tool: 'probe', params: {} })).toMatchObject({ error: { retryable: false } });
    expect(seen).toHaveLength(1);
  });

  test('no repeat is begun that the deadline forbids', async () => {
    const { pipeline, seen } = failing('DEVICE_UNREACHABLE', { ...acting, retries: 2 });
    await pipeline.call({ principal: owner, tool: 'probe', params: {}, timeoutMs: 900 });
    expect(seen).toHaveLength(1);
  });
});

describe('results', () => {
  const returns = { type: 'object', required: ['value'], properties: { value: { type: 'number' } } };

  test('that break the schema are RESULT_INVALID, or only a warning by setting', async () => {
    for (const [setting, status] of [
      ['error', 'error'],
      ['warn', 'success'],
    ] as const) {
      const { pipeline, registry } = makePipeline({}, { resultInvalid: setting });
      registry.register(makeTool({ returns, handler: async () => ({ value: 'warm' }) }));
      expect((await pipeline.call({ principal: owner, tool: 'probe', params: {} })).status).toBe(status);
    }
  });

  test.each([
    [true, 'breaks its own schema: .*; it has run and may have taken effect$'],
    [false, 'breaks its own schema: [^;]*$'],
  ])('that break the schema of a tool with side effects (%s) say whether it may have acted', async (hasSideEffects, message) => {
    const { pipeline, registry } = makePipeline();
    const requires = { permissions: ['device:control:lamp'] };
    registry.register(
      makeTool({ returns, requires, execution: { side_effects: hasSideEffects }, handler: async () => ({ value: 'warm' }) }),
    );
    const answer = await pipeline.call({ principal: owner, tool: 'probe', params: {} });
    expect(answer).toMatchObject({ error: { code: 'RESULT_INVALID', message: expect.stringMatching(message) } });
  });

  test('may be larger than what a caller can send, whether they have a schema or not', async () => {
    const { registry, pipeline } = makePipeline();
    const returns = { type: 'object', properties: { content: { type: 'string' } } };
    registry.register(makeTool({ returns, handler: async () => ({ content: 'x'.repeat(2_000_000) }) }));
    const answer = await pipeline.call({ principal: owner, tool: 'probe', params: {} });
    expect(answer.status === 'success' && JSON.stringify(answer.result).length).toBe(2_000_014);
  });

  test('that JSON cannot carry are RESULT_INVALID', async () => {
    const { pipeline, registry } = makePipeline({}, { resultInvalid: 'warn' });
    registry.register(makeTool({ handler: async () => ({ value: Number.NaN }) }));
    expect(await pipeline.call({ principal: owner, tool: 'probe', params: {} })).toMatchObject({ error: { code: 'RESULT_INVALID' } });
  });

  test('a bug in a tool is INTERNAL_ERROR without its text, and of the tool, not of the hub', async () => {
    const { pipeline, registry } = makePipeline();
    registry.register(
      makeTool({
        handler: () => {
          throw new TypeError('secret inner thing');
        },
      }),
    );
    const answer = await pipeline.call({ principal: owner, tool: 'probe', params: {} });
    expect(answer).toMatchObject({
      error: { code: 'INTERNAL_ERROR', message: expect.stringMatching(/^The tool \S+:probe@1\.0\.0 failed unexpectedly; the hub's log/) },
    });
    expect(JSON.stringify(answer)).not.toContain('secret inner thing');
  });
});

describe('routing', () => {
  test('a tool whose capability this hub lacks answers NO_CAPABLE_NODE with what was tried', async () => {
    const { pipeline, registry } = makePipeline();
    registry.register(makeTool({ requires: ['vision'] }));
    expect(await pipeline.call({ principal: owner, tool: 'probe', params: {} })).toMatchObject({
      error: { code: 'NO_CAPABLE_NODE', details: { tried: [{ node_id: 'hub-1', reason: 'lacks vision' }] } },
    });
  });

  test('a capable peer runs the call; the next one is tried only while nothing was accepted', async () => {
    const peer = { isReachable: true, hops: 1, capabilities: ['vision'] };
    const asked: string[] = [];
    const { pipeline, registry } = makePipeline({
      remote: new RemoteToolsFake([], { 'core:probe@1.0.0': ['a', 'b', 'c'] }),
      mesh: { peers: () => ['a', 'b', 'c'].map((id) => ({ ...peer, id: id as never, name: id })) },
      router: {
        forward: async (hubId) => {
          asked.push(hubId);
          throw new AtmoError(hubId === 'a' ? 'NODE_UNAVAILABLE' : 'OUTCOME_UNKNOWN', 'gone');
        },
      },
    });
    registry.register(makeTool({ requires: ['vision'] }));
    expect(await pipeline.call({ principal: owner, tool: 'probe', params: {} })).toMatchObject({
      error: { code: 'OUTCOME_UNKNOWN' },
      execution: { node_id: 'b', hops: 1 },
    });
    expect(asked).toEqual(['a', 'b']);
  });

  test.each([0, 'hub-1'])('people of the hub that was called have to approve, also where it says node_id %j', async (lie) => {
    const { pipeline, registry } = makePipeline({
      remote: new RemoteToolsFake([], { 'core:probe@1.0.0': ['a'] }),
      mesh: { peers: () => [{ isReachable: true, hops: 1, capabilities: ['vision'], id: 'a' as never, name: 'attic' }] },
      router: {
        forward: async () => {
          throw new AtmoError('APPROVAL_REQUIRED', 'ask', { approval_id: 'x', node_id: lie, node_name: 'hall' });
        },
      },
    });
    registry.register(makeTool({ requires: ['vision'] }));
    expect(await pipeline.call({ principal: owner, tool: 'probe', params: {} })).toMatchObject({
      error: { code: 'APPROVAL_REQUIRED', details: { approval_id: 'x', node_id: 'a', node_name: 'attic' } },
    });
  });
});

test('a handler confirms its effects as often as it likes: a new effect is refused each time, and the first effects pass again', async () => {
  const { pipeline, registry } = makePipeline();
  const hall = { permission: 'device:control:hall', risk: 'low' as const, target: 'hall' };
  const attic = { permission: 'device:control:attic', risk: 'low' as const, target: 'attic' };
  let effects: readonly Effect[] = [hall];
  const codes: string[] = [];
  const handler: ToolHandler = async (_, context) => {
    for (const present of [[hall, attic], [hall, attic], [hall]]) {
      effects = present;
      try {
        context.confirm();
        codes.push('confirmed');
      } catch (error) {
        codes.push(toAtmoError(error).code);
      }
    }
    return codes;
  };
  registry.register(makeTool({ effects: () => effects, handler, permissions: ['device:control'] }));
  await pipeline.call({ principal: agent('device:control:*'), tool: 'probe', params: {} });
  expect(codes).toEqual(['CONFLICT', 'CONFLICT', 'confirmed']);
});

test('a handler learns whether the rules allow its call further effects without an approval', async () => {
  const judged: CallToJudge[] = [];
  const kinds = { hall: 'allow', attic: 'approve', door: 'deny' } as const;
  const judge = (call: CallToJudge): RuleVerdict => {
    judged.push(call);
    const kind = kinds[call.effects[0]?.target as keyof typeof kinds];
    return { kind, rule: 'one', reason: 'no', persons: 1 } as RuleVerdict;
  };
  const { pipeline, registry } = makePipeline({ rules: { judge } });
  const effect = (target: string) => ({ permission: `device:control:${target}`, risk: 'low' as const, target });
  const handler: ToolHandler = async (_, context) => Object.keys(kinds).filter((target) => context.allows([effect(target)]));
  registry.register(makeTool({ effects: () => [effect('hall')], handler, permissions: ['device:control'] }));
  const answer = await pipeline.call({ principal: agent('device:control:*'), tool: 'probe', params: {} });
  expect(answer).toMatchObject({ result: ['hall'] });
  for (const { principal, toolId } of judged) expect([principal.id, toolId]).toEqual([agent().id, 'core:probe@1.0.0']);
});

describe('what changes while a call waits for its slot', () => {
  const hall = { permission: 'device:control:hall', risk: 'low' as const, target: 'hall' };
  const door = { permission: 'device:control:door', risk: 'dangerous' as const, target: 'door' };
  const holder = agent('device:control:*');

  /** A call that waits behind another one while `change` happens, and what its handler was given. */
  async function queued(
    change: (setup: ReturnType<typeof makePipeline>, effects: Effect[]) => void,
    extra: Partial<PipelineCollaborators> = {},
  ) {
    const setup = makePipeline(extra, { maxConcurrent: 1 });
    const gate = Promise.withResolvers<Json>();
    const effects: Effect[] = [hall];
    const ran: string[] = [];
    const handler = async () => ran.push('ran');
    setup.registry.register(makeTool({ name: 'slow', handler: () => gate.promise }));
    setup.registry.register(makeTool({ effects: () => [...effects], handler, permissions: ['device:control'] }));
    const first = setup.pipeline.call({ principal: owner, tool: 'slow', params: {} });
    const second = setup.pipeline.call({ principal: holder, tool: 'probe', params: {} });
    await settled();
    change(setup, effects);
    gate.resolve('done');
    await first;
    return { answer: await second, ran };
  }

  test('a call whose effects stay the same runs', async () => {
    expect(await queued(() => {})).toMatchObject({ answer: { status: 'success' }, ran: ['ran'] });
  });

  test('a call that would now open a door does not', async () => {
    const { answer, ran } = await queued((_, effects) => effects.push(door));
    expect(answer).toMatchObject({ error: { code: 'CONFLICT' } });
    expect(ran).toEqual([]);
  });

  test('a call whose token was revoked does not run', async () => {
    let isValid = true;
    const authorizer = new GrantAuthorizer({ groups: NO_GROUPS, elsewhere: NO_REMOTE_GROUPS, validity: { isStillValid: () => isValid } });
    const { answer, ran } = await queued(
      () => {
        isValid = false;
      },
      { authorizer },
    );
    expect(answer).toMatchObject({ error: { code: 'PERMISSION_DENIED' } });
    expect(ran).toEqual([]);
  });

  test('a call of a tool that went away or became another one does not run', async () => {
    const gone = await queued(({ registry }) => registry.unregister(registry.resolve('probe').id));
    expect(gone).toMatchObject({ answer: { error: { code: 'CONFLICT' } }, ran: [] });
    const replaced = await queued(({ registry }) => registry.register(makeTool({ handler: async () => 'other' }), { replace: true }));
    expect(replaced).toMatchObject({ answer: { error: { code: 'CONFLICT' } }, ran: [] });
  });
});

test('long parameters are not repeated in events, which are remembered', async () => {
  const { pipeline, registry, heard } = makePipeline();
  registry.register(makeTool({ parameters: { type: 'object' } }));
  await pipeline.call({ principal: owner, tool: 'probe', params: { text: 'x'.repeat(10_000) } });
  expect(heard[0]?.data).toMatchObject({ params_length: 10_011 });
  expect(JSON.stringify(heard)).not.toContain('xxx');
});

describe('secrets', () => {
  test('a secret parameter is in no event and no audit row, yet reaches the handler', async () => {
    const { pipeline, registry, heard, audited } = makePipeline();
    const parameters = { type: 'object', properties: { pin: { type: 'string', description: 'PIN', 'x-secret': true } } };
    registry.register(makeTool({ parameters, handler: async (params) => params.pin === '123456' }));
    expect(await pipeline.call({ principal: owner, tool: 'probe', params: { pin: '123456' } })).toMatchObject({ result: true });
    expect(JSON.stringify([heard, audited])).not.toContain('123456');
    expect(heard[0]?.data.params).toEqual({ pin: '[secret]' });
  });

  test('a parameter is secret too where only one of several forms says so', async () => {
    const { pipeline, registry, heard } = makePipeline();
    const pin = { type: 'string', description: 'PIN', 'x-secret': true };
    const forms = { anyOf: [{ type: 'object', additionalProperties: pin }, { type: 'null' }], description: 'PINs by name' };
    registry.register(makeTool({ parameters: { type: 'object', properties: { pins: forms } } }));
    await pipeline.call({ principal: owner, tool: 'probe', params: { pins: { ann: '123456' } } });
    expect(heard[0]?.data.params).toEqual({ pins: { ann: '[secret]' } });
  });

  test('the secret part of a result reaches its caller and never the disk', async () => {
    const { pipeline, registry, store, jobs } = makePipeline();
    const returns = { type: 'object', properties: { code: { type: 'string', 'x-secret': true } } };
    registry.register(makeTool({ returns, handler: async () => ({ code: '34970112332' }), execution: { async_allowed: true } }));
    const request = { principal: owner, tool: 'probe', params: {} };
    expect(await pipeline.call({ ...request, idempotencyKey: 'once' })).toMatchObject({ result: { code: '34970112332' } });
    const started = await pipeline.callAsync(request);
    await settled();
    const id = started.kind === 'job' ? started.job.job_id : '';
    expect(jobs.get(id, owner)).toMatchObject({ result: { code: '34970112332' } });
    const kept = JSON.stringify([store.entries('jobs'), store.entries('idempotency')]);
    expect(kept).toContain('[secret]');
    expect(kept).not.toContain('34970112332');
  });
});

describe('a secret that a tool repeats', () => {
  test('reaches its caller and never the disk', async () => {
    const { pipeline, registry, store, jobs } = makePipeline();
    const parameters = { type: 'object', properties: { pin: { type: 'string', description: 'PIN', 'x-secret': true } } };
    registry.register(
      makeTool({ parameters, handler: async ({ pin }) => ({ said: `The PIN is ${pin}` }), execution: { async_allowed: true } }),
    );
    const request = { principal: owner, tool: 'probe', params: { pin: '482917' } };
    expect(await pipeline.call({ ...request, idempotencyKey: 'once' })).toMatchObject({ result: { said: 'The PIN is 482917' } });
    const started = await pipeline.callAsync(request);
    await settled();
    const id = started.kind === 'job' ? started.job.job_id : '';
    expect(jobs.get(id, owner)).toMatchObject({ result: { said: 'The PIN is 482917' } });
    const kept = JSON.stringify([store.entries('jobs'), store.entries('idempotency')]);
    expect(kept.match(/The PIN is \[secret\]/g)).toHaveLength(2);
    expect(kept).not.toContain('482917');
  });
});

describe('draining', () => {
  test('waits for running calls and says when some still run', async () => {
    const { pipeline, registry, clock } = makePipeline();
    const { promise, resolve } = Promise.withResolvers<Json>();
    registry.register(makeTool({ handler: () => promise }));
    const call = pipeline.call({ principal: owner, tool: 'probe', params: {} });
    await settled();
    const tooShort = pipeline.drain(100);
    clock.advance(100);
    expect(await tooShort).toBe(false);
    const drained = pipeline.drain(1_000);
    resolve('done');
    expect(await drained).toBe(true);
    expect(await call).toMatchObject({ result: 'done' });
  });

  test.each([
    ['CANCELLED', false],
    ['OUTCOME_UNKNOWN', true],
  ])('ends what still runs then with %s', async (code, isActing) => {
    const { pipeline, registry, clock } = makePipeline();
    const handler = () => new Promise<Json>(() => {});
    registry.register(makeTool({ handler, requires: { permissions: ['device:control:lamp'] }, execution: { side_effects: isActing } }));
    const call = pipeline.call({ principal: owner, tool: 'probe', params: {} });
    await settled();
    const drained = pipeline.drain(100);
    clock.advance(100);
    expect(await drained).toBe(false);
    clock.advance(GRACE_MS);
    expect(await call).toMatchObject({ status: 'error', error: { code } });
  });
});

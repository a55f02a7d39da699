import { describe, expect, test } from 'vitest';
import type { ApprovalQueue, ApprovalRequest } from '../../../src/core/auth/approvals.ts';
import type { CallToJudge, RuleVerdict } from '../../../src/core/auth/principal.ts';
import { AtmoError } from '../../../src/core/errors.ts';
import type { HubId } from '../../../src/core/ids.ts';
import type { Json, JsonObject } from '../../../src/core/json.ts';
import { RemoteToolsFake, toolOf } from '../../tools/registry/remote-tools-fake.ts';
import { approvalsSaying } from '../approvals-fake.ts';
import { agent, codeOf, makePipeline, makeTool, owner, settled } from '../pipeline-fixture.ts';

const approved = { state: 'approved', approvalId: 'ap-1', by: ['ann'] } as const;
const pin = { type: 'string', description: 'PIN', 'x-secret': true };
const unlock = { permissions: ['device:control:lock'], parameters: { type: 'object', properties: { pin } }, dangerous: true };
const request = { principal: owner, tool: 'probe', params: {} };
const rulesSaying = (verdict: RuleVerdict | ((call: CallToJudge) => RuleVerdict)) => ({
  judge: (call: CallToJudge) => (typeof verdict === 'function' ? verdict(call) : verdict),
});

/** A queue that approves everything and remembers what it was asked and what came back. */
function recordingQueue() {
  const asked: ApprovalRequest[] = [];
  const back: string[] = [];
  const queue: ApprovalQueue = {
    check: async (one) => {
      asked.push(one);
      return approved;
    },
    peek: async () => approved,
    giveBack: (id) => void back.push(id),
    refusalOf: () => undefined,
    stillApprovedBy: () => [],
    withdraw: () => {},
  };
  return { queue, asked, back };
}

describe('an approval', () => {
  test('is asked for with all that people have to know, and nothing secret', async () => {
    const { queue, asked } = recordingQueue();
    const setup = makePipeline({ approvals: queue });
    setup.registry.register(
      makeTool({
        ...unlock,
        title: 'Open the door',
        requires: { permissions: ['device:control:lock'], multi_party: 2 },
        permissions: undefined,
      }),
    );
    await setup.pipeline.call({ ...request, params: { pin: '482917' }, traceId: 'trace' });
    expect(asked).toMatchObject([
      {
        principal: owner,
        toolId: 'core:probe@1.0.0',
        title: 'Open the door',
        params: { pin: '[secret]' },
        effects: [{ permission: 'device:control:lock', risk: 'dangerous' }],
        personsNeeded: 2,
        traceId: 'trace',
      },
    ]);
    expect(JSON.stringify(asked)).not.toContain('482917');
  });

  test('binds the secrets of the call, and the same call has the same hash', async () => {
    const { queue, asked } = recordingQueue();
    const setup = makePipeline({ approvals: queue });
    setup.registry.register(makeTool(unlock));
    for (const given of ['482917', '482917', '000000']) await setup.pipeline.call({ ...request, params: { pin: given } });
    const hashes = asked.map(({ callHash }) => callHash);
    expect(hashes[0]).toBe(hashes[1]);
    expect(hashes[2]).not.toBe(hashes[0]);
  });

  describe('of a call with a step on a hub whose tools are still being read', () => {
    const hub = { id: 'hub-2' as HubId, name: 'attic' };
    const step = toolOf([hub.id], { name: 'open_gate', namespace: 'lab', parameters: { type: 'object', properties: {} } });

    /** `read` lets the tools of the other hub be known. */
    function makeMesh() {
      const gate = Promise.withResolvers<void>();
      let isRead = false;
      const remote = Object.assign(new RemoteToolsFake([]), {
        incompleteHubs: () => (isRead ? [] : [hub]),
        awaitComplete: () => (isRead ? undefined : gate.promise),
      });
      const { queue, asked } = recordingQueue();
      const setup = makePipeline({ approvals: queue, remote });
      const both = {
        ...makeTool({ ...unlock, name: 'both', parameters: { type: 'object', properties: {} } }),
        innerCalls: () => [{ tool: 'lab:open_gate', params: {} }],
      };
      setup.registry.register(both);
      const read = () => {
        isRead = true;
        remote.tools.push(step);
        gate.resolve();
      };
      return { setup, asked, read };
    }

    test('is asked for with the step as it is, once they are known', async () => {
      const { setup, asked, read } = makeMesh();
      const call = setup.pipeline.call({ ...request, tool: 'both' });
      await settled();
      expect(asked).toEqual([]);
      read();
      await call;
      expect(asked).toMatchObject([{ plan: { steps: [{ tool: step.id, definition: expect.stringMatching(/^[0-9a-f]{64}$/) }] } }]);
    });

    test.each(['call', 'preflight'] as const)('is not asked for while they are unknown: a %s is to be repeated later', async (kind) => {
      const { setup, asked } = makeMesh();
      const timeoutMs = 2_000;
      const answer = setup.pipeline[kind]({ ...request, tool: 'both', timeoutMs });
      await settled();
      setup.clock.advance(timeoutMs - 1);
      await settled();
      expect(asked).toEqual([]);
      setup.clock.advance(1);
      const error = { code: 'NODE_UNAVAILABLE', retryable: true, message: expect.stringContaining('attic') };
      expect(await answer).toMatchObject({ error });
      expect(asked).toEqual([]);
    });
  });

  test('that was denied refuses the call and says which one it was', async () => {
    const setup = makePipeline({
      approvals: approvalsSaying({ state: 'denied', approvalId: 'ap-1', by: 'ann', expiresAt: '2026-01-01T00:10:00.000Z' }),
    });
    setup.registry.register(makeTool(unlock));
    expect(await setup.pipeline.call(request)).toMatchObject({
      error: { code: 'PERMISSION_DENIED', message: expect.stringContaining('ann has denied'), details: { approval_id: 'ap-1' } },
    });
  });

  test('is given back when nothing was dispatched, and only then', async () => {
    const { queue, back } = recordingQueue();
    const setup = makePipeline({ approvals: queue }, { maxConcurrent: 1, maxQueued: 0 });
    const gate = Promise.withResolvers<Json>();
    setup.registry.register(makeTool({ name: 'slow', handler: () => gate.promise }));
    setup.registry.register(makeTool(unlock));
    setup.registry.register(
      makeTool({ ...unlock, name: 'fails', handler: () => Promise.reject(new AtmoError('CLUSTER_STATUS', 'jammed')) }),
    );
    const slow = setup.pipeline.call({ ...request, tool: 'slow' });
    await settled();
    expect(codeOf(await setup.pipeline.call(request))).toBe('RESOURCE_EXCEEDED');
    expect(back).toEqual(['ap-1']);
    gate.resolve('done');
    await slow;
    expect(codeOf(await setup.pipeline.call(request))).toBe('success');
    expect(codeOf(await setup.pipeline.call({ ...request, tool: 'fails' }))).toBe('CLUSTER_STATUS');
    expect(back).toEqual(['ap-1']);
  });

  test('that cannot be given back changes nothing of the answer', async () => {
    const giveBack = () => {
      throw new AtmoError('STORAGE_FAILED', 'The disk is full');
    };
    const audit = { record: () => Promise.reject(new AtmoError('STORAGE_FAILED', 'The disk is full')) };
    const setup = makePipeline({ approvals: { ...recordingQueue().queue, giveBack }, audit });
    setup.registry.register(makeTool(unlock));
    expect(codeOf(await setup.pipeline.call(request))).toBe('STORAGE_FAILED');
  });
});

test('a device that a person refused to the caller is not changed, also by a call that needs no approval', async () => {
  const refusal = { id: 'ap-9', by: 'ann', device: 'lamp' };
  const refused: string[] = [];
  const approvals = { ...approvalsSaying({ state: 'approved', approvalId: 'a', by: ['ann'] }), refusalOf: () => refusal };
  const setup = makePipeline({ approvals });
  setup.registry.register(makeTool({ handler: async () => ({ ran: refused.push('ran') }) }));
  expect(await setup.pipeline.call({ principal: owner, tool: 'probe', params: {} })).toMatchObject({
    error: {
      code: 'PERMISSION_DENIED',
      message: expect.stringContaining('ann has refused'),
      details: { approval_id: 'ap-9', device: 'lamp' },
    },
  });
  expect(refused).toEqual([]);
});

describe('while the hub does not know the time', () => {
  test('dangerous calls are refused before anybody is asked, others run', async () => {
    const { queue, asked } = recordingQueue();
    let isTrusted = false;
    const setup = makePipeline({ approvals: queue, time: { now: () => Date.UTC(2026, 0, 1), isTrusted: () => isTrusted } });
    setup.registry.register(makeTool(unlock));
    setup.registry.register(makeTool({ name: 'harmless' }));
    expect(await setup.pipeline.call(request)).toMatchObject({
      error: { code: 'PERMISSION_DENIED', message: expect.stringContaining('does not know the time'), details: { reason: 'time_unknown' } },
    });
    expect(asked).toEqual([]);
    expect(codeOf(await setup.pipeline.call({ ...request, tool: 'harmless' }))).toBe('success');
    isTrusted = true;
    expect(codeOf(await setup.pipeline.call(request))).toBe('success');
  });
});

describe("the owner's rules", () => {
  test('see canonical parameters and effects, and a refusal names the rule', async () => {
    const seen: CallToJudge[] = [];
    const rules = rulesSaying((call) => {
      seen.push(call);
      return { kind: 'deny', rule: 'never-above-25', reason: 'heating never above 25 °C' };
    });
    const setup = makePipeline({ rules });
    setup.registry.register(
      makeTool({
        parameters: { type: 'object', properties: { celsius: { type: 'number', description: 'Setpoint' } } },
        permissions: ['device:control:heater'],
        canonicalize: (params: JsonObject) => ({ ...params, device: 'heater' }),
        effects: () => [{ permission: 'device:control:heater', risk: 'low', target: 'heater', values: { setpoint: 30 } }],
      }),
    );
    expect(await setup.pipeline.call({ ...request, params: { celsius: 30 } })).toMatchObject({
      error: { code: 'RULE_BLOCKED', message: expect.stringContaining('never above 25'), details: { rule: 'never-above-25' } },
    });
    expect(seen).toMatchObject([{ params: { celsius: 30, device: 'heater' }, effects: [{ values: { setpoint: 30 } }], principal: owner }]);
  });

  test('can make people approve what is not dangerous, and more of them than the tool asks for', async () => {
    const { queue, asked } = recordingQueue();
    const setup = makePipeline({ approvals: queue, rules: rulesSaying({ kind: 'approve', rule: 'two-of-us', persons: 1 }) });
    setup.registry.register(makeTool({}));
    setup.registry.register(
      makeTool({ ...unlock, name: 'unlock', requires: { permissions: ['a:b'], multi_party: 3 }, permissions: undefined }),
    );
    expect(codeOf(await setup.pipeline.call(request))).toBe('success');
    expect(codeOf(await setup.pipeline.call({ ...request, tool: 'unlock' }))).toBe('success');
    expect(asked.map(({ personsNeeded }) => personsNeeded)).toEqual([1, 3]);
    const waiting = makePipeline({
      approvals: approvalsSaying({
        state: 'pending',
        approvalId: 'ap-1',
        expiresAt: '2026-01-01T00:10:00Z',
        waitsForS: 600,
        needed: 2,
        given: 0,
        summary: 'kitchen wants it',
        willDo: [],
      }),
      rules: rulesSaying({ kind: 'approve', rule: 'two-of-us', persons: 2 }),
    });
    waiting.registry.register(makeTool({}));
    expect(await waiting.pipeline.call(request)).toMatchObject({
      error: { code: 'APPROVAL_REQUIRED', message: expect.stringContaining('The rule two-of-us wants people') },
    });
  });

  test('never lift the approval of what is dangerous', async () => {
    const setup = makePipeline({ rules: rulesSaying({ kind: 'allow', rule: 'all-day' }) });
    setup.registry.register(makeTool(unlock));
    expect(await setup.pipeline.call(request)).toMatchObject({
      error: { code: 'PERMISSION_DENIED', message: expect.stringContaining('dangerous') },
    });
  });

  test.each([
    [{ kind: 'deny', rule: 'night', reason: 'it is night' }, 'RULE_BLOCKED'],
    [{ kind: 'approve', rule: 'night', persons: 1 }, 'CONFLICT'],
    [{ kind: 'allow' }, 'success'],
  ] as const)('count as they are right before the call runs: %o', async (later, code) => {
    let verdict: RuleVerdict = { kind: 'allow' };
    const setup = makePipeline({ approvals: recordingQueue().queue, rules: rulesSaying(() => verdict) }, { maxConcurrent: 1 });
    const gate = Promise.withResolvers<Json>();
    let runs = 0;
    setup.registry.register(makeTool({ name: 'slow', handler: () => gate.promise }));
    setup.registry.register(makeTool({ handler: async () => ++runs }));
    const slow = setup.pipeline.call({ ...request, tool: 'slow' });
    const waiting = setup.pipeline.call(request);
    await settled();
    verdict = later;
    gate.resolve('done');
    await slow;
    expect(codeOf(await waiting)).toBe(code);
    expect(runs).toBe(code === 'success' ? 1 : 0);
  });

  test('that still want the approval which the call has let it run', async () => {
    const setup = makePipeline({ approvals: recordingQueue().queue, rules: rulesSaying({ kind: 'approve', rule: 'r', persons: 1 }) });
    setup.registry.register(makeTool({}));
    expect(codeOf(await setup.pipeline.call({ ...request, principal: agent() }))).toBe('success');
  });
});

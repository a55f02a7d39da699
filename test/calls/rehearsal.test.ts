import { describe, expect, test } from 'vitest';
import { rehearseTool } from '../../src/calls/builtin/rehearse-tool.ts';
import type { ComingAutomations } from '../../src/calls/coming-conflicts.ts';
import { sequenceTool } from '../../src/calls/composition/steps.ts';
import type { CallRouter, ForwardedCall } from '../../src/calls/pipeline-context.ts';
import type { ApprovalQueue } from '../../src/core/auth/approvals.ts';
import { AtmoError } from '../../src/core/errors.ts';
import type { Json } from '../../src/core/json.ts';
import { ManualClock } from '../manual-clock.ts';
import { makePeer, RemoteToolsFake, toolOf } from '../tools/registry/remote-tools-fake.ts';
import { agent, makePipeline, makeTool, owner, permissiveParts } from './pipeline-fixture.ts';

const holder = agent('device:control:lamp-1', 'sequence:run');
const dim = {
  name: 'dim',
  parameters: { type: 'object', properties: { device_id: { type: 'string' } }, required: ['device_id'] },
  requires: { permissions: ['device:control:{device_id}'] },
  execution: { side_effects: true },
};
const onLamp = { device_id: 'lamp-1' };

function room(extra: Parameters<typeof makePipeline>[0] = {}) {
  let runs = 0;
  const made = makePipeline(extra);
  made.registry.register(makeTool({ ...dim, handler: async () => ++runs }));
  made.registry.register(makeTool({ ...dim, name: 'burn', dangerous: true, handler: async () => ++runs }));
  made.registry.register(sequenceTool(() => made.pipeline));
  return { ...made, runs: () => runs };
}

describe('a rehearsal', () => {
  test('tells what a call would do, and ten thousand of them run nothing and use up nothing', async () => {
    let charged = 0;
    const notes: string[] = [];
    const { pipeline, runs, heard, collaborators } = room({
      rateLimiter: { charge: () => void charged++, left: () => [] },
      audit: { record: async (entry) => void notes.push(entry.kind === 'note' ? entry.event : entry.kind) },
    });
    const request = { principal: holder, tool: 'dim', params: onLamp, idempotencyKey: 'k' };
    expect(await pipeline.rehearse(request)).toMatchObject({ outcome: 'would_run', risk: 'low', tool: 'core:dim@1.0.0' });
    for (let count = 1; count < 10_000; count++) await pipeline.rehearse(request);
    expect([runs(), charged, heard, collaborators.usage.tools()]).toEqual([0, 0, [], []]);
    expect(new Set(notes)).toEqual(new Set(['call.rehearsed']));
    expect(notes).toHaveLength(10_000);
    expect(await pipeline.call(request)).toMatchObject({ result: 1 });
  });

  test('of a dangerous call tells that people have to approve it, and asks nobody', async () => {
    const asked: string[] = [];
    const ask = async ({ toolId }: { readonly toolId: string }) => {
      asked.push(toolId);
      throw new Error('nobody may be asked');
    };
    const approvals: ApprovalQueue = { ...permissiveParts(new ManualClock()).approvals, check: ask, peek: ask };
    const { pipeline } = room({ approvals });
    expect(await pipeline.rehearse({ principal: holder, tool: 'burn', params: onLamp })).toMatchObject({
      outcome: 'needs_approval',
      risk: 'dangerous',
      approval: { persons: 1, reason: 'core:burn@1.0.0 is dangerous' },
    });
    expect(asked).toEqual([]);
  });

  test('of a call that would be refused has the error that the call would get, and nothing of what it may not know', async () => {
    const { pipeline } = room();
    const request = { principal: agent('device:control:other'), tool: 'dim', params: onLamp };
    const answer = await pipeline.call(request);
    const rehearsal = await pipeline.rehearse(request);
    expect(rehearsal).toMatchObject({ outcome: 'would_be_refused', effects: [], changes: [], undo: { possible: false } });
    expect(rehearsal.error).toEqual(answer.status === 'error' ? answer.error : undefined);
  });

  test('of a call whose device does not answer would be refused, as the call is', async () => {
    const { pipeline, registry } = room();
    registry.register(makeTool({ ...dim, name: 'far', isAvailable: () => false }));
    const request = { principal: holder, tool: 'far', params: onLamp };
    expect(await pipeline.rehearse(request)).toMatchObject({ outcome: 'would_be_refused', error: { code: 'DEVICE_UNREACHABLE' } });
    expect(await pipeline.call(request)).toMatchObject({ error: { code: 'DEVICE_UNREACHABLE' } });
  });

  test('of a sequence has each call inside it, and the least good outcome of all', async () => {
    const { pipeline, runs } = room();
    const steps = [
      { tool: 'dim', params: onLamp },
      { tool: 'burn', params: onLamp },
      { tool: 'dim', params: { device_id: { $result: '0' } } },
    ];
    const rehearsal = await pipeline.rehearse({ principal: holder, tool: 'sequence', params: { steps } });
    expect(rehearsal).toMatchObject({ outcome: 'needs_approval', risk: 'dangerous' });
    expect(rehearsal.calls.map(({ tool, outcome }) => [tool, outcome])).toEqual([
      ['core:dim@1.0.0', 'would_run'],
      ['core:burn@1.0.0', 'needs_approval'],
      ['dim', 'not_known'],
    ]);
    expect(runs()).toBe(0);
  });

  test('of a sequence of one call says of that call whether it can be undone', async () => {
    const { pipeline } = room();
    const steps = [{ tool: 'dim', params: onLamp }];
    const { undo, calls } = await pipeline.rehearse({ principal: holder, tool: 'sequence', params: { steps } });
    expect(calls[0]?.undo.possible).toBe(false);
    expect(undo).toEqual({ possible: false, reason: `core:dim@1.0.0: ${calls[0]?.undo.reason}` });
  });

  test.each([
    [6, 'would_run'],
    [7, 'would_be_refused'],
  ])('of calls that are nested %i deep has the innermost, or is refused', async (levels, outcome) => {
    const { pipeline, registry } = makePipeline();
    registry.register(makeTool({ name: 'level0' }));
    for (let level = 1; level <= levels; level++)
      registry.register({ ...makeTool({ name: `level${level}` }), innerCalls: () => [{ tool: `level${level - 1}`, params: {} }] });
    expect(await pipeline.rehearse({ principal: owner, tool: `level${levels}`, params: {} })).toMatchObject({ outcome });
  });

  test('has what automations will do against each call, which it looks up once and for which nothing runs', async () => {
    const asked: string[] = [];
    const conflict = {
      when: 'at_time',
      certain: true,
      device_id: 'lamp-1',
      sentence: '"Night" will do this at 18:30: Turn off lamp',
    } as const;
    const coming: ComingAutomations = {
      actsFor: async ({ id }) => {
        asked.push(id);
        return {
          conflictsOf: async ({ toolId, params }) => (toolId === 'core:dim@1.0.0' && params.device_id === 'lamp-1' ? [conflict] : []),
        };
      },
    };
    const { pipeline, runs } = room({ coming });
    const steps = ['dim', 'burn'].map((tool) => ({ tool, params: onLamp }));
    const rehearsal = await pipeline.rehearse({ principal: holder, tool: 'sequence', params: { steps } });
    expect(rehearsal.calls.map(({ conflicts }) => conflicts)).toEqual([[conflict], undefined]);
    expect(asked).toEqual([holder.id]);
    const refused = await pipeline.rehearse({ principal: agent('device:control:other'), tool: 'dim', params: onLamp });
    expect(refused).not.toHaveProperty('conflicts');
    expect(runs()).toBe(0);
  });

  test('of a tool of another hub is made by that hub, and one that is too old is said not to be known', async () => {
    const remote = new RemoteToolsFake([toolOf(['hub-2'], {})]);
    const asked: ForwardedCall[] = [];
    const there = { tool: 'core:probe@1.0.0', outcome: 'would_run', risk: 'none', undo: { possible: true } };
    const lists = { effects: [], changes: [], limits: [], skipped: [], calls: [] };
    let answer = async (): Promise<Json> => ({ ...there, ...lists });
    const router: CallRouter = {
      forward: async (hub, call) => {
        asked.push(call);
        return { result: await answer(), nodeId: hub, hops: 1 };
      },
    };
    const { pipeline, registry } = makePipeline({ remote, router, mesh: { peers: () => [makePeer('hub-2')] } });
    registry.register(rehearseTool(() => pipeline));
    const request = { principal: owner, tool: 'probe', params: {} };
    expect(await pipeline.rehearse(request)).toEqual({ ...there, ...lists, node_id: 'hub-2' });
    expect(asked.map(({ tool, params }) => [tool.id, params])).toEqual([['hub:rehearse@1.0.0', { tool: 'core:probe@1.0.0', params: {} }]]);
    answer = async () => {
      throw new AtmoError('TOOL_NOT_FOUND', 'There is no such tool');
    };
    expect(await pipeline.rehearse(request)).toMatchObject({ outcome: 'not_known', node_id: 'hub-2', undo: { possible: false } });
  });

  test('of a tool whose setting is missing here is made by the hub that would run it', async () => {
    const there = { tool: 'core:probe@1.0.0', outcome: 'needs_approval', risk: 'dangerous', undo: { possible: false } };
    const lists = { effects: [], changes: [], limits: [], skipped: [], calls: [], conflicts: [] };
    const router: CallRouter = { forward: async (hub) => ({ result: { ...there, ...lists }, nodeId: hub, hops: 1 }) };
    const remote = new RemoteToolsFake([toolOf(['hub-2'], {})]);
    const { pipeline, registry } = makePipeline({ remote, router, mesh: { peers: () => [makePeer('hub-2')] } });
    registry.register(rehearseTool(() => pipeline));
    registry.register({ ...makeTool({ name: 'probe' }), missingSetting: () => 'probe.address' });
    expect(await pipeline.rehearse({ principal: owner, tool: 'probe', params: {} })).toMatchObject({
      outcome: 'needs_approval',
      risk: 'dangerous',
      node_id: 'hub-2',
    });
  });

  test.each([
    ['dim', onLamp, 'would_run'],
    ['dim', { device_id: 'lock-1' }, 'would_be_refused'],
    ['burn', onLamp, 'needs_approval'],
  ])('by the tool for it, of %s with %j, has the members that its schema requires', async (tool, params, outcome) => {
    const { pipeline, registry } = room();
    registry.register(rehearseTool(() => pipeline));
    const answer = await pipeline.call({ principal: holder, tool: 'rehearse', params: { tool, params } });
    expect(answer).toMatchObject({ status: 'success', result: { outcome } });
  });

  test('has a limit of its own, and tells which rate limits are nearly used up', async () => {
    const near = { left: 3, calls: 400, seconds: 2 };
    const { pipeline } = room({ rateLimiter: { charge: () => {}, left: () => [near, { left: 100, calls: 400, seconds: 2 }] } });
    expect(await pipeline.rehearse({ principal: owner, tool: 'dim', params: onLamp })).toMatchObject({ limits: [near] });
    const full = room({
      rehearsalLimiter: {
        charge: () => {
          throw new Error('too many');
        },
      },
    });
    await expect(full.pipeline.rehearse({ principal: owner, tool: 'dim', params: onLamp })).rejects.toThrow('too many');
  });
});

import { describe, expect, test } from 'vitest';
import { JobStore } from '../../src/calls/jobs/job-store.ts';
import type { Principal } from '../../src/core/auth/principal.ts';
import type { Json } from '../../src/core/json.ts';
import { agent, codeOf, makePipeline, makeTool, owner, settled, withToken } from './pipeline-fixture.ts';

const parent = withToken(agent('device:control'), { id: 'aa', chain: ['aa'] });
const child = withToken({ ...agent('device:control'), id: 'agent-1/child' }, { id: 'bb', chain: ['aa', 'bb'] });
const hasToken = (id: string) => (principal: Principal) => principal.token?.chain.includes(id) ?? false;
const never = () => new Promise<Json>(() => {});
const acting = { permissions: ['device:control'], execution: { side_effects: true } };

describe('a caller that may no longer call', () => {
  async function revoked(tool: object, options = {}) {
    const setup = makePipeline({}, options);
    setup.registry.register(makeTool({ name: 'blocker', handler: never }));
    setup.registry.register(makeTool({ handler: never, ...tool }));
    if ('maxConcurrent' in options) void setup.pipeline.call({ principal: owner, tool: 'blocker', params: {} });
    const calls = [parent, child, owner].map((principal) => setup.pipeline.call({ principal, tool: 'probe', params: {} }));
    await settled();
    setup.pipeline.abortCallsOf(hasToken('aa'));
    await settled();
    setup.clock.advance(250);
    const [ofParent, ofChild] = await Promise.all(calls.slice(0, 2));
    const ofOwner = await Promise.race([calls[2], Promise.resolve('goes on')]);
    return { codes: [ofParent, ofChild].map((answer) => answer && codeOf(answer)), ofOwner, setup };
  }

  test('loses what runs, with all that comes from its token; others go on', async () => {
    expect(await revoked({})).toMatchObject({ codes: ['CANCELLED', 'CANCELLED'], ofOwner: 'goes on' });
  });

  test('is told honestly that what acts may have taken effect', async () => {
    expect(await revoked(acting)).toMatchObject({ codes: ['OUTCOME_UNKNOWN', 'OUTCOME_UNKNOWN'] });
  });

  test('loses what waits for its slot without a trace of it running', async () => {
    const { codes, setup } = await revoked(acting, { maxConcurrent: 1 });
    expect(codes).toEqual(['CANCELLED', 'CANCELLED']);
    expect(setup.audited.filter((entry) => entry.kind === 'refusal')).toHaveLength(2);
  });

  test('gets nothing done any more, not even what needs no permission', async () => {
    const setup = makePipeline({ validity: { isStillValid: (principal) => principal.kind === 'owner' } });
    setup.registry.register(makeTool({}));
    const call = (principal: Principal) => setup.pipeline.call({ principal, tool: 'probe', params: {} });
    expect(await call(parent)).toMatchObject({ error: { code: 'TOKEN_INVALID' } });
    expect(codeOf(await call(owner))).toBe('success');
    expect(setup.audited[0]).toMatchObject({ kind: 'refusal', error: 'TOKEN_INVALID', principal: parent });
  });

  test('while its call waits for the journal loses it before it is dispatched', async () => {
    const written = Promise.withResolvers<void>();
    let runs = 0;
    const setup = makePipeline({ audit: { record: (entry) => (entry.kind === 'intent' ? written.promise : Promise.resolve()) } });
    setup.registry.register(makeTool({ ...acting, handler: async () => ++runs }));
    const pending = setup.pipeline.call({ principal: parent, tool: 'probe', params: {} });
    await settled();
    setup.pipeline.abortCallsOf(hasToken('aa'));
    written.resolve();
    expect(codeOf(await pending)).toBe('CANCELLED');
    expect(runs).toBe(0);
  });
});

describe('jobs of a token', () => {
  const asJob = { ...acting, execution: { side_effects: true, async_allowed: true, idempotent: true }, handler: never };
  async function started(setup: ReturnType<typeof makePipeline>, principal: Principal) {
    const answer = await setup.pipeline.callAsync({ principal, tool: 'probe', params: {} });
    return answer.kind === 'job' ? answer.job.job_id : '';
  }

  test('end with it and with the tokens that it comes from', async () => {
    const setup = makePipeline();
    setup.registry.register(makeTool(asJob));
    const ids = [await started(setup, parent), await started(setup, child), await started(setup, owner)];
    const statuses = () => ids.map((id) => setup.jobs.get(id, owner).status);
    const end = async (tokenId: string) => {
      setup.jobs.cancelOf(tokenId);
      await settled();
      setup.clock.advance(250);
      await settled();
      return statuses();
    };
    await settled();
    expect(await end('bb')).toEqual(['running', 'cancelled', 'running']);
    expect(await end('aa')).toEqual(['cancelled', 'cancelled', 'running']);
  });

  test('can be ended through the pipeline as well', async () => {
    const setup = makePipeline();
    setup.registry.register(makeTool(asJob));
    const id = await started(setup, child);
    await settled();
    setup.pipeline.abortCallsOf(hasToken('bb'));
    await settled();
    setup.clock.advance(250);
    await settled();
    expect(setup.jobs.get(id, owner)).toMatchObject({ status: 'cancelled', error: { code: 'CANCELLED' } });
  });

  test('that an older hub kept without its tokens are still read', () => {
    const setup = makePipeline();
    const view = {
      job_id: 'j',
      tool: 'core:probe@1.0.0',
      status: 'succeeded',
      created_at: '2026-01-01T00:00:00Z',
      finished_at: '2026-01-01T00:00:00Z',
    };
    setup.store.set('jobs', 'j', { ownerId: 'owner:owner', hasSideEffects: false, view });
    const jobs = new JobStore({ store: setup.store, clock: setup.clock, events: setup.events });
    jobs.recover();
    jobs.cancelOf('aa');
    expect(jobs.get('j', owner).status).toBe('succeeded');
  });
});

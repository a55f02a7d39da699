import { describe, expect, test } from 'vitest';
import { jobTools } from '../../../src/calls/jobs/job-directory.ts';
import { JobStore } from '../../../src/calls/jobs/job-store.ts';
import type { Json } from '../../../src/core/json.ts';
import { agent, jobsHere, makePipeline, makeTool, owner, settled } from '../pipeline-fixture.ts';

const me = agent('device:control', 'job:cancel');
const asJob = { execution: { async_allowed: true, side_effects: true }, permissions: ['device:control'] };

async function startJob(setup: ReturnType<typeof makePipeline>, extra = {}) {
  const answer = await setup.pipeline.callAsync({ principal: me, tool: 'probe', params: {}, ...extra });
  if (answer.kind !== 'job') throw new Error(JSON.stringify(answer));
  return answer.job.job_id;
}

describe('a job', () => {
  test('is answered at once, tells its progress, and keeps its result', async () => {
    const setup = makePipeline();
    const { promise, resolve } = Promise.withResolvers<Json>();
    setup.registry.register(
      makeTool({
        ...asJob,
        handler: async (_, context) => {
          context.progress(0.5, 'half');
          return promise;
        },
      }),
    );
    const id = await startJob(setup);
    await settled();
    expect(setup.jobs.get(id, me)).toMatchObject({ status: 'running', progress: { fraction: 0.5, note: 'half' } });
    resolve({ done: true });
    await settled();
    expect(setup.jobs.get(id, me)).toMatchObject({ job_id: id, status: 'succeeded', result: { done: true } });
    const statuses = setup.heard.filter((event) => event.type === 'job.changed').map((event) => event.data.status);
    expect(statuses).toEqual(['queued', 'running', 'running', 'succeeded']);
  });

  test('waits for a slot as queued', async () => {
    const setup = makePipeline({}, { maxConcurrent: 1 });
    setup.registry.register(makeTool({ ...asJob, handler: () => new Promise(() => {}) }));
    const ids = [await startJob(setup), await startJob(setup)];
    await settled();
    expect(ids.map((id) => setup.jobs.get(id, me).status)).toEqual(['running', 'queued']);
  });

  test('is refused at once when its parameters are wrong or the tool does not run as a job', async () => {
    const setup = makePipeline();
    setup.registry.register(makeTool({ ...asJob, parameters: { type: 'object', required: ['x'], properties: { x: { type: 'string' } } } }));
    setup.registry.register(makeTool({ name: 'sync_only' }));
    expect(await setup.pipeline.callAsync({ principal: me, tool: 'probe', params: {} })).toMatchObject({
      kind: 'refused',
      answer: { error: { code: 'VALIDATION_ERROR' } },
    });
    expect(await setup.pipeline.callAsync({ principal: me, tool: 'sync_only', params: {} })).toMatchObject({
      answer: { error: { code: 'NOT_SUPPORTED' } },
    });
    expect(setup.jobs.list(me)).toEqual([]);
  });

  test('can be cancelled by its owner through job_cancel, and is not ended by the request going away', async () => {
    const setup = makePipeline();
    for (const tool of jobTools(jobsHere(setup.jobs))) setup.registry.register(tool);
    setup.registry.register(
      makeTool({ ...asJob, execution: { ...asJob.execution, idempotent: true }, handler: () => new Promise(() => {}) }),
    );
    const request = new AbortController();
    const id = await startJob(setup, { signal: request.signal });
    request.abort();
    await settled();
    setup.clock.advance(1_000);
    const status = () => setup.pipeline.call({ principal: me, tool: 'job_status', params: { job_id: id } });
    expect(await status()).toMatchObject({ result: { status: 'running' } });
    await setup.pipeline.call({ principal: me, tool: 'job_cancel', params: { job_id: id } });
    setup.clock.advance(250);
    await settled();
    expect(await status()).toMatchObject({ result: { status: 'cancelled' } });
  });

  test('is told once it has ended to whom asks job_status to wait, and as it is when the time is over', async () => {
    const setup = makePipeline();
    for (const tool of jobTools(jobsHere(setup.jobs))) setup.registry.register(tool);
    const gate = Promise.withResolvers<string>();
    setup.registry.register(makeTool({ ...asJob, handler: () => gate.promise }));
    const id = await startJob(setup);
    const asked = () => setup.pipeline.call({ principal: me, tool: 'job_status', params: { job_id: id, wait_seconds: 10 } });
    const over = asked();
    for (let second = 0; second < 10; second++) {
      await settled();
      setup.clock.advance(1_000);
    }
    expect(await over).toMatchObject({ result: { status: 'running' } });
    const ended = asked();
    await settled();
    gate.resolve('done');
    await settled();
    setup.clock.advance(1_000);
    expect(await ended).toMatchObject({ result: { status: 'succeeded', result: 'done' } });
  });

  test('is told at once to an agent that waits for four jobs already', async () => {
    const setup = makePipeline();
    for (const tool of jobTools(jobsHere(setup.jobs))) setup.registry.register(tool);
    setup.registry.register(makeTool({ ...asJob, handler: () => new Promise(() => {}) }));
    const id = await startJob(setup);
    const asked = () => setup.pipeline.call({ principal: me, tool: 'job_status', params: { job_id: id, wait_seconds: 10 } });
    const waiting = Promise.all([asked(), asked(), asked(), asked()]);
    await settled();
    expect(await asked()).toMatchObject({ result: { status: 'running' } });
    for (let second = 0; second < 10; second++) {
      setup.clock.advance(1_000);
      await settled();
    }
    expect(await waiting).toHaveLength(4);
  });

  test('of the owner does not exist for an agent that calls itself owner, nor does the answer of its idempotency key', async () => {
    const impostor = { ...me, id: 'owner' };
    const { pipeline, registry, jobs } = makePipeline();
    registry.register(makeTool({ handler: async () => 'private', execution: { async_allowed: true } }));
    for (const tool of jobTools(jobsHere(jobs))) registry.register(tool);
    const started = await pipeline.callAsync({ principal: owner, tool: 'probe', params: {} });
    const params = { job_id: started.kind === 'job' ? started.job.job_id : '' };
    expect(await pipeline.call({ principal: impostor, tool: 'job_status', params })).toMatchObject({ error: { code: 'JOB_NOT_FOUND' } });
    expect(await pipeline.call({ principal: owner, tool: 'job_status', params })).toMatchObject({ status: 'success' });
    const first = await pipeline.call({ principal: owner, tool: 'probe', params: {}, idempotencyKey: 'k' });
    expect(await pipeline.call({ principal: impostor, tool: 'probe', params: {}, idempotencyKey: 'k' })).not.toEqual(first);
  });

  test('of somebody else does not exist; the owner reads all', async () => {
    const setup = makePipeline();
    setup.registry.register(makeTool(asJob));
    const id = await startJob(setup);
    const other = { ...me, id: 'agent-2' };
    expect(() => setup.jobs.get(id, other)).toThrow(/No job/);
    expect(() => setup.jobs.cancel(id, other)).toThrow(/No job/);
    expect(setup.jobs.list(other)).toEqual([]);
    expect(setup.jobs.get(id, owner).job_id).toBe(id);
  });

  test('forgets its result after an hour', async () => {
    const setup = makePipeline();
    setup.registry.register(makeTool(asJob));
    const id = await startJob(setup);
    await settled();
    setup.clock.advance(3_600_000);
    const view = setup.jobs.get(id, me);
    expect(view.status).toBe('expired');
    expect(view.result).toBeUndefined();
    setup.clock.advance(3_600_000);
    await startJob(setup);
    expect(() => setup.jobs.get(id, me)).toThrow(/No job/);
  });

  test('of a process that died has failed: unknown outcome when it was acting, and finished ones stay', async () => {
    const setup = makePipeline({}, { maxConcurrent: 2 });
    setup.registry.register(makeTool(asJob));
    setup.registry.register(makeTool({ ...asJob, name: 'hangs', handler: () => new Promise(() => {}) }));
    const done = await startJob(setup);
    await settled();
    const acting = await startJob(setup, { tool: 'hangs' });
    await startJob(setup, { tool: 'hangs' });
    const queued = await startJob(setup, { tool: 'hangs' });
    await settled();
    const next = new JobStore({ store: setup.store, clock: setup.clock, events: setup.events });
    next.recover();
    expect(next.get(done, me).status).toBe('succeeded');
    expect(next.get(acting, me)).toMatchObject({ status: 'failed', error: { code: 'OUTCOME_UNKNOWN' } });
    expect(next.get(queued, me)).toMatchObject({ status: 'failed', error: { code: 'SHUTTING_DOWN' } });
  });

  test('there are at most so many; the oldest finished one makes room', async () => {
    const setup = makePipeline();
    const jobs = new JobStore({ store: setup.store, clock: setup.clock, events: setup.events }, { maxJobs: 1 });
    const tool = makeTool(asJob);
    const first = jobs.create(me, tool);
    expect(() => jobs.create(me, tool)).toThrow(/1 jobs are running/);
    first.settle(await setup.pipeline.call({ principal: me, tool: 'nothing', params: {} }));
    jobs.create(me, tool);
    expect(() => jobs.get(first.view.job_id, me)).toThrow(/No job/);
  });

  test('a flood of one agent and its children takes their own results away, not those of others', async () => {
    const setup = makePipeline();
    const jobs = new JobStore({ store: setup.store, clock: setup.clock, events: setup.events }, { maxJobs: 5 });
    const tool = makeTool(asJob);
    const answer = await setup.pipeline.call({ principal: me, tool: 'nothing', params: {} });
    const done = (id: string) => {
      const principal = { ...me, id };
      const job = jobs.create(principal, tool);
      job.settle(answer);
      return () => jobs.get(job.view.job_id, principal);
    };
    const [other, ...flood] = ['other', ...Array.from({ length: 20 }, (_, index) => `eve/child-${index}`)].map(done);
    expect(other?.()).toMatchObject({ status: 'failed' });
    expect(flood[0]).toThrow(/No job/);
    expect(flood.at(-1)?.()).toMatchObject({ status: 'failed' });
  });

  test('large results are kept for one caller only up to a bound, its newest and those of others stay', async () => {
    const setup = makePipeline();
    const jobs = new JobStore(setup);
    const tool = makeTool(asJob);
    setup.registry.register(makeTool({ name: 'much', handler: async () => 'x'.repeat(900_000) }));
    const answer = await setup.pipeline.call({ principal: me, tool: 'much', params: {} });
    const done = (id: string) => {
      const principal = { ...me, id };
      const job = jobs.create(principal, tool);
      job.settle(answer);
      return () => jobs.get(job.view.job_id, principal).status;
    };
    const states = ['other', ...Array.from({ length: 12 }, (_, index) => `eve/child-${index}`)].map(done).map((state) => state());
    expect(states).toEqual(['succeeded', 'expired', 'expired', 'expired', ...Array(9).fill('succeeded')]);
    const text = JSON.stringify(setup.store.entries('jobs'));
    expect(text.length).toBeLessThan(10_000_000);
  });
});

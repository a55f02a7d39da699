import { describe, expect, test } from 'vitest';
import { jobTools } from '../../../src/calls/jobs/job-directory.ts';
import { JobStore } from '../../../src/calls/jobs/job-store.ts';
import type { Json } from '../../../src/core/json.ts';
import { agent, jobsHere, makeRoom, makeTool, owner, settled } from '../pipeline-fixture.ts';

const me = agent('device:control', 'job:cancel');
const asJob = { execution: { async_allowed: true, side_effects: true }, permissions: ['device:control'] };

async function startJob(room: ReturnType<typeof makeRoom>, extra = {}) {
  const answer = await room.pipeline.callAsync({ principal: me, tool: 'probe', params: {}, ...extra });
  if (answer.kind !== 'job') throw new Error(JSON.stringify(answer));
  return answer.job.job_id;
}

describe('a job', () => {
  test('is answered at once, tells its progress, and keeps its result', async () => {
    const room = makeRoom();
    const { promise, resolve } = Promise.withResolvers<Json>();
    room.registry.register(
      makeTool({
        ...asJob,
        handler: async (_, context) => {
          context.progress(0.5, 'half');
          return promise;
        },
      }),
    );
    const id = await startJob(room);
    await settled();
    expect(room.jobs.get(id, me)).toMatchObject({ status: 'running', progress: { fraction: 0.5, note: 'half' } });
    resolve({ done: true });
    await settled();
    expect(room.jobs.get(id, me)).toMatchObject({ job_id: id, status: 'succeeded', result: { done: true } });
    const statuses = room.heard.filter((event) => event.type === 'job.changed').map((event) => event.data.status);
    expect(statuses).toEqual(['queued', 'running', 'running', 'succeeded']);
  });

  test('waits for a slot as queued', async () => {
    const room = makeRoom({}, { maxConcurrent: 1 });
    room.registry.register(makeTool({ ...asJob, handler: () => new Promise(() => {}) }));
    const ids = [await startJob(room), await startJob(room)];
    await settled();
    expect(ids.map((id) => room.jobs.get(id, me).status)).toEqual(['running', 'queued']);
  });

  test('is refused at once when its parameters are wrong or the tool does not run as a job', async () => {
    const room = makeRoom();
    room.registry.register(makeTool({ ...asJob, parameters: { type: 'object', required: ['x'], properties: { x: { type: 'string' } } } }));
    room.registry.register(makeTool({ name: 'sync_only' }));
    expect(await room.pipeline.callAsync({ principal: me, tool: 'probe', params: {} })).toMatchObject({
      kind: 'refused',
      answer: { error: { code: 'VALIDATION_ERROR' } },
    });
    expect(await room.pipeline.callAsync({ principal: me, tool: 'sync_only', params: {} })).toMatchObject({
      answer: { error: { code: 'NOT_SUPPORTED' } },
    });
    expect(room.jobs.list(me)).toEqual([]);
  });

  test('can be cancelled by its owner through job_cancel, and is not ended by the request going away', async () => {
    const room = makeRoom();
    for (const tool of jobTools(jobsHere(room.jobs))) room.registry.register(tool);
    room.registry.register(
      makeTool({ ...asJob, execution: { ...asJob.execution, idempotent: true }, handler: () => new Promise(() => {}) }),
    );
    const request = new AbortController();
    const id = await startJob(room, { signal: request.signal });
    request.abort();
    await settled();
    room.clock.advance(1_000);
    const status = () => room.pipeline.call({ principal: me, tool: 'job_status', params: { job_id: id } });
    expect(await status()).toMatchObject({ result: { status: 'running' } });
    await room.pipeline.call({ principal: me, tool: 'job_cancel', params: { job_id: id } });
    room.clock.advance(250);
    await settled();
    expect(await status()).toMatchObject({ result: { status: 'cancelled' } });
  });

  test('of the owner does not exist for an agent that calls itself owner, nor does the answer of its idempotency key', async () => {
    const impostor = { ...me, id: 'owner' };
    const { pipeline, registry, jobs } = makeRoom();
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
    const room = makeRoom();
    room.registry.register(makeTool(asJob));
    const id = await startJob(room);
    const other = { ...me, id: 'agent-2' };
    expect(() => room.jobs.get(id, other)).toThrow(/No job/);
    expect(() => room.jobs.cancel(id, other)).toThrow(/No job/);
    expect(room.jobs.list(other)).toEqual([]);
    expect(room.jobs.get(id, owner).job_id).toBe(id);
  });

  test('forgets its result after an hour', async () => {
    const room = makeRoom();
    room.registry.register(makeTool(asJob));
    const id = await startJob(room);
    await settled();
    room.clock.advance(3_600_000);
    const view = room.jobs.get(id, me);
    expect(view.status).toBe('expired');
    expect(view.result).toBeUndefined();
    room.clock.advance(3_600_000);
    await startJob(room);
    expect(() => room.jobs.get(id, me)).toThrow(/No job/);
  });

  test('of a process that died has failed: unknown outcome when it was acting, and finished ones stay', async () => {
    const room = makeRoom({}, { maxConcurrent: 2 });
    room.registry.register(makeTool(asJob));
    room.registry.register(makeTool({ ...asJob, name: 'hangs', handler: () => new Promise(() => {}) }));
    const done = await startJob(room);
    await settled();
    const acting = await startJob(room, { tool: 'hangs' });
    await startJob(room, { tool: 'hangs' });
    const queued = await startJob(room, { tool: 'hangs' });
    await settled();
    const next = new JobStore({ store: room.store, clock: room.clock, events: room.events });
    next.recover();
    expect(next.get(done, me).status).toBe('succeeded');
    expect(next.get(acting, me)).toMatchObject({ status: 'failed', error: { code: 'OUTCOME_UNKNOWN' } });
    expect(next.get(queued, me)).toMatchObject({ status: 'failed', error: { code: 'SHUTTING_DOWN' } });
  });

  test('there are at most so many; the oldest finished one makes room', async () => {
    const room = makeRoom();
    const jobs = new JobStore({ store: room.store, clock: room.clock, events: room.events }, { maxJobs: 1 });
    const tool = makeTool(asJob);
    const first = jobs.create(me, tool);
    expect(() => jobs.create(me, tool)).toThrow(/1 jobs are running/);
    first.settle(await room.pipeline.call({ principal: me, tool: 'nothing', params: {} }));
    jobs.create(me, tool);
    expect(() => jobs.get(first.view.job_id, me)).toThrow(/No job/);
  });

  test('a flood of one agent and its children takes their own results away, not those of others', async () => {
    const room = makeRoom();
    const jobs = new JobStore({ store: room.store, clock: room.clock, events: room.events }, { maxJobs: 5 });
    const tool = makeTool(asJob);
    const answer = await room.pipeline.call({ principal: me, tool: 'nothing', params: {} });
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
    const room = makeRoom();
    const jobs = new JobStore(room);
    const tool = makeTool(asJob);
    room.registry.register(makeTool({ name: 'much', handler: async () => 'x'.repeat(900_000) }));
    const answer = await room.pipeline.call({ principal: me, tool: 'much', params: {} });
    const done = (id: string) => {
      const principal = { ...me, id };
      const job = jobs.create(principal, tool);
      job.settle(answer);
      return () => jobs.get(job.view.job_id, principal).status;
    };
    const states = ['other', ...Array.from({ length: 12 }, (_, index) => `eve/child-${index}`)].map(done).map((state) => state());
    expect(states).toEqual(['succeeded', 'expired', 'expired', 'expired', ...Array(9).fill('succeeded')]);
    const text = JSON.stringify(room.store.entries('jobs'));
    expect(text.length).toBeLessThan(10_000_000);
  });
});

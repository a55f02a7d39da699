import { describe, expect, test } from 'vitest';
import { JobDirectory, JobLocations } from '../../../src/calls/jobs/job-directory.ts';
import { AtmoError } from '../../../src/core/errors.ts';
import { ManualClock } from '../../manual-clock.ts';
import { MemoryKeyValueStore } from '../../memory-key-value-store.ts';
import { agent, makePipeline, makeTool, owner } from '../pipeline-fixture.ts';

const signal = new AbortController().signal;

function makeJobs() {
  const { jobs, clock } = makePipeline();
  const places = new JobLocations(new MemoryKeyValueStore(clock));
  const asked: string[] = [];
  const view = { job_id: 'far', tool: 'eye:watch@1.0.0', status: 'running', created_at: '' } as never;
  const remote = {
    status: async (hub: string, id: string) => {
      asked.push(`status ${hub} ${id}`);
      return view;
    },
    cancel: async (hub: string, id: string) => {
      asked.push(`cancel ${hub} ${id}`);
      return view;
    },
  };
  return { jobs, places, asked, known: new JobDirectory({ jobs, places, remote }) };
}

describe('the jobs of a caller on other hubs', () => {
  test('are listed as those hubs tell, newest first, and only the own ones', async () => {
    const { known, places } = makeJobs();
    places.remember({ jobId: 'one', hubId: 'hub-2', owner: agent('*') });
    places.remember({ jobId: 'two', hubId: 'hub-3', owner: agent('*') });
    places.remember({ jobId: 'foreign', hubId: 'hub-3', owner: { ...agent('*'), id: 'somebody' } });
    const { jobs, unreachable } = await known.listElsewhere({ principal: agent('*'), signal });
    expect(jobs.map(({ node_id }) => node_id)).toEqual(['hub-3', 'hub-2']);
    expect(unreachable).toEqual([]);
    expect((await known.listElsewhere({ principal: owner, signal })).jobs).toHaveLength(3);
  });

  test('are named where their hub does not answer, and left out where it has forgotten them', async () => {
    const { places, jobs } = makeJobs();
    const status = async (hub: string) => {
      throw new AtmoError(hub === 'hub-2' ? 'NODE_UNAVAILABLE' : 'JOB_NOT_FOUND', 'no');
    };
    places.remember({ jobId: 'one', hubId: 'hub-2', owner: agent('*') });
    places.remember({ jobId: 'two', hubId: 'hub-3', owner: agent('*') });
    const known = new JobDirectory({ jobs, places, remote: { status, cancel: status } });
    expect(await known.listElsewhere({ principal: agent('*'), signal })).toEqual({
      jobs: [],
      unreachable: [{ job_id: 'one', node_id: 'hub-2' }],
    });
  });
});

test('a job that another hub has begun is known until a restart where the disk refuses to keep where it runs', async () => {
  const store = new MemoryKeyValueStore(new ManualClock());
  store.set = () => {
    throw new AtmoError('STORAGE_FAILED', 'disk full');
  };
  const places = new JobLocations(store);
  places.remember({ jobId: 'far', hubId: 'hub-2', owner: agent('*') });
  expect([places.hubOf('far', agent('*')), places.hubOf('far', { ...agent('*'), id: 'somebody' })]).toEqual(['hub-2', undefined]);
  expect(places.list(agent('*'))).toEqual([{ jobId: 'far', hubId: 'hub-2' }]);
});

describe('a job', () => {
  test('of another hub is asked for there, by whoever started it', async () => {
    const { known, places, asked } = makeJobs();
    const me = agent();
    places.remember({ jobId: 'far', hubId: 'hub-2', owner: me });
    expect(await known.status('far', { principal: me, signal })).toMatchObject({ job_id: 'far' });
    await known.cancel('far', { principal: owner, signal });
    expect(asked).toEqual(['status hub-2 far', 'cancel hub-2 far']);
    await expect(known.status('far', { principal: { ...me, id: 'other' }, signal })).rejects.toMatchObject({ code: 'JOB_NOT_FOUND' });
    expect(() => known.get('far', me)).toThrow('No job');
  });

  test('of this hub is told by this hub', async () => {
    const { known, jobs, asked } = makeJobs();
    const me = agent();
    const { view } = jobs.create(me, makeTool({}));
    expect(await known.status(view.job_id, { principal: me, signal })).toEqual(view);
    expect(known.list(me)).toEqual([view]);
    expect(asked).toEqual([]);
  });
});

describe('the places of jobs', () => {
  test('are known over a restart, for a week', () => {
    const clock = new ManualClock();
    const store = new MemoryKeyValueStore(clock);
    new JobLocations(store).remember({ jobId: 'far', hubId: 'hub-2', owner });
    expect(new JobLocations(store).hubOf('far', owner)).toBe('hub-2');
    clock.advance(7 * 86_400_000 + 1);
    expect(new JobLocations(store).hubOf('far', owner)).toBeUndefined();
  });
});

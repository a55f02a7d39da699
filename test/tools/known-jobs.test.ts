import { describe, expect, test } from 'vitest';
import { ManualClock } from '../../src/core/clock.ts';
import { JobPlaces } from '../../src/tools/calls/job-places.ts';
import { KnownJobs } from '../../src/tools/known-jobs.ts';
import { MemoryKeyValueStore } from '../memory-key-value-store.ts';
import { agent, makeRoom, makeTool, owner } from './tool-room.ts';

const signal = new AbortController().signal;

function makeJobs() {
  const { jobs, clock } = makeRoom();
  const places = new JobPlaces(new MemoryKeyValueStore(clock));
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
  return { jobs, places, asked, known: new KnownJobs({ jobs, places, remote }) };
}

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
    new JobPlaces(store).remember({ jobId: 'far', hubId: 'hub-2', owner });
    expect(new JobPlaces(store).hubOf('far', owner)).toBe('hub-2');
    clock.advance(7 * 86_400_000 + 1);
    expect(new JobPlaces(store).hubOf('far', owner)).toBeUndefined();
  });
});

import { expect, test } from 'vitest';
import { type Outcome, readInLane } from '../../../src/sensors/kernel/attribute-reader.ts';
import { Lane } from '../../../src/sensors/kernel/lane.ts';
import type { SensorSample } from '../../../src/sensors/sensor-source.ts';

const rounds = async (lane: Lane, read: (address: string) => Promise<Outcome>, signal: AbortSignal): Promise<readonly SensorSample[]> => {
  const samples: SensorSample[] = [];
  await readInLane({ addresses: ['a', 'b'], signal }, { lane, read }, (sample) => samples.push(sample));
  return samples;
};
const patient = () => new AbortController().signal;

test('sensors of a lane are read one at a time', async () => {
  let running = 0;
  const read = async () => {
    running += 1;
    await new Promise(setImmediate);
    const value = running;
    running -= 1;
    return { value };
  };
  expect(await rounds(new Lane(), read, patient())).toEqual([
    { address: 'a', value: 1 },
    { address: 'b', value: 1 },
  ]);
});

test('a read that hangs holds up one round, then the lane is busy until the kernel lets go', async () => {
  const lane = new Lane();
  const kernel = Promise.withResolvers<Outcome>();
  const limit = new AbortController();
  const hanging = rounds(lane, () => kernel.promise, limit.signal);
  limit.abort();
  expect(await hanging).toEqual([]);
  let begun = 0;
  const read = async () => ({ value: ++begun });
  expect((await rounds(lane, read, patient())).map((sample) => 'fault' in sample && sample.fault)).toEqual(['busy', 'busy']);
  expect(begun).toBe(0);
  kernel.resolve({ value: 0 });
  await new Promise(setImmediate);
  expect(await rounds(lane, read, patient())).toEqual([
    { address: 'a', value: 1 },
    { address: 'b', value: 2 },
  ]);
});

test.each([
  ['EIO', 'garbled'],
  ['EAGAIN', 'busy'],
  ['EACCES', 'gone'],
  ['ENOENT', 'gone'],
  ['ENXIO', 'gone'],
])('%s of a driver means %s', async (code, fault) => {
  const read = () => Promise.reject(Object.assign(new Error(code), { code }));
  expect((await rounds(new Lane(), read, patient()))[0]).toMatchObject({ address: 'a', fault });
});

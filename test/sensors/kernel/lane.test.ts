import { expect, test } from 'vitest';
import { ReadLock, type ReadOutcome, readInSequence } from '../../../src/sensors/kernel/sysfs.ts';
import type { SensorSample } from '../../../src/sensors/sensor-source.ts';

const rounds = async (
  lane: ReadLock,
  read: (address: string) => Promise<ReadOutcome>,
  signal: AbortSignal,
): Promise<readonly SensorSample[]> => {
  const samples: SensorSample[] = [];
  await readInSequence({ addresses: ['a', 'b'], signal }, { lock: lane, read }, (sample) => samples.push(sample));
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
  expect(await rounds(new ReadLock(), read, patient())).toEqual([
    { address: 'a', value: 1 },
    { address: 'b', value: 1 },
  ]);
});

test('a read that hangs holds up one round, then the lane is busy until the kernel lets go', async () => {
  const lane = new ReadLock();
  const kernel = Promise.withResolvers<ReadOutcome>();
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
  expect((await rounds(new ReadLock(), read, patient()))[0]).toMatchObject({ address: 'a', fault });
});

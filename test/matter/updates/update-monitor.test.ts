import { expect, test } from 'vitest';
import type { UpdateProgress } from '../../../src/core/devices/device-administration.ts';
import { AtmoError } from '../../../src/core/errors.ts';
import { RunningUpdate, type SoftwareState, UpdateMonitor } from '../../../src/matter/updates/update-progress.ts';
import { ManualClock } from '../../manual-clock.ts';
import { image } from './test-image.ts';

const QUERY = { vendorId: 0xfff1, productId: 0x8000, softwareVersion: 1, protocolsSupported: [0] };
const TOKEN = Buffer.alloc(32, 1);
const old = (state: string): SoftwareState => ({ version: { number: 1, text: 'v1' }, state });

/** An update of a device whose reads return the result of `says`, or fail when it throws. */
function update(says: () => SoftwareState = () => old('Idle')) {
  const clock = new ManualClock();
  const told: UpdateProgress[] = [];
  const collaborators = { clock, onProgress: (progress: UpdateProgress) => told.push(progress) };
  const course = new RunningUpdate(collaborators, { device: 'Lamp', image: image(), token: TOKEN });
  const end = new AbortController();
  const watch = new UpdateMonitor({ clock, update: course, device: 'Lamp', read: async () => says() });
  const outcome = watch.outcome(end.signal).then(
    (version) => ({ version }),
    (error: AtmoError) => ({ code: error.code, message: error.message, atMs: clock.monotonic() - startMs }),
  );
  const startMs = clock.monotonic();
  const pass = async (seconds: number) => {
    for (let half = 0; half < seconds * 2; half++) {
      clock.advance(500);
      for (let turn = 0; turn < 8; turn++) await Promise.resolve();
    }
  };
  /** The device requests the block after which it has so many bytes, and gets it. */
  const download = (bytes: number) => {
    course.partRequested();
    course.downloaded(bytes);
  };
  return { course, told, end, outcome, pass, download };
}

const silence = (): SoftwareState => {
  throw new AtmoError('DEVICE_UNREACHABLE', 'no answer');
};

test('the outcome is the version that the device reports after its restart', async () => {
  let says: () => SoftwareState = () => old('Idle');
  const { course, download, told, outcome, pass } = update(() => says());
  expect(course.query(QUERY)).toBe('offered');
  download(500);
  download(1000);
  says = () => old('Applying');
  expect(course.apply(TOKEN)).toBe('proceed');
  await pass(10);
  says = silence;
  await pass(60);
  says = () => ({ version: { number: 2, text: 'v2' }, state: 'Idle' });
  await pass(10);
  expect(await outcome).toEqual({ version: { number: 2, text: 'v2' } });
  expect(told.map(({ step, fraction }) => [step, fraction])).toEqual([
    ['downloading', 0.45],
    ['downloading', 0.9],
    ['applying', 0.9],
  ]);
});

test('a device that does not query the image times out after the longest wait that Matter allows', async () => {
  const { outcome, pass } = update();
  await pass(11 * 60 + 5);
  expect(await outcome).toMatchObject({ code: 'TIMEOUT', message: expect.stringContaining('did not query it'), atMs: 11 * 60_000 });
});

test('a device that loses power during the download is reported within half a minute, with its progress', async () => {
  const { download, outcome, pass } = update(silence);
  download(400);
  await pass(30);
  expect(await outcome).toMatchObject({ code: 'DEVICE_UNREACHABLE', message: expect.stringContaining('after 400 of 1000 bytes') });
});

test('a block that is counted after the last request of the device is no sign of it', async () => {
  const { course, download, outcome, pass } = update(silence);
  download(400);
  await pass(13);
  course.downloaded(500);
  await pass(17);
  expect(await outcome).toMatchObject({ code: 'DEVICE_UNREACHABLE', message: expect.stringContaining('after 500 of 1000 bytes') });
});

test('a device that pauses and continues its download does not fail', async () => {
  const { course, download, outcome, pass } = update(silence);
  for (const bytes of [100, 200, 300]) {
    download(bytes);
    await pass(12);
  }
  download(1000);
  expect(course.apply(TOKEN)).toBe('proceed');
  expect(course.failure).toBeUndefined();
  expect(await Promise.race([outcome, 'still going'])).toBe('still going');
});

test('the error of an abandoned download names the present version', async () => {
  const { download, outcome, pass } = update(() => old('Idle'));
  download(400);
  await pass(30);
  expect(await outcome).toMatchObject({
    code: 'CLUSTER_STATUS',
    message: expect.stringMatching(/gave up after 400 .* runs version v1 \(1\)/),
  });
});

test('a device that answers without downloading times out after six minutes', async () => {
  const { download, outcome, pass } = update(() => old('Downloading'));
  download(400);
  await pass(6 * 60 + 10);
  expect(await outcome).toMatchObject({ code: 'TIMEOUT', atMs: 6 * 60_000 });
});

test('a device that restarts with its old software has not installed the image', async () => {
  const { course, outcome, pass } = update(() => old('Idle'));
  course.apply(TOKEN);
  await pass(10);
  expect(await outcome).toMatchObject({ code: 'CLUSTER_STATUS', message: expect.stringContaining('did not install it') });
});

test('the outcome of a device that does not return is unknown', async () => {
  const { course, outcome, pass } = update(silence);
  course.apply(TOKEN);
  await pass(15 * 60 + 10);
  expect(await outcome).toMatchObject({ code: 'OUTCOME_UNKNOWN' });
});

test('a cancelled update ends at once', async () => {
  const { end, outcome, pass } = update();
  await pass(1);
  end.abort(new AtmoError('CANCELLED', 'no longer wanted'));
  expect(await outcome).toMatchObject({ code: 'CANCELLED' });
});

test.each([
  [{ ...QUERY, vendorId: 1 }, 'none', 'CONFLICT'],
  [{ ...QUERY, softwareVersion: 3 }, 'none', 'CONFLICT'],
  [{ ...QUERY, protocolsSupported: [3] }, 'no-protocol', 'NOT_SUPPORTED'],
] as const)('a device that asks as %o gets no image, and the update ends', async (query, answer, code) => {
  const { course, outcome, pass } = update();
  expect(course.query(query)).toBe(answer);
  await pass(1);
  expect(await outcome).toMatchObject({ code });
});

test('only a device with the token may install the image', () => {
  const { course } = update();
  expect(course.apply(Buffer.alloc(32, 2))).toBe('discontinue');
  expect(course.step).toBe('querying');
});

test('a device that queries again with its old version after it began to install has failed', async () => {
  const { course, outcome, pass } = update(silence);
  course.apply(TOKEN);
  expect(course.query(QUERY)).toBe('none');
  await pass(1);
  expect(await outcome).toMatchObject({ code: 'CONFLICT', message: expect.stringContaining('restarted without the new software') });
});

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { StandardCrypto } from '@matter/main';
import { OtaImageWriter } from '@matter/main/protocol';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { JsonObject } from '../../src/core/json.ts';
import type { DeviceSpec, UpdatesSpec } from '../home/home-spec.ts';
import { VirtualHome } from '../home/virtual-home.ts';
import { EventTap } from './every-tool/event-tap.ts';
import { RunningHub } from './running-hub.ts';

const device = (name: string, number: number, updates?: UpdatesSpec): DeviceSpec => ({
  name,
  type: 'contact-sensor',
  area: 'Hall',
  passcode: 20202021 + number,
  discriminator: 0x100 * number + 7,
  port: 5760 + number,
  ...(name !== 'Unlucky' && { group: 'updates' }),
  ...(updates && { updates }),
});

const SPEC = {
  devices: [
    device('Door', 1, { installs: true }),
    device('Stubborn', 2, { installs: false }),
    device('Unlucky', 3, { installs: true }),
    device('Drawer', 4),
  ],
};

let dir: string;
let home: VirtualHome;
let hub: RunningHub;

/** Puts an image for the devices of this home into the hub's folder. */
async function putImage(file: string, softwareVersion: number, more: { readonly bytes?: number; readonly vendorId?: number } = {}) {
  const { bytes = 40_000, vendorId = 0xfff1 } = more;
  const payload = new Uint8Array(bytes).fill(softwareVersion);
  const facts = { vendorId, productId: 0x8000, softwareVersion, softwareVersionString: `v${softwareVersion}`, payload };
  const { image } = await OtaImageWriter.create(new StandardCrypto(), { ...facts, releaseNotesUrl: 'https://example.com/notes' });
  writeFileSync(join(dir, 'state/updates', file), new Uint8Array(image as ArrayBuffer));
  return new Uint8Array(image as ArrayBuffer);
}

const refusal = async (params: JsonObject): Promise<JsonObject | undefined> => {
  const answer = await hub.call('hub:update_device', params);
  return answer.status === 'error' ? { code: answer.error.code, message: answer.error.message } : undefined;
};

/** Starts an update as a job; answers its id. */
async function start(deviceId: string, file: string): Promise<string> {
  const answer = (await hub.call('hub:update_device', { device_id: deviceId, file }, { query: '?async=true' })) as unknown as JsonObject;
  return String(answer.job_id);
}

/** The job once it is as wanted, or over. */
async function follow(jobId: string, until: (job: JsonObject) => boolean): Promise<JsonObject> {
  for (;;) {
    const job = (await hub.get(`/api/v1/jobs/${jobId}`)) as JsonObject;
    if (until(job) || !['queued', 'running'].includes(String(job.status))) return job;
    await delay(50);
  }
}
const ended = (): boolean => false;

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'updates-'));
  mkdirSync(join(dir, 'state/updates'), { recursive: true });
  home = await VirtualHome.start({ spec: SPEC, dir: join(dir, 'home') });
  hub = await RunningHub.start({ stateDir: join(dir, 'state') });
  for (const { name } of SPEC.devices) {
    const answer = await hub.call('hub:commission_device', { code: home.device(name).pairing.qrCode, name, accept_attestation: true });
    expect(answer.status).toBe('success');
  }
}, 180_000);
afterAll(async () => {
  await hub?.[Symbol.asyncDispose]();
  await home?.[Symbol.asyncDispose]();
  rmSync(dir, { recursive: true, force: true });
});

test('the list tells who has newer software, and why other files fit nobody', async () => {
  await putImage('v2.ota', 2);
  await putImage('other-maker.ota', 9, { vendorId: 0xfff2 });
  await putImage('old.ota', 1);
  const damaged = await putImage('damaged.ota', 3);
  damaged[damaged.length - 1] = 0xff;
  writeFileSync(join(dir, 'state/updates/damaged.ota'), damaged);
  writeFileSync(join(dir, 'state/updates/text.ota'), 'this is no image at all');
  const list = await hub.result('hub:list_updates');
  expect(list.offers).toMatchObject(
    ['door', 'stubborn', 'unlucky'].map((id) => ({
      device: id,
      from: { number: 1 },
      to: { number: 2, text: 'v2' },
      file: 'v2.ota',
      notes_url: 'https://example.com/notes',
    })),
  );
  const unfit = Object.fromEntries((list.unfit as readonly JsonObject[]).map(({ file, reason }) => [String(file), String(reason)]));
  expect(unfit['other-maker.ota']).toBe('no device here is vendor 0xFFF2 product 0x8000');
  expect(unfit['old.ota']).toContain('"Door" runs version 1');
  expect(unfit['old.ota']).toContain('"Drawer" takes no software over Matter');
  expect(unfit['damaged.ota']).toMatch(/^damaged\.ota cannot be used: OTA file digest mismatch/);
  expect(unfit['text.ota']).toContain('it is no Matter software image');
});

test('what does not fit is refused before the device hears of it', async () => {
  expect(await refusal({ device_id: 'door', file: 'other-maker.ota' })).toMatchObject({
    code: 'CONFLICT',
    message: expect.stringContaining('vendor 0xFFF2'),
  });
  expect(await refusal({ device_id: 'door', file: 'old.ota' })).toMatchObject({
    code: 'CONFLICT',
    message: expect.stringContaining('runs version'),
  });
  expect(await refusal({ device_id: 'door', file: 'damaged.ota' })).toMatchObject({
    code: 'CONFLICT',
    message: expect.stringContaining('damaged.ota'),
  });
  expect(await refusal({ device_id: 'door', file: '../owner.token' })).toMatchObject({ code: 'NOT_FOUND' });
  expect(await refusal({ device_id: 'drawer' })).toMatchObject({ code: 'NOT_SUPPORTED' });
});

test('a device downloads the image over Matter, restarts, and tells the new version itself', async () => {
  await using told = await EventTap.open(hub);
  const jobId = await start('door', 'v2.ota');
  const job = await follow(jobId, ended);
  expect(job).toMatchObject({
    status: 'succeeded',
    result: { device: 'door', file: 'v2.ota', from: { number: 1 }, to: { number: 2, text: 'v2' } },
  });
  const steps = () =>
    told.of('job.changed', jobId).map(({ data }) => String((data.progress as JsonObject | undefined)?.note).split(':')[0]);
  await expect.poll(steps).toEqual(expect.arrayContaining(['downloading', 'applying']));
  expect(await home.device('Door').get(0, 'BasicInformation', 'SoftwareVersion')).toBe(2);
  expect(await refusal({ device_id: 'door', file: 'v2.ota' })).toMatchObject({ code: 'CONFLICT' });
  expect((await hub.result('hub:list_updates')).offers).not.toContainEqual(expect.objectContaining({ device: 'door' }));
});

test('a device that restarts with its old software is told as such', async () => {
  const job = await follow(await start('stubborn', 'v2.ota'), ended);
  expect(job).toMatchObject({
    status: 'failed',
    error: { code: 'CLUSTER_STATUS', message: expect.stringContaining('did not install it') },
  });
});

/** Starts the update with the large image, and waits until some of it has gone. */
async function halfway(): Promise<string> {
  const jobId = await start('unlucky', 'large.ota');
  const job = await follow(jobId, ({ progress }) => Number((progress as JsonObject | undefined)?.fraction) > 0.02);
  expect(job, JSON.stringify(job.error)).toMatchObject({ status: 'running' });
  return jobId;
}

test('a device that loses power in the middle is told within seconds, with how far it came', async () => {
  await putImage('large.ota', 5, { bytes: 8_000_000 });
  const jobId = await halfway();
  await home.device('Unlucky').powerOff();
  const offAtMs = Date.now();
  const job = await follow(jobId, ended);
  const message = expect.stringMatching(/stopped answering after \d+ of 8\d+ bytes/);
  expect(job).toMatchObject({ status: 'failed', error: { code: 'DEVICE_UNREACHABLE', message } });
  expect(Date.now() - offAtMs).toBeLessThan(40_000);
}, 100_000);

test('it takes the same image once it is back, from a hub that has restarted too', async () => {
  await putImage('large.ota', 5);
  await hub.stop();
  await home.device('Unlucky').powerOn();
  hub = await RunningHub.start({ stateDir: join(dir, 'state') });
  await expect.poll(() => hub.call('hub:ping_device', { device_id: 'unlucky' }), { timeout: 60_000 }).toMatchObject({ status: 'success' });
  const job = await follow(await start('unlucky', 'large.ota'), ended);
  expect(job).toMatchObject({ status: 'succeeded', result: { from: { number: 1 }, to: { number: 5 } } });
}, 150_000);

test('a cancelled update ends, and the device goes on as it was and comes for the next image at once', async () => {
  const unlucky = home.device('Unlucky');
  const versionBefore = await unlucky.get(0, 'BasicInformation', 'SoftwareVersion');
  await putImage('large.ota', 6, { bytes: 8_000_000 });
  const jobId = await halfway();
  const again = await refusal({ device_id: 'unlucky', file: 'v2.ota' });
  expect(again).toMatchObject({ code: 'CONFLICT', message: expect.stringContaining('is being updated') });
  await hub.request(`/api/v1/jobs/${jobId}`, { method: 'DELETE' });
  const job = await follow(jobId, ended);
  expect(job, JSON.stringify(job.error)).toMatchObject({ status: 'cancelled' });
  await expect.poll(() => unlucky.get(0, 'OtaSoftwareUpdateRequestor', 'UpdateState'), { timeout: 30_000 }).toBe(1);
  expect(await unlucky.get(0, 'BasicInformation', 'SoftwareVersion')).toBe(versionBefore);
  // Without an error in its transfer it would wait for minutes first.
  await putImage('next.ota', 7, { bytes: 8_000_000 });
  const isDownloading = ({ progress }: JsonObject): boolean => String((progress as JsonObject | undefined)?.note).startsWith('downloading');
  const next = await follow(await start('unlucky', 'next.ota'), isDownloading);
  expect(isDownloading(next), JSON.stringify(next)).toBe(true);
});

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { DeviceId } from '../../src/core/ids.ts';
import { manufacturerModel } from '../../src/matter/model/manufacturer-models.ts';
import { homeOf, standardHome } from '../home/home-spec.ts';
import { VirtualHome } from '../home/virtual-home.ts';
import { DeviceHub, until } from '../matter/device-hub.ts';

const SPARKLE = {
  name: 'Sparkle',
  id: '0xfff1fc01',
  attributes: [
    { name: 'SparkleCount', id: '0xfff10001', type: 'uint16', writable: true },
    { name: 'SparkleColor', id: '0xfff10002', type: 'string', max: 16 },
  ],
  commands: [{ name: 'AddSparkles', id: '0xfff10000', fields: [{ name: 'Amount', type: 'uint8', min: 1, max: 9 }] }],
};

let dir: string;
let home: VirtualHome;
let hub: DeviceHub;
let id: DeviceId;

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'device-manufacturer-'));
  home = await VirtualHome.start({ spec: homeOf(standardHome(), ['Party light']), dir: join(dir, 'home') });
  hub = new DeviceHub(dir, { clusters: [manufacturerModel(SPARKLE, 'sparkle.json')] });
  await hub.start();
  const [device] = await hub.commission(home.device('Party light'));
  id = device?.id ?? expect.unreachable('no device came');
});
afterAll(async () => {
  await hub[Symbol.asyncDispose]();
  await home[Symbol.asyncDispose]();
  rmSync(dir, { recursive: true, force: true });
});

describe("a manufacturer's cluster with a model from a file", () => {
  const count = () => ({ device: id, endpoint: 1, cluster: 'Sparkle', attribute: 'SparkleCount' });
  const signal = (): { signal: AbortSignal } => ({ signal: AbortSignal.timeout(10_000) });

  test('is described by its names', () => {
    const cluster = hub.devices
      .describe(id)
      ?.endpoints.flatMap(({ clusters }) => clusters)
      .find(({ name }) => name === 'Sparkle');
    expect(cluster?.attributes.map(({ name }) => name)).toEqual(['SparkleCount', 'SparkleColor']);
    expect(cluster?.commands[0]).toMatchObject({ name: 'AddSparkles', parameters: { required: ['amount'] } });
  });

  test('takes commands and writes that the device itself shows', async () => {
    const start = (await hub.devices.read([count()], signal()))[0]?.value;
    await hub.devices.invoke({ device: id, endpoint: 1, cluster: 'Sparkle', command: 'AddSparkles' }, { amount: 3 }, signal());
    expect(await home.device('Party light').get(1, 'Sparkle', 'SparkleCount')).toBe(Number(start) + 3);
    await hub.devices.write(count(), 99, signal());
    expect(await home.device('Party light').get(1, 'Sparkle', 'SparkleCount')).toBe(99);
    await until(() => hub.devices.cached(count())?.value === 99);
    await expect(
      hub.devices.invoke({ device: id, endpoint: 1, cluster: 'Sparkle', command: 'AddSparkles' }, { amount: 10 }, signal()),
    ).rejects.toMatchObject({ code: 'VALIDATION_ERROR' });
  });
});

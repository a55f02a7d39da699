import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { DeviceId } from '../../src/core/ids.ts';
import { manufacturerModel } from '../../src/matter/model/manufacturer-clusters.ts';
import type { VirtualDevice } from '../home/virtual-device.ts';
import { type DeviceHub, until } from '../matter/device-hub.ts';
import { type OneDevice, startOneDevice } from '../matter/one-device.ts';
import { SPARKLE_MODEL } from '../matter/sparkle-model.ts';

let one: OneDevice;
let hub: DeviceHub;
let light: VirtualDevice;
let id: DeviceId;

beforeAll(async () => {
  one = await startOneDevice('Party light', { clusters: [manufacturerModel(SPARKLE_MODEL, 'sparkle.json')] });
  ({ hub, virtual: light } = one);
  id = one.device.id;
});
afterAll(() => one?.[Symbol.asyncDispose]());

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
    expect(await light.get(1, 'Sparkle', 'SparkleCount')).toBe(Number(start) + 3);
    await hub.devices.write(count(), 99, signal());
    expect(await light.get(1, 'Sparkle', 'SparkleCount')).toBe(99);
    await until(() => hub.devices.cached(count())?.value === 99);
    await expect(
      hub.devices.invoke({ device: id, endpoint: 1, cluster: 'Sparkle', command: 'AddSparkles' }, { amount: 10 }, signal()),
    ).rejects.toMatchObject({ code: 'VALIDATION_ERROR' });
  });
});

import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { JsonObject } from '../../src/core/json.ts';
import { homeOf, standardHome } from '../home/home-spec.ts';
import type { VirtualDevice } from '../home/virtual-device.ts';
import { VirtualHome } from '../home/virtual-home.ts';
import { SPARKLE_MODEL } from '../matter/sparkle-model.ts';
import { RunningHub } from './running-hub.ts';

const SOON = { interval: 100 };

let dir: string;
let home: VirtualHome;
let hub: RunningHub;
let light: VirtualDevice;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'unknown-device-'));
  home = await VirtualHome.start({ spec: homeOf(standardHome(), ['Party light']), dir: join(dir, 'home') });
  hub = await RunningHub.start({ stateDir: join(dir, 'hub') });
  light = home.device('Party light');
  await hub.result('hub:commission_device', { code: light.pairing.qrCode, name: 'Party light' });
});
afterAll(async () => {
  await hub?.stop();
  await home?.[Symbol.asyncDispose]();
  await rm(dir, { recursive: true, force: true });
});

const toolNames = async (): Promise<readonly string[]> => {
  const { tools } = (await hub.get('/api/v1/tools?device=party-light')) as unknown as { tools: readonly { name: string }[] };
  return tools.map(({ name }) => name).filter((name) => !/scene|turn_|toggle/.test(name));
};
const count = (): Promise<unknown> => light.get('light', 'Sparkle', 'SparkleCount');
const direct = (params: JsonObject): Promise<JsonObject> => hub.result('matter_command', { device_id: 'party-light', ...params });

describe('a cluster that only its manufacturer knows', () => {
  test('can be read without a model, by its numbers', async () => {
    await expect.poll(toolNames, SOON).toEqual(['party_light_vendor_1_read']);
    await light.set('light', 'Sparkle', 'SparkleCount', 31);
    const read = async (): Promise<unknown> => (await hub.result('matter:party_light_vendor_1_read')).state;
    await expect.poll(read, SOON).toEqual({ attr0xfff10001: 31, attr0xfff10002: 'gold' });
    const raw = await direct({ cluster: 'Cluster0xfff1fc01', attribute: 'Attr0xfff10001' });
    expect(raw).toEqual({ success: true, device_state: { Attr0xfff10001: 31 } });
  });

  test('has tools for all that it can do once a file in the state directory describes it', async () => {
    await hub.stop();
    await mkdir(join(dir, 'hub', 'cluster-models'), { recursive: true });
    await writeFile(join(dir, 'hub', 'cluster-models', 'sparkle.json'), JSON.stringify(SPARKLE_MODEL));
    hub = await RunningHub.start({ stateDir: join(dir, 'hub') });
    const names = ['party_light_sparkle_add_sparkles', 'party_light_sparkle_read', 'party_light_sparkle_set_sparkle_count'];
    await expect.poll(toolNames, SOON).toEqual(names);
  });

  test('does what it is told, and takes no more than the file allows', async () => {
    const add = (amount: number) => hub.call('matter:party_light_sparkle_add_sparkles', { amount });
    await expect.poll(async () => (await add(3)).status, SOON).toBe('success');
    expect(await count()).toBe(34);
    expect(await light.commands()).toContainEqual(
      expect.objectContaining({ cluster: 'Sparkle', command: 'addSparkles', fields: { amount: 3 } }),
    );
    expect(await add(10)).toMatchObject({ error: { code: 'VALIDATION_ERROR', message: expect.stringMatching(/amount.*9/) } });
    const written = await hub.result('matter:party_light_sparkle_set_sparkle_count', { value: 99 });
    expect(written).toMatchObject({ state: { sparkle_count: 99 }, target: { sparkle_count: 99 }, settled: true });
    expect(await count()).toBe(99);
    await direct({ cluster: 'Sparkle', command: 'AddSparkles', params: { amount: 1 } });
    expect(await count()).toBe(100);
    const answer = await hub.result('core:control_device', {
      device_id: 'party-light',
      command: 'sparkle_add_sparkles',
      params: { amount: 2 },
    });
    expect(answer).toMatchObject({ success: true });
    expect(await count()).toBe(102);
  });
});

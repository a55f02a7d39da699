import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { AdapterBle } from '../../src/matter/ble/ble-central.ts';
import type { DeviceSpec, RadioSpec } from '../home/home-spec.ts';
import { VirtualHome } from '../home/virtual-home.ts';
import { CommissioningHub } from '../matter/commissioning-hub.ts';
import { MemoryStore } from '../matter/memory-store.ts';
import { THREAD_DATASET } from '../matter/thread-dataset.ts';
import { VirtualAdapter } from '../matter/virtual-adapter.ts';

let dir: string;
let home: VirtualHome;
let hub: CommissioningHub;

const radioDevice = (name: string, number: number, radio: Omit<RadioSpec, 'socket'>): DeviceSpec => ({
  name,
  type: 'contact-sensor',
  area: 'Garden',
  passcode: 20202021 + number,
  discriminator: 0x100 * number + 9,
  port: 5700 + number,
  ble: { socket: join(dir, `${number}.sock`), ...radio },
});

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'radio-'));
  const thread = radioDevice('Gate', 1, { network: 'thread' });
  const wifi = radioDevice('Shed', 2, { network: 'wifi', password: 'correct horse' });
  home = await VirtualHome.start({ spec: { devices: [thread, wifi] }, dir: join(dir, 'home') });
  const ble = new AdapterBle(new VirtualAdapter([thread.ble?.socket ?? '', wifi.ble?.socket ?? '']));
  hub = new CommissioningHub({ stateDir: join(dir, 'hub'), store: new MemoryStore(), discoveryTimeoutMs: 5_000, ble });
  await hub.start();
});

afterAll(async () => {
  await hub?.[Symbol.asyncDispose]();
  await home?.[Symbol.asyncDispose]();
  await rm(dir, { recursive: true, force: true });
});

describe('devices of the home that have no network yet', () => {
  test('a Thread device gets the dataset over the radio and answers over IP', async () => {
    hub.credentials.setThread('home', THREAD_DATASET);
    const gate = home.device('Gate');
    expect(await hub.commission({ code: gate.pairing.qrCode, thread: 'home' })).toHaveProperty('result');
    expect(await gate.get(0, 'NetworkCommissioning', 'Networks')).toMatchObject([{ connected: true }]);
    const received = (await gate.commands()).find(({ command }) => command === 'addOrUpdateThreadNetwork');
    expect(JSON.stringify(received?.fields).toLowerCase()).toContain(THREAD_DATASET.toLowerCase());
  });

  test('a Wi-Fi device joins with the right password', async () => {
    hub.credentials.setWifi('garden', 'Our place', 'correct horse');
    const shed = home.device('Shed');
    expect(await hub.commission({ code: shed.pairing.qrCode, wifi: 'garden' })).toHaveProperty('result');
    expect(await shed.get(0, 'NetworkCommissioning', 'Networks')).toMatchObject([{ connected: true }]);
  });
});

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { AdapterBle } from '../../src/matter/ble/ble-central.ts';
import { CommissioningHub } from '../matter/commissioning-hub.ts';
import { MemoryStore } from '../matter/memory-store.ts';
import { RadioDevice } from '../matter/radio-device-process.ts';
import { THREAD_DATASET } from '../matter/thread-dataset.ts';
import { VirtualAdapter } from '../matter/virtual-adapter.ts';

const dir = mkdtempSync(join(tmpdir(), 'ble-'));
const sockets = { thread: join(dir, 'thread.sock'), wifi: join(dir, 'wifi.sock') };
const devices: RadioDevice[] = [];
let thread: RadioDevice;
let wifi: RadioDevice;
let hub: CommissioningHub;

async function startDevice(medium: 'thread' | 'wifi', hostNumber: number): Promise<RadioDevice> {
  const device = await RadioDevice.start({
    socket: sockets[medium],
    dir: join(dir, medium),
    medium,
    hostNumber,
    password: 'correct horse',
  });
  devices.push(device);
  return device;
}

beforeAll(async () => {
  [thread, wifi] = await Promise.all([startDevice('thread', 2), startDevice('wifi', 3)]);
  const ble = new AdapterBle(new VirtualAdapter([sockets.thread, sockets.wifi]));
  hub = new CommissioningHub({ stateDir: join(dir, 'hub'), store: new MemoryStore(), discoveryTimeoutMs: 5_000, ble });
  await hub.start();
  hub.credentials.setThread('mesh', THREAD_DATASET);
  hub.credentials.setWifi('home', 'Our place', 'correct horse');
  hub.credentials.setWifi('wrong', 'Our place', 'wrong horse');
});
afterAll(async () => {
  await hub?.[Symbol.asyncDispose]();
  for (const device of devices) await device[Symbol.asyncDispose]();
  rmSync(dir, { recursive: true, force: true });
});

async function switchOn(nodeId: string): Promise<void> {
  const peer = hub.node.commissionedPeers().find((known) => String(known.peerAddress?.nodeId) === nodeId);
  await peer?.endpoints.for(1).commandsOf('onOff').on?.(undefined);
}

describe('commissioning over Bluetooth', () => {
  test('a device that waits for credentials is not on the IP network', async () => {
    const outcome = await hub.commission({ code: thread.qrCode });
    expect('error' in outcome && outcome.error.details).toMatchObject({ reason: 'not_found' });
  });

  test('a Thread device gets the whole dataset, joins, and is then controlled over IP', async () => {
    const steps: string[] = [];
    const outcome = await hub.commission({ code: thread.qrCode, thread: 'mesh' }, ({ step }) => steps.push(step));
    if ('error' in outcome) throw outcome.error;
    expect(await thread.told('dataset')).toBe(THREAD_DATASET);
    expect([...new Set(steps)]).toEqual(['parse', 'discover', 'connect', 'attest', 'network', 'join', 'interview', 'record', 'done']);
    await switchOn(outcome.result.nodeId);
    expect(await thread.told('isOn')).toBe(true);
  });

  test('a wrong Wi-Fi password is told as such, and the device can be tried again at once', async () => {
    const refused = await hub.commission({ code: wifi.qrCode, wifi: 'wrong' });
    expect('error' in refused && refused.error.details).toMatchObject({ step: 'network', reason: 'network_rejected' });
    expect(hub.commissioner.halfCommissioned()).toEqual([]);
    const outcome = await hub.commission({ code: wifi.qrCode, wifi: 'home' });
    if ('error' in outcome) throw outcome.error;
    expect(wifi.lines.filter((line) => 'ssid' in line)).toEqual([
      { ssid: 'Our place', isPasswordRight: false },
      { ssid: 'Our place', isPasswordRight: true },
    ]);
    await switchOn(outcome.result.nodeId);
    expect(await wifi.told('isOn')).toBe(true);
  });

  test('neither dataset nor password reached the log', () => {
    const text = hub.logLines.join('\n');
    expect(text).not.toContain('00112233445566');
    expect(text).not.toContain('horse');
  });
});

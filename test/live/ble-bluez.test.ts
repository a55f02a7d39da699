import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createLogger, silentLogger } from '../../src/core/logger.ts';
import { BluezAdapter, openBle } from '../../src/matter/ble/bluez-adapter.ts';
import { CommissioningHub } from '../matter/commissioning-hub.ts';
import { MemoryStore } from '../matter/memory-store.ts';
import { PrivateBus } from '../matter/private-bus.ts';
import { RadioDevice } from '../matter/radio-device-process.ts';
import { type BluezBehaviour, ScriptedBluez } from '../matter/scripted-bluez.ts';
import { THREAD_DATASET } from '../matter/thread-dataset.ts';
import { VirtualAdapter } from '../matter/virtual-adapter.ts';

const hasDbus = spawnSync('dbus-daemon', ['--version']).status === 0;
const { signal } = new AbortController();

let dir: string;
let bus: PrivateBus;
let stack: AsyncDisposableStack;

beforeEach(async () => {
  if (!hasDbus) return;
  dir = mkdtempSync(join(tmpdir(), 'bluez-'));
  stack = new AsyncDisposableStack();
  bus = stack.use(await PrivateBus.start(dir));
});
afterEach(async () => {
  await stack?.disposeAsync();
  rmSync(dir, { recursive: true, force: true });
});

async function bluezWith(behaviour: BluezBehaviour = {}): Promise<ScriptedBluez> {
  return stack.use(await ScriptedBluez.start(bus.address, new VirtualAdapter([join(dir, 'radio.sock')]), behaviour));
}

async function adapter(): Promise<BluezAdapter> {
  return stack.use(await BluezAdapter.open({ busAddress: bus.address }));
}

async function threadDevice(): Promise<RadioDevice> {
  return stack.use(await RadioDevice.start({ socket: join(dir, 'radio.sock'), dir: join(dir, 'device'), medium: 'thread', hostNumber: 2 }));
}

/** The address of the first device that advertises. */
async function heard(from: BluezAdapter): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  await from.startScanning(({ address }) => resolve(address));
  return promise;
}

describe.skipIf(!hasDbus)('Bluetooth through BlueZ', () => {
  test('what is missing is said: the bus, BlueZ, an adapter, this adapter', async () => {
    await expect(BluezAdapter.open({ busAddress: `unix:path=${dir}/none` })).rejects.toMatchObject({
      code: 'NOT_CONFIGURED',
      message: expect.stringContaining('No D-Bus'),
    });
    await expect(adapter()).rejects.toThrow(/BlueZ does not answer/);
    await using bluez = await ScriptedBluez.start(bus.address, new VirtualAdapter([]), { hasAdapter: false });
    await expect(adapter()).rejects.toThrow(/No Bluetooth adapter was found; there is none/);
    await bluez[Symbol.asyncDispose]();
    await bluezWith();
    await expect(BluezAdapter.open({ busAddress: bus.address, adapterName: 'hci7' })).rejects.toThrow(/adapter hci7.*there are hci0/);
  });

  test('a hub on a machine without Bluetooth is warned and goes on', async () => {
    const lines: string[] = [];
    expect(
      await openBle(
        createLogger('warn', (line) => lines.push(line)),
        { busAddress: bus.address },
      ),
    ).toBeUndefined();
    expect(lines.join()).toContain('install the package bluez');
  });

  test('a Thread device is commissioned through it, and is then controlled over IP', async () => {
    const bluez = await bluezWith();
    const device = await threadDevice();
    const ble = await openBle(silentLogger, { busAddress: bus.address });
    if (ble === undefined) expect.unreachable('BlueZ was not found');
    const hub = stack.use(new CommissioningHub({ stateDir: join(dir, 'hub'), store: new MemoryStore(), discoveryTimeoutMs: 8_000, ble }));
    await hub.start();
    hub.credentials.setThread('mesh', THREAD_DATASET);
    const outcome = await hub.commission({ code: device.qrCode, thread: 'mesh' });
    if ('error' in outcome) throw outcome.error;
    expect(await device.told('dataset')).toBe(THREAD_DATASET);
    await hub.node.commissionedPeers()[0]?.endpoints.for(1).commandsOf('onOff').on?.(undefined);
    expect(await device.told('isOn')).toBe(true);
    await expect.poll(() => bluez.calls.slice(-3), { timeout: 8_000 }).toContain('RemoveDevice');
    expect(bluez.calls).toEqual(
      expect.arrayContaining(['SetDiscoveryFilter', 'StartDiscovery', 'StopDiscovery', 'Connect', 'StartNotify', 'Disconnect']),
    );
  });

  test('a device without the Matter service cannot be connected', async () => {
    await bluezWith({ hasMatterService: false });
    await threadDevice();
    const radio = await adapter();
    await expect(radio.connect(await heard(radio), { signal })).rejects.toMatchObject({
      code: 'DEVICE_UNREACHABLE',
      message: expect.stringContaining('no Matter service'),
    });
  });

  test('a connection that breaks is told once', async () => {
    const bluez = await bluezWith();
    await threadDevice();
    const radio = await adapter();
    const link = await radio.connect(await heard(radio), { signal });
    expect(link.mtuBytes).toBe(100);
    let losses = 0;
    link.onLost(() => losses++);
    await bluez.drop();
    await expect.poll(() => losses).toBe(1);
    await link[Symbol.asyncDispose]();
    expect(losses).toBe(1);
  });

  test('a device that went away cannot be connected', async () => {
    await bluezWith();
    const radio = await adapter();
    await expect(radio.connect('AA:BB:CC:00:00:09', { signal })).rejects.toMatchObject({ code: 'DEVICE_UNREACHABLE' });
  });
});

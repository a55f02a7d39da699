import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ClientNode } from '@matter/main/node';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { BareController } from '../home/bare-controller.ts';
import { standardHome } from '../home/home-spec.ts';
import type { VirtualDevice } from '../home/virtual-device.ts';
import { VirtualHome } from '../home/virtual-home.ts';

const LAMP = 'Living room lamp';
const TOGGLES = 100;

let dir: string;
let home: VirtualHome;
let controller: BareController;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'virtual-home-'));
  home = await VirtualHome.start({ spec: standardHome(), dir: join(dir, 'home') });
  controller = await BareController.start(join(dir, 'controller'));
});

afterAll(async () => {
  await controller?.[Symbol.asyncDispose]();
  await home?.[Symbol.asyncDispose]();
  await rm(dir, { recursive: true, force: true });
});

describe('a home', () => {
  test('every device announces itself as commissionable', async () => {
    const discriminators = home.devices.map(({ pairing }) => pairing.discriminator);
    expect(new Set(discriminators).size).toBe(standardHome().devices.length);
    expect(await controller.awaitAnnounced(discriminators, 20)).toEqual([]);
  });

  test('a device, endpoint, cluster or attribute that does not exist is named in the error', async () => {
    const lamp = home.device(LAMP);
    expect(() => home.device('Nothing')).toThrow(/No device Nothing.*Living room lamp/);
    await expect(lamp.get(9, 'OnOff', 'OnOff')).rejects.toThrow(/No endpoint 9/);
    await expect(lamp.get(1, 'DoorLock', 'LockState')).rejects.toThrow(/No cluster DoorLock/);
    await expect(lamp.set(1, 'OnOff', 'Colour', 1)).rejects.toThrow(/No attribute onOff.Colour/);
  });

  test('a device that shares a process cannot lose power alone', async () => {
    await expect(home.device('Robot').powerOff()).rejects.toThrow(/share power and link/);
  });

  test('a bridge gains and loses devices while it runs', async () => {
    const bridge = home.device('Attic bridge');
    await bridge.addBridged({
      id: 'new-light',
      name: 'New light',
      type: 'dimmable-light',
      state: { light: { levelControl: { currentLevel: 7 } } },
    });
    expect(await bridge.get('new-light', 'LevelControl', 'CurrentLevel')).toBe(7);
    expect(await bridge.get('new-light', 'BridgedDeviceBasicInformation', 'NodeLabel')).toBe('New light');
    await bridge.removeBridged('new-light');
    await expect(bridge.get('new-light', 'LevelControl', 'CurrentLevel')).rejects.toThrow(/No endpoint/);
  });
});

describe('a commissioned device', () => {
  let lamp: VirtualDevice;
  let peer: ClientNode;

  beforeAll(async () => {
    lamp = home.device(LAMP);
    peer = await controller.commission(lamp.pairing);
  });

  test('a command takes effect in the process of the device', async () => {
    expect(await lamp.get(1, 'OnOff', 'OnOff')).toBe(false);
    await toggle(peer);
    expect(await lamp.get(1, 'OnOff', 'OnOff')).toBe(true);
  });

  test('a hundred toggles at once are a hundred commands', async () => {
    const before = await toggleCount(lamp);
    await Promise.all(Array.from({ length: TOGGLES }, () => toggle(peer)));
    expect((await toggleCount(lamp)) - before).toBe(TOGGLES);
  });

  test('commands are recorded with endpoint, cluster and fields', async () => {
    await commands(peer, 'levelControl').moveToLevel?.({
      level: 102,
      transitionTime: 0,
      optionsMask: {},
      optionsOverride: { executeIfOff: true },
    });
    expect((await lamp.commands()).at(-1)).toMatchObject({
      endpoint: 1,
      cluster: 'LevelControl',
      command: 'moveToLevel',
      fields: { level: 102 },
    });
  });

  test('a command sent while the link is down does not arrive, the next one after it is up does', async () => {
    const before = await toggleCount(lamp);
    await lamp.linkDown();
    try {
      await expect(toggle(peer)).rejects.toThrow();
      expect(await toggleCount(lamp)).toBe(before);
    } finally {
      await lamp.linkUp();
    }
    await expect
      .poll(
        () =>
          toggle(peer).then(
            () => true,
            () => false,
          ),
        { timeout: 40_000, interval: 500 },
      )
      .toBe(true);
    expect(await toggleCount(lamp)).toBeGreaterThan(before);
  });

  test('power off silences it; power on at another port brings it back with its fabric and state', async () => {
    await lamp.set(1, 'OnOff', 'OnOff', true);
    await lamp.powerOff();
    await expect(lamp.get(1, 'OnOff', 'OnOff')).rejects.toThrow(/no power/);
    await lamp.powerOn({ port: 5999 });
    expect(lamp.pairing.port).toBe(5999);
    expect(await lamp.get(0, 'OperationalCredentials', 'CommissionedFabrics')).toBe(1);
    expect(await lamp.get(1, 'OnOff', 'OnOff')).toBe(true);
  });

  test('a factory reset forgets every fabric, and the device can be commissioned again where it is now', async () => {
    await lamp.reset();
    expect(await lamp.get(0, 'OperationalCredentials', 'CommissionedFabrics')).toBe(0);
    await lamp.set(1, 'OnOff', 'OnOff', false);
    await toggle(await controller.commission(lamp.pairing));
    expect(await lamp.get(1, 'OnOff', 'OnOff')).toBe(true);
  });
});

type Commands = Record<string, (fields?: unknown) => Promise<unknown>>;

function commands(peer: ClientNode, cluster: string): Commands {
  return peer.endpoints.for(1).commandsOf(cluster) as unknown as Commands;
}

async function toggle(peer: ClientNode): Promise<void> {
  await commands(peer, 'onOff').toggle?.();
}

async function toggleCount(device: VirtualDevice): Promise<number> {
  return (await device.commands()).filter(({ command }) => command === 'toggle').length;
}

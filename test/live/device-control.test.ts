import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Device } from '../../src/core/devices/device-model.ts';
import { AtmoError } from '../../src/core/errors.ts';
import type { DeviceId } from '../../src/core/ids.ts';
import type { Json, JsonObject } from '../../src/core/json.ts';
import { homeOf, standardHome, together } from '../home/home-spec.ts';
import type { VirtualDevice } from '../home/virtual-device.ts';
import { VirtualHome } from '../home/virtual-home.ts';
import { DeviceHub, until } from '../matter/device-hub.ts';

const NAMES = ['Living room lamp', 'Thermostat', 'Front door', 'Wall button'];

let dir: string;
let home: VirtualHome;
let hub: DeviceHub;
let lamp: VirtualDevice;
const ids = new Map<string, DeviceId>();

const within = (ms = 20_000): { signal: AbortSignal } => ({ signal: AbortSignal.timeout(ms) });
const id = (name: string): DeviceId => ids.get(name) ?? expect.unreachable(`${name} was not commissioned`);
const onOff = (name = 'Living room lamp') => ({ device: id(name), endpoint: 1, cluster: 'OnOff' });
const level = () => ({ device: id('Living room lamp'), endpoint: 1, cluster: 'LevelControl' });
const toggle = (signal = within().signal): Promise<JsonObject | null> =>
  hub.devices.invoke({ ...onOff(), command: 'Toggle' }, {}, { signal });

async function refusal(work: Promise<unknown>): Promise<AtmoError> {
  const error = await work.then(
    () => expect.unreachable('it was not refused'),
    (thrown: unknown) => thrown,
  );
  return error instanceof AtmoError ? error : expect.unreachable(String(error));
}

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'device-control-'));
  home = await VirtualHome.start({ spec: together(homeOf(standardHome(), NAMES)), dir: join(dir, 'home') });
  hub = new DeviceHub(dir);
  await hub.start();
  for (const name of NAMES) {
    const [device] = await hub.commission(home.device(name));
    if (device) ids.set(name, device.id);
  }
  lamp = home.device('Living room lamp');
});
afterAll(async () => {
  await hub[Symbol.asyncDispose]();
  await home[Symbol.asyncDispose]();
  rmSync(dir, { recursive: true, force: true });
});

describe('what a device says', () => {
  test('every cached value fits the schema that describes it', () => {
    const ajv = new Ajv2020({ strict: false, allowUnionTypes: true, validateFormats: false });
    let values = 0;
    for (const device of hub.devices.list()) values += checkValues(ajv, device);
    expect(values).toBeGreaterThan(150);
  });

  test('several attributes are read in one interaction, in order, with their age', async () => {
    await lamp.set(1, 'LevelControl', 'currentLevel', 77);
    const startedMs = Date.now();
    const readings = await hub.devices.read(
      [
        { ...level(), attribute: 'CurrentLevel' },
        { ...onOff(), attribute: 'OnOff' },
        { ...level(), attribute: 'MaxLevel' },
      ],
      within(),
    );
    expect(readings.map(({ path }) => path.attribute)).toEqual(['CurrentLevel', 'OnOff', 'MaxLevel']);
    expect(readings[0]).toMatchObject({ value: 77, reachability: 'reachable' });
    expect(readings[0]?.atMs).toBeGreaterThanOrEqual(startedMs);
  });

  test('a change at the device is reported with its time', async () => {
    const seen: [Json, number][] = [];
    const stop = hub.devices.onReport(({ path, value, atMs }) => {
      if (path.attribute === 'LocalTemperature') seen.push([value, atMs]);
    });
    const startedMs = Date.now();
    await home
      .device('Thermostat')
      .set(1, 'Thermostat', 'externalMeasuredIndoorTemperature', 1980)
      .catch(() => undefined);
    await home
      .device('Thermostat')
      .set(1, 'Thermostat', 'localTemperature', 1980)
      .catch(() => undefined);
    await until(() => seen.some(([value]) => value === 1980));
    stop();
    expect(seen.at(-1)?.[1]).toBeGreaterThanOrEqual(startedMs);
    expect(hub.devices.cached({ device: id('Thermostat'), endpoint: 1, cluster: 'Thermostat', attribute: 'LocalTemperature' })?.value).toBe(
      1980,
    );
  });

  test('a button press arrives as an event with its data', async () => {
    const events: string[] = [];
    const stop = hub.devices.onEvent(({ device, cluster, event, data }) =>
      events.push(`${device} ${cluster}.${event} ${JSON.stringify(data)}`),
    );
    const button = home.device('Wall button');
    await button.emit(1, 'Switch', 'InitialPress', { newPosition: 1 });
    await until(() => events.length > 0);
    stop();
    expect(events[0]).toBe(
      `${hub.devices.list().find(({ deviceTypes }) => deviceTypes.includes('GenericSwitch'))?.id} Switch.InitialPress {"newPosition":1}`,
    );
  });
});

describe('what a device is told', () => {
  test('a command with fields, a command without, and a timed one take effect', async () => {
    await hub.devices.invoke({ ...onOff(), command: 'On' }, {}, within());
    const fields = { level: 102, transitionTime: 0, optionsMask: {}, optionsOverride: {} };
    expect(await hub.devices.invoke({ ...level(), command: 'MoveToLevelWithOnOff' }, fields, within())).toBeNull();
    await until(async () => (await lamp.get(1, 'LevelControl', 'CurrentLevel')) === 102);
    const lock = { device: id('Front door'), endpoint: 1, cluster: 'DoorLock', command: 'LockDoor' };
    const refused: AtmoError | undefined = await hub.devices.invoke(lock, {}, within()).then(
      () => undefined,
      (error: AtmoError) => error,
    );
    // The door may insist on a PIN; that too is an answer to a timed command, which an untimed one would not get.
    expect(refused?.details.name ?? 'Success').toMatch(/Success|Failure|InvalidCommand/);
  });

  test('a write reaches the device, an enum goes by its name', async () => {
    await hub.devices.write({ ...level(), attribute: 'OnLevel' }, 90, within());
    expect(await lamp.get(1, 'LevelControl', 'OnLevel')).toBe(90);
    const thermostat = { device: id('Thermostat'), endpoint: 1, cluster: 'Thermostat' };
    await hub.devices.write({ ...thermostat, attribute: 'SystemMode' }, 'Heat', within());
    expect(await home.device('Thermostat').get(1, 'Thermostat', 'SystemMode')).toBe(4);
    await hub.devices.write({ ...thermostat, attribute: 'OccupiedHeatingSetpoint' }, 2150, within());
    expect(await home.device('Thermostat').get(1, 'Thermostat', 'OccupiedHeatingSetpoint')).toBe(2150);
  });

  test('what the device allows bounds the schema and what is sent', async () => {
    const thermostat = { device: id('Thermostat'), endpoint: 1, cluster: 'Thermostat' };
    const description = hub.devices.describe(id('Thermostat'))?.endpoints.find(({ endpoint }) => endpoint === 1);
    const setpoint = description?.clusters
      .find(({ name }) => name === 'Thermostat')
      ?.attributes.find(({ name }) => name === 'OccupiedHeatingSetpoint');
    const max = hub.devices.cached({ ...thermostat, attribute: 'MaxHeatSetpointLimit' })?.value ?? 3000;
    expect(setpoint?.schema.maximum).toBe(max);
    const error = await refusal(hub.devices.write({ ...thermostat, attribute: 'OccupiedHeatingSetpoint' }, Number(max) + 1, within()));
    expect(error).toMatchObject({ code: 'VALIDATION_ERROR', message: expect.stringContaining(String(max)) });
  });

  test('a read-only attribute is refused before matter.js can spoil its cache', async () => {
    const before = hub.devices.cached({ ...onOff(), attribute: 'OnOff' })?.value;
    const error = await refusal(hub.devices.write({ ...onOff(), attribute: 'OnOff' }, before !== true, within()));
    expect(error.code).toBe('NOT_SUPPORTED');
    expect(hub.devices.cached({ ...onOff(), attribute: 'OnOff' })?.value).toBe(before);
  });

  test.each([
    ['an unknown command', () => hub.devices.invoke({ ...onOff(), command: 'Tog' }, {}, within()), 'NOT_SUPPORTED', 'Toggle'],
    [
      'an unknown cluster',
      () => hub.devices.invoke({ ...onOff(), cluster: 'Onoff', command: 'On' }, {}, within()),
      'NOT_SUPPORTED',
      'OnOff',
    ],
    ['an unknown endpoint', () => hub.devices.invoke({ ...onOff(), endpoint: 9, command: 'On' }, {}, within()), 'NOT_SUPPORTED', '0, 1'],
    ['an unknown attribute', () => hub.devices.read([{ ...onOff(), attribute: 'On' }], within()), 'NOT_SUPPORTED', 'OnOff'],
    ['a field too many', () => hub.devices.invoke({ ...onOff(), command: 'On' }, { x: 1 }, within()), 'VALIDATION_ERROR', '/x'],
    ['a missing field', () => hub.devices.invoke({ ...level(), command: 'MoveToLevel' }, {}, within()), 'VALIDATION_ERROR', '/level'],
    [
      'an unknown device',
      () => hub.devices.invoke({ ...onOff(), device: 'nobody' as DeviceId, command: 'On' }, {}, within()),
      'DEVICE_NOT_FOUND',
      'nobody',
    ],
  ])('%s is refused with what there is', async (_, call, code, hint) => {
    expect(await refusal(call())).toMatchObject({ code, message: expect.stringContaining(hint) });
  });

  test("the device's own refusal comes with its status", async () => {
    const unlock = { device: id('Front door'), endpoint: 1, cluster: 'DoorLock', command: 'UnlockDoor' };
    const error = await refusal(hub.devices.invoke(unlock, { pinCode: Buffer.from('000000').toString('base64') }, within()));
    expect(error).toMatchObject({ code: 'CLUSTER_STATUS', details: { status: 1, name: 'Failure' } });
  });

  test('a hundred toggles at once are a hundred commands', async () => {
    const before = (await lamp.commands()).length;
    const { signal } = within(60_000);
    await Promise.all(Array.from({ length: 100 }, () => toggle(signal)));
    expect((await lamp.commands()).length - before).toBe(100);
  });

  test('a call that is cancelled at once sends nothing', async () => {
    const before = (await lamp.commands()).length;
    expect(await refusal(toggle(AbortSignal.abort()))).toMatchObject({ code: 'CANCELLED', details: { isSent: false } });
    expect((await lamp.commands()).length).toBe(before);
  });
});

describe('names', () => {
  test('a rename keeps the id, is told, and survives a restart of the book', async () => {
    const changes: string[] = [];
    const stop = hub.devices.onChange((change) => changes.push(`${change.kind} ${change.device.name}`));
    const renamed = hub.devices.rename(id('Living room lamp'), 'Reading\u202E lamp');
    hub.devices.setArea(id('Living room lamp'), 'Library');
    stop();
    expect(renamed).toMatchObject({ id: id('Living room lamp'), name: 'Reading lamp' });
    expect(hub.devices.get(id('Living room lamp'))).toMatchObject({ area: 'Library', name: 'Reading lamp' });
    expect(changes).toEqual(['changed Reading lamp', 'changed Reading lamp']);
  });
});

function checkValues(ajv: Ajv2020, device: Device): number {
  let values = 0;
  for (const { endpoint, clusters } of hub.devices.describe(device.id)?.endpoints ?? []) {
    for (const cluster of clusters) {
      for (const { name, schema } of cluster.attributes) {
        const reading = hub.devices.cached({ device: device.id, endpoint, cluster: cluster.name, attribute: name });
        if (reading === undefined) continue;
        values += 1;
        const validate = ajv.compile(schema);
        expect(
          validate(reading.value),
          `${device.id} ${cluster.name}.${name} = ${JSON.stringify(reading.value)}: ${ajv.errorsText(validate.errors)}`,
        ).toBe(true);
      }
    }
  }
  return values;
}

describe('a close of matter.js that does not end', () => {
  test('costs a second, leaves no lock behind, and what was read from the devices is there at the next start', async () => {
    const { node } = hub.node;
    const lockIn = (root: string) => existsSync(join(root, 'matter.lock'));
    const root = join(dir, 'hub', 'hub');
    expect(lockIn(root)).toBe(true);
    node.close = async () => {
      await node.cancel();
      await new Promise(() => {});
    };
    const startedMs = performance.now();
    await hub[Symbol.asyncDispose]();
    expect(performance.now() - startedMs).toBeLessThan(1_500);
    expect(lockIn(root)).toBe(false);
    const { store } = hub;
    hub = new DeviceHub(dir, { store });
    await hub.start();
    expect(hub.devices.list().map((device) => device.id)).toEqual(expect.arrayContaining([...ids.values()]));
    await until(() => hub.devices.get(id('Living room lamp'))?.reachability === 'reachable');
  });
});

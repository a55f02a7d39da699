import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { parseDeviceId, parseSensorId } from '../../src/core/devices/device-names.ts';
import { EventBus, type HubEvent } from '../../src/core/events.ts';
import { createLogger } from '../../src/core/logger.ts';
import { BoardSensors } from '../../src/sensors/board-sensors.ts';
import type { SensorsConfig } from '../../src/sensors/sensor-config.ts';
import { BoardDevices } from '../../src/sensors/sensor-registry.ts';
import { StoredHomeNames } from '../../src/tools/names/home-names.ts';
import { ManualClock } from '../manual-clock.ts';
import { MemoryKeyValueStore } from '../memory-key-value-store.ts';
import { KeptReadings } from './kept-readings.ts';
import { SimulatedSource } from './simulated-source.ts';

const PROBE = 'sim:probe/temperature';
const ID = parseSensorId('probe/temperature');
const SECOND_MS = 1000;

let clock: ManualClock;
let source: SimulatedSource;
let readings: KeptReadings;
let events: HubEvent[];
let log: string[];
let devices: BoardDevices;
let board: BoardSensors;
let areas: StoredHomeNames;

beforeEach(() => {
  clock = new ManualClock();
  source = new SimulatedSource().plug(PROBE, 21.5);
  readings = new KeptReadings();
  areas = new StoredHomeNames(new MemoryKeyValueStore(clock));
  events = [];
  log = [];
});
afterEach(() => board[Symbol.asyncDispose]());

async function start(settings: Partial<SensorsConfig> = {}): Promise<void> {
  const bus = new EventBus('test', clock);
  bus.listen((event) => events.push(event));
  const logger = createLogger('debug', (line) => log.push(line));
  const config = { discover: true, pollSeconds: 30, sysfs: '/sys', devices: {}, ...settings } as SensorsConfig;
  devices = new BoardDevices({ clock, events: bus });
  const ports = { clock, logger, events: bus, readings, devices, areas, sources: [source], random: () => 0.5 };
  board = new BoardSensors(ports, config);
  await board.start();
  await settled();
}

/** Lets whatever was started come to its next wait for the clock. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate);
}

async function pass(seconds: number): Promise<void> {
  for (let passed = 0; passed < seconds; passed++) {
    clock.advance(SECOND_MS);
    await settled();
  }
}

const typesOf = (type: string) => events.filter((event) => event.type === type);
const current = () => readings.current(ID);

describe('a sensor of the board', () => {
  test('is listed when the hub has started, then read, recorded and emitted', async () => {
    await start();
    expect(current()).toMatchObject({ value: 21.5, atMs: clock.now(), reachability: 'reachable' });
    expect(typesOf('sensor.reading').map(({ subject, data }) => [subject, data])).toEqual([
      [ID, { value: 21.5, unit: '°C', kind: 'temperature', at_ms: clock.now() }],
    ]);
    expect(typesOf('device.reachability').map(({ subject, data }) => [subject, data])).toEqual([['probe', { reachability: 'reachable' }]]);
  });

  test('is read again when its interval has passed, and not before', async () => {
    await start();
    source.say(PROBE, 22);
    await pass(29);
    expect(current()?.value).toBe(21.5);
    await pass(1);
    expect(current()?.value).toBe(22);
    expect(source.rounds).toHaveLength(2);
  });

  test('has an interval of its own where the owner gave it one', async () => {
    source.plug('sim:slow/temperature', 1);
    await start({ devices: { fast: { source: 'sim:probe', pollSeconds: 5, readings: {} } } });
    await pass(30);
    expect(source.rounds.filter((round) => round.includes(PROBE))).toHaveLength(7);
    expect(source.rounds.filter((round) => round.includes('sim:slow/temperature'))).toHaveLength(2);
  });

  test('is there within an interval when it is plugged in later, and speaks again when it comes back', async () => {
    await start();
    source.plug('sim:late/temperature', 4);
    await pass(30);
    expect(readings.current(parseSensorId('late/temperature'))?.value).toBe(4);
    source.unplug('sim:late/temperature');
    await pass(90);
    expect(readings.current(parseSensorId('late/temperature'))?.reachability).toBe('unreachable');
    source.plug('sim:late/temperature', 5);
    await pass(30);
    expect(readings.current(parseSensorId('late/temperature'))).toMatchObject({ value: 5, reachability: 'reachable' });
    expect(log.join('')).toContain('sensor.value_restored');
  });

  test('emits a sample without a request at once, with the time of its arrival', async () => {
    await start();
    source.say(PROBE, 23);
    source.provoke(PROBE, clock.now() + 7);
    expect(current()).toMatchObject({ value: 23, atMs: clock.now() + 7 });
  });

  test('emits a repeated sample only once', async () => {
    await start();
    source.provoke(PROBE, clock.now() + 7);
    source.provoke(PROBE, clock.now() + 7);
    expect(typesOf('sensor.reading')).toHaveLength(2);
  });

  test('emits nothing after the hub has stopped', async () => {
    await start();
    await board[Symbol.asyncDispose]();
    source.provoke(PROBE);
    await pass(60);
    expect(typesOf('sensor.reading')).toHaveLength(1);
    expect(source.rounds).toHaveLength(1);
  });
});

describe('what has the sensors', () => {
  test('is a device with a name, an area and an age, with events when it comes and when it falls silent', async () => {
    await start({ devices: { shed: { source: 'sim:probe', title: 'Garden shed', area: 'Garden', readings: {} } } });
    expect(devices.list()).toMatchObject([
      { id: 'shed', name: 'Garden shed', area: 'Garden', kind: 'board', reachability: 'reachable', lastSeenMs: clock.now() },
    ]);
    expect(devices.describe(parseDeviceId('shed'))).toMatchObject({ device: { id: 'shed' }, endpoints: [] });
    const changes: string[] = [];
    const stop = devices.onChange(({ kind, device }) => changes.push(`${device.id} ${kind} ${device.reachability}`));
    source.say(PROBE, 'gone');
    await pass(120);
    stop();
    source.say(PROBE, 5);
    await pass(30);
    expect(changes).toEqual(['shed reachability unreachable']);
    expect(devices.get(parseDeviceId('shed'))?.reachability).toBe('reachable');
    expect(typesOf('device.added').map(({ subject, data }) => [subject, data])).toEqual([
      ['shed', { name: 'Garden shed', device_types: [] }],
    ]);
  });
});

test('a sensor follows its room to another name until that is freed, at once and after a restart', async () => {
  const settings = { devices: { shed: { source: 'sim:probe', area: 'Garden', readings: {} } } };
  await start(settings);
  const shed = parseDeviceId('shed');
  const changes: unknown[] = [];
  devices.onChange((change) => changes.push(change));
  areas.renameArea('garden', 'Orchard', { isJoined: false });
  const setup = () => readings.sensors().map(({ sensor, value }) => [sensor.area, value]);
  expect([devices.get(shed)?.area, ...setup()]).toEqual(['Orchard', ['Orchard', 21.5]]);
  expect(changes).toMatchObject([{ kind: 'changed', device: { area: 'Orchard' }, before: { area: 'Garden' } }]);
  await board[Symbol.asyncDispose]();
  readings = new KeptReadings();
  await start(settings);
  expect([devices.get(shed)?.area, ...setup()]).toEqual(['Orchard', ['Orchard', 21.5]]);
  areas.freeArea('garden');
  expect([devices.get(shed)?.area, ...setup()]).toEqual(['Garden', ['Garden', 21.5]]);
});

describe('a sensor that does not say what it should', () => {
  test('keeps its last value when a value means an error; people are warned once', async () => {
    await start();
    source.say(PROBE, 'suspect');
    await pass(60);
    expect(current()).toMatchObject({ value: 21.5, reachability: 'reachable' });
    expect(typesOf('hub.warning').map(({ data }) => data)).toEqual([
      { warning: 'sensor.suspect', message: 'probe/temperature: it is suspect' },
    ]);
    expect(typesOf('sensor.reading')).toHaveLength(1);
  });

  test('is unreachable after three misses, not after two, and reachable with the next value', async () => {
    await start();
    source.say(PROBE, 'gone');
    await pass(60);
    expect(current()?.reachability).toBe('reachable');
    await pass(30);
    expect(current()?.reachability).toBe('unreachable');
    expect(log.filter((line) => line.includes('sensor.no_value'))).toHaveLength(1);
    await pass(300);
    expect(log.filter((line) => line.includes('sensor.no_value'))).toHaveLength(1);
    source.say(PROBE, 20);
    await pass(30);
    expect(current()).toMatchObject({ value: 20, reachability: 'reachable' });
  });

  test('has no value when it alone of its device is silent', async () => {
    source.plug('sim:probe/humidity', 40);
    await start();
    source.say(PROBE, 'garbled');
    await pass(90);
    expect(current()).toMatchObject({ value: null, reachability: 'reachable' });
    expect(readings.current(parseSensorId('probe/humidity'))).toMatchObject({ value: 40, reachability: 'reachable' });
  });

  test('has unknown reachability until its first value or third failure', async () => {
    source.say(PROBE, 'gone');
    await start();
    expect(current()).toMatchObject({ value: null, reachability: 'unknown' });
    await pass(60);
    expect(current()?.reachability).toBe('unreachable');
  });
});

describe('a source that fails', () => {
  test('is read again when it is due, and emitted once', async () => {
    const { read, find } = source;
    source.read = () => Promise.reject(new RangeError('the driver is wrong'));
    await start();
    await pass(90);
    expect(log.filter((line) => line.includes('the driver is wrong'))).toHaveLength(1);
    source.find = () => Promise.reject(new RangeError('the folder is wrong'));
    await pass(60);
    expect(log.filter((line) => line.includes('the folder is wrong'))).toHaveLength(1);
    Object.assign(source, { read, find });
    await pass(30);
    expect(current()).toMatchObject({ value: 21.5, reachability: 'reachable' });
  });

  test('and hangs is given up, and read again', async () => {
    const { read } = source;
    source.read = ({ signal }) => new Promise((resolve) => signal.addEventListener('abort', () => resolve()));
    await start();
    source.read = read;
    await pass(59);
    expect(current()?.value).toBeNull();
    await pass(2);
    expect(current()?.value).toBe(21.5);
  });
});

describe('ids', () => {
  test('of something else on this hub are left to it', async () => {
    readings.describe(ID, { id: ID, device: parseDeviceId('probe'), name: 'temperature', kind: 'temperature', unit: '°C', title: 'Other' });
    await start();
    expect(current()).toMatchObject({ value: null, sensor: { title: 'Other' } });
    expect(log.join('')).toMatch(/would be probe\/temperature, which something else is/);
  });

  test('that match nothing are logged once', async () => {
    await start({ devices: { attic: { source: 'sim:attic', readings: {} } } });
    await pass(120);
    expect(log.filter((line) => line.includes('sim:attic was not found'))).toHaveLength(1);
  });
});

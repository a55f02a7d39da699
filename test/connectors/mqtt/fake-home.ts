import type { Device, Reachability } from '../../../src/core/devices/device-model.ts';
import { parseDeviceId, parseSensorId } from '../../../src/core/devices/device-names.ts';
import type { Reading, ReadingValue, SensorInfo } from '../../../src/core/devices/sensor-readings.ts';
import type { SensorId } from '../../../src/core/ids.ts';

/** A reading of a device that was just told. */
export function readingOf(
  id: string,
  value: ReadingValue | null,
  facts: Partial<SensorInfo> & { readonly reachability?: Reachability } = {},
): Reading {
  const { reachability = 'reachable', ...info } = facts;
  const [device = '', ...path] = id.split('/');
  const name = path.join('_');
  const sensor = { id: parseSensorId(id), device: parseDeviceId(device), name, kind: name, unit: '', title: id, ...info };
  return { sensor, value, atMs: 0, reachability };
}

/** A device with only what its name and types say. */
export function deviceOf(id: string, facts: Partial<Device> = {}): Device {
  return {
    id: parseDeviceId(id),
    name: id,
    kind: 'node',
    nodeId: '1',
    vendor: { id: 1, name: 'Vendor' },
    product: { id: 1, name: 'Product' },
    deviceTypes: [],
    reachability: 'reachable',
    lastSeenMs: 0,
    isSleepy: false,
    ...facts,
  };
}

/** A lamp that can be dimmed, and a probe of the board. */
export function fakeHome() {
  const readings = new Map<string, Reading>();
  const add = (reading: Reading) => readings.set(reading.sensor.id, reading);
  add(readingOf('lamp/is_on', false, { kind: 'on_off' }));
  add(readingOf('lamp/brightness', 80, { unit: '%' }));
  add(readingOf('probe/temperature', 21.5, { unit: '°C' }));
  const devices = new Map([['lamp', deviceOf('lamp', { name: 'Lampe', area: 'Flur', deviceTypes: ['DimmableLight'] })]]);
  return {
    add,
    sensors: () => [...readings.values()],
    current: (id: SensorId) => readings.get(id),
    get: (id: string) => devices.get(id),
    set(id: string, value: ReadingValue) {
      const before = readings.get(id);
      if (before) add({ ...before, value });
    },
    /** With all that it has told. */
    remove(device: string) {
      for (const id of readings.keys()) if (id.startsWith(`${device}/`)) readings.delete(id);
    },
  };
}

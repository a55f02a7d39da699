import { expect, test } from 'vitest';
import type { DeviceChange, DeviceDirectory } from '../../src/core/device-directory.ts';
import type { Device } from '../../src/core/device-model.ts';
import { parseDeviceId } from '../../src/core/ids.ts';
import { joinedDevices } from '../../src/core/joined-devices.ts';

const device = (id: string, name: string) => ({ id: parseDeviceId(id), name }) as Device;

function directoryOf(...devices: readonly Device[]) {
  const listeners = new Set<(change: DeviceChange) => void>();
  const directory: DeviceDirectory = {
    list: () => devices,
    get: (id) => devices.find((one) => one.id === id),
    describe: (id) => devices.filter((one) => one.id === id).map((one) => ({ device: one, endpoints: [] }))[0],
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
  return { directory, listeners };
}

test('what two rooms have is one list, and the first room is believed', () => {
  const first = directoryOf(device('lamp', 'Lamp'), device('shed', 'Shed of Matter'));
  const second = directoryOf(device('shed', 'Shed'), device('board', 'Board'));
  const joined = joinedDevices([first.directory, second.directory]);
  expect(
    joined
      .list()
      .map(({ name }) => name)
      .sort(),
  ).toEqual(['Board', 'Lamp', 'Shed of Matter']);
  expect(joined.get(parseDeviceId('shed'))?.name).toBe('Shed of Matter');
  expect(joined.describe(parseDeviceId('board'))?.device.name).toBe('Board');
  expect(joined.get(parseDeviceId('cellar'))).toBeUndefined();
});

test('changes of all rooms are heard, until nobody listens', () => {
  const rooms = [directoryOf(), directoryOf()];
  const heard: string[] = [];
  const stop = joinedDevices(rooms.map(({ directory }) => directory)).onChange(({ device: { name } }) => heard.push(name));
  for (const [index, { listeners }] of rooms.entries())
    for (const listener of listeners) listener({ kind: 'added', device: device(`d${index}`, `Device ${index}`) });
  expect(heard).toEqual(['Device 0', 'Device 1']);
  stop();
  expect(rooms.map(({ listeners }) => listeners.size)).toEqual([0, 0]);
});

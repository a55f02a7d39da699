import { expect, test } from 'vitest';
import { CombinedDirectory, type DeviceChange, type DeviceDirectory } from '../../../src/core/devices/device-directory.ts';
import type { Device } from '../../../src/core/devices/device-model.ts';
import { parseDeviceId } from '../../../src/core/devices/device-names.ts';

class Room implements DeviceDirectory {
  readonly devices: Device[];
  readonly listeners = new Set<(change: DeviceChange) => void>();

  constructor(room: string, ids: readonly string[]) {
    this.devices = ids.map((id) => ({ id: parseDeviceId(id), name: `${id} of ${room}` }) as Device);
  }

  list = () => this.devices;
  get = (id: string) => this.devices.find((device) => device.id === id);
  describe = (id: string) => {
    const device = this.get(id);
    return device && { device, endpoints: [] };
  };
  onChange(listener: (change: DeviceChange) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }
  tell(kind: 'added' | 'removed', id: string): void {
    const device = { id: parseDeviceId(id), name: id } as Device;
    for (const listener of this.listeners) listener({ kind, device });
  }
}

const lamp = parseDeviceId('lamp');

test('the devices of all rooms are there, and of two with one id that of the first room', () => {
  const joined = new CombinedDirectory([new Room('matter', ['lamp', 'lock']), new Room('board', ['lamp', 'board'])]);
  expect(joined.list().map(({ name }) => name)).toEqual(['lamp of matter', 'lock of matter', 'board of board']);
  expect(joined.get(lamp)?.name).toBe('lamp of matter');
  expect(joined.describe(parseDeviceId('board'))?.device.name).toBe('board of board');
  expect(joined.get(parseDeviceId('nobody'))).toBeUndefined();
});

test('changes of every room are heard, but not of a device that another room stands for, and no more after the stop', () => {
  const [matter, board] = [new Room('matter', ['lamp']), new Room('board', ['lamp', 'probe'])];
  const heard: string[] = [];
  const stop = new CombinedDirectory([matter, board]).onChange(({ kind, device }) => heard.push(`${kind} ${device.id}`));
  matter.tell('added', 'lamp');
  board.tell('added', 'lamp');
  board.tell('added', 'probe');
  board.tell('removed', 'gone');
  stop();
  board.tell('added', 'probe');
  expect(heard).toEqual(['added lamp', 'added probe', 'removed gone']);
  expect(matter.listeners.size + board.listeners.size).toBe(0);
});

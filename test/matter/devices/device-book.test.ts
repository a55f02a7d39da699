import { describe, expect, test } from 'vitest';
import { DeviceBook } from '../../../src/matter/devices/device-book.ts';
import type { PlannedDevice } from '../../../src/matter/devices/device-map.ts';
import { deviceText } from '../../../src/matter/devices/device-text.ts';
import { MemoryStore } from '../memory-store.ts';

function planned(key: string, label: string): PlannedDevice {
  const facts = { label, vendor: { id: 1, name: '' }, product: { id: 1, name: 'Lamp' }, serial: '', softwareVersion: '', uniqueId: '' };
  return { key, kind: 'node', nodeId: key, endpoints: [0, 1], label, productName: 'Lamp', facts, deviceTypes: ['OnOffLight'] };
}

describe('ids and names of devices', () => {
  test('an id comes from the first name, is unique, and outlives renames and restarts', () => {
    const store = new MemoryStore();
    const book = new DeviceBook(store);
    expect(book.entryOf(planned('1', 'Küche Licht')).id).toBe('kueche-licht');
    expect(book.entryOf(planned('2', 'Küche Licht')).id).toBe('kueche-licht-2');
    book.rename('1', 'Herd');
    const restarted = new DeviceBook(store);
    expect(restarted.entryOf(planned('1', 'Something else')).id).toBe('kueche-licht');
    expect(restarted.nameOf(planned('1', 'Something else'))).toBe('Herd');
  });

  test('what was wished for a joining node is its name, its area and the source of its id; its parts keep their own', () => {
    const book = new DeviceBook(new MemoryStore(), (nodeId) => (nodeId === '1' ? { name: 'Living room lamp', area: 'Salon' } : undefined));
    expect(book.entryOf(planned('1', 'Dimmable'))).toMatchObject({ id: 'living-room-lamp', name: 'Living room lamp', area: 'Salon' });
    expect(book.entryOf({ ...planned('1/e2', 'Socket'), nodeId: '1', kind: 'bridged' })).toEqual({ id: 'socket', lastSeenMs: 0 });
    expect(book.entryOf(planned('2', 'Dimmable'))).toEqual({ id: 'dimmable', lastSeenMs: 0 });
  });

  test('without a name of ours the label counts, then product and area', () => {
    const book = new DeviceBook(new MemoryStore());
    book.entryOf(planned('1', ''));
    expect(book.nameOf(planned('1', 'Desk'))).toBe('Desk');
    book.setArea('1', 'Office');
    expect(book.nameOf(planned('1', ''))).toBe('Lamp Office');
    book.setArea('1', null);
    expect(book.nameOf(planned('1', ''))).toBe('Lamp');
  });

  test('a part is called after the name that a person gave the whole, also after a rename', () => {
    const book = new DeviceBook(new MemoryStore(), () => ({ name: 'Bath sensor' }));
    const whole = planned('1', 'Multi');
    const part: PlannedDevice = { ...planned('1/p2', 'Multi humidity sensor'), kind: 'part', parentKey: '1', partTitle: 'humidity sensor' };
    book.entryOf(whole);
    expect(book.entryOf(part).id).toBe('bath-sensor-humidity-sensor');
    book.rename('1', 'Shower');
    expect(book.nameOf(part)).toBe('Shower humidity sensor');
    book.rename('1/p2', 'Steam');
    expect(book.nameOf(part)).toBe('Steam');
  });

  test('an empty name gives the label back', () => {
    const book = new DeviceBook(new MemoryStore());
    book.entryOf(planned('1', 'Desk'));
    book.rename('1', 'Mine');
    book.rename('1', ' ');
    expect(book.nameOf(planned('1', 'Desk'))).toBe('Desk');
  });

  test('it is known whether a person gave the name, to the device or to the whole that it is a part of', () => {
    const book = new DeviceBook(new MemoryStore());
    const part: PlannedDevice = { ...planned('1/p2', 'Humidity'), kind: 'part', parentKey: '1', partTitle: 'humidity sensor' };
    expect([planned('1', 'Desk'), part].map((one) => book.isNamedHere(one))).toEqual([false, false]);
    book.rename('1', 'Mine');
    expect([planned('1', 'Desk'), part].map((one) => book.isNamedHere(one))).toEqual([true, true]);
  });

  test('a name of no Latin letters still has an id', () => {
    expect(new DeviceBook(new MemoryStore()).entryOf(planned('1', '灯')).id).toBe('device');
  });

  test('a forgotten node takes along what is behind it and nothing else', () => {
    const store = new MemoryStore();
    const book = new DeviceBook(store);
    for (const key of ['1', '1/e2', '11']) book.entryOf(planned(key, key));
    book.forgetNode('1');
    expect(store.entries('devices').map(({ key }) => key)).toEqual(['11']);
  });

  test('the id of a device that left is never that of another one, also after a restart', () => {
    const store = new MemoryStore();
    const book = new DeviceBook(store);
    book.entryOf(planned('1', 'Kitchen lamp'));
    book.forgetNode('1');
    expect(book.entryOf(planned('2', 'Kitchen lamp')).id).toBe('kitchen-lamp-2');
    expect(new DeviceBook(store).entryOf(planned('3', 'Kitchen lamp')).id).toBe('kitchen-lamp-3');
  });
});

describe('text from devices', () => {
  test('loses control and direction characters, folds space, and ends at 64 code points', () => {
    expect(deviceText('a\u0000b\u202Ec\n\td')).toBe('a b c d');
    expect([...deviceText('🙂'.repeat(100))]).toHaveLength(64);
    expect(deviceText(undefined)).toBe('');
  });
});

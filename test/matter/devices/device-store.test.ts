import { describe, expect, test } from 'vitest';
import { parseDeviceId } from '../../../src/core/devices/device-names.ts';
import { AtmoError } from '../../../src/core/errors.ts';
import { createLogger } from '../../../src/core/logger.ts';
import { deviceText, type PlannedDevice } from '../../../src/matter/devices/device-composition.ts';
import { DeviceStore } from '../../../src/matter/devices/device-store.ts';
import { FullStore } from '../../full-store.ts';
import { ManualClock } from '../../manual-clock.ts';
import { MemoryStore } from '../memory-store.ts';

function planned(key: string, label: string): PlannedDevice {
  const facts = { label, vendor: { id: 1, name: '' }, product: { id: 1, name: 'Lamp' }, serial: '', softwareVersion: '', uniqueId: '' };
  return { key, kind: 'node', nodeId: key, endpoints: [0, 1], label, productName: 'Lamp', facts, deviceTypes: ['OnOffLight'] };
}

describe('ids and names of devices', () => {
  test('an id comes from the first name, is unique, and outlives renames and restarts', () => {
    const store = new MemoryStore();
    const devices = new DeviceStore(store);
    expect(devices.entryOf(planned('1', 'Küche Licht')).id).toBe('kueche-licht');
    expect(devices.entryOf(planned('2', 'Küche Licht')).id).toBe('kueche-licht-2');
    devices.rename('1', 'Herd');
    const restarted = new DeviceStore(store);
    expect(restarted.entryOf(planned('1', 'Something else')).id).toBe('kueche-licht');
    expect(restarted.nameOf(planned('1', 'Something else'))).toBe('Herd');
  });

  test('a joining node gets the name and area of the request and an id from the name; its parts keep their own', () => {
    const devices = new DeviceStore(new MemoryStore(), (nodeId) =>
      nodeId === '1' ? { name: 'Living room lamp', area: 'Salon' } : undefined,
    );
    expect(devices.entryOf(planned('1', 'Dimmable'))).toMatchObject({ id: 'living-room-lamp', name: 'Living room lamp', area: 'Salon' });
    expect(devices.entryOf({ ...planned('1/e2', 'Socket'), nodeId: '1', kind: 'bridged' })).toEqual({ id: 'socket', lastSeenMs: 0 });
    expect(devices.entryOf(planned('2', 'Dimmable'))).toEqual({ id: 'dimmable', lastSeenMs: 0 });
  });

  test('without a name on the hub the label counts, then product and area', () => {
    const devices = new DeviceStore(new MemoryStore());
    devices.entryOf(planned('1', ''));
    expect(devices.nameOf(planned('1', 'Desk'))).toBe('Desk');
    devices.setArea('1', 'Office');
    expect(devices.nameOf(planned('1', ''))).toBe('Lamp Office');
    devices.setArea('1', null);
    expect(devices.nameOf(planned('1', ''))).toBe('Lamp');
  });

  test('a part is called after the name that a person gave the whole, also after a rename', () => {
    const devices = new DeviceStore(new MemoryStore(), () => ({ name: 'Bath sensor' }));
    const whole = planned('1', 'Multi');
    const part: PlannedDevice = { ...planned('1/p2', 'Multi humidity sensor'), kind: 'part', parentKey: '1', partTitle: 'humidity sensor' };
    devices.entryOf(whole);
    expect(devices.entryOf(part).id).toBe('bath-sensor-humidity-sensor');
    devices.rename('1', 'Shower');
    expect(devices.nameOf(part)).toBe('Shower humidity sensor');
    devices.rename('1/p2', 'Steam');
    expect(devices.nameOf(part)).toBe('Steam');
  });

  test('a new device gets its id while the disk is full, and the id is written later', () => {
    const store = new FullStore(new ManualClock());
    const lines: string[] = [];
    const devices = new DeviceStore(
      store,
      undefined,
      createLogger('error', (line) => void lines.push(line)),
    );
    expect([devices.entryOf(planned('1', 'Desk')).id, devices.entryOf(planned('1', 'Desk')).id]).toEqual(['desk', 'desk']);
    devices.saw('1', 5);
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([1, 2].map(() => ({ event: 'device.not_kept', device: 'desk' })));
    expect(() => devices.rename('1', 'Mine')).toThrow(expect.objectContaining({ code: 'STORAGE_FAILED' }));
    expect(devices.nameOf(planned('1', 'Desk'))).toBe('Desk');
    store.isFull = false;
    devices.rename('1', 'Mine');
    expect(new DeviceStore(store).entryOf(planned('1', 'Other'))).toMatchObject({ id: 'desk', name: 'Mine', lastSeenMs: 5 });
  });

  test('an empty name restores the label', () => {
    const devices = new DeviceStore(new MemoryStore());
    devices.entryOf(planned('1', 'Desk'));
    devices.rename('1', 'Mine');
    devices.rename('1', ' ');
    expect(devices.nameOf(planned('1', 'Desk'))).toBe('Desk');
  });

  test('a name is marked when a person gave it, to the device or to the whole that it is a part of', () => {
    const devices = new DeviceStore(new MemoryStore());
    const part: PlannedDevice = { ...planned('1/p2', 'Humidity'), kind: 'part', parentKey: '1', partTitle: 'humidity sensor' };
    expect([planned('1', 'Desk'), part].map((one) => devices.isNamedHere(one))).toEqual([false, false]);
    devices.rename('1', 'Mine');
    expect([planned('1', 'Desk'), part].map((one) => devices.isNamedHere(one))).toEqual([true, true]);
  });

  test('a name without Latin letters has an id', () => {
    expect(new DeviceStore(new MemoryStore()).entryOf(planned('1', '灯')).id).toBe('device');
  });

  test('a removed node loses its bridged devices and parts, and no others', () => {
    const store = new MemoryStore();
    const devices = new DeviceStore(store);
    for (const key of ['1', '1/e2', '11']) devices.entryOf(planned(key, key));
    devices.forgetNode('1', [planned('1', '')], 0);
    expect(store.entries('devices').map(({ key }) => key)).toEqual(['11']);
  });

  test('the id of a removed device is never given to another one, also after a restart', () => {
    const store = new MemoryStore();
    const devices = new DeviceStore(store);
    devices.entryOf(planned('1', 'Kitchen lamp'));
    devices.forgetNode('1', [], 0);
    expect(devices.entryOf(planned('2', 'Kitchen lamp')).id).toBe('kitchen-lamp-2');
    expect(new DeviceStore(store).entryOf(planned('3', 'Kitchen lamp')).id).toBe('kitchen-lamp-3');
  });
});

describe('a device that replaces another one', () => {
  test('gets its id, name and area, whoever had them before; the id that it had is given to no other', () => {
    const store = new MemoryStore();
    const devices = new DeviceStore(store);
    devices.entryOf(planned('1', 'Lamp'));
    devices.entryOf(planned('2', 'Lamp'));
    devices.setArea('2', 'Attic');
    devices.forgetNode('1', [planned('1', 'Lamp')], 0);
    for (let time = 0; time < 2; time++) devices.takeOver('2', { id: parseDeviceId('lamp'), name: 'Desk' });
    const again = new DeviceStore(store);
    expect(again.entryOf(planned('2', 'Lamp'))).toEqual({ id: 'lamp', name: 'Desk', lastSeenMs: 0 });
    expect(again.entryOf(planned('3', 'Lamp 2')).id).toBe('lamp-2-2');
  });

  test('leaves nothing of a device that its bridge no longer has', () => {
    const store = new MemoryStore();
    const devices = new DeviceStore(store);
    for (const key of ['1', '1/e5', '2']) devices.entryOf(planned(key, key === '1/e5' ? 'Sofa' : 'Other'));
    devices.takeOver('2', { id: parseDeviceId('sofa'), name: 'Sofa', area: 'Salon' });
    expect(store.entries('devices').map(({ key }) => key)).toEqual(['1', '2']);
    expect(devices.entryOf(planned('2', ''))).toMatchObject({ id: 'sofa', area: 'Salon' });
  });
});

describe('a device that is commissioned again', () => {
  const facts = {
    label: '',
    vendor: { id: 1, name: '' },
    product: { id: 2, name: 'Lamp' },
    serial: 'S1',
    softwareVersion: '',
    uniqueId: '',
  };
  const bridge = (nodeId: string, own: Partial<typeof facts> = {}): readonly PlannedDevice[] => {
    const root = { ...planned(nodeId, 'Bridge'), nodeId, facts: { ...facts, ...own } };
    const lamp = { ...planned(`${nodeId}/e5`, 'Sofa lamp'), nodeId, kind: 'bridged' as const, parentKey: nodeId };
    return [root, lamp];
  };

  /** A store after the removal of the bridge and its lamp. */
  function afterRemoval(findings: readonly string[] | null = []) {
    const store = new MemoryStore();
    const devices = new DeviceStore(store);
    const old = bridge('1');
    for (const one of old) devices.entryOf(one);
    devices.rename('1/e5', 'Sofa');
    devices.setArea('1/e5', 'Salon');
    if (findings) devices.attest('1', findings);
    devices.forgetNode('1', old, 7);
    return new DeviceStore(store);
  }

  /** Which former device each of a node's devices seems to be. */
  function recognised(devices: DeviceStore, plans: readonly PlannedDevice[], findings: readonly string[] | null = []) {
    for (const one of plans) devices.entryOf(one);
    if (findings && plans[0]) devices.attest(plans[0].key, findings);
    return plans.map((one) => devices.recognise(one, plans)?.id);
  }

  test('is recognised by vendor, product and serial number, and bridged devices by their position and own claims', () => {
    const devices = afterRemoval();
    const again = bridge('2');
    expect(recognised(devices, again)).toEqual(['bridge', 'sofa-lamp']);
    expect(again.map((one) => devices.entryOf(one).id)).toEqual(['bridge-2', 'sofa-lamp-2']);
    const other = [
      ...bridge('3').slice(0, 1),
      ...bridge('3')
        .slice(1)
        .map((one) => ({ ...one, deviceTypes: ['DoorLock'] })),
    ];
    expect(recognised(devices, other)).toEqual(['bridge', undefined]);
  });

  test('gets its id, name and area back only when a person restores it', () => {
    const devices = afterRemoval();
    const [, lamp] = bridge('2');
    recognised(devices, bridge('2'));
    if (lamp === undefined) throw new AtmoError('INTERNAL_ERROR', 'The bridge has a lamp');
    const former = devices.recognise(lamp, bridge('2'));
    if (former) devices.restore(lamp.key, former);
    expect(devices.entryOf(lamp)).toMatchObject({ id: 'sofa-lamp', name: 'Sofa', area: 'Salon' });
    expect(devices.recognise(lamp, bridge('2'))).toBeUndefined();
    expect(devices.entryOf(planned('9', 'Sofa lamp')).id).toBe('sofa-lamp-3');
  });

  test.each([
    ['another serial number', { serial: 'S2' }],
    ['no serial number and no unique id', { serial: '' }],
    ['another product', { product: { id: 3, name: 'Lamp' } }],
    ['another maker', { vendor: { id: 9, name: '' } }],
  ])('is not recognised with %s', (_what, own) => {
    expect(recognised(afterRemoval(), bridge('2', own))).toEqual([undefined, undefined]);
  });

  test('is not recognised when its attestation is weaker than it was, or unknown', () => {
    const doubt = 'the maker is not trusted';
    expect(recognised(afterRemoval(), bridge('2'), [doubt])).toEqual([undefined, undefined]);
    expect(recognised(afterRemoval([doubt]), bridge('2'), [doubt])).toEqual(['bridge', 'sofa-lamp']);
    expect(recognised(afterRemoval(null), bridge('2'), [doubt])).toEqual([undefined, undefined]);
    expect(recognised(afterRemoval(null), bridge('2'))).toEqual(['bridge', 'sofa-lamp']);
    expect(recognised(afterRemoval(), bridge('2'), null)).toEqual([undefined, undefined]);
  });

  test('is not recognised among removed devices without data, whose ids stay reserved', () => {
    const store = new MemoryStore();
    store.set('devices.former', 'bridge', true);
    const devices = new DeviceStore(store);
    expect(recognised(devices, bridge('2'))).toEqual([undefined, undefined]);
    expect(devices.entryOf(bridge('2')[0] ?? planned('2', '')).id).toBe('bridge-2');
  });
});

describe('text from devices', () => {
  test('loses control and direction characters, has single spaces, and ends at 64 code points', () => {
    expect(deviceText('a\u0000b\u202Ec\n\td')).toBe('a b c d');
    expect([...deviceText('🙂'.repeat(100))]).toHaveLength(64);
    expect(deviceText(undefined)).toBe('');
  });
});

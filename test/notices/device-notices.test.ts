import { describe, expect, test } from 'vitest';
import type { Device } from '../../src/core/devices/device-model.ts';
import type { Reading, ReadingValue } from '../../src/core/devices/sensor-readings.ts';
import { AtmoError } from '../../src/core/errors.ts';
import type { DeviceId, SensorId } from '../../src/core/ids.ts';
import { DeviceNotices } from '../../src/notices/device-notices.ts';
import { KilledStore } from '../killed-store.ts';
import { ManualClock } from '../manual-clock.ts';
import { MemoryKeyValueStore } from '../memory-key-value-store.ts';
import { household, reachFake, type Sent } from './notices-fixture.ts';

const HOUR_MS = 3_600_000;

function deviceOf(id: string, change: Partial<Device> = {}): Device {
  return {
    id: id as DeviceId,
    name: id.replace('-', ' '),
    area: 'Cellar',
    kind: 'node',
    nodeId: '1',
    vendor: { id: 1, name: 'v' },
    product: { id: 1, name: 'p' },
    deviceTypes: [],
    reachability: 'reachable',
    lastSeenMs: 0,
    isSleepy: false,
    ...change,
  };
}

/** A home whose devices and readings tests set; `ann` is told of everything. */
async function home(options: Parameters<typeof household>[0] = {}) {
  const parts = await household({ personsFor: () => ['ann'], ...options });
  const devices = new Map<string, Device>();
  const readings = new Map<string, Reading>();
  const notices = new DeviceNotices({
    clock: parts.clock,
    events: parts.events,
    readings: { sensors: () => [...readings.values()] },
    directory: { list: () => [...devices.values()], get: (id) => devices.get(id) },
    publisher: parts.publisher,
  });
  const place = (device: Device) => devices.set(device.id, device);
  const hold = (device: string, kind: string, value: ReadingValue | null, atMs = parts.clock.now()) => {
    const id = `${device}/${kind}` as SensorId;
    const sensor = { id, device: device as DeviceId, name: kind, kind, unit: '', title: kind };
    readings.set(id, { sensor, value, atMs, reachability: 'reachable' });
    return id;
  };
  const report = (device: string, kind: string, value: ReadingValue | null) =>
    parts.events.emit('sensor.reading', hold(device, kind, value), { kind, value });
  const alarm = (device: string, alarmCode: string) =>
    parts.events.emit('device.event', device, { event: 'DoorLockAlarm', data: { alarmCode } });
  const told = () => parts.sent.filter(({ way }) => way === 'phone').map(({ kind, message }) => [kind, message]);
  return { ...parts, deviceNotices: notices, place, hold, report, alarm, told };
}

async function started(devices: readonly Device[] = [deviceOf('leak-sensor'), deviceOf('front-door')]) {
  const one = await home();
  for (const device of devices) one.place(device);
  await one.deviceNotices.start();
  return one;
}

describe('a device that reports danger', () => {
  test.each<[string, string, ReadingValue, ReadingValue, string]>([
    ['leak', 'leak', true, false, 'leak sensor (Cellar) senses water. Turn off the water and go and look.'],
    ['smoke', 'smoke', 'critical', 'normal', 'leak sensor (Cellar) senses smoke. If it burns, leave the house and call the fire brigade.'],
    [
      'smoke',
      'carbon_monoxide_alarm',
      'warning',
      'normal',
      'leak sensor (Cellar) senses carbon monoxide. Open a window and leave the house at once.',
    ],
    ['battery', 'battery', 9, 100, 'The battery of leak sensor (Cellar) is low.'],
    ['battery', 'battery_level', 'critical', 'ok', 'The battery of leak sensor (Cellar) is low.'],
    ['battery', 'battery_alert', 'warning', 'normal', 'The battery of leak sensor (Cellar) is low.'],
    ['battery', 'battery_alert', true, false, 'The battery of leak sensor (Cellar) is low.'],
  ])('%s by %s (%j) is told at once, once, and again when it came back', async (kind, reading, danger, calm, text) => {
    const { report, pass, told } = await started();
    for (let count = 0; count < 3; count++) report('leak-sensor', reading, danger);
    await pass(0);
    expect(told()).toEqual([[kind, text]]);
    report('leak-sensor', reading, null);
    report('leak-sensor', reading, danger);
    report('leak-sensor', reading, calm);
    report('leak-sensor', reading, danger);
    await pass(0);
    expect(told()).toHaveLength(2);
  });

  test('is told although it reported while the hub did not run', async () => {
    const one = await home();
    one.place(deviceOf('leak-sensor'));
    one.hold('leak-sensor', 'leak', true);
    await one.deviceNotices.start();
    await one.pass(0);
    expect(one.told()).toHaveLength(1);
  });

  test('is not told again because the reading that was kept is older than the danger', async () => {
    const { report, hold, pass, told, publisher, clock } = await started();
    report('leak-sensor', 'leak', true);
    hold('leak-sensor', 'leak', false, clock.now() - 1);
    await pass(60_000);
    expect(publisher.openAtMs('leak/leak-sensor')).toBeDefined();
    report('leak-sensor', 'leak', true);
    await pass(0);
    expect(told()).toHaveLength(1);
    hold('leak-sensor', 'leak', false);
    await pass(60_000);
    expect(publisher.openAtMs('leak/leak-sensor')).toBeUndefined();
  });

  test('is not told again because another reading of the device is reported', async () => {
    const { report, hold, pass, told, publisher, clock } = await started();
    report('leak-sensor', 'leak', true);
    hold('leak-sensor', 'leak', false, clock.now() - 1);
    report('leak-sensor', 'battery', 80);
    expect(publisher.openAtMs('leak/leak-sensor')).toBeDefined();
    report('leak-sensor', 'leak', true);
    await pass(0);
    expect(told()).toHaveLength(1);
  });

  test('a battery between low and charged changes nothing', async () => {
    const { report, pass, told, publisher } = await started();
    report('leak-sensor', 'battery', 15);
    await pass(0);
    expect(told()).toEqual([]);
    report('leak-sensor', 'battery', 10);
    report('leak-sensor', 'battery', 15);
    expect(publisher.openAtMs('battery/leak-sensor')).toBeDefined();
    report('leak-sensor', 'battery', 20);
    expect(publisher.openAtMs('battery/leak-sensor')).toBeUndefined();
  });

  test('ends with the device', async () => {
    const { report, events, publisher } = await started();
    report('leak-sensor', 'leak', true);
    events.emit('device.removed', 'leak-sensor', {});
    expect(publisher.openAtMs('leak/leak-sensor')).toBeUndefined();
  });
});

describe('a lock', () => {
  test('that stays half locked is told after 20 seconds, one that moves is not', async () => {
    const { report, pass, told } = await started();
    report('front-door', 'lock', 'not_fully_locked');
    await pass(5_000);
    report('front-door', 'lock', 'locked');
    await pass(60_000);
    expect(told()).toEqual([]);
    report('front-door', 'lock', 'not_fully_locked');
    await pass(20_000);
    expect(told()).toEqual([['lock', 'front door (Cellar) is jammed. Go and look.']]);
    report('front-door', 'lock', 'unlocked');
    await pass(60_000);
    expect(told()).toHaveLength(1);
  });

  test('tells each of its alarms, also while another lasts, and stays told while its state is as before', async () => {
    const { alarm, hold, pass, told } = await started();
    hold('front-door', 'lock', 'locked');
    alarm('front-door', 'LockJammed');
    alarm('front-door', 'LockJammed');
    alarm('front-door', 'DoorForcedOpen');
    alarm('front-door', 'SomethingNew');
    await pass(120_000);
    alarm('front-door', 'LockJammed');
    await pass(0);
    expect(told().map(([, message]) => message)).toEqual([
      'front door (Cellar) is jammed. Go and look.',
      'front door (Cellar) reports that its door was forced open. Go and look.',
    ]);
  });
});

describe('a device that does not answer', () => {
  test('is told after an hour, a sleepy one after twelve, one behind a lost bridge never', async () => {
    const { place, pass, told, clock } = await started([]);
    const lost = { reachability: 'unreachable', lastSeenMs: clock.now() } as const;
    place(deviceOf('bridge', lost));
    place(deviceOf('bulb', { ...lost, parent: 'bridge' as DeviceId }));
    place(deviceOf('button', { ...lost, isSleepy: true }));
    await pass(HOUR_MS - 60_000);
    expect(told()).toEqual([]);
    await pass(120_000);
    expect(told()).toEqual([['device', expect.stringMatching(/^bridge \(Cellar\) has not answered for an hour\./)]]);
    await pass(11 * HOUR_MS);
    expect(told().map(([, message]) => String(message).split(' ')[0])).toEqual(['bridge', 'button']);
    place(deviceOf('bridge'));
    await pass(60_000);
    place(deviceOf('bridge', { ...lost, lastSeenMs: clock.now() }));
    await pass(2 * HOUR_MS);
    expect(told()).toHaveLength(3);
  });
});

describe('a hub that is killed', () => {
  // Writes of a leak that ends and comes back: two deliveries, the notice, two for each delivery that is sent, the end, and all again.
  test.each(Array.from({ length: 15 }, (_, index) => index + 1))(
    'at write %i of two leaks tells each, and repeats no message with another id',
    async (writes) => {
      const clock = new ManualClock();
      const store = new MemoryKeyValueStore(clock);
      const killed = new KilledStore(store, writes);
      const sent: Sent[] = [];
      const live = async (one: Awaited<ReturnType<typeof home>>, steps: readonly (boolean | undefined)[]) => {
        one.place(deviceOf('leak-sensor'));
        await one.deviceNotices.start();
        for (const isWet of steps) {
          if (isWet !== undefined) one.report('leak-sensor', 'leak', isWet);
          await one.pass(100);
        }
        await one.deviceNotices[Symbol.asyncDispose]();
        await one.outbox[Symbol.asyncDispose]();
      };
      const reach = (isDead: () => boolean) =>
        reachFake(async (message) => {
          if (isDead()) throw new AtmoError('SERVICE_UNAVAILABLE', 'killed');
          sent.push(message);
        });
      await live(await home({ clock, store: killed, reach: reach(() => killed.isDead) }), [true, false, true]);
      killed.isDead = true;
      await live(await home({ clock, store, reach: reach(() => false) }), [true, undefined]);
      for (const way of ['phone', 'mail']) {
        const ids = sent.filter((message) => message.way === way).map(({ id }) => id);
        const distinct = new Set(ids).size;
        // A process that ended before the end of the first leak was stored knows one leak, which lasts.
        expect([1, 2]).toContain(distinct);
        expect(ids.length - distinct, `${way} repeated`).toBeLessThan(2);
      }
    },
  );
});

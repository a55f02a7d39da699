import { expect, test } from 'vitest';
import type { PastReading } from '../../../src/core/devices/sensor-readings.ts';
import { LEFT_OUT } from '../../../src/core/storage/event-history.ts';
import type { HistoryStore } from '../../../src/storage/history/history-store.ts';
import { AuditLogFixture, sensorId, sensorInfo } from '../storage-fixture.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const HALL = sensorId('hall/temperature');
const KITCHEN = sensorId('kitchen/temperature');

function told(store: HistoryStore, ids: readonly (typeof HALL)[], startMs: number, endMs: number): readonly PastReading[] {
  return [...store.past(ids, { startMs, endMs })].flat();
}

async function openStore(fixture: AuditLogFixture): Promise<HistoryStore> {
  const store = await fixture.history({ commitEveryMs: HOUR });
  for (const id of [HALL, KITCHEN]) store.describe(id, sensorInfo(id));
  return store;
}

test('past readings of several sensors come in the order of time, after the last value of each before the range', async () => {
  await using fixture = new AuditLogFixture();
  const store = await openStore(fixture);
  const startMs = fixture.clock.now();
  const said = [
    { sensor: HALL, value: 20, atMs: startMs - 2 * MINUTE },
    { sensor: HALL, value: 21, atMs: startMs - MINUTE },
    { sensor: KITCHEN, value: 22, atMs: startMs + 5 * MINUTE },
    { sensor: HALL, value: 23, atMs: startMs + 3 * HOUR },
    { sensor: KITCHEN, value: 24, atMs: startMs + 3 * HOUR },
  ];
  for (const { sensor, value, atMs } of said) store.record(sensor, value, atMs);
  const kept = said.slice(1).map((one) => ({ ...one, isSlot: false }));
  expect(told(store, [HALL, KITCHEN], startMs, startMs + DAY)).toEqual(kept);
  expect(told(store, [KITCHEN], startMs, startMs + 3 * HOUR)).toEqual(kept.slice(1, 2));
  expect(told(store, [sensorId('cellar/temperature')], startMs, startMs + DAY)).toEqual([]);
});

test('a second with more readings than a page loses none', async () => {
  await using fixture = new AuditLogFixture();
  const store = await openStore(fixture);
  const startMs = fixture.clock.now();
  for (let index = 0; index < 12_000; index++) {
    store.record(index % 2 === 0 ? HALL : KITCHEN, index, startMs + Math.floor(index / 20));
    if (index % 5_000 === 0) store.flush();
  }
  const last = new Map(Array.from({ length: 12_000 }, (_, index) => [`${index % 2} ${Math.floor(index / 20)}`, index]));
  expect(told(store, [HALL, KITCHEN], startMs, startMs + DAY).length).toBe(last.size);
});

test('older readings are slots of five minutes: at most two values, the nearer to the one before first', async () => {
  await using fixture = new AuditLogFixture();
  const store = await openStore(fixture);
  const startMs = fixture.clock.now();
  for (const [minute, value] of [
    [0, 20],
    [1, 25],
    [2, 18],
    [6, 19],
    [11, 30],
    [12, 21],
  ] as const) {
    store.record(HALL, value, startMs + minute * MINUTE);
  }
  fixture.clock.advance(HOUR);
  store.flush();
  fixture.clock.advance(10 * DAY);
  const slots = told(store, [HALL], startMs, startMs + HOUR).map(({ value, atMs, isSlot }) => [value, (atMs - startMs) / MINUTE, isSlot]);
  expect(slots).toEqual([
    [18, 0, true],
    [25, 2.5, true],
    [19, 5, true],
    [21, 10, true],
    [30, 12.5, true],
  ]);
});

test('events are kept for a month, and the last change of a device for longer', async () => {
  await using fixture = new AuditLogFixture();
  const store = await openStore(fixture);
  const { events } = store;
  const startMs = fixture.clock.now();
  events.begin(startMs);
  events.note({ atMs: startMs + 1, type: 'device.reachability', subject: 'lamp', data: { reachability: 'reachable', before: null } });
  events.note({ atMs: startMs + 2, type: 'scene.run', subject: 'night', data: {} });
  fixture.clock.advance(32 * DAY);
  const nowMs = fixture.clock.now();
  events.note({ atMs: nowMs - 1, type: 'scene.run', subject: 'day', data: {} });
  store.flush();
  expect([...events.between({ startMs, endMs: nowMs })].flat().map(({ type, subject }) => `${type} ${subject}`)).toEqual([
    'history.began ',
    'device.reachability lamp',
    'scene.run day',
  ]);
  expect(events.sinceMs()).toBe(startMs);
  expect(events.newestMs()).toBe(nowMs - 1);
  expect(events.lastOfEach(['device.reachability'])).toMatchObject([{ subject: 'lamp', data: { reachability: 'reachable' } }]);
  expect(events.firstOfEach(['scene.run'], startMs)).toMatchObject([{ subject: 'day' }]);
});

test('events that come too fast or are too long are left out, which one row of the minute says', async () => {
  await using fixture = new AuditLogFixture();
  const store = await openStore(fixture);
  const startMs = fixture.clock.now();
  const leftOut = () => [...store.events.between({ startMs, endMs: startMs + HOUR })].flat().filter(({ type }) => type === LEFT_OUT);
  for (let index = 0; index < 700; index++) store.events.note({ atMs: startMs + index, type: 'scene.run', subject: 'night', data: {} });
  expect(leftOut()).toEqual([{ atMs: startMs + 500, type: LEFT_OUT, subject: '', data: { count: 200, until_ms: startMs + 699 } }]);
  const data = { data: 'x'.repeat(3_000) };
  store.events.note({ atMs: startMs + 5_000, type: 'device.event', subject: 'button', data });
  expect(leftOut().map(({ data: { count } }) => count)).toEqual([200, 1]);
  expect(leftOut()).toHaveLength(2);
});

test('of more events than are kept, the oldest go, and it is known since when they are complete', async () => {
  await using fixture = new AuditLogFixture();
  const store = await openStore(fixture);
  const startMs = fixture.clock.now();
  store.events.begin(startMs);
  for (let index = 0; index < 50_400; index++) {
    store.events.note({ atMs: startMs + index, type: 'device.event', subject: 'button', data: {} });
    if (index % 400 === 0) store.flush();
  }
  fixture.clock.advance(2 * HOUR);
  store.flush();
  const left = [...store.events.between({ startMs: 0, endMs: fixture.clock.now() })].flat();
  expect(left.length).toBe(50_001);
  expect(store.events.sinceMs()).toBe(left[1] && left[1].atMs - 1);
});

import { expect, test } from 'vitest';
import type { JsonObject } from '../../../src/core/json.ts';
import { LAMP, OCCUPANCY, TEMPERATURE } from './house-life.ts';
import { LivedHouse } from './lived-house.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const ON = { tool: 'matter:hall_lamp_turn_on' };
const reading = (sensor_id: string, more: JsonObject): JsonObject => ({ type: 'reading', sensor_id, ...more });

async function openHouse(options: ConstructorParameters<typeof LivedHouse>[0] = {}): Promise<LivedHouse> {
  const home = new LivedHouse(options);
  await home.start();
  return home;
}

test('a run at night is counted in the time zone of the house, on both sides of the end of summer time', async () => {
  await using home = await openHouse();
  await home.pass(30 * DAY);
  const night = await home.replay({ trigger: { type: 'time', at: '01:30' }, actions: [ON] });
  expect([night.runs, night.nights]).toEqual([30, 30]);
  expect(night.list[0]).toMatchObject({
    at: '2026-11-20T00:30:00.000Z',
    trigger: { type: 'time', at: '01:30' },
    would: ['Turn on hall lamp'],
  });
  expect(night.list.at(-1)?.at).toBe('2026-10-21T23:30:00.000Z');
  const later = await home.replay({ trigger: { type: 'time', at: '05:00' }, actions: [ON] });
  expect([later.runs, later.nights]).toEqual([30, 0]);
});

test('while the hub was off, also after a crash, nothing would have run', async () => {
  await using home = await openHouse();
  await home.pass(DAY);
  await home.restart(6 * HOUR);
  await home.pass(3 * HOUR);
  await home.report(TEMPERATURE, 20);
  await home.crash(5 * HOUR);
  await home.pass(DAY);
  const { list } = await home.replay({ trigger: { type: 'every', seconds: 3600 }, actions: [ON] }, 3);
  const times = list.map(({ at }) => Date.parse(at)).reverse();
  const gaps = times.slice(1).map((at, index) => Math.round((at - (times[index] ?? at)) / HOUR));
  expect(gaps.filter((hours) => hours > 2)).toEqual([7, 6]);
});

test('of five-minute slots a crossing counts once, and it is said until when times are not exact', async () => {
  await using home = await openHouse({ retentionMs: { raw: DAY, '5min': 60 * DAY, '1h': 365 * DAY } });
  for (const celsius of [20, 26, 20, 26, 20, 26]) {
    await home.report(TEMPERATURE, celsius);
    await home.pass(MINUTE);
  }
  await home.pass(5 * DAY);
  await home.report(TEMPERATURE, 21);
  await home.pass(HOUR);
  await home.report(TEMPERATURE, 26);
  await home.pass(HOUR);
  const { runs, incomplete } = await home.replay({ trigger: reading(TEMPERATURE, { above: 25 }), actions: [ON], cooldown_seconds: 0 });
  expect(runs).toBe(1 + 1);
  expect(incomplete.map(({ kind }) => kind)).toEqual(['no_readings', 'five_minute_slots']);
});

test('what has no history is told and not guessed', async () => {
  await using home = await openHouse();
  await home.pass(DAY);
  await home.report(LAMP, true);
  await home.pass(MINUTE);
  const config = {
    trigger: [
      { type: 'webhook', name: 'bell' },
      { type: 'device_event', device_id: 'hall-button', event: 'InitialPress' },
    ],
    conditions: [
      reading(OCCUPANCY, { equals: 'occupied' }),
      reading(LAMP, { equals: true, max_age_seconds: 60 }),
      { type: 'flag', flag: 'night' },
    ],
    actions: [ON],
  };
  const { runs, incomplete } = await home.replay(config);
  expect(runs).toBe(0);
  const from = '2026-10-21T09:00:00.000Z';
  expect(incomplete.map(({ kind, id, until }) => [kind, id, until])).toEqual([
    ['no_readings', OCCUPANCY, undefined],
    ['no_readings', LAMP, '2026-10-22T09:00:05.000Z'],
    ['webhook', 'bell', undefined],
    ['no_events', 'hall-button', from],
    ['age_of_readings', LAMP, undefined],
    ['no_events', 'night', from],
  ]);
});

test('events that came too fast to be kept are told of a draft that looks at events, and not of one that looks at the time', async () => {
  await using home = await openHouse();
  await home.pass(MINUTE);
  for (let press = 0; press < 600; press++) home.events.emit('device.event', 'hall-button', { event: 'InitialPress', cluster: 'Switch' });
  await home.pass(MINUTE);
  const press = { type: 'device_event', device_id: 'hall-button', event: 'InitialPress' };
  const { incomplete } = await home.replay({ trigger: press, actions: [ON] });
  expect(incomplete.find(({ kind }) => kind === 'events_left_out')?.text).toMatch(/^\d+ events between .* were left out/);
  const { incomplete: ofTime } = await home.replay({ trigger: { type: 'every', seconds: 3600 }, actions: [ON] });
  expect(ofTime).toEqual([]);
});

test('one replay runs at a time, few wait, and one that is no longer wanted ends', async () => {
  await using home = await openHouse();
  await home.pass(30 * DAY);
  const config = { trigger: { type: 'every', seconds: 60 }, actions: [ON, { type: 'wait', seconds: 30 }], cooldown_seconds: 0 };
  const stopped = home.replayWith(config, { signal: AbortSignal.timeout(1) });
  const others = ['a', 'b', 'c', 'd'].map((caller) => home.replayWith(config, { days: 1, caller }));
  await expect(home.replayWith(config, { days: 1, caller: 'e' })).rejects.toMatchObject({ code: 'RESOURCE_EXCEEDED' });
  await expect(stopped).rejects.toMatchObject({ name: 'TimeoutError' });
  expect((await Promise.all(others)).map(({ runs }) => runs)).toEqual([1440, 1440, 1440, 1440]);
});

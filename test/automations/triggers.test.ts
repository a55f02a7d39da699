import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../src/core/json.ts';
import { TurnableClock } from '../auth/approvals/approval-fixture.ts';
import { settled } from '../calls/pipeline-fixture.ts';
import { type AgentRoom, agentRoom, codeOf, LAMP_ON, restarted, SENSOR, startedRoom } from './agent-fixture.ts';

const NOT_LATE = { cooldown_seconds: 0, max_runs_per_hour: 3600 };
const PERMISSIONS = [`sensor:read:${SENSOR}`, 'device:control:lamp', 'device:read:switch'];

async function roomWith(trigger: JsonObject, extra: JsonObject = {}, before?: number): Promise<AgentRoom> {
  const room = await startedRoom({ timeZone: 'Europe/Berlin' });
  if (before !== undefined) await room.report(before);
  const answer = await room.spawn({ trigger, actions: [LAMP_ON], ...NOT_LATE, ...extra }, { permissions: PERMISSIONS });
  expect(codeOf(answer)).toBe('success');
  return room;
}

/** How many runs there are after each of the values. */
async function runsAfter(room: AgentRoom, values: readonly (number | boolean | null)[]): Promise<readonly number[]> {
  const counts: number[] = [];
  for (const value of values) {
    await room.report(value);
    counts.push(room.calls.length);
  }
  return counts;
}

describe('a reading', () => {
  const reading = (extra: JsonObject): JsonObject => ({ type: 'reading', sensor_id: SENSOR, ...extra });

  test('fires when it crosses, not while it stays there', async () => {
    const room = await roomWith(reading({ above: 25 }), {}, 20);
    expect(await runsAfter(room, [25, 26, 27, 25, 26])).toEqual([0, 1, 1, 1, 2]);
  });

  test('that is there already when it is first looked at fires when it comes back', async () => {
    const room = await roomWith(reading({ below: 18 }), {}, 15);
    expect(await runsAfter(room, [14, 19, 17])).toEqual([0, 0, 1]);
    const fresh = await roomWith(reading({ below: 18 }));
    expect(await runsAfter(fresh, [14, 19, 17])).toEqual([0, 0, 1]);
  });

  test('has to fall back by the hysteresis before it crosses again', async () => {
    const room = await roomWith(reading({ above: 25, hysteresis: 2 }), {}, 20);
    expect(await runsAfter(room, [26, 24, 26, 23, 25.5])).toEqual([1, 1, 1, 1, 2]);
  });

  test('fires when it becomes a value, booleans and 1 and 0 alike', async () => {
    const room = await roomWith(reading({ equals: true }), {}, 0);
    expect(await runsAfter(room, [true, 1, false, 1])).toEqual([1, 1, 1, 2]);
  });

  test('fires at any change, and not at a repetition', async () => {
    const room = await roomWith(reading({ changes: true }));
    expect(await runsAfter(room, [20, 20, 21, 21, 20])).toEqual([0, 0, 1, 1, 2]);
  });

  test('has to stay for its seconds, and a fall back ends the wait', async () => {
    const room = await roomWith(reading({ above: 25, for_seconds: 60 }), {}, 20);
    await room.report(26);
    await room.pass(59);
    await room.report(24);
    await room.pass(60);
    expect(room.calls).toHaveLength(0);
    await room.report(26);
    await room.pass(30);
    await room.report(27);
    await room.pass(30);
    expect(room.calls).toHaveLength(1);
    await room.pass(600);
    expect(room.calls).toHaveLength(1);
  });

  test('that is lost while it has to stay fires nothing, and the wait begins anew when it is back', async () => {
    const room = await roomWith(reading({ above: 25, for_seconds: 60 }), {}, 20);
    await room.report(26);
    await room.reach('hall-sensor', 'unreachable');
    await room.pass(120);
    expect(room.calls).toHaveLength(0);
    await room.reach('hall-sensor', 'reachable');
    await room.report(26);
    await room.report(null);
    await room.pass(120);
    expect(room.calls).toHaveLength(0);
    await room.report(26);
    await room.pass(60);
    expect(room.calls).toHaveLength(1);
  });

  test('that is unknown or from the past fires nothing', async () => {
    const room = await roomWith(reading({ above: 25 }), {}, 20);
    await room.report(null);
    await room.report(30, { ageMs: 61_000 });
    expect(room.calls).toHaveLength(0);
    await room.report(30);
    expect(room.calls).toHaveLength(1);
  });

  test('tells its value, the one before and its unit to the actions', async () => {
    const room = await roomWith(reading({ above: 25 }), { actions: [{ ...LAMP_ON, params: { level: { trigger: 'value' } } }] }, 20);
    await room.report(26.5);
    expect(room.calls).toMatchObject([{ params: { level: 26.5 }, agent: 'auto' }]);
  });
});

describe('a device', () => {
  const press = { event: 'InitialPress', cluster: 'Switch', endpoint: 1, data: {}, title: 'Pressed', kind: 'press' };

  test('that sends the event fires; another event, cluster or device, and an old one do not', async () => {
    const room = await roomWith({ type: 'device_event', device_id: 'switch', event: 'InitialPress', cluster: 'Switch' });
    const at_ms = room.clock.now();
    room.events.emit('device.event', 'switch', { ...press, event: 'LongPress', at_ms });
    room.events.emit('device.event', 'switch', { ...press, cluster: 'Other', at_ms });
    room.events.emit('device.event', 'lamp', { ...press, at_ms });
    room.events.emit('device.event', 'switch', { ...press, at_ms: at_ms - 61_000 });
    await settled();
    expect(room.calls).toHaveLength(0);
    room.events.emit('device.event', 'switch', { ...press, at_ms });
    await settled();
    expect(room.calls).toHaveLength(1);
  });

  test('that is lost or comes back fires once, and what a start finds is no change', async () => {
    const room = await roomWith({ type: 'reachability', device_id: 'switch', becomes: 'unreachable' });
    await room.reach('switch', 'unreachable');
    await room.reach('switch', 'unreachable');
    await room.reach('switch', 'unknown');
    await room.reach('switch', 'unreachable');
    expect(room.calls).toHaveLength(1);
    await room.runner[Symbol.asyncDispose]();
    const after = await agentRoom(room);
    after.devices.devices = [];
    await after.runner.start();
    await after.reach('switch', 'unreachable');
    expect(after.calls).toHaveLength(0);
  });
});

describe('time', () => {
  test('of day fires on the wall clock of the hub, once a day, over the change to summer time', async () => {
    const room = await startedRoom({ timeZone: 'Europe/Berlin' });
    room.clock.advance(Date.parse('2026-03-28T12:00:00Z') - room.clock.now());
    await room.spawn({ trigger: { type: 'time', at: '07:30' }, actions: [LAMP_ON] }, { ttl_seconds: 7 * 86_400 });
    const runs: string[] = [];
    room.onLamp(async () => runs.push(new Date(room.clock.now()).toISOString()));
    for (const day of ['2026-03-29', '2026-03-30']) {
      room.clock.advance(Date.parse(`${day}T05:29:00Z`) - room.clock.now());
      await room.passMinutes(2);
    }
    expect(runs).toEqual(['2026-03-29T05:30:00.000Z', '2026-03-30T05:30:00.000Z']);
  });

  test('of day that passed while the hub was off is skipped', async () => {
    const room = await roomWith({ type: 'time', at: '01:30' });
    await room.runner[Symbol.asyncDispose]();
    room.clock.advance(3_600_000);
    const after = await restarted(room, { timeZone: 'Europe/Berlin' });
    await after.pass(600);
    expect([...room.calls, ...after.calls]).toEqual([]);
    await after.pass(23 * 3600);
    expect((await after.view('auto')).status).toBe('expired');
  });

  test('of day that a clock set forward jumps over is skipped; a clock set back a little does not fire it twice', async () => {
    const clock = new TurnableClock();
    const room = await startedRoom({ clock });
    await room.spawn({ trigger: { type: 'time', at: '01:30' }, actions: [LAMP_ON] }, { ttl_seconds: 7 * 86_400 });
    clock.offsetMs += 2 * 3_600_000;
    await room.passMinutes(3);
    expect(room.calls).toHaveLength(0);
    await room.pass(Math.floor((Date.parse('2026-01-02T01:29:00Z') - clock.now()) / 1000));
    await room.passMinutes(2);
    expect(room.calls).toHaveLength(1);
    clock.offsetMs -= 10 * 60_000;
    await room.passMinutes(30);
    expect(room.calls).toHaveLength(1);
    clock.offsetMs -= 5 * 3_600_000;
    await room.pass(4 * 3600);
    await room.pass(Math.floor((Date.parse('2026-01-02T01:29:00Z') - clock.now()) / 1000));
    await room.passMinutes(2);
    expect(room.calls).toHaveLength(2);
  });

  test('of day fires nothing on a clock that nobody trusts', async () => {
    let isTrusted = false;
    const room = await startedRoom({ isTimeTrusted: () => isTrusted });
    await room.spawn({ trigger: { type: 'time', at: '01:30' }, actions: [LAMP_ON] }, { ttl_seconds: 4 * 86_400 });
    await room.pass(2 * 3600);
    expect(room.calls).toHaveLength(0);
    isTrusted = true;
    await room.pass(23 * 3600 + 29 * 60);
    await room.passMinutes(2);
    expect(room.calls).toHaveLength(1);
  });

  test('again and again fires every so many seconds', async () => {
    const room = await roomWith({ type: 'every', seconds: 10 });
    for (let index = 0; index < 6; index++) await room.pass(10);
    expect(room.calls).toHaveLength(6);
  });
});

describe('conditions', () => {
  const everyMinute = { type: 'every', seconds: 60 };

  test('on a reading hold while it is known, new enough and of a device that answers', async () => {
    const room = await roomWith(everyMinute, { conditions: [{ type: 'reading', sensor_id: SENSOR, above: 20, max_age_seconds: 90 }] });
    await room.pass(60);
    expect(room.calls).toHaveLength(0);
    await room.report(21);
    await room.pass(60);
    expect(room.calls).toHaveLength(1);
    await room.pass(60);
    expect(room.calls).toHaveLength(1);
    await room.report(21);
    await room.reach('hall-sensor', 'unreachable');
    await room.pass(60);
    expect(room.calls).toHaveLength(1);
  });

  test('on the time of day hold within a window, over midnight too, and on their days', async () => {
    const room = await roomWith(everyMinute, { conditions: [{ type: 'time', after: '23:00', before: '01:02' }] });
    await room.pass(60);
    await room.pass(60);
    expect(room.calls).toHaveLength(1);
    const elsewhere = await roomWith(everyMinute, { conditions: [{ type: 'time', days: ['wed'], time_zone: 'America/New_York' }] });
    await elsewhere.pass(60);
    expect(elsewhere.calls).toHaveLength(1);
    const here = await roomWith(everyMinute, { conditions: [{ type: 'time', days: ['wed'] }] });
    await here.pass(60);
    expect(here.calls).toHaveLength(0);
  });
});

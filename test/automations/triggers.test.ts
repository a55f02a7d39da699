import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../src/core/json.ts';
import { settled } from '../calls/pipeline-fixture.ts';
import { ManualClock } from '../manual-clock.ts';
import { type AgentFixture, agentFixture, codeOf, LAMP_ON, restarted, SENSOR, startedFixture } from './agent-fixture.ts';

const NOT_LATE = { cooldown_seconds: 0, max_runs_per_hour: 3600 };
const PERMISSIONS = [`sensor:read:${SENSOR}`, 'device:control:lamp', 'device:read:switch'];

async function fixtureWith(trigger: JsonObject, extra: JsonObject = {}, before?: number): Promise<AgentFixture> {
  const fixture = await startedFixture({ timeZone: 'Europe/Berlin' });
  if (before !== undefined) await fixture.report(before);
  const answer = await fixture.spawn({ trigger, actions: [LAMP_ON], ...NOT_LATE, ...extra }, { permissions: PERMISSIONS });
  expect(codeOf(answer)).toBe('success');
  return fixture;
}

/** How many runs there are after each of the values. */
async function runsAfter(fixture: AgentFixture, values: readonly (number | boolean | null)[]): Promise<readonly number[]> {
  const counts: number[] = [];
  for (const value of values) {
    await fixture.report(value);
    counts.push(fixture.calls.length);
  }
  return counts;
}

describe('a reading', () => {
  const reading = (extra: JsonObject): JsonObject => ({ type: 'reading', sensor_id: SENSOR, ...extra });

  test('fires when it crosses, not while it stays there', async () => {
    const fixture = await fixtureWith(reading({ above: 25 }), {}, 20);
    expect(await runsAfter(fixture, [25, 26, 27, 25, 26])).toEqual([0, 1, 1, 1, 2]);
  });

  test('that already matches at its first value fires when it crosses again', async () => {
    const fixture = await fixtureWith(reading({ below: 18 }), {}, 15);
    expect(await runsAfter(fixture, [14, 19, 17])).toEqual([0, 0, 1]);
    const fresh = await fixtureWith(reading({ below: 18 }));
    expect(await runsAfter(fresh, [14, 19, 17])).toEqual([0, 0, 1]);
  });

  test('has to fall back by the hysteresis before it crosses again', async () => {
    const fixture = await fixtureWith(reading({ above: 25, hysteresis: 2 }), {}, 20);
    expect(await runsAfter(fixture, [26, 24, 26, 23, 25.5])).toEqual([1, 1, 1, 1, 2]);
  });

  test('fires when it becomes a value, booleans and 1 and 0 alike', async () => {
    const fixture = await fixtureWith(reading({ equals: true }), {}, 0);
    expect(await runsAfter(fixture, [true, 1, false, 1])).toEqual([1, 1, 1, 2]);
  });

  test('fires at any change, and not at a repetition', async () => {
    const fixture = await fixtureWith(reading({ changes: true }));
    expect(await runsAfter(fixture, [20, 20, 21, 21, 20])).toEqual([0, 0, 1, 1, 2]);
  });

  test('has to stay for its seconds, and a fall back ends the wait', async () => {
    const fixture = await fixtureWith(reading({ above: 25, for_seconds: 60 }), {}, 20);
    await fixture.report(26);
    await fixture.pass(59);
    await fixture.report(24);
    await fixture.pass(60);
    expect(fixture.calls).toHaveLength(0);
    await fixture.report(26);
    await fixture.pass(30);
    await fixture.report(27);
    await fixture.pass(30);
    expect(fixture.calls).toHaveLength(1);
    await fixture.pass(600);
    expect(fixture.calls).toHaveLength(1);
  });

  test('that is lost while it has to stay fires nothing, and the wait begins anew when it is back', async () => {
    const fixture = await fixtureWith(reading({ above: 25, for_seconds: 60 }), {}, 20);
    await fixture.report(26);
    await fixture.reach('hall-sensor', 'unreachable');
    await fixture.pass(120);
    expect(fixture.calls).toHaveLength(0);
    await fixture.reach('hall-sensor', 'reachable');
    await fixture.report(26);
    await fixture.report(null);
    await fixture.pass(120);
    expect(fixture.calls).toHaveLength(0);
    await fixture.report(26);
    await fixture.pass(60);
    expect(fixture.calls).toHaveLength(1);
  });

  test('that is unknown or from the past fires nothing', async () => {
    const fixture = await fixtureWith(reading({ above: 25 }), {}, 20);
    await fixture.report(null);
    await fixture.report(30, { ageMs: 61_000 });
    expect(fixture.calls).toHaveLength(0);
    await fixture.report(30);
    expect(fixture.calls).toHaveLength(1);
  });

  test('passes its value, the one before and its unit to the actions', async () => {
    const fixture = await fixtureWith(reading({ above: 25 }), { actions: [{ ...LAMP_ON, params: { level: { trigger: 'value' } } }] }, 20);
    await fixture.report(26.5);
    expect(fixture.calls).toMatchObject([{ params: { level: 26.5 }, agent: 'auto' }]);
  });
});

describe('a device', () => {
  const press = { event: 'InitialPress', cluster: 'Switch', endpoint: 1, data: {}, title: 'Pressed', kind: 'press' };

  test('that sends the event fires; another event, cluster or device, and an old one do not', async () => {
    const fixture = await fixtureWith({ type: 'device_event', device_id: 'switch', event: 'InitialPress', cluster: 'Switch' });
    const at_ms = fixture.clock.now();
    fixture.events.emit('device.event', 'switch', { ...press, event: 'LongPress', at_ms });
    fixture.events.emit('device.event', 'switch', { ...press, cluster: 'Other', at_ms });
    fixture.events.emit('device.event', 'lamp', { ...press, at_ms });
    fixture.events.emit('device.event', 'switch', { ...press, at_ms: at_ms - 61_000 });
    await settled();
    expect(fixture.calls).toHaveLength(0);
    fixture.events.emit('device.event', 'switch', { ...press, at_ms });
    await settled();
    expect(fixture.calls).toHaveLength(1);
  });

  test('that is lost or comes back fires once, and its state at the start is no change', async () => {
    const fixture = await fixtureWith({ type: 'reachability', device_id: 'switch', becomes: 'unreachable' });
    await fixture.reach('switch', 'unreachable');
    await fixture.reach('switch', 'unreachable');
    await fixture.reach('switch', 'unknown');
    await fixture.reach('switch', 'unreachable');
    expect(fixture.calls).toHaveLength(1);
    await fixture.runner[Symbol.asyncDispose]();
    const after = await agentFixture(fixture);
    after.devices.devices = [];
    await after.runner.start();
    await after.reach('switch', 'unreachable');
    expect(after.calls).toHaveLength(0);
  });
});

describe('time', () => {
  test('of day fires in the local time of the hub, once a day, over the change to summer time', async () => {
    const fixture = await startedFixture({ timeZone: 'Europe/Berlin' });
    fixture.clock.advance(Date.parse('2026-03-28T12:00:00Z') - fixture.clock.now());
    await fixture.spawn({ trigger: { type: 'time', at: '07:30' }, actions: [LAMP_ON] }, { ttl_seconds: 7 * 86_400 });
    const runs: string[] = [];
    fixture.onLamp(async () => runs.push(new Date(fixture.clock.now()).toISOString()));
    for (const day of ['2026-03-29', '2026-03-30']) {
      fixture.clock.advance(Date.parse(`${day}T05:29:00Z`) - fixture.clock.now());
      await fixture.passMinutes(2);
    }
    expect(runs).toEqual(['2026-03-29T05:30:00.000Z', '2026-03-30T05:30:00.000Z']);
  });

  test('of day that passed while the hub was off is skipped', async () => {
    const fixture = await fixtureWith({ type: 'time', at: '01:30' });
    await fixture.runner[Symbol.asyncDispose]();
    fixture.clock.advance(3_600_000);
    const after = await restarted(fixture, { timeZone: 'Europe/Berlin' });
    await after.pass(600);
    expect([...fixture.calls, ...after.calls]).toEqual([]);
    await after.pass(23 * 3600);
    expect((await after.view('auto')).runs).toBe(0);
  });

  test('of day that a clock set forward jumps over is skipped; a clock set back a little does not fire it twice', async () => {
    const clock = new ManualClock();
    const fixture = await startedFixture({ clock });
    await fixture.spawn({ trigger: { type: 'time', at: '01:30' }, actions: [LAMP_ON] }, { ttl_seconds: 7 * 86_400 });
    clock.correctBy(2 * 3_600_000);
    await fixture.passMinutes(3);
    expect(fixture.calls).toHaveLength(0);
    await fixture.pass(Math.floor((Date.parse('2026-01-02T01:29:00Z') - clock.now()) / 1000));
    await fixture.passMinutes(2);
    expect(fixture.calls).toHaveLength(1);
    clock.correctBy(-10 * 60_000);
    await fixture.passMinutes(30);
    expect(fixture.calls).toHaveLength(1);
    clock.correctBy(-5 * 3_600_000);
    await fixture.pass(4 * 3600);
    await fixture.pass(Math.floor((Date.parse('2026-01-02T01:29:00Z') - clock.now()) / 1000));
    await fixture.passMinutes(2);
    expect(fixture.calls).toHaveLength(2);
  });

  test('of day fires nothing on a clock that is not trusted', async () => {
    let isTrusted = false;
    const fixture = await startedFixture({ isTimeTrusted: () => isTrusted });
    await fixture.spawn({ trigger: { type: 'time', at: '01:30' }, actions: [LAMP_ON] }, { ttl_seconds: 4 * 86_400 });
    await fixture.pass(2 * 3600);
    expect(fixture.calls).toHaveLength(0);
    isTrusted = true;
    await fixture.pass(23 * 3600 + 29 * 60);
    await fixture.passMinutes(2);
    expect(fixture.calls).toHaveLength(1);
  });

  test('of an interval fires every so many seconds', async () => {
    const fixture = await fixtureWith({ type: 'every', seconds: 10 });
    for (let index = 0; index < 6; index++) await fixture.pass(10);
    expect(fixture.calls).toHaveLength(6);
  });
});

describe('conditions', () => {
  const everyMinute = { type: 'every', seconds: 60 };

  test('on a reading hold while it is known, new enough and of a device that answers', async () => {
    const fixture = await fixtureWith(everyMinute, {
      conditions: [{ type: 'reading', sensor_id: SENSOR, above: 20, max_age_seconds: 90 }],
    });
    await fixture.pass(60);
    expect(fixture.calls).toHaveLength(0);
    await fixture.report(21);
    await fixture.pass(60);
    expect(fixture.calls).toHaveLength(1);
    await fixture.pass(60);
    expect(fixture.calls).toHaveLength(1);
    await fixture.report(21);
    await fixture.reach('hall-sensor', 'unreachable');
    await fixture.pass(60);
    expect(fixture.calls).toHaveLength(1);
  });

  test('on the time of day hold within a window, over midnight too, and on their days', async () => {
    const fixture = await fixtureWith(everyMinute, { conditions: [{ type: 'time', after: '23:00', before: '01:02' }] });
    await fixture.pass(60);
    await fixture.pass(60);
    expect(fixture.calls).toHaveLength(1);
    const elsewhere = await fixtureWith(everyMinute, { conditions: [{ type: 'time', days: ['wed'], time_zone: 'America/New_York' }] });
    await elsewhere.pass(60);
    expect(elsewhere.calls).toHaveLength(1);
    const here = await fixtureWith(everyMinute, { conditions: [{ type: 'time', days: ['wed'] }] });
    await here.pass(60);
    expect(here.calls).toHaveLength(0);
  });
});

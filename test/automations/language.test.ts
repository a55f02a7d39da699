import { describe, expect, test } from 'vitest';
import type { Json, JsonObject } from '../../src/core/json.ts';
import { settled } from '../calls/pipeline-fixture.ts';
import { ManualClock } from '../manual-clock.ts';
import { type AgentFixture, codeOf, ENOUGH, LAMP_ON, restarted, resultOf, SENSOR, startedFixture } from './agent-fixture.ts';

const BERLIN = { latitude: 52.5, longitude: 13.4 };
const OFF = { tool: 'matter:lamp_turn_on', params: { level: 0 } };
const FLAGS = ['flag:set:vacation_mode', 'flag:read:vacation_mode'];
const SUN = 'location:read:hub';

async function started(place: typeof BERLIN | undefined = BERLIN): Promise<AgentFixture> {
  return startedFixture({ timeZone: 'Europe/Berlin', ...(place && { place }) });
}

/** Moves the clock to a moment, and lets what falls due there run to its end before more time passes. */
async function goTo(fixture: AgentFixture, iso: string): Promise<void> {
  fixture.clock.advance(Date.parse(iso) - fixture.clock.now());
  await settled();
  await settled();
}

describe('a sun trigger', () => {
  test('waits, chooses and sets a flag of the house, half an hour before sunset', async () => {
    const fixture = await started();
    const config: JsonObject = {
      trigger: { type: 'sun', event: 'sunset', offset_minutes: -30 },
      actions: [
        LAMP_ON,
        { type: 'wait', seconds: 600 },
        {
          type: 'choose',
          options: [{ conditions: [{ type: 'flag', flag: 'vacation_mode' }], actions: [OFF] }],
          otherwise: [{ type: 'set_flag', flag: 'vacation_mode', value: true, for_seconds: 3600 }],
        },
      ],
    };
    const permissions = [...ENOUGH, ...FLAGS, SUN];
    expect(codeOf(await fixture.spawn(config, { permissions, ttl_seconds: 7 * 86_400 }))).toBe('success');
    // The sun sets at 15:03 UTC in Berlin on the first of January.
    const { next_run_at: due } = await fixture.view('auto');
    expect(due).toMatch(/^2026-01-01T14:33/);
    await goTo(fixture, String(due));
    expect(fixture.calls).toHaveLength(1);
    expect(fixture.house.flag('vacation_mode')).toBeUndefined();
    await fixture.pass(600);
    expect(fixture.house.flags.list()).toMatchObject([{ name: 'vacation_mode', value: true, setBy: 'auto' }]);
    expect(fixture.calls).toHaveLength(1);
    expect(await fixture.view('auto')).toMatchObject({ runs: 1, is_running: false, last_outcome: 'success' });
    fixture.clock.advance(3_600_000);
    expect(fixture.house.flag('vacation_mode')).toBeUndefined();
  });
});

const PRESENCE = ['presence:read', 'presence:set:ann', 'presence:set:ben'];
const ALL = [...ENOUGH, ...FLAGS, ...PRESENCE, SUN, 'device:read:switch', 'scene:read:good_night', 'admin:approvals'];
const NOT_LATE: JsonObject = { cooldown_seconds: 0, max_runs_per_hour: 3600 };
const EVERY_MINUTE: JsonObject = { trigger: { type: 'every', seconds: 60 }, ...NOT_LATE };

/** An automation that runs at each post to its webhook. */
async function atWebhook(
  config: JsonObject,
  fixture?: AgentFixture,
): Promise<{ fixture: AgentFixture; post: (body?: JsonObject) => Promise<void> }> {
  const used = fixture ?? (await started());
  const spawned = await used.spawn(
    { trigger: { type: 'webhook', name: 'go' }, ...NOT_LATE, ...config },
    { permissions: ALL, ttl_seconds: 86_400 },
  );
  expect(spawned.status === 'error' ? spawned.error.message : '').toBe('');
  const post = async (body: JsonObject = {}) => {
    expect(resultOf(await used.call('post_to_webhook', { agent_id: 'auto', webhook: 'go', body }))).toEqual({ received: true });
    await settled();
  };
  return { fixture: used, post };
}

const levels = ({ calls }: AgentFixture) => calls.map(({ params }) => params.level);
const level = (value: Json): JsonObject => ({ tool: 'matter:lamp_turn_on', params: { level: value } });

describe('triggers', () => {
  test('a webhook passes its body on, and nobody sets it off without the permission to configure the automation', async () => {
    const { fixture, post } = await atWebhook({ actions: [level({ expr: 'trigger.body.level * 2' })] });
    await post({ level: 21 });
    expect(levels(fixture)).toEqual([42]);
    const stranger = fixture.agentWith('stranger', ['device:control:lamp']);
    expect(codeOf(await fixture.call('post_to_webhook', { agent_id: 'auto', webhook: 'go' }, stranger))).toBe('TOOL_NOT_FOUND');
    expect(codeOf(await fixture.call('post_to_webhook', { agent_id: 'auto', webhook: 'go', body: { text: 'x'.repeat(5_000) } }))).toBe(
      'PAYLOAD_TOO_LARGE',
    );
    expect(resultOf(await fixture.call('post_to_webhook', { agent_id: 'auto', webhook: 'other' }))).toEqual({ received: false });
    expect(fixture.calls).toHaveLength(1);
  });

  test('an expression in the body of a webhook is plain data, which nobody runs', async () => {
    const { fixture, post } = await atWebhook({ actions: [{ ...LAMP_ON, params: { level: { trigger: 'body' } } }] });
    await fixture.report(21);
    await post({ expr: `readings["${SENSOR}"]` });
    await post({ level: { expr: 'flags.vacation_mode' } });
    // The tool takes a number, so that it refuses both objects; with the value of the sensor it would have run.
    expect(fixture.calls).toEqual([]);
    expect(await fixture.view('auto')).toMatchObject({ runs: 2, last_error: { code: 'VALIDATION_ERROR' } });
  });

  test('an expression beside an expression that is none needs the permission for what it reads', async () => {
    const fixture = await started();
    const hidden = { type: 'expression', expr: 'true', level: { expr: `readings["${SENSOR}"]` } };
    const config: JsonObject = { trigger: { type: 'hub_start' }, actions: [{ tool: 'matter:lamp_turn_on', params: hidden }] };
    const answer = await fixture.spawn(config, { permissions: ['device:control:lamp'] });
    expect(codeOf(answer)).toBe('SENSOR_NOT_FOUND');
  });

  test('the first person who comes home and the last who leaves set off, and what is known before does not', async () => {
    const fixture = await started();
    const becomes = (value: string, name: string) =>
      fixture.spawn(
        { trigger: { type: 'presence', becomes: value }, actions: [level(value === 'home' ? 1 : 0)], ...NOT_LATE },
        { name, permissions: ALL },
      );
    expect(codeOf(await becomes('home', 'first'))).toBe('success');
    expect(codeOf(await becomes('away', 'last'))).toBe('success');
    const set = async (person: string, presence: string) => {
      expect(codeOf(await fixture.call('set_presence', { person, presence }))).toBe('success');
      await settled();
    };
    await set('ann', 'home');
    await set('ben', 'home');
    await set('ann', 'away');
    expect(levels(fixture)).toEqual([]);
    await set('ben', 'away');
    expect(levels(fixture)).toEqual([0]);
    await set('ann', 'home');
    await set('ben', 'home');
    expect(levels(fixture)).toEqual([0, 1]);
    expect(codeOf(await fixture.call('set_presence', { person: 'nobody', presence: 'home' }))).toBe('NOT_FOUND');
  });

  test('an automation cannot be set off by its own end', async () => {
    const fixture = await started();
    const config = { trigger: { type: 'automation_ended', agent_id: 'auto' }, actions: [LAMP_ON] };
    expect(codeOf(await fixture.spawn(config, { permissions: ALL }))).toBe('VALIDATION_ERROR');
    expect(codeOf(await fixture.spawn(config, { permissions: ALL, name: 'other' }))).toBe('success');
  });

  test('the end of another automation, a scene, a decision and the start of the hub set off', async () => {
    const { fixture, post } = await atWebhook({ actions: [LAMP_ON] });
    const triggers = [
      { type: 'automation_ended', agent_id: 'auto', outcome: 'success' },
      { type: 'scene', scene_id: 'good_night' },
      { type: 'decision', decision: 'approved' },
      { type: 'hub_start' },
    ];
    const told = {
      trigger: triggers,
      ...NOT_LATE,
      actions: [{ type: 'set_flag', flag: 'vacation_mode', value: { expr: 'trigger.type' } }],
    };
    expect(codeOf(await fixture.spawn(told, { name: 'second', permissions: ALL, ttl_seconds: 86_400 }))).toBe('success');
    await post();
    await settled();
    expect(fixture.house.flag('vacation_mode')).toBe('automation_ended');
    fixture.events.emit('scene.run', 'good_night', {});
    await settled();
    expect(fixture.house.flag('vacation_mode')).toBe('scene');
    fixture.events.emit('approval.decided', 'ap-1', { state: 'denied', agent_id: 'auto' });
    fixture.events.emit('approval.decided', 'ap-2', { state: 'approved', agent_id: 'auto' });
    await settled();
    expect(fixture.house.flag('vacation_mode')).toBe('decision');
    await fixture.runner[Symbol.asyncDispose]();
    const after = await restarted(fixture);
    await settled();
    expect(after.house.flag('vacation_mode')).toBe('hub_start');
  });
});

describe('conditions', () => {
  test('hold with and, or and not, and nothing that is not known lets anything run', async () => {
    const reading = { type: 'reading', sensor_id: SENSOR, above: 25 };
    const { fixture } = await atWebhook({ ...EVERY_MINUTE, conditions: [{ type: 'not', conditions: [reading] }], actions: [LAMP_ON] });
    await fixture.pass(60);
    expect(fixture.calls).toHaveLength(0);
    await fixture.report(20);
    await fixture.pass(60);
    expect(fixture.calls).toHaveLength(1);
    await fixture.report(26);
    await fixture.pass(60);
    expect(fixture.calls).toHaveLength(1);
  });

  test('on flags, presence, reachability, the sun and expressions choose the steps', async () => {
    const option = (condition: JsonObject, value: number) => ({ conditions: [condition], actions: [level(value)] });
    const options = [
      option(
        {
          type: 'and',
          conditions: [
            { type: 'flag', flag: 'vacation_mode', is: 'long' },
            { type: 'presence', is: 'away' },
          ],
        },
        1,
      ),
      option(
        {
          type: 'or',
          conditions: [
            { type: 'presence', is: 'home', person: 'ann' },
            { type: 'flag', flag: 'vacation_mode' },
          ],
        },
        2,
      ),
      option({ type: 'reachability', device_id: 'switch', is: 'unreachable' }, 3),
      option({ type: 'expression', expr: `readings["${SENSOR}"] > 25 && !flags.vacation_mode` }, 4),
      option({ type: 'sun', after: 'sunset', before: 'sunrise' }, 5),
    ];
    const { fixture, post } = await atWebhook({ actions: [{ type: 'choose', options, otherwise: [level(6)] }] });
    await post();
    await goTo(fixture, '2026-01-01T12:00:00Z');
    await post();
    await fixture.report(26);
    await post();
    await fixture.reach('switch', 'unreachable');
    await post();
    await fixture.call('set_presence', { person: 'ann', presence: 'home' });
    await post();
    await fixture.call('set_presence', { person: 'ann', presence: 'away' });
    await fixture.call('set_flag', { flag: 'vacation_mode', value: 'long' });
    await post();
    expect(levels(fixture)).toEqual([5, 6, 4, 3, 2, 1]);
  });

  test('need the permission for what they look at, at acceptance and at each run', async () => {
    const fixture = await started();
    const with_ = (condition: JsonObject, permissions: readonly string[]) =>
      fixture.spawn({ ...EVERY_MINUTE, conditions: [condition], actions: [LAMP_ON] }, { permissions });
    const looks: readonly (readonly [JsonObject, string])[] = [
      [{ type: 'flag', flag: 'vacation_mode' }, 'flag:read:vacation_mode'],
      [{ type: 'presence', is: 'home' }, 'presence:read'],
      [{ type: 'sun', after: 'sunset' }, SUN],
      [{ type: 'not', conditions: [{ type: 'expression', expr: 'flags.night' }] }, 'flag:read:night'],
    ];
    for (const [condition, permission] of looks) {
      const refused = await with_(condition, ['device:control:lamp']);
      expect(refused.status === 'error' ? refused.error.message : '').toContain(permission);
    }
    expect(codeOf(await with_({ type: 'expression', expr: `readings["${SENSOR}"] > 1` }, ['device:control:lamp']))).toBe(
      'SENSOR_NOT_FOUND',
    );
    const nowhere = await startedFixture();
    const sun = { trigger: { type: 'sun', event: 'dawn' }, actions: [LAMP_ON] };
    expect(codeOf(await nowhere.spawn(sun, { permissions: ALL }))).toBe('NOT_CONFIGURED');
  });
});

describe('steps', () => {
  test('repeat by count and while, and branches run at the same time', async () => {
    const repeat = { type: 'repeat', count: 2, actions: [level(1)] };
    const until = {
      type: 'repeat',
      while: [{ type: 'flag', flag: 'vacation_mode' }],
      max: 50,
      actions: [level(2), { type: 'set_flag', flag: 'vacation_mode', value: false }],
    };
    const branches = { type: 'parallel', branches: [[{ type: 'wait', seconds: 20 }, level(4)], [level(3)]] };
    const { fixture, post } = await atWebhook({ actions: [repeat, until, branches, level(5)] });
    await fixture.call('set_flag', { flag: 'vacation_mode', value: true });
    await post();
    await settled();
    expect(levels(fixture)).toEqual([1, 1, 2, 3]);
    await fixture.pass(20);
    await settled();
    expect(levels(fixture)).toEqual([1, 1, 2, 3, 4, 5]);
  });

  test('wait until conditions hold, and after the time end the run or go on', async () => {
    const wait = { type: 'wait_until', conditions: [{ type: 'reading', sensor_id: SENSOR, below: 18 }], timeout_seconds: 100 };
    const { fixture, post } = await atWebhook({ actions: [wait, level(1)] });
    await fixture.report(20);
    await post();
    await fixture.report(17);
    expect(levels(fixture)).toEqual([1]);
    await fixture.report(20);
    await post();
    await fixture.pass(100);
    expect(levels(fixture)).toEqual([1]);
    expect(await fixture.view('auto')).toMatchObject({ runs: 2, last_outcome: 'success', last_error: { code: 'TIMEOUT' } });
    await fixture.call('kill_agent', { agent_id: 'auto' });
    const patient = await atWebhook({ actions: [{ ...wait, on_timeout: 'continue' }, level(2)] });
    await patient.fixture.report(20);
    await patient.post();
    await patient.fixture.pass(100);
    expect(levels(patient.fixture)).toEqual([2]);
  });
});

describe('a run that waits when the hub stops', () => {
  const WAITING = { actions: [level(1), { type: 'wait', seconds: 600 }, level({ expr: 'trigger.body.level' })] };

  test.each(['is stopped', 'is killed'])('goes on after the hub %s, does no step again and knows the facts of its trigger', async (how) => {
    const { fixture, post } = await atWebhook(WAITING);
    await post({ level: 7 });
    await fixture.pass(300);
    if (how === 'is stopped') await fixture.runner[Symbol.asyncDispose]();
    // The clock of a hub that was killed stands still, so that it does nothing any more.
    const after = await restarted(fixture, { place: BERLIN, clock: new ManualClock(fixture.clock.now()) });
    expect(await after.view('auto')).toMatchObject({ is_running: true });
    await after.pass(299);
    expect(levels(after)).toEqual([]);
    await after.pass(1);
    expect(levels(fixture)).toEqual([1]);
    expect(levels(after)).toEqual([7]);
    expect(await after.view('auto')).toMatchObject({ is_running: false, runs: 1, last_outcome: 'success' });
  });

  test('ends with a reason when its wait ended too long ago, and the rest is not done late', async () => {
    const { fixture, post } = await atWebhook(WAITING);
    await post({ level: 7 });
    await fixture.runner[Symbol.asyncDispose]();
    fixture.clock.advance(661_000);
    const after = await restarted(fixture, { place: BERLIN });
    await after.pass(600);
    expect(levels(after)).toEqual([]);
    expect(await after.view('auto')).toMatchObject({ is_running: false, last_outcome: 'failure', last_error: { code: 'TIMEOUT' } });
  });

  test('writes nothing for short waits, and once for all long waits that begin together', async () => {
    const branch = (seconds: number) => [{ type: 'repeat', count: 5, actions: [{ type: 'wait', seconds }] }];
    const writesOf = async (seconds: number) => {
      const { fixture, post } = await atWebhook({ actions: [{ type: 'parallel', branches: Array(8).fill(branch(seconds)) }] });
      const records: Json[] = [];
      const { set } = fixture.store;
      fixture.store.set = (space, key, value, options) => {
        if (space === 'agents') records.push(value);
        set.call(fixture.store, space, key, value, options);
      };
      await post();
      for (let round = 0; round < 5; round++) await fixture.pass(seconds);
      expect(await fixture.view('auto')).toMatchObject({ is_running: false, runs: 1, last_outcome: 'success' });
      return records.length;
    };
    // One write marks the run before its first step, and one says how it ended.
    expect(await writesOf(1)).toBe(2);
    expect(await writesOf(60)).toBe(2 + 5);
  });

  test('goes on late where the step allows it', async () => {
    const [first, , last] = WAITING.actions;
    const { fixture, post } = await atWebhook({ actions: [first, { type: 'wait', seconds: 600, late_seconds: 3600 }, last] as Json });
    await post({ level: 7 });
    await fixture.runner[Symbol.asyncDispose]();
    fixture.clock.advance(3_000_000);
    const after = await restarted(fixture, { place: BERLIN });
    await after.pass(1);
    expect(levels(after)).toEqual([7]);
  });

  test('ends over a restart only once the time is trusted, and not late by it', async () => {
    const [first, , last] = WAITING.actions;
    const wait = { type: 'wait', seconds: 600, late_seconds: 60 };
    const restartedAfter = async (hoursOff: number) => {
      const { fixture, post } = await atWebhook({ actions: [first, wait, last] as Json });
      await post({ level: 7 });
      await fixture.runner[Symbol.asyncDispose]();
      let isTrusted = false;
      // The board has no battery for its clock: it goes on with the time of the power cut.
      const clock = new ManualClock(fixture.clock.now());
      const again = await restarted(fixture, { place: BERLIN, clock, isTimeTrusted: () => isTrusted });
      await again.pass(601);
      expect(levels(again)).toEqual([]);
      clock.correctBy(hoursOff * 3_600_000);
      isTrusted = true;
      await again.pass(10);
      return again;
    };
    expect(levels(await restartedAfter(0))).toEqual([7]);
    const late = await restartedAfter(10);
    expect(levels(late)).toEqual([]);
    expect(await late.view('auto')).toMatchObject({ is_running: false, last_error: { code: 'TIMEOUT' } });
  });

  test.each([
    ['its token is not valid yet', -86_400_000],
    ['its token has ended and is to be renewed', 400 * 86_400_000],
  ])('goes on when the clock is right again, if %s by the clock at a restart', async (_, wrongByMs) => {
    const [first, , last] = WAITING.actions;
    const { fixture, post } = await atWebhook({ actions: [first, { type: 'wait', seconds: 600, late_seconds: 3600 }, last] as Json });
    expect(codeOf(await fixture.call('renew_agent', { agent_id: 'auto' }))).toBe('success');
    await post({ level: 7 });
    await fixture.runner[Symbol.asyncDispose]();
    let isTrusted = false;
    const clock = new ManualClock(fixture.clock.now());
    clock.correctBy(wrongByMs);
    const after = await restarted(fixture, { place: BERLIN, clock, isTimeTrusted: () => isTrusted });
    await after.pass(60);
    expect(await after.view('auto')).toMatchObject({ is_running: true });
    clock.correctBy(-wrongByMs);
    isTrusted = true;
    await after.pass(10);
    await after.pass(600);
    expect(levels(after)).toEqual([7]);
  });

  test('ends with its trace when the clock stays behind after a restart', async () => {
    const { fixture, post } = await atWebhook(WAITING);
    await post({ level: 7 });
    await fixture.runner[Symbol.asyncDispose]();
    const clock = new ManualClock(fixture.clock.now());
    clock.correctBy(-86_400_000);
    const after = await restarted(fixture, { place: BERLIN, clock });
    for (let round = 0; round < 130; round++) await after.pass(5);
    expect(levels(after)).toEqual([]);
    expect(await after.view('auto')).toMatchObject({ is_running: false, runs: 1, last_error: { code: 'TIMEOUT' } });
    await after.traces[Symbol.asyncDispose]();
    expect(JSON.stringify([...after.traceRows.rows.values()])).toContain('"resumed_late"');
  });

  test('is not known when the hub was killed in the middle of a call, and never begun again', async () => {
    const { fixture, post } = await atWebhook({ actions: [{ type: 'wait', seconds: 60 }, level(1), level(2)] });
    fixture.onLamp(() => new Promise(() => {}));
    await post();
    await fixture.pass(60);
    expect(levels(fixture)).toEqual([1]);
    const after = await restarted(fixture, { place: BERLIN });
    await after.pass(600);
    expect(levels(after)).toEqual([]);
    expect(await after.view('auto')).toMatchObject({ is_running: false, last_error: { code: 'OUTCOME_UNKNOWN' } });
  });

  test('is given up when the automation is disabled, also over a restart', async () => {
    const { fixture, post } = await atWebhook(WAITING);
    await post({ level: 7 });
    await fixture.call('set_agent_enabled', { agent_id: 'auto', enabled: false });
    await fixture.call('set_agent_enabled', { agent_id: 'auto', enabled: true });
    await fixture.pass(700);
    const after = await restarted(fixture, { place: BERLIN });
    await after.pass(700);
    expect([...levels(fixture), ...levels(after)]).toEqual([1]);
    expect(await after.view('auto')).toMatchObject({ last_outcome: 'stopped' });
  });
});

import { expect, test } from 'vitest';
import type { AgentRecord } from '../../../src/automations/agent-store.ts';
import type { CheckPorts, ComingRuns } from '../../../src/automations/automation-ports.ts';
import { AutomationForecast } from '../../../src/automations/forecast/automation-forecast.ts';
import type { RunWait } from '../../../src/automations/run/run-log.ts';
import { previewCalls } from '../../../src/calls/call-preview.ts';
import type { ComingConflict } from '../../../src/calls/coming-conflicts.ts';
import type { Principal } from '../../../src/core/auth/principal.ts';
import { AtmoError } from '../../../src/core/errors.ts';
import type { JsonObject } from '../../../src/core/json.ts';
import { owner, settled } from '../../calls/pipeline-fixture.ts';
import { ManualClock } from '../../manual-clock.ts';
import { processorMs } from '../../processor-time.ts';
import { type AgentFixture, codeOf, ENOUGH, LAMP_ON, SENSOR, startedFixture } from '../agent-fixture.ts';
import { automation, homePorts } from '../check/home-fixture.ts';

const MINUTE_MS = 60_000;
const TURN_ON = 'matter:hall_lamp_turn_on';
const lamp = (word: 'on' | 'off') => ({ tool: `matter:hall_lamp_turn_${word}` });
const at = (time: string): JsonObject => ({ type: 'time', at: time });
const wait = (minutes: number): JsonObject => ({ type: 'wait', seconds: minutes * 60 });
const onIs = (value: boolean): JsonObject => ({ type: 'reading', sensor_id: 'hall-lamp/is_on', equals: value });

interface Living {
  readonly config: JsonObject;
  readonly waits?: readonly RunWait[];
  /** When each trigger fires next, in minutes from now. */
  readonly due?: readonly (number | undefined)[];
  readonly facts?: Partial<AgentRecord>;
  /** What it will do besides; it begins its runs at once unless this says otherwise. */
  readonly coming?: Partial<ComingRuns>;
}

interface Asked {
  readonly by?: Principal;
  readonly tool?: string;
  readonly params?: JsonObject;
  readonly ports?: CheckPorts;
}

/** Returns what automations do against a call of a home where it is Monday noon. */
async function conflictsOf(living: readonly Living[], { by = owner, tool = TURN_ON, ...asked }: Asked = {}) {
  const { params = {}, ports = homePorts() } = asked;
  const forecast = forecastOf(living, ports);
  const effects = previewCalls(ports, { tool, params, viewer: owner }).flatMap((call) => call.effects);
  return (await forecast.actsFor(by)).conflictsOf({ toolId: `${tool}@1.0.0`, params, effects });
}

function forecastOf(living: readonly Living[], check: CheckPorts): AutomationForecast {
  const nowMs = check.clock.now();
  const made = living.map(({ config, facts }, index) => {
    const { id, name, plan, principal } = automation(`auto-${index}`, config);
    const common = { type: 'automation', status: 'active', permissions: principal.permissions, config };
    const end = facts?.expiresAtMs === undefined ? { expiresAtMs: 0, renewsItself: true } : {};
    return { record: { ...common, ...end, id, name, ...facts } as unknown as AgentRecord, plan };
  });
  const records = made.map(({ record }) => record);
  const comingOf = ({ id }: { readonly id: string }): ComingRuns => {
    const { waits = [], due = [], coming } = living[records.findIndex((record) => record.id === id)] ?? {};
    return {
      waits,
      due: due.map((minutes) => (minutes === undefined ? undefined : nowMs + minutes * MINUTE_MS)),
      beginOf: coming?.beginOf ?? ((firedMs) => firedMs),
      isRunning: coming?.isRunning ?? false,
    };
  };
  const agents = {
    records: () => records,
    list: (by: Principal) => (by.kind === 'owner' ? records : []),
    planOf: ({ config }: Pick<AgentRecord, 'config'>) => made.find(({ record }) => record.config === config)?.plan,
  };
  return new AutomationForecast({ check, agents, comingOf });
}

const toldOf = (conflicts: readonly ComingConflict[]) => conflicts.map(({ when, at: time, certain }) => [when, time, certain]);

test('a lamp that is turned on meets the automation that turns it off in half an hour', async () => {
  const found = await conflictsOf([{ config: { trigger: at('12:30'), actions: [lamp('off')] }, due: [30] }]);
  expect(found).toEqual([
    {
      when: 'at_time',
      certain: true,
      device_id: 'hall-lamp',
      agent_id: 'auto-0',
      name: 'auto-0',
      at: '2026-01-05T12:30:00.000Z',
      does: 'Turn off hall lamp',
      sentence: '"auto-0" will do this at 12:30: Turn off hall lamp',
    },
  ]);
});

test('an automation meets a call in neither the time before now nor after the hour, and one that does the same meets none', async () => {
  const off = (due: number): Living => ({ config: { trigger: { type: 'every', seconds: 86_400 }, actions: [lamp('off')] }, due: [due] });
  expect(await conflictsOf([off(-1), off(61)])).toEqual([]);
  expect(toldOf(await conflictsOf([off(0), off(60)]))).toEqual([
    ['at_time', '2026-01-05T12:00:00.000Z', true],
    ['at_time', '2026-01-05T13:00:00.000Z', true],
  ]);
  expect(await conflictsOf([{ config: { trigger: at('12:30'), actions: [lamp('on')] }, due: [30] }])).toEqual([]);
});

test('a value that is set is told with its unit', async () => {
  const set = 'matter:hall_heating_set';
  const config = { trigger: at('12:30'), actions: [{ tool: set, params: { value: 18 } }] };
  const [found] = await conflictsOf([{ config, due: [30] }], { tool: set, params: { value: 21 } });
  expect(found?.sentence).toBe('"auto-0" will do this at 12:30: Set the temperature of hall heating (heating setpoint: 18 °C)');
});

test('waits before a step put it off, also beyond the hour', async () => {
  const after = (minutes: number): Living => ({ config: { trigger: at('12:30'), actions: [wait(minutes), lamp('off')] }, due: [30] });
  expect(toldOf(await conflictsOf([after(30), after(31)]))).toEqual([['at_time', '2026-01-05T13:00:00.000Z', true]]);
});

test('a run that waits acts when its wait ends, and steps that were done before are not told', async () => {
  const config = { trigger: { type: 'hub_start' }, actions: [lamp('off'), wait(60), lamp('on'), wait(10), lamp('off')] };
  const waiting = (path: string, minutes: number): Living => ({ config, waits: [{ path, dueMs: noon() + minutes * MINUTE_MS }] });
  const off = 'matter:hall_lamp_turn_off';
  expect(await conflictsOf([waiting('3', 61)])).toEqual([]);
  expect(await conflictsOf([waiting('3', 5)], { tool: off })).toEqual([]);
  const [second] = await conflictsOf([waiting('1', 20)]);
  expect(second).toMatchObject({ when: 'after_wait', certain: true, at: '2026-01-05T12:30:00.000Z' });
  expect(second?.sentence).toBe('"auto-0" is in a run that waits, and will do this at 12:30: Turn off hall lamp');
});

test('a run goes on within the choice, the round and the branch in which it waits', async () => {
  const option = { conditions: [onIs(true)], actions: [wait(5), lamp('off')] };
  const choose = { type: 'choose', options: [option], otherwise: [wait(5), lamp('on')] };
  const repeat = { type: 'repeat', count: 3, actions: [lamp('off'), wait(10)] };
  const parallel = {
    type: 'parallel',
    branches: [
      [wait(5), lamp('on')],
      [wait(7), lamp('off')],
    ],
  };
  const told = async (step: JsonObject, path: string) => {
    const waits = [{ path, dueMs: noon() + 5 * MINUTE_MS }];
    return toldOf(await conflictsOf([{ config: { trigger: { type: 'hub_start' }, actions: [step] }, waits }]));
  };
  const atFive = ['after_wait', '2026-01-05T12:05:00.000Z', true];
  expect(await told(choose, '0/options/0/0')).toEqual([atFive]);
  expect(await told(choose, '0/otherwise/0')).toEqual([]);
  expect(await told(repeat, '0/1/1')).toEqual([['after_wait', '2026-01-05T12:05:00.000Z', false]]);
  expect(await told(repeat, '0/2/1')).toEqual([]);
  expect(await told(parallel, '0/branches/0/0')).toEqual([]);
  expect(await told(parallel, '0/branches/1/0')).toEqual([atFive]);
});

test('a wait for a condition or an approval may end at any time, so no time is told', async () => {
  const until = { type: 'wait_until', conditions: [onIs(false)], timeout_seconds: 7200 };
  const waits = [{ path: '0', dueMs: noon() + 120 * MINUTE_MS }];
  const [told] = await conflictsOf([{ config: { trigger: { type: 'hub_start' }, actions: [until, lamp('off')] }, waits }]);
  expect(told).toMatchObject({ when: 'after_wait', certain: false, sentence: expect.stringContaining('may do this when the wait ends') });
  expect(told).not.toHaveProperty('at');
  const approved = {
    config: { trigger: { type: 'hub_start' }, actions: [lamp('off')] },
    waits: [{ path: '0', dueMs: Infinity, isCall: true as const }],
  };
  expect(toldOf(await conflictsOf([approved]))).toEqual([['after_wait', undefined, false]]);
});

test('times that conditions exclude are left out, and what is no time makes it a may', async () => {
  const cron = { type: 'time', cron: '*/10 * * * *' };
  const window = { type: 'time', after: '12:25', before: '12:45' };
  const off = (conditions: JsonObject[]): Living => ({ config: { trigger: cron, conditions, actions: [lamp('off')] }, due: [10] });
  expect(toldOf(await conflictsOf([off([window])]))).toEqual([['at_time', '2026-01-05T12:30:00.000Z', true]]);
  expect(await conflictsOf([off([{ type: 'time', after: '13:30', before: '14:00' }])])).toEqual([]);
  const [may] = await conflictsOf([off([{ type: 'flag', flag: 'party' }])]);
  expect(may).toMatchObject({ certain: false, sentence: '"auto-0" may do this at 12:10: Turn off hall lamp' });
});

test('what ends before or is disabled does not come', async () => {
  const off = (facts: Partial<AgentRecord>): Living => ({ config: { trigger: at('12:30'), actions: [lamp('off')] }, due: [30], facts });
  const ending = { expiresAtMs: noon() + 20 * MINUTE_MS };
  const found = await conflictsOf([off(ending), off({ disabled: { atMs: 0, by: 'owner' } }), off({ status: 'killed' })]);
  expect(found).toEqual([]);
});

/** What an automation really does that ran as `before` does it, against a lamp that is turned on. Its trigger fires each 10 minutes. */
async function conflictsOfRun(limits: JsonObject, before: (home: AgentFixture) => Promise<unknown>, actions: JsonObject[] = [LAMP_ON]) {
  const clock = new ManualClock(noon());
  const home = await startedFixture({ clock });
  const trigger = [{ type: 'time', cron: '*/10 * * * *' }, onIs(true), { type: 'webhook', name: 'go' }];
  const bound = trigger.map((one) => ('sensor_id' in one ? { ...one, sensor_id: SENSOR, equals: 30 } : one));
  expect(codeOf(await home.spawn({ trigger: bound, actions, ...limits }, { permissions: ENOUGH }))).toBe('success');
  await before(home);
  const living = { config: { trigger, actions: [lamp('off')], ...limits }, coming: home.runner.comingOf({ id: 'auto' }) };
  const due = living.coming.due.map((dueMs) => dueMs && (dueMs - clock.now()) / MINUTE_MS);
  return toldOf(await conflictsOf([{ ...living, due }], { ports: { ...homePorts(), clock } }));
}

/** Runs it some times at once, some minutes after noon. */
const ran = (times: number, minutes: number) => async (home: AgentFixture) => {
  await home.passMinutes(minutes);
  for (let run = 0; run < times; run++) {
    await home.call('post_to_webhook', { agent_id: 'auto', webhook: 'go' });
    await settled();
  }
};

test('an automation that the cooldown keeps from a run comes at the first trigger after it, and the call does not set it off before', async () => {
  expect(await conflictsOfRun({ cooldown_seconds: 100 }, ran(1, 5))).toEqual([['at_time', '2026-01-05T12:10:00.000Z', true]]);
  expect(await conflictsOfRun({ cooldown_seconds: 900 }, ran(1, 5))).toEqual([['at_time', '2026-01-05T12:20:00.000Z', true]]);
  expect(await conflictsOfRun({ cooldown_seconds: 7200 }, ran(1, 5))).toEqual([]);
});

test('a trigger that the cooldown puts off by less than a minute comes when the cooldown ends', async () => {
  expect(await conflictsOfRun({ cooldown_seconds: 330 }, ran(1, 5))).toEqual([['at_time', '2026-01-05T12:10:30.000Z', true]]);
});

test('an automation that ran as often as it may within the hour comes when the hour is over', async () => {
  const limits = { cooldown_seconds: 0, max_runs_per_hour: 6 };
  expect(await conflictsOfRun(limits, ran(5, 5))).toContainEqual(['at_time', '2026-01-05T12:10:00.000Z', true]);
  expect(await conflictsOfRun(limits, ran(6, 5))).toEqual([]);
  const early = async (home: AgentFixture) => {
    await ran(6, 0)(home);
    await home.passMinutes(5);
  };
  expect(await conflictsOfRun(limits, early)).toEqual([['at_time', '2026-01-05T13:00:00.000Z', true]]);
});

test('while a run is under way, it is not certain that the next one begins', async () => {
  const told = await conflictsOfRun({ cooldown_seconds: 0 }, ran(1, 5), [wait(30), LAMP_ON]);
  expect(told).toEqual([
    ['if_set_off', '2026-01-05T12:05:00.000Z', false],
    ['at_time', '2026-01-05T12:10:00.000Z', false],
  ]);
});

test('an automation that rests after failures does not come before the rest is over', async () => {
  const failing = async (home: AgentFixture) => {
    home.onLamp(() => Promise.reject(new AtmoError('DEVICE_UNREACHABLE', 'The lamp does not answer')));
    await ran(5, 0)(home);
    await home.passMinutes(4);
  };
  expect(await conflictsOfRun({ cooldown_seconds: 0 }, failing)).toEqual([['at_time', '2026-01-05T13:00:00.000Z', true]]);
});

test('an automation that the call sets off is told with an if, unless the value is there already', async () => {
  const config = { trigger: onIs(true), actions: [wait(5), lamp('off')] };
  const [unknown] = await conflictsOf([{ config }]);
  expect(unknown).toMatchObject({ when: 'if_set_off', certain: false, at: '2026-01-05T12:05:00.000Z' });
  expect(unknown?.sentence).toBe('If this call sets off "auto-0", it may do this 5 minutes later: Turn off hall lamp');
  const [known] = await conflictsOf([{ config }], { ports: withReading(false) });
  expect(known?.sentence).toBe('This call sets off "auto-0", which will do this 5 minutes later: Turn off hall lamp');
  expect(await conflictsOf([{ config }], { ports: withReading(true) })).toEqual([]);
  expect(await conflictsOf([{ config }], { tool: 'matter:hall_lamp_turn_off' })).toEqual([]);
});

test('a light sensor in the room and an event of the device may set an automation off', async () => {
  const bright = { type: 'reading', sensor_id: 'hall-sensor/illuminance', above: 100 };
  expect(toldOf(await conflictsOf([{ config: { trigger: bright, actions: [lamp('off')] } }]))).toEqual([
    ['if_set_off', '2026-01-05T12:00:00.000Z', false],
  ]);
  const event = { type: 'device_event', device_id: 'front-door', cluster: 'DoorLock', event: 'LockOperation' };
  const unlock: Living = { config: { trigger: event, actions: [wait(1), { tool: 'matter:door_unlock' }] } };
  expect(toldOf(await conflictsOf([unlock], { tool: 'matter:door_lock' }))).toEqual([['if_set_off', '2026-01-05T12:01:00.000Z', false]]);
});

test('who may not read the sensor does not learn by the call whether its value would set an automation off', async () => {
  const config = { trigger: onIs(true), actions: [lamp('off')] };
  const blind = { ...owner, permissions: ['device:control:*', 'agent:spawn'] };
  const told = [true, false].map((value) => conflictsOf([{ config }], { ports: withReading(value), by: blind }));
  const [on, off] = await Promise.all(told);
  expect(on).toHaveLength(1);
  expect(on).toEqual(off);
});

test('of an automation that the caller may not see, who may check drafts learns only that it acts on the device, and others nothing', async () => {
  const hidden: readonly Living[] = [
    { config: { trigger: at('12:30'), actions: [lamp('off')] }, due: [30] },
    { config: { trigger: at('23:00'), actions: [lamp('on')] }, due: [660] },
  ];
  const caller: Principal = { id: 'guest', kind: 'agent', permissions: ['device:control:hall-lamp', 'agent:spawn'] };
  const expected = [
    {
      when: 'not_told',
      certain: false,
      device_id: 'hall-lamp',
      sentence: 'An automation that you may not see acts on hall lamp, and may want something different of it',
    },
  ];
  for (const living of hidden) {
    expect(await conflictsOf([living], { by: caller })).toEqual(expected);
    expect(await conflictsOf([living], { by: caller, tool: 'matter:hall_lamp_turn_off' })).toEqual(expected);
  }
  expect(await conflictsOf(hidden, { by: { ...caller, permissions: ['device:control:hall-lamp'] } })).toEqual([]);
});

test('the certain and the soonest come first, and at most twenty are told', async () => {
  const found = await conflictsOf([
    { config: { trigger: at('12:10'), conditions: [{ type: 'flag', flag: 'party' }], actions: [lamp('off')] }, due: [10] },
    { config: { trigger: at('12:50'), actions: [lamp('off')] }, due: [50] },
    { config: { trigger: at('12:20'), actions: [lamp('off')] }, due: [20] },
  ]);
  expect(found.map(({ name }) => name)).toEqual(['auto-2', 'auto-1', 'auto-0']);
  const many = Array.from({ length: 30 }, (): Living => ({ config: { trigger: at('12:30'), actions: [lamp('off')] }, due: [30] }));
  expect(await conflictsOf(many)).toHaveLength(20);
});

test('64 automations with all kinds of triggers take at most 10 ms', async () => {
  const windows = Array.from({ length: 16 }, (_, index) => ({
    type: 'time',
    after: `12:${10 + index * 2}`,
    before: `12:${11 + index * 2}`,
  }));
  const config: JsonObject = {
    trigger: [{ type: 'time', cron: '1-59/2 * * * *' }, { type: 'every', seconds: 600 }, onIs(true), at('12:30')],
    conditions: [{ type: 'or', conditions: windows }],
    actions: [wait(1), lamp('off'), lamp('on'), { type: 'repeat', count: 10, actions: [wait(2), lamp('off')] }],
  };
  const waits = [{ path: '3/0/0', dueMs: noon() + MINUTE_MS }];
  const living = Array.from({ length: 64 }, (): Living => ({ config: { ...config }, due: [1, 3, undefined, 30], waits }));
  const ports = homePorts();
  const forecast = forecastOf(living, ports);
  const effects = previewCalls(ports, { tool: TURN_ON, params: {}, viewer: owner }).flatMap((call) => call.effects);
  const once = async () => (await forecast.actsFor(owner)).conflictsOf({ toolId: `${TURN_ON}@1.0.0`, params: {}, effects });
  expect(await once()).toHaveLength(20);
  const took: number[] = [];
  for (let round = 0; round < 40; round++) took.push(await processorMs(once));
  expect(Math.min(...took)).toBeLessThan(10);
});

function noon(): number {
  return homePorts().clock.now();
}

/** The home in which the lamp of the hall shows whether it is on. */
function withReading(value: boolean): CheckPorts {
  const ports = homePorts();
  const current: CheckPorts['readings']['current'] = (id) => {
    const reading = ports.readings.current(id);
    return reading && id === 'hall-lamp/is_on' ? { ...reading, value } : reading;
  };
  return { ...ports, readings: { current } };
}

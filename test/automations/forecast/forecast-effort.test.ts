import { afterEach, describe, expect, test, vi } from 'vitest';
import type { AgentRecord } from '../../../src/automations/agent-store.ts';
import type { CheckPorts } from '../../../src/automations/automation-ports.ts';
import { AutomationForecast } from '../../../src/automations/forecast/automation-forecast.ts';
import { NextHour } from '../../../src/automations/forecast/next-hour.ts';
import type { AutomationPlan } from '../../../src/automations/plan/plan-schema.ts';
import type { RehearsedEffects } from '../../../src/calls/coming-conflicts.ts';
import type { Effect, Principal } from '../../../src/core/auth/principal.ts';
import type { DeviceId } from '../../../src/core/ids.ts';
import type { JsonObject } from '../../../src/core/json.ts';
import { agent, makeTool, owner } from '../../calls/pipeline-fixture.ts';
import { automation, homePorts } from '../check/home-fixture.ts';

const LAMPS = ['hall-lamp', ...Array.from({ length: 19 }, (_, index) => `lamp-${index}`)];

function effectsOn(lamps: readonly string[], isOn: boolean): readonly Effect[] {
  return lamps.map((lamp) => {
    const target = `${lamp}/1/OnOff/${isOn ? 'On' : 'Off'}`;
    return { permission: `device:control:${lamp}`, risk: 'low', target, device: lamp as DeviceId, values: { is_on: isOn } };
  });
}

/** A home with tools for one lamp and for twenty, which counts the tools that are looked up. */
function countingPorts(clock: CheckPorts['clock'] = homePorts().clock) {
  const execution = { side_effects: true };
  const [one, all] = [
    makeTool({ namespace: 'core', name: 'one_off', execution, effects: () => effectsOn(LAMPS.slice(0, 1), false) }),
    makeTool({ namespace: 'core', name: 'all_off', execution, effects: () => effectsOn(LAMPS, false) }),
  ];
  let lookedUp = 0;
  const resolve = (name: string) => {
    lookedUp += 1;
    return name === 'core:all_off' ? all : one;
  };
  const ports: CheckPorts = { ...homePorts(), clock, registry: { resolve, hubsOf: () => [] } };
  return { ports, lookedUp: () => lookedUp };
}

function forecastOf(configs: readonly JsonObject[], check: CheckPorts): AutomationForecast {
  const made = configs.map((config, index) => automation(`auto-${index}`, config));
  const records = made.map(({ id, name, principal: { permissions } }) => {
    return { id, name, permissions, type: 'automation', status: 'active', renewsItself: true } as unknown as AgentRecord;
  });
  const plans = new Map<unknown, AutomationPlan>(records.map((record, index) => [record, made[index]?.plan ?? expect.unreachable()]));
  const agents = {
    records: () => records,
    list: (by: Principal) => (by.kind === 'owner' ? records : []),
    planOf: (record: unknown) => plans.get(record),
  };
  return new AutomationForecast({
    check,
    agents,
    comingOf: () => ({ due: [], waits: [], beginOf: (firedMs) => firedMs, isRunning: false }),
  });
}

const minute = (count: number) => `${12 + Math.floor(count / 60)}:${String(count % 60).padStart(2, '0')}`;
const WINDOWS = Array.from({ length: 64 }, (_, index) => ({ type: 'time', after: minute(index), before: minute(index + 1) }));
const ANY_WINDOW = { type: 'or', conditions: [0, 16, 32, 48].map((at) => ({ type: 'or', conditions: WINDOWS.slice(at, at + 16) })) };
const SETS_OFF = { type: 'reading', sensor_id: 'hall-lamp/is_on', changes: true };

/** An automation with as many triggers, choices and calls as its configuration may have, and as much to do in each call. */
function large(): JsonObject {
  const option = { conditions: [ANY_WINDOW], actions: Array.from({ length: 16 }, () => ({ tool: 'core:all_off' })) };
  return { trigger: Array.from({ length: 8 }, () => SETS_OFF), actions: [{ type: 'choose', options: [option, option, option] }] };
}

const SMALL: JsonObject = { trigger: SETS_OFF, actions: [{ tool: 'core:one_off' }] };
const ALL_ON: RehearsedEffects = { toolId: 'core:all_on@1.0.0', params: {}, effects: effectsOn(LAMPS, true) };

afterEach(() => void vi.restoreAllMocks());

describe('the effort of a rehearsal', () => {
  test('is not made again for the calls inside it, whatever conditions and triggers an automation has', async () => {
    const acts = await forecastOf([large(), large()], countingPorts().ports).actsFor(owner);
    const compared = vi.spyOn(NextHour.prototype, 'isIn');
    expect(await acts.conflictsOf(ALL_ON)).toHaveLength(20);
    const first = compared.mock.calls.length;
    expect(first).toBeGreaterThan(0);
    for (let call = 0; call < 15; call++) expect(await acts.conflictsOf(ALL_ON)).toHaveLength(20);
    expect(compared.mock.calls.length).toBe(first);
  });

  test('finds the minutes of the same conditions once', () => {
    const hour = new NextHour(homePorts());
    const situations = [{ times: [{ from: 0, to: 7 * 24 * 60 }], facts: new Map() }];
    expect(hour.minutesIn(situations)).toBe(hour.minutesIn(situations));
  });

  test('is shared equally by the automations, so a large one is left out after many calls, and a small one is still found', async () => {
    const acts = await forecastOf([large(), SMALL, ...Array.from({ length: 14 }, large)], countingPorts().ports).actsFor(owner);
    const namesAt = async () => new Set((await acts.conflictsOf(ALL_ON)).map(({ name }) => name));
    expect((await namesAt()).has('auto-0')).toBe(true);
    for (let call = 1; call < 255; call++) await acts.conflictsOf(ALL_ON);
    expect([...(await namesAt())]).toEqual(['auto-1']);
  });

  test('leaves time for the other work of the hub between two automations', async () => {
    const { clock } = homePorts();
    let nowMs = 0;
    const slow = { now: () => clock.now(), monotonic: () => (nowMs += 4), after: () => () => {} };
    const acts = await forecastOf(
      Array.from({ length: 16 }, () => SMALL),
      countingPorts(slow).ports,
    ).actsFor(owner);
    let turns = 0;
    const other = () => {
      turns += 1;
      setImmediate(other).unref();
    };
    setImmediate(other).unref();
    await acts.conflictsOf(ALL_ON);
    expect(turns).toBeGreaterThanOrEqual(16);
  });
});

test('what hidden automations do is not looked at for who may not know that they exist', async () => {
  const { ports, lookedUp } = countingPorts();
  const forecast = forecastOf([large(), SMALL], ports);
  expect(await (await forecast.actsFor(agent('device:control:*'))).conflictsOf(ALL_ON)).toEqual([]);
  expect(lookedUp()).toBe(0);
  expect(await (await forecast.actsFor(agent('device:control:*', 'agent:spawn'))).conflictsOf(ALL_ON)).toHaveLength(8);
  expect(lookedUp()).toBeGreaterThan(0);
});

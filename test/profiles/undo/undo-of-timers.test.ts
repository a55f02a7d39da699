import { describe, expect, test } from 'vitest';
import { parseDeviceId } from '../../../src/core/devices/device-names.ts';
import type { Json, JsonObject } from '../../../src/core/json.ts';
import { described } from '../device-fixtures.ts';
import { JournaledHome } from './journaled-home.ts';

const LAMP = described('DimmableLight', { hasAllElements: true, device: { id: parseDeviceId('lamp') } });
const VALVE = described('WaterValve', { hasAllElements: true, device: { id: parseDeviceId('valve') } });
const BLIND = described('WindowCovering', { hasAllElements: true, device: { id: parseDeviceId('blind') } });
const BOILER = described('WaterHeater', { hasAllElements: true, device: { id: parseDeviceId('boiler') } });
const FAN = described('Fan', { hasAllElements: true, device: { id: parseDeviceId('fan') } });

const lit = (isOn: boolean, onTime: number) => ({
  'lamp/1/OnOff.OnOff': isOn,
  'lamp/1/OnOff.OnTime': onTime,
  'lamp/1/LevelControl.CurrentLevel': 101,
  'lamp/1/LevelControl.OnLevel': null,
});

async function homeWith(description: Parameters<typeof JournaledHome.start>[0][number], values: JsonObject): Promise<JournaledHome> {
  return (await JournaledHome.start([description])).report(values as Readonly<Record<string, Json>>);
}

async function done(home: JournaledHome, tool: string, params: JsonObject): Promise<string> {
  const answer = await home.call(tool, params);
  expect(answer).toMatchObject({ status: 'success' });
  return answer.trace_id;
}

/** Undoes a call, and returns the commands and written values of the undo. */
async function undone(home: JournaledHome, traceId: string): Promise<readonly Json[]> {
  const { invoked } = home.harness.home;
  const before = invoked.length;
  expect(await home.call('hub:undo', { trace_id: traceId })).toMatchObject({ status: 'success' });
  return invoked.slice(before).map(({ path }) => path.command);
}

describe('a lamp that was turned on for a time', () => {
  const FOR_A_MINUTE = ['matter:dimmablelight_turn_on_for', { seconds: 60 }] as const;

  test('goes off again if it was off, which also ends its time', async () => {
    const home = await homeWith(LAMP, lit(false, 0));
    expect(await home.rehearse(...FOR_A_MINUTE)).toMatchObject({ undo: { possible: true } });
    expect(await undone(home, await done(home, ...FOR_A_MINUTE))).toEqual(['Off']);
  });

  test('stays on without a time if it was on, by off and on', async () => {
    const home = await homeWith(LAMP, lit(true, 0));
    expect(await undone(home, await done(home, ...FOR_A_MINUTE))).toEqual(['Off', 'On']);
  });

  test('gets the time back that was left before, also after the shorter one is over', async () => {
    const home = await homeWith(LAMP, lit(true, 6_000));
    const trace = await done(home, ...FOR_A_MINUTE);
    home.report(lit(false, 0));
    expect(await home.call('hub:undo', { trace_id: trace })).toMatchObject({ error: { details: { reason: 'changed_since' } } });
    home.harness.clock.advance(60_000);
    expect(await undone(home, trace)).toEqual(['OnWithTimedOff']);
    expect(home.harness.home.invoked.at(-1)?.fields).toMatchObject({ onTime: 6_000 });
  });
});

test('a valve that was opened for a time is closed again, and a closed one has no time left', async () => {
  const closed = { CurrentState: 'Closed', CurrentLevel: 0, RemainingDuration: null };
  const cluster = (values: JsonObject) =>
    Object.fromEntries(Object.entries(values).map(([name, value]) => [`valve/1/ValveConfigurationAndControl.${name}`, value]));
  const home = await homeWith(VALVE, cluster(closed));
  const opened = ['matter:watervalve_open', { seconds: 60, open_percent: 40 }] as const;
  expect(await home.rehearse(...opened)).toMatchObject({ undo: { possible: true } });
  expect(await home.rehearse('matter:watervalve_close')).toMatchObject({ undo: { possible: true } });
});

test('a fan gets its speed back, from which its mode follows', async () => {
  const home = await homeWith(FAN, {
    'fan/1/FanControl.FanMode': 'Medium',
    'fan/1/FanControl.PercentSetting': 40,
    'fan/1/FanControl.PercentCurrent': 40,
  });
  const { home: devices } = home.harness;
  const write = devices.write.bind(devices);
  devices.write = async (path, value, options) => {
    const percent = path.attribute === 'FanMode' ? 100 : 40;
    home.report({ 'fan/1/FanControl.PercentSetting': percent, 'fan/1/FanControl.PercentCurrent': percent });
    return write(path, value, options);
  };
  const trace = await done(home, 'matter:fan_set_fan_mode', { fan_mode: 'high' });
  await undone(home, trace);
  expect(home.harness.home.written.at(-1)).toMatchObject({ path: { attribute: 'PercentSetting' }, value: 40 });
});

describe('what a recalled scene changed at a lamp', () => {
  async function recalled() {
    const home = await homeWith(LAMP, lit(false, 0));
    expect(await home.rehearse('matter:dimmablelight_recall_scene', { scene: 3 })).toMatchObject({ undo: { possible: true } });
    const { home: devices } = home.harness;
    const invoke = devices.invoke.bind(devices);
    devices.invoke = async (path, ...rest) => {
      if (path.command === 'RecallScene') home.report({ 'lamp/1/OnOff.OnOff': true, 'lamp/1/LevelControl.CurrentLevel': 203 });
      return invoke(path, ...rest);
    };
    return { home, trace: await done(home, 'matter:dimmablelight_recall_scene', { scene: 3 }) };
  }

  test('is put back, whatever the scene was', async () => {
    const { home, trace } = await recalled();
    await undone(home, trace);
    const state = ['OnOff.OnOff', 'LevelControl.CurrentLevel'].map((path) => {
      const [cluster = '', attribute = ''] = path.split('.');
      return home.harness.home.cached({ device: LAMP.device.id, endpoint: 1, cluster, attribute })?.value;
    });
    expect(state).toEqual([false, 101]);
  });

  test('is left alone if somebody was at the lamp since', async () => {
    const { home, trace } = await recalled();
    home.report({ 'lamp/1/LevelControl.CurrentLevel': 77 });
    expect(await home.call('hub:undo', { trace_id: trace })).toMatchObject({ error: { details: { reason: 'changed_since' } } });
  });
});

test('a boost does not set the thermostat, so its rehearsal foretells only the boost', async () => {
  const home = await homeWith(BOILER, {
    'boiler/1/WaterHeaterManagement.BoostState': 'Inactive',
    'boiler/1/Thermostat.OccupiedHeatingSetpoint': 5500,
  });
  const rehearsal = await home.rehearse('matter:waterheater_start_boost', { minutes: 30, temperature: 60 });
  expect(rehearsal).toMatchObject({ changes: [{ name: 'boost_state', expected: 'active' }], undo: { possible: true } });
  expect(rehearsal.changes).toHaveLength(1);
});

test('slats that somebody sent elsewhere are left alone, also before they have moved', async () => {
  const slats = (target: number) => ({
    'blind/1/WindowCovering.CurrentPositionTiltPercent100ths': 0,
    'blind/1/WindowCovering.TargetPositionTiltPercent100ths': target,
  });
  const home = await homeWith(BLIND, slats(0));
  const trace = await done(home, 'matter:windowcovering_set_tilt', { tilt_percent: 50 });
  home.report(slats(2_500));
  expect(await home.call('hub:undo', { trace_id: trace })).toMatchObject({ error: { details: { reason: 'changed_since' } } });
  home.report(slats(5_000));
  expect(await home.call('hub:undo', { trace_id: trace })).toMatchObject({ status: 'success' });
});

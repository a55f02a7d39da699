import { describe, expect, test } from 'vitest';
import { AtmoError } from '../../../src/core/errors.ts';
import type { JsonObject } from '../../../src/core/json.ts';
import { standardDeviceTypes } from '../../../src/matter/model/data-model.ts';
import { outcomeOf } from '../../../src/profiles/compile/step-outcome.ts';
import { deviceToolDefinition } from '../../../src/profiles/tools/device-tool-definition.ts';
import { allSettled, runDeviceTool } from '../../../src/profiles/tools/run-device-tool.ts';
import { compiledIn, described, runTool, toolOf, validator } from '../device-fixtures.ts';
import { FakeHome } from '../fake-home.ts';

const DIMMER = described('DimmableLight', { hasAllElements: true });
const MICROWAVE = described('MicrowaveOven', { hasAllElements: true });
const VACUUM = described('RoboticVacuumCleaner', { hasAllElements: true, clusters: ['ServiceArea'] });
const AREAS = ['kitchen', 'hall'].map((name, index) => ({
  areaId: index + 1,
  mapId: null,
  areaInfo: { locationInfo: { locationName: name, floorNumber: null, areaType: null }, landmarkInfo: null },
}));

function homeOf(description: ReturnType<typeof described>, values: JsonObject = {}) {
  const home = new FakeHome(description);
  for (const [path, value] of Object.entries(values)) {
    const [cluster = '', attribute = ''] = path.split('.');
    home.report({ device: description.device.id, endpoint: 1, cluster, attribute }, value);
  }
  return { home, compiled: compiledIn(home, description) };
}

describe('an answer says that the device has settled', () => {
  test('only where its state was compared with a target, for every tool of every device type', async () => {
    let actions = 0;
    for (const type of standardDeviceTypes()) {
      const clusters = type.clusters.map((cluster) => cluster.name);
      const { home, compiled } = homeOf(described(type.name, { hasAllElements: true, clusters }));
      for (const tool of compiled.tools.filter(({ kind }) => kind === 'act')) {
        const call = { access: home, signal: new AbortController().signal, nowMs: 0 };
        // A generic tool takes raw fields of any shape; what it answers about the state does not depend on them.
        const answer = await runDeviceTool(compiled, tool, { params: tool.example ?? {}, call }).catch(() => undefined);
        if (answer === undefined) continue;
        actions += 1;
        const [state, target] = [answer.state as JsonObject, Object.keys(answer.target as JsonObject)];
        const where = `${type.name}: ${tool.action}`;
        if (answer.settled === null) expect(answer.settled_reason, where).toMatch(/^Nothing was compared: /);
        else expect(target.length, where).toBeGreaterThan(0);
        if (answer.settled === true) expect(Object.keys(state), where).toEqual(expect.arrayContaining(target));
        const { returns } = deviceToolDefinition(compiled.device, tool, 'some_tool');
        expect(validator.check(returns, answer), where).toMatchObject({ isValid: true });
      }
    }
    expect(actions).toBeGreaterThan(500);
  });

  test('never where no value shows the action, and the reason names that', async () => {
    const { home, compiled } = homeOf(described('Fan', { hasAllElements: true }), { 'FanControl.PercentCurrent': 30 });
    expect(await runTool(home, compiled, { action: 'step_speed', params: { direction: 'increase' } })).toMatchObject({
      target: {},
      settled: null,
      settled_reason: 'Nothing was compared: this action names no state in which the device has to be afterwards',
    });
  });

  test('never where the device keeps silent about the state that was asked for', async () => {
    const { home, compiled } = homeOf(described('Pump', { hasAllElements: true }));
    const { target, ...answer } = await runTool(home, compiled, { action: 'turn_on' });
    expect(answer).toMatchObject({ settled: true });
    const lock = homeOf(described('WindowCovering', { features: { WindowCovering: ['LF', 'PA_LF'] }, hasAllElements: true }));
    expect(await runTool(lock.home, lock.compiled, { action: 'close' })).toMatchObject({
      target: { open_percent: 0 },
      settled: null,
      settled_reason: 'Nothing was compared: the device does not say what its open_percent is',
    });
    expect(target).toEqual({ is_on: true });
  });
});

describe('a relative action', () => {
  test('toggle is compared with the opposite of what the device showed right before', async () => {
    const { home, compiled } = homeOf(DIMMER, { 'OnOff.OnOff': true, 'LevelControl.CurrentLevel': 102 });
    expect(await runTool(home, compiled, { action: 'toggle' })).toEqual({
      state: { is_on: false },
      target: { is_on: false },
      settled: true,
    });
    expect(await runTool(home, compiled, { action: 'toggle' })).toEqual({ state: { is_on: true }, target: { is_on: true }, settled: true });
    expect(home.reads).toHaveLength(4);
  });

  test('a step in brightness is compared with the level that follows, and an unchanged lamp is not settled', async () => {
    const { home, compiled } = homeOf(DIMMER, { 'OnOff.OnOff': true, 'LevelControl.CurrentLevel': 102 });
    expect(await runTool(home, compiled, { action: 'adjust_brightness', params: { by: 20 } })).toMatchObject({
      state: { brightness: 40 },
      target: { brightness: 60, is_on: true },
      settled: false,
    });
  });

  test('time that a microwave did not add is not settled', async () => {
    const { home, compiled } = homeOf(MICROWAVE, { 'MicrowaveOvenControl.CookTime': 1800 });
    expect(await runTool(home, compiled, { action: 'add_time', params: { seconds: 2520 } })).toMatchObject({
      state: { cook_seconds: 1800 },
      target: { cook_seconds: 4320 },
      settled: false,
    });
  });

  test('an effect that holds a value from a rule is the same before and after the call', () => {
    const { compiled } = homeOf(MICROWAVE, { 'MicrowaveOvenControl.CookTime': 30 });
    const [step] = toolOf(compiled, 'add_time').plan({ seconds: 30 }).steps;
    expect(step && outcomeOf(step, compiled)).toEqual({ values: { cook_seconds: 60 } });
  });
});

describe('a lamp that is on for a time', () => {
  const running = { 'OnOff.OnOff': true, 'OnOff.OnTime': 6000 };

  test('goes off after the new time, though the device would keep the longer one', async () => {
    const { home, compiled } = homeOf(DIMMER, running);
    expect(await runTool(home, compiled, { action: 'turn_on_for', params: { seconds: 4 } })).toEqual({
      state: { is_on: true, seconds_left: 4 },
      target: { is_on: true, seconds_left: 4 },
      settled: true,
    });
    expect(home.written.map(({ path, value }) => [path.attribute, value])).toEqual([['OnTime', 40]]);
  });

  test('that takes no shorter time is not settled, and the answer shows the time that is left', async () => {
    const { home, compiled } = homeOf(DIMMER, running);
    home.writeFailure = new AtmoError('CLUSTER_STATUS', 'unsupported write');
    expect(await runTool(home, compiled, { action: 'turn_on_for', params: { seconds: 4 } })).toEqual({
      state: { is_on: true, seconds_left: 600 },
      target: { is_on: true, seconds_left: 4 },
      settled: false,
    });
  });

  test('that stays on without end is not settled', async () => {
    const { home, compiled } = homeOf(DIMMER, running);
    const value = toolOf(compiled, 'turn_on_for').values.find(({ name }) => name === 'seconds_left');
    expect([0, 1, 39, 40, 41, null].map((left) => value?.shows(left, 4))).toEqual([false, true, true, true, false, false]);
    home.writeFailure = new AtmoError('DEVICE_UNREACHABLE', 'away');
    await expect(runTool(home, compiled, { action: 'turn_on_for', params: { seconds: 4 } })).rejects.toMatchObject({
      code: 'DEVICE_UNREACHABLE',
    });
    expect(home.invoked).toEqual([]);
  });
});

test('areas that a robot lists in another order are the areas that were asked for', async () => {
  const { home, compiled } = homeOf(VACUUM, { 'ServiceArea.SupportedAreas': AREAS, 'ServiceArea.SelectedAreas': [1, 2] });
  expect(await runTool(home, compiled, { action: 'select_areas', params: { areas: ['hall', 'kitchen'] } })).toMatchObject({
    state: { selected_areas: ['kitchen', 'hall'] },
    target: { selected_areas: ['hall', 'kitchen'] },
    settled: true,
  });
  expect(await runTool(home, compiled, { action: 'select_areas', params: { areas: ['hall'] } })).toMatchObject({ settled: false });
});

test('a call of several actions is as far as the one that is farthest away', () => {
  const [there, onItsWay, unknown] = [{ settled: true }, { settled: false }, { settled: null, settled_reason: 'Nothing was compared: x' }];
  expect(allSettled([there, unknown, onItsWay])).toEqual(onItsWay);
  expect(allSettled([there, unknown])).toEqual(unknown);
  expect(allSettled([there, there])).toEqual(there);
  expect(allSettled([])).toMatchObject({ settled: null });
});

describe('a report may take the place of the read after an action', () => {
  const expectedBy = async (type: string, action: string, params: JsonObject = {}) => {
    const { home, compiled } = homeOf(described(type, { hasAllElements: true }), { 'OnOff.OnOff': false });
    await runTool(home, compiled, { action, params });
    return home.expected.flat().map(({ attribute }) => attribute);
  };

  test('where the action says what becomes of each value that it shows', async () => {
    expect(await expectedBy('DimmableLight', 'turn_on')).toEqual(['OnOff']);
    expect(await expectedBy('DimmableLight', 'set_brightness', { brightness: 40, transition_seconds: 0 })).toEqual([
      'CurrentLevel',
      'OnOff',
    ]);
    expect(await expectedBy('Fan', 'step_speed', { direction: 'increase' })).toEqual([]);
  });

  test('but never of a lock or a valve, which are always read', async () => {
    const isExpected = async (type: string, action: string) => {
      const { home, compiled } = homeOf(described(type, { hasAllElements: true }));
      const found = toolOf(compiled, action);
      // As of a device that has no other values than the wanted one.
      const tool = { ...found, values: found.values.filter(({ name }) => name in found.plan({}).target) };
      const call = { access: home, signal: new AbortController().signal, nowMs: 0 };
      await runDeviceTool(compiled, tool, { params: {}, call });
      return home.expected.length > 0;
    };
    expect(await isExpected('Speaker', 'mute')).toBe(true);
    expect(await isExpected('DoorLock', 'lock')).toBe(false);
    expect(await isExpected('WaterValve', 'close')).toBe(false);
    expect(await isExpected('Closure', 'open')).toBe(false);
  });
});

import { describe, expect, test } from 'vitest';
import { sequenceTool } from '../../../src/calls/composition/steps.ts';
import type { ApprovalStatus } from '../../../src/core/auth/approvals.ts';
import type { DeviceDescription } from '../../../src/core/devices/device-model.ts';
import { parseDeviceId } from '../../../src/core/devices/device-names.ts';
import { AtmoError } from '../../../src/core/errors.ts';
import type { Json, JsonObject } from '../../../src/core/json.ts';
import { inversePlan } from '../../../src/profiles/undo/inverse-plan.ts';
import { agent, codeOf, owner, permissiveParts } from '../../calls/pipeline-fixture.ts';
import { ManualClock } from '../../manual-clock.ts';
import { described } from '../device-fixtures.ts';
import { JournaledHome } from './journaled-home.ts';

const LAMP = described('DimmableLight', { hasAllElements: true, device: { id: parseDeviceId('lamp'), area: 'Kitchen' } });
const OTHER = described('DimmableLight', { hasAllElements: true, device: { id: parseDeviceId('other'), name: 'Other', area: 'Kitchen' } });
const COLOR = described('ExtendedColorLight', { hasAllElements: true, device: { id: parseDeviceId('color') } });
const THERMOSTAT = described('Thermostat', {
  features: { Thermostat: ['HEAT', 'COOL', 'AUTO'] },
  hasAllElements: true,
  device: { id: parseDeviceId('heat') },
});
const LOCK = described('DoorLock', { hasAllElements: true, device: { id: parseDeviceId('door') } });
const BRIGHTNESS = 'matter:dimmablelight_set_brightness';
const [isOnPath, levelPath] = ['OnOff.OnOff', 'LevelControl.CurrentLevel'];

function lit(device: string, isOn: boolean, level: number) {
  return {
    [`${device}/1/${isOnPath}`]: isOn,
    [`${device}/1/OnOff.OnTime`]: 0,
    [`${device}/1/${levelPath}`]: level,
    [`${device}/1/LevelControl.OnLevel`]: null,
  };
}

async function lampHome(isOn = true, level = 101, ...others: readonly DeviceDescription[]): Promise<JournaledHome> {
  return (await JournaledHome.start([LAMP, ...others])).report(lit('lamp', isOn, level));
}

function stateOf(home: JournaledHome, device = 'lamp', paths: readonly string[] = [isOnPath, levelPath]): readonly (Json | undefined)[] {
  return paths.map((path) => {
    const [cluster = '', attribute = ''] = path.split('.');
    return home.harness.home.cached({ device: parseDeviceId(device), endpoint: 1, cluster, attribute })?.value;
  });
}

async function done(home: JournaledHome, tool: string, params: JsonObject = {}): Promise<string> {
  const answer = await home.call(tool, params);
  expect(answer).toMatchObject({ status: 'success' });
  return answer.trace_id;
}

const undo = (home: JournaledHome, traceId: string) => home.call('hub:undo', { trace_id: traceId });

describe('a call is undone', () => {
  test('with exactly the raw value that was there before', async () => {
    const home = await lampHome();
    const trace = await done(home, BRIGHTNESS, { brightness: 80 });
    expect(stateOf(home)).toEqual([true, 203]);
    expect(await undo(home, trace)).toMatchObject({ status: 'success', result: { undone: ['matter:dimmablelight_set_brightness@1.0.0'] } });
    expect(stateOf(home)).toEqual([true, 101]);
  });

  test('once, and the undo is undone by its own trace', async () => {
    const home = await lampHome();
    const trace = await done(home, BRIGHTNESS, { brightness: 80 });
    const undone = await undo(home, trace);
    expect(await undo(home, trace)).toMatchObject({ error: { code: 'CONFLICT', details: { reason: 'already_undone' } } });
    expect(await undo(home, undone.trace_id)).toMatchObject({ status: 'success' });
    expect(stateOf(home)).toEqual([true, 203]);
  });

  test('without toggling: a lamp that was toggled is turned off', async () => {
    const home = await lampHome(false);
    const trace = await done(home, 'matter:dimmablelight_toggle');
    expect(await undo(home, trace)).toMatchObject({ status: 'success' });
    expect(home.harness.home.invoked.map(({ path }) => path.command)).toEqual(['Toggle', 'Off']);
  });

  test('whole, if it was a sequence: in one step for each device', async () => {
    const home = await lampHome(true, 101, OTHER);
    home.report(lit('other', false, 50));
    home.harness.registry.register(sequenceTool(() => home.parts.pipeline));
    const steps = [
      { tool: BRIGHTNESS, params: { brightness: 20 } },
      { tool: BRIGHTNESS, params: { brightness: 80 } },
      { tool: 'turn_on_light', params: { device_id: 'other' } },
    ];
    const trace = await done(home, 'sequence', { steps });
    expect(await undo(home, trace)).toMatchObject({ result: { counts: { settled: 2 } } });
    expect([stateOf(home), stateOf(home, 'other')]).toEqual([
      [true, 101],
      [false, 50],
    ]);
  });

  test('of an area as a whole', async () => {
    const home = await lampHome(true, 101, OTHER);
    home.report(lit('other', true, 50));
    const trace = await done(home, 'control_area', { area: 'Kitchen', what: 'lights', action: 'off' });
    expect([stateOf(home)[0], stateOf(home, 'other')[0]]).toEqual([false, false]);
    expect(await undo(home, trace)).toMatchObject({ result: { counts: { settled: 2 } } });
    expect([stateOf(home)[0], stateOf(home, 'other')[0]]).toEqual([true, true]);
  });

  test('whose outcome nobody knows, if the device shows that it acted', async () => {
    const home = await lampHome(false);
    const write = home.audit.record.bind(home.audit);
    const trace = 'a-trace-of-a-killed-hub';
    // The hub ends after the command, and finds the intent without an outcome when it starts again.
    home.audit.record = async (entry) => write(entry.kind === 'outcome' ? { ...entry, error: 'OUTCOME_UNKNOWN', after: {} } : entry);
    await home.parts.pipeline.call({ principal: owner, tool: 'matter:dimmablelight_turn_on', params: {}, traceId: trace });
    expect(stateOf(home)[0]).toBe(true);
    expect(await undo(home, trace)).toMatchObject({ result: { counts: { settled: 1 } } });
    expect(stateOf(home)[0]).toBe(false);
  });

  test('with the colour of its mode alone, since the coordinates of other modes mean nothing', async () => {
    const home = await JournaledHome.start([COLOR]);
    home.report(lit('color', true, 200)).report({
      'color/1/ColorControl.ColorMode': 'CurrentHueAndCurrentSaturation',
      'color/1/ColorControl.CurrentHue': 11,
      'color/1/ColorControl.CurrentSaturation': 201,
      'color/1/ColorControl.CurrentX': 1,
      'color/1/ColorControl.CurrentY': 2,
      'color/1/ColorControl.ColorTemperatureMireds': 250,
    });
    const trace = await done(home, 'matter:extendedcolorlight_set_color_temperature', { color_temperature: 2700 });
    expect(await undo(home, trace)).toMatchObject({ status: 'success' });
    const { path, fields } = home.harness.home.invoked.at(-1) ?? {};
    expect([path?.command, fields]).toEqual(['MoveToHueAndSaturation', expect.objectContaining({ hue: 11, saturation: 201 })]);
  });
});

describe('an undo that did only a part', () => {
  test('is done again for the rest: the lamp that failed is put back by the next one', async () => {
    const home = await lampHome(true, 101, OTHER);
    home.report(lit('other', true, 50));
    const trace = await done(home, 'control_area', { area: 'Kitchen', what: 'lights', action: 'off' });
    const { home: devices } = home.harness;
    const invoke = devices.invoke.bind(devices);
    devices.invoke = async (path, ...rest) => {
      if (path.device === OTHER.device.id) throw new AtmoError('DEVICE_UNREACHABLE', 'The lamp does not answer');
      return invoke(path, ...rest);
    };
    expect(await undo(home, trace)).toMatchObject({ result: { counts: { settled: 1, failed: 1 } } });
    devices.invoke = invoke;
    expect(await undo(home, trace)).toMatchObject({ result: { counts: { settled: 1, failed: 0 } } });
    expect([stateOf(home)[0], stateOf(home, 'other')[0]]).toEqual([true, true]);
    expect(await undo(home, trace)).toMatchObject({ error: { details: { reason: 'already_undone' } } });
  });

  test('and has the trace of what it undoes does not hide it when it fails before the first command', async () => {
    const home = await lampHome();
    const trace = await done(home, BRIGHTNESS, { brightness: 80 });
    const again = () => home.parts.pipeline.call({ principal: owner, tool: 'hub:undo', params: { trace_id: trace }, traceId: trace });
    home.harness.home.change(LAMP.device.id, { reachability: 'unreachable' });
    expect(codeOf(await again())).toBe('DEVICE_UNREACHABLE');
    home.harness.home.change(LAMP.device.id, { reachability: 'reachable' });
    expect(await again()).toMatchObject({ status: 'success' });
    expect(stateOf(home)).toEqual([true, 101]);
    expect(codeOf(await again())).toBe('NOT_FOUND');
  });
});

describe('a rehearsal says that undo', () => {
  const HEATING = { 'heat/1/Thermostat.OccupiedHeatingSetpoint': 2150, 'heat/1/Thermostat.OccupiedCoolingSetpoint': 2600 };

  test('sets a thermostat back, though its measured temperature has the name of the parameter', async () => {
    const home = await JournaledHome.start([THERMOSTAT]);
    home.report({ ...HEATING, 'heat/1/Thermostat.LocalTemperature': 2050, 'heat/1/Thermostat.SystemMode': 'Heat' });
    const params = { temperature: 23, setpoint: 'heat' } as const;
    expect(await home.rehearse('matter:thermostat_set_temperature', params)).toMatchObject({ undo: { possible: true } });
    const trace = await done(home, 'matter:thermostat_set_temperature', params);
    expect(await undo(home, trace)).toMatchObject({ status: 'success' });
    expect(stateOf(home, 'heat', ['Thermostat.OccupiedHeatingSetpoint'])).toEqual([2150]);
  });

  test('cannot unlock a lock that wants its PIN, which the hub does not keep', async () => {
    const home = await JournaledHome.start([LOCK]);
    home.report({ 'door/1/DoorLock.LockState': 'Unlocked', 'door/1/DoorLock.RequirePinForRemoteOperation': true });
    expect(await home.rehearse('matter:doorlock_lock')).toMatchObject({ outcome: 'would_run', undo: { possible: false } });
    home.report({ 'door/1/DoorLock.RequirePinForRemoteOperation': false });
    expect(await home.rehearse('matter:doorlock_lock')).toMatchObject({ outcome: 'would_run', undo: { possible: true } });
  });

  test('unlocks a lock without a PIN by no PIN: no value of the lock is tried as one', async () => {
    const { harness } = (await JournaledHome.start([LOCK])).report({
      'door/1/DoorLock.LockState': 'Locked',
      'door/1/DoorLock.RequirePinForRemoteOperation': false,
    });
    const compiled = harness.sync.get(LOCK.device.id) ?? expect.unreachable();
    const { calls } = { calls: [], ...inversePlan(compiled, { wanted: new Map([['1/DoorLock/LockState', 'Unlocked']]) }) };
    expect(calls.map(({ tool, params }) => [tool.key, params])).toEqual([['1/DoorLock/unlock', {}]]);
  });
});

describe('a call is not undone', () => {
  test('if a later call touched the same, and only who may read the journal is told whose', async () => {
    const home = await lampHome();
    const trace = await done(home, BRIGHTNESS, { brightness: 80 });
    await home.call(BRIGHTNESS, { brightness: 80 }, { ...agent('device:control:lamp'), id: 'somebody' });
    expect(await undo(home, trace)).toMatchObject({
      error: { code: 'CONFLICT', details: { reason: 'changed_since', agent_id: 'somebody' } },
    });
    const asked = await home.call('hub:undo', { trace_id: trace }, agent('device:control:lamp'));
    expect(asked).toMatchObject({ error: { code: 'CONFLICT', details: { reason: 'changed_since' } } });
    expect(JSON.stringify(asked)).not.toContain('somebody');
    expect(stateOf(home)).toEqual([true, 203]);
  });

  test('until the device has reported its present state, since somebody may have changed what it reported before a restart', async () => {
    const home = await lampHome();
    const { unreported, invoked } = home.harness.home;
    const trace = await done(home, BRIGHTNESS, { brightness: 80 });
    // What the hub still knows is the state before the call, so there would seem to be nothing to do.
    home.report(lit('lamp', true, 101));
    unreported.add('lamp');
    const error = { code: 'DEVICE_UNREACHABLE', message: expect.stringContaining('has not reported its present state') };
    expect(await home.rehearse('hub:undo', { trace_id: trace })).toMatchObject({ outcome: 'would_be_refused', error });
    expect(await undo(home, trace)).toMatchObject({ status: 'error', error });
    expect(invoked).toHaveLength(1);
    home.report(lit('lamp', true, 203));
    unreported.delete('lamp');
    expect(await undo(home, trace)).toMatchObject({ status: 'success' });
    expect(stateOf(home)).toEqual([true, 101]);
  });

  test('if somebody was at the switch', async () => {
    const home = await lampHome();
    const trace = await done(home, BRIGHTNESS, { brightness: 80 });
    home.report({ 'lamp/1/LevelControl.CurrentLevel': 77 });
    expect(await undo(home, trace)).toMatchObject({
      error: { code: 'CONFLICT', details: { reason: 'changed_since', value: 'brightness' } },
    });
    expect(stateOf(home)).toEqual([true, 77]);
  });

  test('for who may not control the device, and who may not see it does not get to know of it', async () => {
    const home = await lampHome();
    const trace = await done(home, BRIGHTNESS, { brightness: 80 });
    const by = (...permissions: readonly string[]) => home.call('hub:undo', { trace_id: trace }, agent(...permissions));
    expect(codeOf(await by('device:read:lamp'))).toBe('PERMISSION_DENIED');
    expect(codeOf(await by('device:control:other'))).toBe('NOT_FOUND');
    expect(codeOf(await home.call('hub:undo', { trace_id: 'never' }))).toBe('NOT_FOUND');
    expect(stateOf(home)).toEqual([true, 203]);
  });

  test('for who sees only one of its devices, and names and values of the others stay unknown', async () => {
    const home = await lampHome(true, 101, OTHER);
    home.report(lit('other', true, 50));
    const trace = await done(home, 'control_area', { area: 'Kitchen', what: 'lights', action: 'off' });
    home.report({ 'other/1/OnOff.OnOff': true, 'other/1/LevelControl.CurrentLevel': 77 });
    const asked = await home.rehearse('hub:undo', { trace_id: trace }, agent('device:control:lamp'));
    expect(asked).toMatchObject({ outcome: 'would_be_refused', error: { code: 'NOT_FOUND' } });
    expect(JSON.stringify(asked)).not.toContain('Other');
  });

  test('with the present value in the answer only for who may read it', async () => {
    const home = await lampHome();
    const trace = await done(home, BRIGHTNESS, { brightness: 80 });
    home.report({ 'lamp/1/LevelControl.CurrentLevel': 77 });
    const { error } = (await home.rehearse('hub:undo', { trace_id: trace }, agent('device:control:lamp'))) as unknown as {
      error: JsonObject;
    };
    expect(error).toMatchObject({ code: 'CONFLICT', details: { reason: 'changed_since' } });
    expect(JSON.stringify(error)).not.toMatch(/now|30/);
  });

  test('if a later call was too large for the journal to keep what it changed', async () => {
    const home = await lampHome();
    const trace = await done(home, BRIGHTNESS, { brightness: 80 });
    await home.call(BRIGHTNESS, { brightness: 80 });
    const row = home.audit.rows.findLast(({ kind }) => kind === 'intent');
    if (row) Object.assign(row.content, { before: undefined, omitted: ['before'] });
    expect(await undo(home, trace)).toMatchObject({ error: { code: 'CONFLICT', details: { reason: 'changed_since' } } });
  });

  test('if a stranger called again with the request id of the call', async () => {
    const home = await lampHome();
    const request = { principal: owner, tool: BRIGHTNESS, params: { brightness: 80 }, requestId: 'call_1' };
    const { trace_id: trace } = await home.parts.pipeline.call(request);
    await home.parts.pipeline.call({ ...request, principal: { ...agent('device:control:lamp'), id: 'somebody' } });
    expect(await undo(home, trace)).toMatchObject({ error: { details: { reason: 'changed_since', agent_id: 'somebody' } } });
  });

  test('after a search of the whole journal: each query has a trace, devices or a request, and a bound', async () => {
    const home = await lampHome();
    const trace = await done(home, BRIGHTNESS, { brightness: 80 });
    const intent = home.audit.rows.find(({ kind }) => kind === 'intent');
    for (let seq = 100; intent && seq < 1_300; seq++) {
      home.audit.rows.push({ ...intent, seq, trace: `t${seq}`, request: `r${seq}`, content: { before: { lamp: { '1/Other/Value': 1 } } } });
    }
    home.audit.queries.length = 0;
    expect(await undo(home, trace)).toMatchObject({ error: { code: 'NOT_SUPPORTED', details: { reason: 'too_many_calls' } } });
    expect(home.audit.queries.filter(({ trace: one, devices, request }) => !one && !devices && !request)).toEqual([]);
    expect(home.audit.queries.length).toBeLessThan(30);
  });

  test('in part: if one device of it no longer answers, the others stay as they are', async () => {
    const home = await lampHome(true, 101, OTHER);
    home.report(lit('other', true, 50));
    const trace = await done(home, 'control_area', { area: 'Kitchen', what: 'lights', action: 'off' });
    home.harness.home.change(OTHER.device.id, { reachability: 'unreachable' });
    expect(codeOf(await undo(home, trace))).toBe('DEVICE_UNREACHABLE');
    expect(stateOf(home)[0]).toBe(false);
  });

  test('if it was final, and its rehearsal says so before', async () => {
    const approvals = approving();
    const home = await JournaledHome.start([LOCK], { approvals: approvals.queue });
    home.report({ 'door/1/DoorLock.LockState': 'Locked' });
    const rehearsal = await home.rehearse('matter:doorlock_unlock');
    expect(rehearsal).toMatchObject({ outcome: 'needs_approval', undo: { possible: false, reason: expect.stringContaining('Unlock') } });
    const trace = await done(home, 'matter:doorlock_unlock');
    expect(await undo(home, trace)).toMatchObject({ error: { code: 'NOT_SUPPORTED', details: { reason: 'irreversible' } } });
  });
});

describe('the undo of a lock', () => {
  test('is an unlock: dangerous, and approved as exactly that', async () => {
    const approvals = approving();
    const home = await JournaledHome.start([LOCK], { approvals: approvals.queue });
    home.report({ 'door/1/DoorLock.LockState': 'Unlocked' });
    const trace = await done(home, 'matter:doorlock_lock');
    expect(approvals.asked).toEqual([]);
    expect(await home.rehearse('hub:undo', { trace_id: trace })).toMatchObject({ outcome: 'needs_approval', risk: 'dangerous' });
    expect(await undo(home, trace)).toMatchObject({ status: 'success' });
    expect(approvals.asked).toEqual(['door/1/DoorLock/UnlockDoor']);
    expect(stateOf(home, 'door', ['DoorLock.LockState'])).toEqual(['Unlocked']);
  });

  test('is refused if the lock or the log of its calls changed while people decided, and sends nothing', async () => {
    const changes: readonly ((home: JournaledHome) => unknown)[] = [
      (home) => home.report({ 'door/1/DoorLock.LockState': 'Unlocked' }),
      (home) => home.call('matter:doorlock_lock'),
    ];
    for (const change of changes) {
      const home: JournaledHome = await JournaledHome.start([LOCK], { approvals: approving(() => change(home)).queue });
      home.report({ 'door/1/DoorLock.LockState': 'Unlocked' });
      const trace = await done(home, 'matter:doorlock_lock');
      expect(await undo(home, trace)).toMatchObject({ error: { code: 'CONFLICT', details: { reason: 'changed_since' } } });
      expect(home.harness.home.invoked.map(({ path }) => path.command)).not.toContain('UnlockDoor');
    }
  });
});

describe('the values before a call', () => {
  test('are asked for, if the device has not reported its present ones yet', async () => {
    const home = await lampHome();
    const { unreported, reads } = home.harness.home;
    unreported.add('lamp');
    const trace = await done(home, BRIGHTNESS, { brightness: 80 });
    expect(reads[0]).toContainEqual(expect.objectContaining({ device: 'lamp', cluster: 'LevelControl', attribute: 'CurrentLevel' }));
    unreported.delete('lamp');
    expect(await undo(home, trace)).toMatchObject({ status: 'success' });
    expect(stateOf(home)).toEqual([true, 101]);
  });

  test('are not known if the device does not answer then, so the call cannot be undone', async () => {
    const home = await lampHome();
    home.harness.home.unreported.add('lamp');
    home.harness.home.readFailure = new AtmoError('DEVICE_UNREACHABLE', 'silent');
    const { trace_id: trace } = await home.call(BRIGHTNESS, { brightness: 80 });
    home.harness.home.readFailure = undefined;
    home.harness.home.unreported.delete('lamp');
    expect(await undo(home, trace)).toMatchObject({ error: { code: 'NOT_SUPPORTED', details: { reason: 'irreversible' } } });
    expect(stateOf(home)).toEqual([true, 203]);
  });
});

describe('the calls of a trace', () => {
  test('are read once before the row of the undo is written, and once after it', async () => {
    const home = await lampHome();
    const trace = await done(home, BRIGHTNESS, { brightness: 80 });
    const reads = () => home.audit.queries.filter((query) => query.trace === trace).length;
    await home.rehearse('hub:undo', { trace_id: trace });
    expect(reads()).toBe(1);
    expect(await undo(home, trace)).toMatchObject({ status: 'success' });
    expect(reads()).toBe(3);
  });
});

describe('a rehearsal', () => {
  test('shows the state now and afterwards only to who may read it', async () => {
    const home = await lampHome(false);
    const change = { device_id: 'lamp', unit: '%', name: 'brightness', now: 40, expected: 80 };
    expect((await home.rehearse(BRIGHTNESS, { brightness: 80 })).changes).toContainEqual(change);
    const asked = await home.rehearse(BRIGHTNESS, { brightness: 80 }, agent('device:control:lamp'));
    expect(asked.changes).toEqual([
      { device_id: 'lamp', unit: '%', name: 'brightness' },
      { device_id: 'lamp', unit: expect.any(String), name: 'is_on' },
    ]);
    expect(home.harness.home.invoked).toEqual([]);
  });

  test('says which devices of an area would be left out', async () => {
    const home = await lampHome(true, 101, OTHER);
    const params = { area: 'Kitchen', what: 'lights', action: 'off' } as const;
    const { skipped } = await home.rehearse('control_area', params, agent('device:control:lamp', 'device:read:*'));
    expect(skipped).toEqual([{ device_id: 'other', name: 'Other', reason: 'You may not control it' }]);
  });
});

/** People who approve everything, and the targets of what they approved. `whileAsked` runs before they answer. */
function approving(whileAsked: () => unknown = () => {}) {
  const asked: string[] = [];
  const approved: ApprovalStatus = { state: 'approved', approvalId: 'a1', by: ['ann'] };
  const queue = {
    ...permissiveParts(new ManualClock()).approvals,
    check: async ({ effects }: { readonly effects: readonly { readonly target: string }[] }) => {
      asked.push(...effects.map(({ target }) => target));
      await whileAsked();
      return approved;
    },
  };
  return { queue, asked };
}

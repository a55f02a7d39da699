import { describe, expect, test } from 'vitest';
import { compileRules } from '../../../src/auth/rules/rule-compiler.ts';
import type { Effect } from '../../../src/core/auth/principal.ts';
import type { DeviceDescription } from '../../../src/core/devices/device-model.ts';
import { parseDeviceId } from '../../../src/core/devices/device-names.ts';
import type { Json, JsonObject } from '../../../src/core/json.ts';
import { outcomeOf } from '../../../src/profiles/compile/step-outcome.ts';
import { NodeBounds } from '../../../src/profiles/home/node-bounds.ts';
import { toolEffects } from '../../../src/profiles/tools/run-device-tool.ts';
import { NO_DEVICE_FACTS } from '../../no-device-facts.ts';
import { compiledIn, described, validator } from '../device-fixtures.ts';
import { FakeHome } from '../fake-home.ts';
import { ToolHarness } from '../tool-harness.ts';

const THERMOSTAT = described('Thermostat', {
  features: { Thermostat: ['HEAT', 'COOL', 'AUTO'] },
  hasAllElements: true,
  clusters: ['ScenesManagement'],
  device: { id: parseDeviceId('heating') },
});
const LIGHT = described('ExtendedColorLight', { hasAllElements: true, device: { id: parseDeviceId('lamp') } });
const LOCK = described('DoorLock', { hasAllElements: true, device: { id: parseDeviceId('door') } });
const COVER = described('WindowCovering', { hasAllElements: true, device: { id: parseDeviceId('blind') } });
const FAN = described('Fan', { hasAllElements: true, device: { id: parseDeviceId('fan') } });
const PUMP = described('Pump', { hasAllElements: true, device: { id: parseDeviceId('pump') } });
const VALVE = described('WaterValve', { hasAllElements: true, device: { id: parseDeviceId('valve') } });
const CLOSURE = described('Closure', { hasAllElements: true, device: { id: parseDeviceId('gate') } });

type Live = Readonly<Record<string, Json>>;

function compiledWith(description: DeviceDescription, live: Live = {}) {
  const home = new FakeHome(description);
  for (const [path, value] of Object.entries(live)) {
    const [cluster = '', attribute = ''] = path.split('.');
    home.report({ device: description.device.id, endpoint: 1, cluster, attribute }, value);
  }
  return compiledIn(home, description);
}

function invoked(description: DeviceDescription, path: string, given: { readonly fields?: JsonObject; readonly live?: Live } = {}) {
  const [cluster = '', command = ''] = path.split('.');
  const step = { kind: 'invoke', endpoint: 1, cluster, command, fields: given.fields ?? {} } as const;
  return outcomeOf(step, compiledWith(description, given.live));
}

function written(description: DeviceDescription, path: string, given: { readonly value: Json; readonly live?: Live }) {
  const [cluster = '', attribute = ''] = path.split('.');
  const step = { kind: 'write', endpoint: 1, cluster, attribute, value: given.value } as const;
  return outcomeOf(step, compiledWith(description, given.live));
}

/** Everything that may end with the heating setpoint at `wanted` °C, whatever it is called. */
const LIVE = { OccupiedHeatingSetpoint: 2000, SystemMode: 'Heat' } as const;
const PATHS: readonly (readonly [name: string, tool: string, params: (celsius: number) => JsonObject])[] = [
  ['its own tool', 'matter:thermostat_set_temperature', (c) => ({ temperature: c, setpoint: 'heat' })],
  ['its own tool in °F', 'matter:thermostat_set_temperature', (c) => ({ temperature: c * 1.8 + 32, unit: 'fahrenheit', setpoint: 'heat' })],
  ['its own tool, by the present mode', 'matter:thermostat_set_temperature', (c) => ({ temperature: c })],
  ['its alias', 'matter:thermostat_temperature', (c) => ({ temperature: c, setpoint: 'heat' })],
  ['a difference', 'matter:thermostat_adjust_temperature', (c) => ({ by: c - 20 })],
  ['set_thermostat', 'set_thermostat', (c) => ({ device_id: 'heating', target_temp: c })],
  ['set_thermostat in °F', 'set_thermostat', (c) => ({ device_id: 'heating', target_temp: c * 1.8 + 32, unit: 'fahrenheit' })],
  ['control_device', 'control_device', (c) => ({ device_id: 'heating', command: 'set_temperature', params: { temperature: c } })],
  ['control_device with an alias', 'control_device', (c) => ({ device_id: 'heating', command: 'temperature', params: { temperature: c } })],
  [
    'a raw write',
    'matter:control_matter_device',
    (c) => ({ device_id: 'heating', cluster: 'Thermostat', attribute: 'OccupiedHeatingSetpoint', value: c * 100 }),
  ],
  [
    'a raw write in other letters',
    'matter_command',
    (c) => ({ device_id: 'heating', cluster: 'thermostat', attribute: 'occupied_heating_setpoint', value: c * 100 }),
  ],
  [
    'a raw command',
    'matter:control_matter_device',
    (c) => ({
      device_id: 'heating',
      cluster: 'Thermostat',
      command: 'SetpointRaiseLower',
      params: { mode: 'Heat', amount: (c - 20) * 10 },
    }),
  ],
  [
    'the setpoint for when nobody is there',
    'matter:control_matter_device',
    (c) => ({ device_id: 'heating', cluster: 'Thermostat', attribute: 'UnoccupiedHeatingSetpoint', value: c * 100 }),
  ],
];

async function heatingHub() {
  const hub = await new ToolHarness(THERMOSTAT).start();
  for (const [attribute, value] of Object.entries(LIVE)) {
    hub.home.report({ device: THERMOSTAT.device.id, endpoint: 1, cluster: 'Thermostat', attribute }, value);
  }
  return hub;
}

/** What the rule "heating never above 25 °C" says. */
function judged(effects: readonly Effect[]): string {
  const { set } = compileRules('rules: [{ name: r, effect: deny, when: { value: { name: heating_setpoint, above: 25 } } }]', 'rules.yaml');
  const principal = { id: 'helper', kind: 'agent', permissions: [] } as const;
  const call = { principal, toolId: 'core:any@1.0.0', formerToolIds: [], params: {}, effects };
  return set.judge(call, { facts: NO_DEVICE_FACTS, minute: 0 }).kind;
}

function effectOf(outcome: Pick<Effect, 'values' | 'unforeseen'>): Effect {
  return {
    permission: 'device:control:heating',
    risk: 'low',
    target: 'heating/1/Thermostat/Any',
    device: THERMOSTAT.device.id,
    ...outcome,
  };
}

describe('the heating setpoint that a call sets is told in °C, and no path leads past a rule about it', () => {
  test.each(PATHS)('by %s', async (_, tool, params) => {
    for (const celsius of [21.5, 28]) {
      const hub = await heatingHub();
      const { effects } = await hub.call(tool, params(celsius));
      expect(effects).toHaveLength(1);
      expect(effects[0]).toMatchObject({ device: 'heating', values: { heating_setpoint: celsius } });
      expect(effects[0]?.unforeseen ?? []).not.toContain('heating_setpoint');
      expect(judged(effects), `${celsius} °C`).toBe(celsius > 25 ? 'deny' : 'allow');
    }
  });

  test('by a group as well, and whoever joins one or is bound may set anything there', () => {
    const home = new FakeHome(THERMOSTAT);
    const compiled = compiledWith(THERMOSTAT, { 'Thermostat.OccupiedHeatingSetpoint': 2000 });
    const bounds = new NodeBounds(home, { get: (id) => (id === compiled.device.id ? compiled : undefined) });
    const at = { device: compiled.device.id, endpoint: 1, cluster: 'Thermostat', command: 'SetpointRaiseLower' };
    expect(bounds.outcomeOf(at, { mode: 'Heat', amount: 80 })).toEqual({ values: { heating_setpoint: 28 } });
    expect(bounds.outcomeOf({ ...at, device: parseDeviceId('gone') }, {})).toEqual({ unforeseen: ['*'] });
    expect(judged([effectOf(bounds.outcomeOf(at, { mode: 'Heat', amount: 80 }))])).toBe('deny');
    expect(judged([effectOf(bounds.outcomeOf(at, { mode: 'Heat', amount: 20 }))])).toBe('allow');
    expect(judged([effectOf({ unforeseen: bounds.valuesOn(compiled.device.id, 1) })])).toBe('deny');
    expect(bounds.valuesOn(compiled.device.id, 1)).toContain('heating_setpoint');
    expect(bounds.valuesOn(compiled.device.id, 1, 'thermostat')).toContain('heating_setpoint');
    expect(bounds.valuesOn(compiled.device.id, 1, 'Thermostatt')).toContain('heating_setpoint');
    expect(bounds.valuesOn(compiled.device.id, 1, 'OnOff')).toEqual(bounds.valuesOn(compiled.device.id, 1));
    expect(bounds.valuesOn(parseDeviceId('gone'), 1)).toEqual(['*']);
  });

  test.each([
    ['a difference to an unknown setpoint', 'Thermostat.SetpointRaiseLower', { mode: 'Heat', amount: 80 }],
    ['a preset', 'Thermostat.SetActivePresetRequest', { presetHandle: 'AQ==' }],
    ['a schedule', 'Thermostat.SetActiveScheduleRequest', { scheduleHandle: 'AQ==' }],
    ['a suggestion', 'Thermostat.AddThermostatSuggestion', { presetHandle: 'AQ==', effectiveTime: null, expirationInMinutes: 30 }],
    ['new presets and schedules', 'Thermostat.AtomicRequest', { requestType: 'CommitWrite', attributeRequests: [] }],
    ['a scene', 'ScenesManagement.RecallScene', { groupId: 0, sceneId: 1 }],
    ['what a scene brings later', 'ScenesManagement.StoreScene', { groupId: 0, sceneId: 1 }],
    ['what a scene is given to bring', 'ScenesManagement.AddScene', { groupId: 0, sceneId: 1, transitionTime: 0 }],
    ['what another scene brings', 'ScenesManagement.CopyScene', { mode: {}, groupIdentifierFrom: 0, sceneIdentifierFrom: 1 }],
  ])('or counts as unforeseen: %s', (_, path, fields) => {
    const outcome = invoked(THERMOSTAT, path, { fields });
    expect(outcome.unforeseen).toContain('heating_setpoint');
    expect(judged([effectOf(outcome)])).toBe('deny');
  });

  test.each(['MinHeatSetpointLimit', 'MinSetpointDeadBand', 'Presets', 'Schedules', 'ControlSequenceOfOperation', 'EmergencyHeatDelta'])(
    'or counts as unforeseen: a write of %s',
    (attribute) => {
      expect(written(THERMOSTAT, `Thermostat.${attribute}`, { value: 2800 }).unforeseen).toContain('heating_setpoint');
    },
  );

  test('a dead band pushes the other setpoint away, as far as that one is known', () => {
    const band = { 'Thermostat.MinSetpointDeadBand': 20 };
    const write = (value: number, live: Live) => written(THERMOSTAT, 'Thermostat.OccupiedCoolingSetpoint', { value, live });
    expect(write(2300, { ...band, 'Thermostat.OccupiedHeatingSetpoint': 2000 })).toEqual({ values: { cooling_setpoint: 23 } });
    expect(write(2100, { ...band, 'Thermostat.OccupiedHeatingSetpoint': 2000 })).toEqual({
      values: { cooling_setpoint: 21, heating_setpoint: 19 },
    });
    expect(write(2100, band)).toEqual({ values: { cooling_setpoint: 21 }, unforeseen: ['heating_setpoint'] });
  });

  test('a mode sets no setpoint', () => {
    expect(written(THERMOSTAT, 'Thermostat.SystemMode', { value: 'Cool' })).toEqual({ values: { mode: 'cool' } });
  });
});

describe('what commands set', () => {
  test.each<[string, DeviceDescription, string, JsonObject, Live, JsonObject]>([
    ['on', LIGHT, 'OnOff.On', {}, { 'LevelControl.CurrentLevel': 254 }, { values: { is_on: true, brightness: 100 } }],
    ['on at its own level', LIGHT, 'OnOff.On', {}, { 'LevelControl.OnLevel': 127 }, { values: { is_on: true, brightness: 50 } }],
    ['on at an unknown level', LIGHT, 'OnOff.On', {}, {}, { values: { is_on: true }, unforeseen: ['brightness'] }],
    ['off', LIGHT, 'OnOff.OffWithEffect', {}, {}, { values: { is_on: false, seconds_left: 0 } }],
    ['toggle from on', LIGHT, 'OnOff.Toggle', {}, { 'OnOff.OnOff': true }, { values: { is_on: false, seconds_left: 0 } }],
    ['toggle from nobody knows what', LIGHT, 'OnOff.Toggle', {}, {}, { unforeseen: ['brightness', 'is_on'] }],
    ['a level', LIGHT, 'LevelControl.MoveToLevel', { level: 102 }, {}, { values: { brightness: 40 } }],
    ['a level below the lowest', LIGHT, 'LevelControl.MoveToLevelWithOnOff', { level: 0 }, {}, { values: { brightness: 0, is_on: false } }],
    [
      'a step',
      LIGHT,
      'LevelControl.StepWithOnOff',
      { stepMode: 'Up', stepSize: 100 },
      { 'LevelControl.CurrentLevel': 200 },
      { values: { brightness: 100, is_on: true } },
    ],
    ['a step from an unknown level', LIGHT, 'LevelControl.Step', { stepMode: 'Up', stepSize: 9 }, {}, { unforeseen: ['brightness'] }],
    ['a movement', LIGHT, 'LevelControl.MoveWithOnOff', { moveMode: 'Up', rate: 1 }, {}, { unforeseen: ['brightness', 'is_on'] }],
    ['the end of a movement', LIGHT, 'LevelControl.Stop', {}, {}, {}],
    ['unlock', LOCK, 'DoorLock.UnlockDoor', {}, {}, { values: { lock_state: 'unlocked' } }],
    ['unlock for a while', LOCK, 'DoorLock.UnlockWithTimeout', { timeout: 9 }, {}, { values: { lock_state: 'unlocked' } }],
    ['unbolt', LOCK, 'DoorLock.UnboltDoor', {}, {}, { values: { lock_state: 'unlocked' } }],
    [
      'open',
      COVER,
      'WindowCovering.UpOrOpen',
      {},
      {},
      { values: { open_percent: 100, tilt_percent: 100, target_open_percent: 100, target_tilt_percent: 100 } },
    ],
    [
      'a position',
      COVER,
      'WindowCovering.GoToLiftPercentage',
      { liftPercent100thsValue: 3000 },
      {},
      { values: { open_percent: 70, target_open_percent: 70 } },
    ],
    [
      'an open valve',
      VALVE,
      'ValveConfigurationAndControl.Close',
      {},
      {},
      { values: { valve_state: 'closed', open_percent: 0, seconds_left: null } },
    ],
    ['a faster fan', FAN, 'FanControl.Step', { direction: 'Increase' }, {}, { unforeseen: ['speed', 'speed_setting', 'fan_mode'] }],
  ])('%s', (_, description, path, fields, live, outcome) => {
    const { values, unforeseen } = invoked(description, path, { fields, live });
    expect({ ...(values && { values }), ...(unforeseen && { unforeseen: unforeseen.toSorted() }) }).toEqual(
      'unforeseen' in outcome ? { ...outcome, unforeseen: (outcome.unforeseen as string[]).toSorted() } : outcome,
    );
  });

  test('a fan’s speed is known whichever of its three attributes sets it', () => {
    expect(written(FAN, 'FanControl.PercentSetting', { value: 80 })).toMatchObject({ values: { speed: 80, speed_setting: 80 } });
    expect(written(FAN, 'FanControl.FanMode', { value: 'High' })).toMatchObject({ unforeseen: ['speed', 'speed_setting'] });
    expect(written(FAN, 'FanControl.SpeedSetting', { value: 9 }).unforeseen).toContain('speed');
  });

  test('a pump’s mode may change how fast it runs', () => {
    const { values, unforeseen } = written(PUMP, 'PumpConfigurationAndControl.OperationMode', { value: 'Maximum' });
    expect(values).toEqual({ operation_mode: 'maximum' });
    expect(unforeseen).toEqual(expect.arrayContaining(['pump_speed', 'is_running']));
  });

  test('a colour in one system of coordinates may be anything in the others', () => {
    const { values, unforeseen } = invoked(LIGHT, 'ColorControl.MoveToHueAndSaturation', { fields: { hue: 0, saturation: 254 } });
    expect(values).toMatchObject({ hue: 0, saturation: 100 });
    expect(unforeseen).toEqual(['color_temperature', 'color_x', 'color_y']);
  });

  test('a change to passage mode may unlock a lock', () => {
    expect(written(LOCK, 'DoorLock.OperatingMode', { value: 'Passage' })).toEqual({
      values: { operating_mode: 'passage' },
      unforeseen: ['lock_state'],
    });
    expect(invoked(LOCK, 'DoorLock.SetUser').unforeseen).toContain('lock_state');
  });

  test('a command that profiles know sets what they say; the rest of its cluster is assumed to change', () => {
    const open = invoked(CLOSURE, 'ClosureControl.MoveTo', { fields: { position: 'MoveToFullyOpen', latch: false } });
    expect(open.values).toEqual({ position: 'fully_opened', latched: false });
    const ajar = invoked(CLOSURE, 'ClosureControl.MoveTo', { fields: { position: 'MoveToVentilationPosition', latch: true } });
    expect(ajar).toMatchObject({ values: { latched: true }, unforeseen: expect.arrayContaining(['position']) });
  });

  test('reading sets nothing', () => {
    const compiled = compiledWith(LIGHT);
    expect(outcomeOf({ kind: 'read', endpoint: 1, cluster: 'OnOff', attribute: 'OnOff' }, compiled)).toEqual({});
  });
});

test('the target of a tool is among the values that its steps set, for every tool of the standard’s devices', () => {
  for (const description of [THERMOSTAT, LIGHT, LOCK, COVER, FAN, VALVE, CLOSURE]) {
    const compiled = compiledWith(description, { 'Thermostat.OccupiedHeatingSetpoint': 2000, 'Thermostat.OccupiedCoolingSetpoint': 2500 });
    for (const tool of compiled.tools.filter((one) => one.kind === 'act' && one.example)) {
      const params = validator.parameters(tool.parameters, tool.example ?? {});
      const effects = toolEffects(compiled, tool, params);
      const told = effects.flatMap(({ values, unforeseen }) => [...Object.keys(values ?? {}), ...(unforeseen ?? [])]);
      expect(told, `${description.device.id} ${tool.action}`).toEqual(expect.arrayContaining(Object.keys(tool.plan(params).target)));
    }
  }
});

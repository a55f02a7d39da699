import { describe, expect, test } from 'vitest';
import type { DeviceDescription } from '../../../src/core/devices/device-model.ts';
import { AtmoError } from '../../../src/core/errors.ts';
import type { Json } from '../../../src/core/json.ts';
import { deviceToolDefinition } from '../../../src/profiles/tools/device-tool-definition.ts';
import { toolEffects } from '../../../src/profiles/tools/run-device-tool.ts';
import { described, homeWith, runTool, toolOf } from '../device-fixtures.ts';

const THERMOSTAT = described('Thermostat', { features: { Thermostat: ['HEAT', 'COOL', 'AUTO'] }, hasAllElements: true });
const HEATER = described('Thermostat', { features: { Thermostat: ['HEAT'] } });
const LIGHT = described('ExtendedColorLight', { features: { ColorControl: ['HS', 'XY', 'CT'] }, hasAllElements: true });
const LOCK = described('DoorLock', { hasAllElements: true });
const COVER = described('WindowCovering', { features: { WindowCovering: ['LF', 'PA_LF'] }, hasAllElements: true });

test('the tags of a tool name its purpose, not its cluster', () => {
  const { compiled } = homeWith(described('Speaker', { clusters: ['LevelControl'], features: { LevelControl: ['OO'] } }), {});
  expect(deviceToolDefinition(compiled.device, toolOf(compiled, 'set_volume'), 'x').metadata.tags).toEqual(['speaker', 'volume']);
});

describe('people’s units reach the device as Matter values', () => {
  test('40 percent is level 102, and the result is the state of the device', async () => {
    const { home, compiled } = homeWith(LIGHT, { 'OnOff.OnOff': true, 'LevelControl.CurrentLevel': 254 });
    const answer = await runTool(home, compiled, { action: 'set_brightness', params: { brightness: 40 } });
    expect(home.invoked).toEqual([
      {
        path: { device: compiled.device.id, endpoint: 1, cluster: 'LevelControl', command: 'MoveToLevelWithOnOff' },
        fields: { level: 102, transitionTime: 0, optionsMask: {}, optionsOverride: {} },
      },
    ]);
    expect(answer).toEqual({ state: { brightness: 40, is_on: true }, target: { is_on: true, brightness: 40 }, settled: true });
    expect(home.reads.map((paths) => paths.length)).toEqual([2]);
  });

  test('a change that takes time is reported as not settled', async () => {
    const { home, compiled } = homeWith(LIGHT, { 'OnOff.OnOff': true, 'LevelControl.CurrentLevel': 254 });
    const answer = await runTool(home, compiled, { action: 'set_brightness', params: { brightness: 40, transition_seconds: 1.5 } });
    expect(home.invoked[0]?.fields).toMatchObject({ transitionTime: 15 });
    expect(answer).toMatchObject({ state: { brightness: 100 }, target: { brightness: 40 }, settled: false });
  });

  test('21.5 °C is 2150, written to the setpoint that the mode follows', async () => {
    const { home, compiled } = homeWith(THERMOSTAT, { 'Thermostat.SystemMode': 'Heat', 'Thermostat.LocalTemperature': 1900 });
    const answer = await runTool(home, compiled, { action: 'set_temperature', params: { temperature: 21.5 } });
    expect(home.written.map(({ path, value }) => [path.attribute, value])).toEqual([['OccupiedHeatingSetpoint', 2150]]);
    expect(answer).toMatchObject({
      state: { heating_setpoint: 21.5, temperature: 19 },
      target: { heating_setpoint: 21.5 },
      settled: true,
      unit: 'celsius',
    });
  });

  test('the caller chooses the unit of temperatures', async () => {
    const { home, compiled } = homeWith(THERMOSTAT, { 'Thermostat.SystemMode': 'Heat', 'Thermostat.LocalTemperature': 2000 });
    const answer = await runTool(home, compiled, { action: 'set_temperature', params: { temperature: 68, unit: 'fahrenheit' } });
    expect(home.written[0]?.value).toBe(2000);
    expect(answer).toMatchObject({
      state: { temperature: 68, heating_setpoint: 68 },
      target: { heating_setpoint: 68 },
      settled: true,
      unit: 'fahrenheit',
    });
  });

  test('a temperature outside the live limits is refused in the unit of the caller', async () => {
    const limits = {
      'Thermostat.AbsMinHeatSetpointLimit': 1000,
      'Thermostat.AbsMaxHeatSetpointLimit': 2500,
      'Thermostat.SystemMode': 'Heat',
    };
    const { home, compiled } = homeWith(THERMOSTAT, limits);
    const ask = (params: { temperature: number; unit?: string }) => runTool(home, compiled, { action: 'set_temperature', params });
    await expect(async () => ask({ temperature: 26 })).rejects.toThrow(/10 to 25 °C/);
    await expect(async () => ask({ temperature: 80, unit: 'fahrenheit' })).rejects.toThrow(/77/);
    expect(home.written).toEqual([]);
  });

  test('adjusting is relative, in steps of a tenth of a degree', async () => {
    const { home, compiled } = homeWith(HEATER, { 'Thermostat.OccupiedHeatingSetpoint': 2000 });
    const answer = await runTool(home, compiled, { action: 'adjust_temperature', params: { by: -1.5 } });
    expect(home.invoked[0]).toMatchObject({ path: { command: 'SetpointRaiseLower' }, fields: { mode: 'Heat', amount: -15 } });
    expect(answer).toMatchObject({ target: { heating_setpoint: 18.5 }, settled: false });
  });

  test('open 100 percent is lift 0, and open means open', async () => {
    const { home, compiled } = homeWith(COVER, { 'WindowCovering.CurrentPositionLiftPercent100ths': 10_000 });
    const answer = await runTool(home, compiled, { action: 'set_position', params: { open_percent: 100 } });
    expect(home.invoked[0]?.fields).toEqual({ liftPercent100thsValue: 0 });
    expect(answer).toMatchObject({ state: { open_percent: 100 }, settled: true });
    await runTool(home, compiled, { action: 'set_position', params: { open_percent: 30 } });
    expect(home.invoked[1]?.fields).toEqual({ liftPercent100thsValue: 7000 });
    expect(await runTool(home, compiled, { action: 'open' })).toMatchObject({
      state: { open_percent: 100 },
      target: { open_percent: 100 },
      settled: true,
    });
  });

  test('a fan gets its speed in percent', async () => {
    const { home, compiled } = homeWith(described('Fan', { hasAllElements: true }));
    await runTool(home, compiled, { action: 'set_speed', params: { speed: 35 } });
    expect(home.written).toMatchObject([{ path: { attribute: 'PercentSetting' }, value: 35 }]);
  });

  test('a robot takes its modes by the names that it lists', async () => {
    const modes = [
      { label: 'Idle', mode: 0, modeTags: [] },
      { label: 'Deep clean!', mode: 7, modeTags: [] },
    ];
    const { home, compiled } = homeWith(described('RoboticVacuumCleaner', { hasAllElements: true }), {
      'RvcRunMode.SupportedModes': modes,
      'RvcRunMode.CurrentMode': 0,
    });
    expect(toolOf(compiled, 'set_run_mode').parameters).toMatchObject({ properties: { run_mode: { enum: ['idle', 'deep_clean'] } } });
    const answer = await runTool(home, compiled, { action: 'set_run_mode', params: { run_mode: 'deep_clean' } });
    expect(home.invoked[0]?.fields).toEqual({ newMode: 7 });
    expect(answer).toMatchObject({ state: { run_mode: 'idle' }, target: { run_mode: 'deep_clean' }, settled: false });
  });
});

describe('colors', () => {
  test('a light that is off takes the color too, and stays off', async () => {
    const { home, compiled } = homeWith(LIGHT, { 'OnOff.OnOff': false });
    await runTool(home, compiled, { action: 'set_color', params: { color: 'red' } });
    await runTool(home, compiled, { action: 'set_color_temperature', params: { color_temperature: 2700 } });
    const evenIfOff = { optionsMask: { executeIfOff: true }, optionsOverride: { executeIfOff: true } };
    expect(home.invoked.map(({ fields }) => fields)).toEqual([expect.objectContaining(evenIfOff), expect.objectContaining(evenIfOff)]);
  });

  const send = async (features: readonly string[], params: Record<string, Json>) => {
    const light = described('ExtendedColorLight', { features: { ColorControl: features } });
    const narrowed = {
      ...light,
      endpoints: light.endpoints.map((one) => ({ ...one, clusters: one.clusters.map((cluster) => narrow(cluster, features)) })),
    };
    const { home, compiled } = homeWith(narrowed, {
      'ColorControl.ColorTempPhysicalMinMireds': 153,
      'ColorControl.ColorTempPhysicalMaxMireds': 500,
    });
    const answer = await runTool(home, compiled, { action: 'set_color', params });
    return { command: home.invoked[0]?.path.command, fields: home.invoked[0]?.fields, answer };
  };
  const narrow = (cluster: DeviceDescription['endpoints'][number]['clusters'][number], features: readonly string[]) => {
    if (cluster.name !== 'ColorControl') return cluster;
    const own = { HS: 'MoveToHueAndSaturation', XY: 'MoveToColor', CT: 'MoveToColorTemperature' };
    const gone = Object.entries(own).flatMap(([feature, command]) => (features.includes(feature) ? [] : [command]));
    return { ...cluster, commands: cluster.commands.filter((command) => !gone.includes(command.name)) };
  };

  test('red by name on a light with hue and saturation', async () => {
    const { command, fields, answer } = await send(['HS', 'XY', 'CT'], { color: 'red' });
    expect(command).toBe('MoveToHueAndSaturation');
    expect(fields).toMatchObject({ hue: 0, saturation: 254, transitionTime: 0 });
    expect(answer).toMatchObject({ target: { hue: 0, saturation: 100 }, settled: true });
  });

  test('hue is in degrees: 300 is 212 of 254', async () => {
    expect((await send(['HS', 'XY', 'CT'], { hue: 300, saturation: 50 })).fields).toMatchObject({ hue: 212, saturation: 127 });
  });

  test('red on a light that supports only XY is the red corner of sRGB', async () => {
    const { command, fields } = await send(['XY', 'CT'], { color: { r: 255, g: 0, b: 0 } });
    expect(command).toBe('MoveToColor');
    expect(Number(fields?.colorX) / 65_536).toBeCloseTo(0.64, 2);
    expect(Number(fields?.colorY) / 65_536).toBeCloseTo(0.33, 2);
  });

  test('warm white goes as color temperature', async () => {
    expect(await send(['HS', 'XY', 'CT'], { color: 'warm white' })).toMatchObject({
      command: 'MoveToColorTemperature',
      fields: { colorTemperatureMireds: 370 },
    });
    expect(await send(['HS', 'XY', 'CT'], { kelvin: 4000 })).toMatchObject({
      command: 'MoveToColorTemperature',
      fields: { colorTemperatureMireds: 250 },
    });
  });

  test.each([
    [{ color: 'red', hue: 252 }, /color and hue/],
    [{ color: 'red', saturation: 20 }, /color and saturation/],
    [{ hue: 30, kelvin: 4000 }, /hue and kelvin/],
    [{ saturation: 20 }, /has saturation/],
    [{}, /has nothing/],
  ])('%o is no color, and nothing of it is dropped', async (params, text) => {
    await expect(send(['HS', 'XY', 'CT'], params)).rejects.toThrow(text);
  });

  test('an unknown word is refused with the known ones', async () => {
    await expect(send(['HS', 'XY', 'CT'], { color: 'octarine' })).rejects.toThrow(/purple/);
  });

  test('kelvin is bounded by what the light can do', async () => {
    await expect(send(['HS', 'XY', 'CT'], { kelvin: 1500 })).rejects.toThrow(AtmoError);
    const { compiled } = homeWith(LIGHT, {
      'ColorControl.ColorTempPhysicalMinMireds': 153,
      'ColorControl.ColorTempPhysicalMaxMireds': 500,
    });
    expect(toolOf(compiled, 'set_color_temperature').parameters).toMatchObject({
      properties: { color_temperature: { minimum: 2000, maximum: 6535 } },
    });
  });
});

describe('locks', () => {
  test('unlocking is dangerous, needs the device’s permission and masks the PIN', async () => {
    const { home, compiled, id } = homeWith(LOCK, { 'DoorLock.LockState': 'Locked' });
    const unlock = toolOf(compiled, 'unlock');
    expect(toolEffects(compiled, unlock, { pin: '1234' })).toEqual([
      {
        permission: `device:control:${id}`,
        risk: 'dangerous',
        target: `${id}/1/DoorLock/UnlockDoor`,
        device: id,
        values: { lock_state: 'unlocked' },
      },
    ]);
    expect(unlock.parameters).toMatchObject({ properties: { pin: { 'x-secret': true } } });
    const answer = await runTool(home, compiled, { action: 'unlock', params: { pin: '1234' } });
    expect(home.invoked[0]?.fields).toEqual({ pinCode: Buffer.from('1234').toString('base64') });
    expect(answer).toMatchObject({ state: { lock_state: 'unlocked' }, settled: true });
    expect(JSON.stringify(answer)).not.toContain('1234');
  });

  test('a lock without remote PIN offers none', () => {
    const { compiled } = homeWith(described('DoorLock'));
    expect(Object.keys((toolOf(compiled, 'unlock').parameters.properties ?? {}) as object)).toEqual([]);
  });
});

describe('what devices tell', () => {
  test('contact true is closed: not open', async () => {
    const { home, compiled } = homeWith(described('ContactSensor'), { 'BooleanState.StateValue': true });
    expect(await runTool(home, compiled, { action: 'get_contact' })).toEqual({
      state: { is_open: false },
      age_seconds: 5,
      reachability: 'reachable',
    });
    expect(compiled.readings.map(({ path, kind }) => [path, kind])).toEqual([['is_open', 'contact']]);
    expect(home.reads).toEqual([]);
    // Nothing was sent, so nothing shows whether the device is still there.
    expect(home.shown).toEqual([compiled.device.id]);
  });

  test('a value of which the time is not known has no age', async () => {
    const { home, compiled } = homeWith(described('ContactSensor'), { 'BooleanState.StateValue': true });
    home.toldMs = 0;
    expect(await runTool(home, compiled, { action: 'get_contact' })).toMatchObject({ state: { is_open: false }, age_seconds: null });
  });

  test('occupancy, humidity, illuminance and energy in human units', () => {
    const human = (type: string, path: string, raw: Json, clusters: readonly string[] = []) => {
      const { compiled } = homeWith(described(type, { hasAllElements: true, clusters }));
      const reading = compiled.readings.find((one) => one.path === path);
      return [reading?.toHuman(raw), reading?.unit];
    };
    expect(human('OccupancySensor', 'is_occupied', { occupied: true })).toEqual([true, '']);
    expect(human('HumiditySensor', 'humidity', 5512)).toEqual([55.12, '%']);
    expect(human('LightSensor', 'illuminance', 20_001)).toEqual([100, 'lx']);
    expect(human('PressureSensor', 'pressure', 1013)).toEqual([1013, 'hPa']);
    expect(human('TemperatureSensor', 'temperature', null)).toEqual([null, '°C']);
    expect(human('ElectricalSensor', 'energy', { energy: 1_500_000 }, ['ElectricalEnergyMeasurement'])).toEqual([1.5, 'kWh']);
    expect(human('ElectricalSensor', 'power', 60_500, ['ElectricalPowerMeasurement'])).toEqual([60.5, 'W']);
    expect(human('PowerSource', 'battery', 175)).toEqual([87.5, '%']);
  });

  test('the color of a light is read in people’s units', () => {
    const { compiled } = homeWith(LIGHT);
    const readings = Object.fromEntries(compiled.readings.map((reading) => [reading.path, reading]));
    expect(readings.hue?.toHuman(169)).toBe(240);
    expect(readings.saturation?.toHuman(254)).toBe(100);
    expect([readings.color_temperature?.toHuman(370), readings.color_temperature?.unit]).toEqual([2703, 'K']);
    expect(readings.color_mode?.toHuman('ColorTemperatureMireds')).toBe('color_temperature');
    expect(readings.color_mode?.toHuman('CurrentHueAndCurrentSaturation')).toBe('hue_and_saturation');
    expect(readings.color_x, 'hue and saturation say it better').toBeUndefined();
  });

  test('a light without a hue reports the coordinates of its color', () => {
    const { compiled } = homeWith(described('ExtendedColorLight', { features: { ColorControl: ['XY', 'CT'] } }));
    expect(compiled.readings.map(({ path }) => path)).toEqual(
      expect.arrayContaining(['color_x', 'color_y', 'color_temperature', 'color_mode']),
    );
    expect(compiled.readings.find(({ path }) => path === 'color_x')?.toHuman(41_943)).toBe(0.64);
  });

  test('an outlet that measures only apparent power has a reading of it', async () => {
    const { home, compiled } = homeWith(described('ElectricalSensor', { hasAllElements: true, clusters: ['ElectricalPowerMeasurement'] }), {
      'ElectricalPowerMeasurement.ActivePower': null,
      'ElectricalPowerMeasurement.ApparentPower': 61_300,
    });
    expect(compiled.readings.find(({ path }) => path === 'apparent_power')).toMatchObject({ unit: 'VA' });
    const answer = await runTool(home, compiled, { action: 'get_power' });
    expect(answer).toMatchObject({ state: { power: null, apparent_power: 61.3 } });
  });

  test('reading needs the permission to read, and has no risk', () => {
    const { compiled, id } = homeWith(described('OccupancySensor'));
    expect(toolEffects(compiled, toolOf(compiled, 'get_occupancy'), {})).toEqual([
      { permission: `device:read:${id}`, risk: 'none', target: `${id}/1/OccupancySensing/Occupancy`, device: id },
    ]);
  });
});

describe('failures', () => {
  test('an error of the device access reaches the caller as it is', async () => {
    const { home, compiled } = homeWith(LIGHT);
    home.failure = new AtmoError('DEVICE_UNREACHABLE', 'away');
    await expect(runTool(home, compiled, { action: 'turn_on' })).rejects.toMatchObject({ code: 'DEVICE_UNREACHABLE' });
  });

  test('a value that the device refuses is refused with the range that it states', async () => {
    const { home, compiled } = homeWith(THERMOSTAT, { 'Thermostat.MinHeatSetpointLimit': 0, 'Thermostat.SystemMode': 'Heat' });
    home.failure = new AtmoError('CLUSTER_STATUS', 'the device answered ConstraintError', { status: 0x87 });
    const call = runTool(home, compiled, { action: 'set_temperature', params: { temperature: 0 } });
    await expect(call).rejects.toMatchObject({
      code: 'CLUSTER_STATUS',
      message: expect.stringMatching(/temperature: .*heating takes 0 to 30 °C/),
    });
  });

  test('an acknowledged command stays done when the read behind it fails', async () => {
    const { home, compiled } = homeWith(LIGHT);
    home.readFailure = new AtmoError('DEVICE_UNREACHABLE', 'away');
    expect(await runTool(home, compiled, { action: 'turn_on' })).toEqual({
      state: {},
      target: { is_on: true },
      settled: null,
      settled_reason: 'Nothing was compared: the device acknowledged the action, and its state could not be read afterwards',
      state_error: 'DEVICE_UNREACHABLE',
    });
    expect(home.invoked).toHaveLength(1);
  });
});

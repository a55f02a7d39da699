import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../src/core/json.ts';
import type { OwnedHome } from './owned-home.ts';
import { PIN } from './rows/moving-rows.ts';
import type { Fact } from './tool-row.ts';

interface ClassRow {
  readonly tool: string;
  readonly params: JsonObject;
  readonly home: string;
  readonly raw: readonly Fact[];
  readonly result: JsonObject;
}

function row(tool: string, params: JsonObject, effect: { home: string; raw: readonly Fact[]; result?: JsonObject }): ClassRow {
  return { tool, params, home: effect.home, raw: effect.raw, result: { success: true, ...effect.result } };
}

const light = (attribute: string, raw: unknown): Fact => ['light', attribute === 'OnOff' ? 'OnOff' : 'LevelControl', attribute, raw];
const color = (attribute: string, raw: unknown): Fact => ['light', 'ColorControl', attribute, raw];
const thermostat = (attribute: string, raw: number): Fact => ['thermostat', 'Thermostat', attribute, raw];
const onThermostat = (params: JsonObject, raw: readonly Fact[], result: JsonObject = {}): ClassRow =>
  row('core:set_thermostat', { device_id: 'thermostat', ...params }, { home: 'Thermostat', raw, result });

/** Devices by id and by name; each row changes what the one before left. */
const ROWS: readonly ClassRow[] = [
  row(
    'core:turn_on_light',
    { device_id: 'Bedroom lamp', brightness: 40, color: 'green' },
    {
      home: 'Bedroom lamp',
      raw: [light('OnOff', true), light('CurrentLevel', 102), color('CurrentHue', 85), color('CurrentSaturation', 254)],
      result: { state: { is_on: true, brightness: 40 } },
    },
  ),
  row(
    'core:turn_on_light',
    { device_id: 'bedroom-lamp', brightness: 100, color: { r: 0, g: 0, b: 255 } },
    { home: 'Bedroom lamp', raw: [light('CurrentLevel', 254), color('CurrentHue', 169)] },
  ),
  row('core:turn_on_light', { device_id: 'bedroom-lamp', color: 'warm white' }, { home: 'Bedroom lamp', raw: [color('ColorMode', 2)] }),
  row(
    'core:turn_off_light',
    { device_id: 'bedroom-lamp' },
    { home: 'Bedroom lamp', raw: [light('OnOff', false)], result: { state: { is_on: false } } },
  ),
  row('core:turn_on_light', { device_id: 'Hall light' }, { home: 'Hall light', raw: [light('OnOff', true)] }),
  row('core:turn_off_light', { device_id: 'Hall light' }, { home: 'Hall light', raw: [light('OnOff', false)] }),
  row('core:turn_on_light', { device_id: 'attic-light' }, { home: 'Attic bridge', raw: [['attic-light', 'OnOff', 'OnOff', true]] }),
  onThermostat({ mode: 'heat', target_temp: 20.5 }, [thermostat('SystemMode', 4), thermostat('OccupiedHeatingSetpoint', 2050)], {
    unit: 'celsius',
  }),
  onThermostat({ mode: 'cool', target_temp: 26 }, [thermostat('SystemMode', 3), thermostat('OccupiedCoolingSetpoint', 2600)]),
  // The band of 20.5 to 26 °C keeps its width around the wish.
  onThermostat({ mode: 'auto', target_temp: 22 }, [
    thermostat('SystemMode', 1),
    thermostat('OccupiedHeatingSetpoint', 1925),
    thermostat('OccupiedCoolingSetpoint', 2475),
  ]),
  onThermostat({ mode: 'heat', target_temp: 68, unit: 'fahrenheit' }, [thermostat('OccupiedHeatingSetpoint', 2000)], {
    unit: 'fahrenheit',
    state: { heating_setpoint: 68 },
  }),
  onThermostat({ target_temp: 19 }, [thermostat('OccupiedHeatingSetpoint', 1900), thermostat('SystemMode', 4)]),
  onThermostat({ mode: 'off' }, [thermostat('SystemMode', 0)]),
  row(
    'core:set_cover',
    { device_id: 'Bedroom blind', open_percent: 25 },
    { home: 'Bedroom blind', raw: [['covering', 'WindowCovering', 'CurrentPositionLiftPercent100ths', 7500]] },
  ),
  row(
    'core:control_device',
    { device_id: 'front-door', command: 'unlock', params: { pin: PIN } },
    { home: 'Front door', raw: [['lock', 'DoorLock', 'LockState', 2]], result: { new_state: { lock_state: 'unlocked' }, settled: true } },
  ),
  row(
    'core:control_device',
    { device_id: 'Front door', command: 'lock', params: { pin: PIN } },
    { home: 'Front door', raw: [['lock', 'DoorLock', 'LockState', 1]], result: { new_state: { lock_state: 'locked' } } },
  ),
  row(
    'core:control_device',
    { device_id: 'Fridge cabinet 2', command: 'set temperature', params: { temperature: -17 } },
    { home: 'Fridge', raw: [['freezer', 'TemperatureControl', 'TemperatureSetpoint', -1700]] },
  ),
  row(
    'matter:control_matter_device',
    {
      device_id: 'living-room-lamp',
      cluster: 'LevelControl',
      command: 'MoveToLevelWithOnOff',
      params: { level: 77, transitionTime: 0, optionsMask: {}, optionsOverride: {} },
    },
    { home: 'Living room lamp', raw: [light('CurrentLevel', 77)], result: { device_state: { CurrentLevel: 77 } } },
  ),
  row(
    'matter_command',
    { device_id: 'Living room lamp', cluster: 'LevelControl', attribute: 'OnLevel', value: 128 },
    { home: 'Living room lamp', raw: [light('OnLevel', 128)], result: { device_state: { OnLevel: 128 } } },
  ),
  row(
    'matter_command',
    { device_id: 'Fridge cabinet 2', cluster: 'TemperatureControl', command: 'SetTemperature', params: { targetTemperature: -1900 } },
    { home: 'Fridge', raw: [['freezer', 'TemperatureControl', 'TemperatureSetpoint', -1900]] },
  ),
  row(
    'matter_command',
    { device_id: 'front-door', cluster: 'DoorLock', command: 'UnlockDoor', params: { pinCode: Buffer.from(PIN).toString('base64') } },
    { home: 'Front door', raw: [['lock', 'DoorLock', 'LockState', 2]] },
  ),
];

/** Calls that are refused, and what the refusal names. */
const REFUSALS: readonly (readonly [string, JsonObject, string, RegExp])[] = [
  ['matter:front_door_unlock', { pin: '0815' }, 'CLUSTER_STATUS', /refus|failure|answered/i],
  ['matter:front_door_unlock', { pin: 'abcd' }, 'VALIDATION_ERROR', /pin/],
  ['matter:washer_set_rinses', { rinses: 'max' }, 'VALIDATION_ERROR', /none.*normal.*extra/],
  ['matter:bedroom_fan_set_rocking', { rocking: ['rock_round'] }, 'VALIDATION_ERROR', /rock_left_right/],
  ['matter:living_room_lamp_set_brightness', { brightness: 40, colour: 'red' }, 'VALIDATION_ERROR', /colour/],
  ['matter:living_room_lamp_set_brightness', { brightness: 'bright' }, 'VALIDATION_ERROR', /brightness.*1.*100/s],
  ['matter:living_room_lamp_set_brightness', {}, 'VALIDATION_ERROR', /brightness/],
  ['matter:living_room_lamp_set_brightnes', { brightness: 40 }, 'TOOL_NOT_FOUND', /living_room_lamp_set_brightness/],
  ['core:turn_on_light', { device_id: 'Kitchen window' }, 'NOT_SUPPORTED', /bedroom-lamp.*/],
  ['core:turn_on_light', { device_id: 'Bedroom lmp' }, 'DEVICE_NOT_FOUND', /bedroom-lamp|Bedroom lamp/],
  ['core:turn_on_light', { device_id: 'Hall light', color: 'red' }, 'NOT_SUPPORTED', /color/],
  ['core:turn_on_light', { device_id: 'bedroom-lamp', color: 'blurple' }, 'VALIDATION_ERROR', /blurple/],
  ['core:turn_on_light', { device_id: 'bedroom-lamp', brightness: 101 }, 'VALIDATION_ERROR', /brightness.*100/s],
  ['core:set_thermostat', { device_id: 'Hall light', target_temp: 20 }, 'NOT_SUPPORTED', /thermostat/],
  ['core:set_thermostat', { device_id: 'thermostat', mode: 'heat', target_temp: 31 }, 'VALIDATION_ERROR', /7 to 30 °C/],
  ['core:set_cover', { device_id: 'Hall light', open_percent: 10 }, 'NOT_SUPPORTED', /bedroom-blind/],
  ['core:control_device', { device_id: 'Hall light', command: 'turn_onn' }, 'VALIDATION_ERROR', /turn_on/],
  ['core:read_temperature', { location: 'Atlantis' }, 'SENSOR_NOT_FOUND', /Atlantis/],
  ['matter_command', { device_id: 'Hall light', cluster: 'OnOf', command: 'On' }, 'NOT_SUPPORTED', /OnOff/],
  ['matter_command', { device_id: 'Hall light', cluster: 'OnOff', command: 'Onn' }, 'NOT_SUPPORTED', /On\b/],
  ['matter_command', { device_id: 'Hall light', cluster: 'OnOff', command: 'On', endpoint: 7 }, 'NOT_SUPPORTED', /endpoint/i],
  ['matter_command', { device_id: 'Hall light', cluster: 'OnOff', attribute: 'OnOff', value: true }, 'NOT_SUPPORTED', /read-only/],
];

/** Tools that take any fitting device. */
export function describeClassTools(ownedHome: () => OwnedHome): void {
  describe('tools over all devices', () => {
    test.for(ROWS)('$tool $params', async ({ tool, params, home, raw, result }) => {
      const { hub } = ownedHome();
      const device = ownedHome().device(home);
      const shown = async (): Promise<readonly unknown[]> =>
        Promise.all(raw.map(([endpoint, cluster, attribute]) => device.get(endpoint, cluster, attribute)));
      const wanted = raw.map((fact) => fact[3]);
      expect(await shown(), 'the device showed the effect already before the call').not.toEqual(wanted);
      expect(await hub.result(tool, params)).toMatchObject(result);
      await expect.poll(shown).toEqual(wanted);
    });

    test.for(REFUSALS)('%s %j is refused', async ([tool, params, code, hint]) => {
      const error = await ownedHome().refusal(tool, params);
      expect(error).toMatchObject({ code });
      expect(`${error.message} ${JSON.stringify(error.details)}`).toMatch(hint);
    });

    test('an attribute is read raw, and a refusal by the device is told with its reason', async () => {
      const { hub, device } = { hub: ownedHome().hub, device: ownedHome().device('Washer') };
      await device.set('washer', 'OperationalState', 'OperationalState', 0);
      const read = { device_id: 'Washer', cluster: 'LaundryWasherControls', attribute: 'SpinSpeeds' };
      expect(await hub.result('matter_command', read)).toEqual({
        success: true,
        device_state: { SpinSpeeds: ['Off', '800 rpm', '1200 rpm'] },
      });
      const resume = await hub.result('matter_command', { device_id: 'Washer', cluster: 'OperationalState', command: 'Resume' });
      expect(resume).toMatchObject({ success: false, error: expect.stringContaining('command invalid in state') });
      expect(await ownedHome().refusal('matter:washer_resume')).toMatchObject({
        code: 'CLUSTER_STATUS',
        message: expect.stringContaining('command invalid in state'),
      });
    });
  });
}

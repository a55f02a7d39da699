import { describe, expect, test } from 'vitest';
import { commandFor, controlRequirements } from '../../../src/connectors/mqtt/home-assistant-commands.ts';
import { readingOf } from './fake-home.ts';

const sensors = {
  lamp: readingOf('lamp/is_on', true, { kind: 'on_off' }),
  second: readingOf('plug/is_on/2', true, { kind: 'on_off' }),
  brightness: readingOf('lamp/brightness', 1),
  setpoint: readingOf('trv/heating_setpoint', 1, { kind: 'setpoint' }),
  mode: readingOf('trv/mode', 'heat', { kind: 'thermostat_mode' }),
  cover: readingOf('blind/open_percent', 1, { kind: 'cover_position' }),
  pump: readingOf('gpio/pump', true, { kind: 'switch' }),
  probe: readingOf('probe/temperature', 1),
  lock: readingOf('door/lock_state', 'Locked', { kind: 'lock' }),
};

describe('a command of the broker', () => {
  test.each([
    ['lamp', 'ON', 'control_device', { device_id: 'lamp', command: 'turn_on', params: {} }],
    ['lamp', ' OFF\n', 'control_device', { device_id: 'lamp', command: 'turn_off', params: {} }],
    ['second', 'ON', 'control_device', { device_id: 'plug', command: 'turn_on_2', params: {} }],
    ['brightness', '40', 'control_device', { device_id: 'lamp', command: 'set_brightness', params: { brightness: 40 } }],
    ['brightness', '0', 'control_device', { device_id: 'lamp', command: 'turn_off', params: {} }],
    ['setpoint', '21.5', 'set_thermostat', { device_id: 'trv', target_temp: 21.5 }],
    ['mode', 'heat', 'set_thermostat', { device_id: 'trv', mode: 'heat' }],
    ['cover', '35', 'set_cover', { device_id: 'blind', open_percent: 35 }],
    ['cover', 'OPEN', 'set_cover', { device_id: 'blind', open_percent: 100 }],
    ['cover', 'STOP', 'control_device', { device_id: 'blind', command: 'stop', params: {} }],
    ['pump', 'ON', 'gpio:pump_turn_on', {}],
  ] as const)('for %s %s calls %s', (name, payload, tool, params) => {
    expect(commandFor(sensors[name].sensor, payload)).toEqual({ tool, params });
  });

  test.each([
    ['lamp', 'on'],
    ['lamp', '{"state":"ON"}'],
    ['lamp', '__proto__'],
    ['brightness', '101'],
    ['brightness', '-1'],
    ['brightness', '1e2'],
    ['setpoint', 'NaN'],
    ['setpoint', ''],
    ['mode', 'party'],
    ['cover', 'toString'],
    ['pump', 'constructor'],
    ['probe', '20'],
    ['lock', 'UNLOCK'],
  ] as const)('%s takes no %s', (name, payload) => {
    expect(commandFor(sensors[name].sensor, payload)).toBeUndefined();
  });

  test('needs the permission for the device, or for the line of the board by its own name', () => {
    expect(controlRequirements(sensors.lamp.sensor)).toEqual({ permission: 'device:control:lamp' });
    expect(controlRequirements(sensors.pump.sensor)).toEqual({ permission: 'device:control:pump', tool: 'gpio:pump_turn_on' });
  });
});

import { describe, expect, test } from 'vitest';
import {
  callFor,
  deviceThings,
  type KnownSensor,
  outputThing,
  parseThing,
  sceneThing,
  sensorThing,
  valuesFrom,
} from '../../src/bridge/bridged-things.ts';

const sensor = (id: string, kind: string, unit = ''): KnownSensor => ({ id, kind, unit, title: id });
const LAMP_SENSORS = [sensor('lamp/is_on', 'on_off'), sensor('lamp/brightness', 'brightness', '%')];
const lampOf = (type: string, sensors = LAMP_SENSORS) => deviceThings({ hub: 'hub-2', id: 'lamp', name: 'Lamp', type, sensors });

describe('what a thing becomes', () => {
  test.each([
    ['temperature', '°C', 'temperature_sensor'],
    ['humidity', '%', 'humidity_sensor'],
    ['pressure', 'hPa', 'pressure_sensor'],
    ['illuminance', 'lx', 'light_sensor'],
    ['contact', '', 'contact_sensor'],
    ['leak', '', 'leak_sensor'],
    ['occupancy', '', 'occupancy_sensor'],
  ])('a sensor of %s in "%s" becomes a %s', (kind, unit, expected) => {
    expect(sensorThing(sensor('shed/one', kind, unit), 'shed')).toMatchObject({ key: 'sensor/shed/one', kind: expected, actor: 'nothing' });
  });

  test('a sensor in another unit, or of a kind that Matter does not have, becomes nothing', () => {
    expect(sensorThing(sensor('shed/one', 'temperature', '°F'), 'shed')).toBeUndefined();
    expect(sensorThing(sensor('shed/one', 'radon', 'Bq/m³'), 'shed')).toBeUndefined();
    expect(sensorThing(sensor('shed/one', 'constructor'), 'shed')).toBeUndefined();
  });

  test('a light becomes the best kind whose values it reports', () => {
    const warm = [...LAMP_SENSORS, sensor('lamp/color_temperature', 'color_temperature', 'K')];
    expect(lampOf('extended_color_light', warm)).toMatchObject([{ kind: 'color_temperature_light', hub: 'hub-2' }]);
    expect(lampOf('extended_color_light')).toMatchObject([{ kind: 'dimmable_light' }]);
    expect(lampOf('on_off_light', LAMP_SENSORS.slice(0, 1))).toMatchObject([{ kind: 'on_off_light' }]);
    expect(lampOf('on_off_light', [])).toEqual([]);
  });

  test('a dimmable plug stays a plug, a lock is dangerous, and a multi-sensor becomes a thing for each sensor', () => {
    expect(lampOf('dimmable_plug_in_unit')).toMatchObject([{ kind: 'plug', isDangerous: false }]);
    expect(lampOf('door_lock', [sensor('lamp/lock_state', 'lock')])).toMatchObject([{ kind: 'lock', isDangerous: true }]);
    const sensors = [
      sensor('lamp/temperature', 'temperature', '°C'),
      sensor('lamp/battery', 'battery', '%'),
      sensor('lamp/is_open', 'contact'),
    ];
    expect(lampOf('contact_sensor', sensors).map(({ kind }) => kind)).toEqual(['temperature_sensor', 'contact_sensor']);
  });

  test('a thermostat without cooling becomes one that only heats', () => {
    const heat = [
      sensor('lamp/temperature', 'temperature', '°C'),
      sensor('lamp/mode', 'thermostat_mode'),
      sensor('lamp/heating_setpoint', 'setpoint', '°C'),
    ];
    expect(lampOf('thermostat', heat)).toMatchObject([{ kind: 'heating_thermostat' }]);
    expect(lampOf('thermostat', [...heat, sensor('lamp/cooling_setpoint', 'setpoint', '°C')])).toMatchObject([{ kind: 'thermostat' }]);
  });
});

describe('commands and values', () => {
  const [lamp] = lampOf('dimmable_light');
  const pump = outputThing({ id: 'gpio/pump', title: 'Pump', device: 'gpio' }, 'pump');
  const night = sceneThing({ id: 'night', name: 'Night', devices: ['lamp', 'blind'] });

  test('go to the tools of the thing, on the hub that has it', () => {
    const dim = { action: 'set_brightness', params: { brightness: 40 } };
    expect(lamp && callFor(lamp, dim)).toEqual({
      tool: 'core:control_device',
      params: { device_id: 'lamp', command: 'set_brightness', params: { brightness: 40 } },
      hub: 'hub-2',
    });
    expect(callFor(pump, { action: 'turn_on', params: {} })).toEqual({ tool: 'gpio:pump_turn_on', params: {} });
    expect(callFor(night, { action: 'turn_on', params: {} })).toEqual({ tool: 'core:run_scene', params: { scene: 'night' } });
    expect(callFor(night, { action: 'turn_off', params: {} })).toBeUndefined();
  });

  test('need the permission for exactly what they touch', () => {
    expect(lamp?.permissions).toEqual(['device:control:lamp']);
    expect(pump.permissions).toEqual(['device:control:pump']);
    expect(night.permissions).toEqual(['device:control:lamp', 'device:control:blind']);
  });

  test('a reading changes the values that come from its sensor, and no others', () => {
    const one = { sensors: { on: 'a/is_on', brightness: 'a/brightness', locked: 'a/lock_state', temperature: 'a/t' } };
    expect(valuesFrom(one, 'a/is_on', true)).toEqual({ on: true });
    expect(valuesFrom(one, 'a/is_on', 1)).toEqual({ on: true });
    expect(valuesFrom(one, 'a/brightness', 40)).toEqual({ brightness: 40 });
    expect(valuesFrom(one, 'a/lock_state', 'locked')).toEqual({ locked: true });
    expect(valuesFrom(one, 'a/lock_state', 'unlocked')).toEqual({ locked: false });
    expect(valuesFrom(one, 'a/t', 'hot')).toEqual({ temperature: null });
    expect(valuesFrom(one, 'b/is_on', true)).toEqual({});
  });

  test('a stored thing is read again as it was, and what is none is left out', () => {
    for (const thing of [lamp, pump, night]) expect(parseThing(JSON.parse(JSON.stringify(thing)))).toEqual(thing);
    expect(parseThing({ key: 'x' })).toBeUndefined();
    expect(parseThing({ ...JSON.parse(JSON.stringify(pump)), kind: 'toaster' })).toBeUndefined();
    expect(parseThing(undefined)).toBeUndefined();
  });
});

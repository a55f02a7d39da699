import { describe, expect, test } from 'vitest';
import { BRIDGED_TYPES, changedState, initialState } from '../../../src/matter/bridge/bridged-types.ts';
import { percentOf } from '../../../src/matter/bridge/bridged-units.ts';

describe('values of a thing as attributes', () => {
  test.each([
    ['dimmable_light', { on: true, brightness: 50 }, { onOff: { onOff: true }, levelControl: { currentLevel: 127 } }],
    ['cover', { open_percent: 30 }, { windowCovering: { currentPositionLiftPercent100ths: 7000 } }],
    ['lock', { locked: false }, { doorLock: { lockState: 2 } }],
    ['contact_sensor', { open: true }, { booleanState: { stateValue: false } }],
    ['leak_sensor', { wet: true }, { booleanState: { stateValue: true } }],
    ['occupancy_sensor', { occupied: true }, { occupancySensing: { occupancy: { occupied: true } } }],
    ['temperature_sensor', { temperature: -3.5 }, { temperatureMeasurement: { measuredValue: -350 } }],
    ['humidity_sensor', { humidity: 45.5 }, { relativeHumidityMeasurement: { measuredValue: 4550 } }],
    ['pressure_sensor', { pressure: 1013.2 }, { pressureMeasurement: { measuredValue: 1013 } }],
    ['light_sensor', { illuminance: 100 }, { illuminanceMeasurement: { measuredValue: 20_001 } }],
    [
      'heating_thermostat',
      { temperature: 20.5, heating_setpoint: 21, mode: 'heat' },
      { thermostat: { occupiedHeatingSetpoint: 2100, systemMode: 4 } },
    ],
  ] as const)('%s %o', (kind, values, expected) => {
    expect(initialState(BRIDGED_TYPES[kind], values)).toMatchObject(expected);
  });

  test('a sensor without a reading has no value, and a light is shown as off', () => {
    expect(initialState(BRIDGED_TYPES.temperature_sensor, {})).toMatchObject({ temperatureMeasurement: { measuredValue: null } });
    expect(initialState(BRIDGED_TYPES.dimmable_light, {})).toMatchObject({ onOff: { onOff: false } });
  });

  test('only what differs is changed', () => {
    const light = BRIDGED_TYPES.dimmable_light;
    const now = { onOff: { onOff: true }, levelControl: { currentLevel: 128 } };
    expect(changedState(light, { on: true }, now)).toEqual({});
    expect(changedState(light, { on: false }, now)).toEqual({ onOff: { onOff: false } });
    expect(changedState(light, { temperature: 20 }, now)).toEqual({});
  });

  test('a level that an ecosystem set stays if it is the same percentage', () => {
    const now = { levelControl: { currentLevel: 128 } };
    expect(changedState(BRIDGED_TYPES.dimmable_light, { brightness: 50 }, now)).toEqual({});
    expect(changedState(BRIDGED_TYPES.dimmable_light, { brightness: 51 }, now)).toEqual({ levelControl: { currentLevel: 130 } });
  });

  test('a lost value empties a sensor, and leaves a light as it was', () => {
    const sensor = { temperatureMeasurement: { measuredValue: 2000 } };
    expect(changedState(BRIDGED_TYPES.temperature_sensor, { temperature: null }, sensor)).toEqual({
      temperatureMeasurement: { measuredValue: null },
    });
    expect(changedState(BRIDGED_TYPES.on_off_light, { on: null }, { onOff: { onOff: true } })).toEqual({});
  });
});

test('a value that Matter cannot express is shown as the nearest one that it can', () => {
  const shown = (kind: keyof typeof BRIDGED_TYPES, values: Record<string, number>) => initialState(BRIDGED_TYPES[kind], values);
  expect(shown('temperature_sensor', { temperature: 900 })).toMatchObject({ temperatureMeasurement: { measuredValue: 32_767 } });
  expect(shown('humidity_sensor', { humidity: 104 })).toMatchObject({ relativeHumidityMeasurement: { measuredValue: 10_000 } });
  expect(shown('cover', { open_percent: 101 })).toMatchObject({ windowCovering: { currentPositionLiftPercent100ths: 0 } });
  expect(shown('heating_thermostat', { temperature: 400 })).toMatchObject({ thermostat: { localTemperature: 32_767 } });
  expect(shown('heating_thermostat', { temperature: -1e9 })).toMatchObject({ thermostat: { localTemperature: -27_315 } });
  expect(shown('heating_thermostat', { heating_setpoint: 60 })).toMatchObject({ thermostat: { occupiedHeatingSetpoint: 3500 } });
});

test.each([1, 2, 3])('the level %i is at least 1 %, so that the thing stays on', (level) => {
  expect(percentOf(level)).toBe(1);
});

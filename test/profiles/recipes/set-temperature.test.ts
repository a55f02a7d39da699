import { describe, expect, test } from 'vitest';
import type { Json, JsonObject } from '../../../src/core/json.ts';
import { described, homeWith, runTool, toolOf } from '../device-fixtures.ts';

const THERMOSTAT = described('Thermostat', { features: { Thermostat: ['HEAT', 'COOL', 'AUTO'] }, hasAllElements: true });
const AIR_CONDITIONER = described('RoomAirConditioner', { features: { Thermostat: ['COOL'] } });

/** Heating and cooling setpoint after a call in automatic mode, in 0.01 °C. */
async function moved(told: Readonly<Record<string, Json>>, params: JsonObject) {
  const { home, compiled } = homeWith(THERMOSTAT, { 'Thermostat.SystemMode': 'Auto', ...told });
  const answer = await runTool(home, compiled, { action: 'set_temperature', params });
  return { writes: home.written.map(({ path, value }) => [path.attribute, value]), answer };
}

const BAND = { 'Thermostat.OccupiedHeatingSetpoint': 2220, 'Thermostat.OccupiedCoolingSetpoint': 2620 };

describe('a temperature in automatic mode', () => {
  test.each([0, 20])('moves the band and keeps its width of 4 °C, with a dead band of %d tenths', async (deadBand) => {
    const { writes, answer } = await moved({ ...BAND, 'Thermostat.MinSetpointDeadBand': deadBand }, { temperature: 21.5 });
    expect(writes).toEqual([
      ['OccupiedHeatingSetpoint', 1950],
      ['OccupiedCoolingSetpoint', 2350],
    ]);
    expect(answer).toMatchObject({ target: { heating_setpoint: 19.5, cooling_setpoint: 23.5 }, settled: true });
  });

  test('moves cooling first when it goes up, out of the way of heating', async () => {
    const { writes } = await moved({ ...BAND, 'Thermostat.MinSetpointDeadBand': 20 }, { temperature: 27 });
    expect(writes).toEqual([
      ['OccupiedCoolingSetpoint', 2900],
      ['OccupiedHeatingSetpoint', 2500],
    ]);
  });

  test('keeps the dead band where the device never reported its setpoints', async () => {
    const { writes } = await moved({ 'Thermostat.MinSetpointDeadBand': 25 }, { temperature: 22 });
    expect(Object.fromEntries(writes)).toEqual({ OccupiedCoolingSetpoint: 2325, OccupiedHeatingSetpoint: 2075 });
  });

  test('widens a band that is narrower than the dead band', async () => {
    const told = {
      'Thermostat.OccupiedHeatingSetpoint': 2100,
      'Thermostat.OccupiedCoolingSetpoint': 2150,
      'Thermostat.MinSetpointDeadBand': 20,
    };
    const { writes } = await moved(told, { temperature: 22 });
    expect(Object.fromEntries(writes)).toEqual({ OccupiedCoolingSetpoint: 2300, OccupiedHeatingSetpoint: 2100 });
  });

  test('at the edge of the limits lies in the band, which keeps its width', async () => {
    const limits = { 'Thermostat.MaxHeatSetpointLimit': 3000, 'Thermostat.MaxCoolSetpointLimit': 3200 };
    const { writes } = await moved({ ...BAND, ...limits, 'Thermostat.MinSetpointDeadBand': 20 }, { temperature: 32 });
    expect(Object.fromEntries(writes)).toEqual({ OccupiedCoolingSetpoint: 3200, OccupiedHeatingSetpoint: 2800 });
  });

  test('moves one setpoint alone when the call names it', async () => {
    const { writes } = await moved({ ...BAND, 'Thermostat.MinSetpointDeadBand': 20 }, { temperature: 20, setpoint: 'heat' });
    expect(writes).toEqual([['OccupiedHeatingSetpoint', 2000]]);
  });
});

describe('the range of a setpoint', () => {
  const told = {
    'Thermostat.SystemMode': 'Heat',
    'Thermostat.AbsMinHeatSetpointLimit': 0,
    'Thermostat.AbsMaxHeatSetpointLimit': 3500,
    'Thermostat.AbsMinCoolSetpointLimit': 0,
    'Thermostat.AbsMaxCoolSetpointLimit': 5000,
    'Thermostat.MinSetpointDeadBand': 25,
  };

  test('is described for heating and for cooling, with the bounds that the call checks', async () => {
    const { home, compiled } = homeWith(THERMOSTAT, told);
    const { properties } = toolOf(compiled, 'set_temperature').parameters as { properties: Record<string, JsonObject> };
    expect(properties.temperature?.description).toMatch(/heating takes 0 to 35 °C, .*cooling takes 2\.5 to 50 °C/);
    const set = async (params: JsonObject) => runTool(home, compiled, { action: 'set_temperature', params });
    await expect(set({ temperature: 50 })).rejects.toThrow(/0 to 35 °C/);
    await expect(set({ temperature: 0, setpoint: 'cool' })).rejects.toThrow(/2\.5 to 50 °C/);
    await set({ temperature: 50, setpoint: 'cool' });
    expect(home.written.map(({ value }) => value)).toEqual([5000]);
  });

  test('is the tighter one of the absolute and the set limits of the device', async () => {
    const { home, compiled } = homeWith(AIR_CONDITIONER, {
      'Thermostat.MinCoolSetpointLimit': 0,
      'Thermostat.AbsMinCoolSetpointLimit': 1600,
      'Thermostat.SystemMode': 'Cool',
    });
    await expect(async () => runTool(home, compiled, { action: 'set_temperature', params: { temperature: 0 } })).rejects.toThrow(
      /16 to 32 °C/,
    );
  });
});

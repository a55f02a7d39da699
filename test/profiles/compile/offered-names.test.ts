import { describe, expect, test } from 'vitest';
import type { Json, JsonSchema } from '../../../src/core/json.ts';
import { described, homeWith, toolOf } from '../device-fixtures.ts';

function parameter(type: string, action: string, told: Readonly<Record<string, Json>>, clusters: readonly string[] = []): JsonSchema {
  const { compiled } = homeWith(described(type, { hasAllElements: true, clusters }), told);
  const { properties } = toolOf(compiled, action).parameters as { properties: Record<string, JsonSchema> };
  return Object.values(properties)[0] ?? expect.unreachable();
}

const CONTROLS = ['LaundryWasherControls'];

describe('names that a device says it has', () => {
  test('a list leaves only what is in it', () => {
    expect(parameter('LaundryWasher', 'set_rinses', {}, CONTROLS)).toMatchObject({ enum: ['none', 'normal', 'extra', 'max'] });
    const told = { 'LaundryWasherControls.SupportedRinses': ['Normal', 'Extra'] };
    expect(parameter('LaundryWasher', 'set_rinses', told, CONTROLS)).toMatchObject({ enum: ['normal', 'extra'] });
  });

  test('flags leave only those that are set', () => {
    const told = { 'FanControl.RockSupport': { rockLeftRight: true, rockUpDown: false, rockRound: false } };
    expect(parameter('Fan', 'set_rocking', told)).toMatchObject({ type: 'array', items: { enum: ['rock_left_right'] } });
  });

  test.each([
    ['OffHigh', ['off', 'high']],
    ['OffLowHigh', ['off', 'low', 'high']],
    ['OffLowMedHighAuto', ['off', 'low', 'medium', 'high', 'auto']],
  ])('a fan with the sequence %s offers %j', (sequence, names) => {
    expect(parameter('Fan', 'set_fan_mode', { 'FanControl.FanModeSequence': sequence })).toMatchObject({ enum: names });
  });

  test('a value that stands for nothing known leaves all names', () => {
    expect(parameter('Fan', 'set_fan_mode', { 'FanControl.FanModeSequence': 17 })).toMatchObject({
      enum: ['off', 'low', 'medium', 'high', 'auto'],
    });
  });

  const sequence = (name: string) => ({ 'Thermostat.ControlSequenceOfOperation': name });
  test.each([
    ['WaterHeater', 'HeatingOnly', ['off', 'heat']],
    ['Thermostat', 'HeatingWithReheat', ['off', 'heat', 'emergency_heat']],
    ['Thermostat', 'CoolingAndHeating', ['off', 'auto', 'cool', 'heat', 'precooling']],
    ['RoomAirConditioner', 'CoolingOnly', ['off', 'cool', 'precooling', 'fan_only', 'dry', 'sleep']],
  ])('a %s with the sequence %s offers %j, and what only a fan can do where it has one', (type, name, modes) => {
    const clusters = type === 'RoomAirConditioner' ? ['FanControl'] : ['Thermostat'];
    expect(parameter(type, 'set_mode', sequence(name), clusters)).toMatchObject({ enum: modes });
  });

  test('a device that lists no names keeps all of them, and refuses wrong ones itself', () => {
    const told = { 'LaundryWasherControls.SupportedRinses': [] };
    expect(parameter('LaundryWasher', 'set_rinses', told, CONTROLS)).toMatchObject({ enum: ['none', 'normal', 'extra', 'max'] });
  });
});

import { describe, expect, test } from 'vitest';
import type { JsonSchema } from '../../../src/core/json.ts';
import { compileDevice } from '../../../src/profiles/compile/compile-device.ts';
import { narrowed, type Shorthand, schemaOfShorthand } from '../../../src/profiles/values/parameter-shorthand.ts';
import { described, profiles, toolOf } from '../device-fixtures.ts';

describe('parameter shorthand', () => {
  const cases: readonly [Shorthand, JsonSchema, boolean][] = [
    ['int [0-100]', { type: 'integer', minimum: 0, maximum: 100 }, false],
    ['float [-1.5..2.5] = 0.5', { type: 'number', minimum: -1.5, maximum: 2.5, default: 0.5 }, false],
    ['optional string', { type: 'string' }, true],
    ['bool = true', { type: 'boolean', default: true }, false],
    ['enum [heat, cool]', { type: 'string', enum: ['heat', 'cool'] }, false],
    [{ type: 'int', min: 0, max: 254 }, { type: 'integer', minimum: 0, maximum: 254 }, false],
    [{ type: 'enum', values: ['heat', 'cool', 'both'] }, { type: 'string', enum: ['heat', 'cool', 'both'] }, false],
    [{ type: 'int', default: 0 }, { type: 'integer', default: 0 }, false],
  ];

  test.each(cases)('%j is a schema', (shorthand, schema, isOptional) => {
    expect(schemaOfShorthand(shorthand)).toEqual({ schema, isOptional });
  });

  test.each(['integer', 'int [0-', 'int [a-b]', 'string [0-9]', 'enum', 'array[string]'])('%j is refused with examples', (text) => {
    expect(() => schemaOfShorthand(text)).toThrow(/int \[0-100\]/);
  });

  test('only ever narrows what the device allows', () => {
    const device = { type: 'integer', minimum: 10, maximum: 90 };
    expect(narrowed(device, 'int [0-50]')).toEqual({ type: 'integer', minimum: 10, maximum: 50 });
    expect(narrowed(device, 'int [95-99]')).toEqual(device);
    expect(narrowed({ type: 'string', enum: ['off', 'heat'] }, 'enum [heat, cool]')).toEqual({ type: 'string', enum: ['heat'] });
  });

  test('shapes the parameters of tools', () => {
    const lock = compileDevice(described('DoorLock', { hasAllElements: true }), profiles);
    expect(toolOf(lock, 'unlock_for').parameters).toMatchObject({
      properties: { seconds: { minimum: 1, maximum: 3600 } },
      required: ['seconds'],
    });
    const light = compileDevice(described('DimmableLight'), profiles);
    expect(toolOf(light, 'set_brightness').parameters).toMatchObject({
      properties: { transition_seconds: { default: 0, maximum: 3600 } },
      required: ['brightness'],
    });
  });
});

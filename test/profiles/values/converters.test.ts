import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Json, JsonSchema } from '../../../src/core/json.ts';
import { parseColor } from '../../../src/profiles/recipes/color.ts';
import type { ConversionContext } from '../../../src/profiles/values/converter.ts';
import { CONVERTERS, type ConverterName } from '../../../src/profiles/values/converters.ts';

const U8: JsonSchema = { type: 'integer', minimum: 0, maximum: 254 };
const U16: JsonSchema = { type: 'integer', minimum: 0, maximum: 65_535 };
const MODES: JsonSchema = { enum: ['Off', 'EmergencyHeat', null] };
const FLAGS: JsonSchema = { type: 'object', properties: { rockLeftRight: { type: 'boolean' }, rockUpDown: { type: 'boolean' } } };

/** raw ↔ human, exact both ways. */
const PAIRS: readonly [ConverterName, Json, Json, Partial<ConversionContext>?][] = [
  ['same', true, true],
  ['count', 7, 7],
  ['measured', 412.5, 412.5],
  ['deci', 215, 21.5],
  ['centi', 5512, 55.12],
  ['milli', 230_100, 230.1],
  ['micro', 1_234_567, 1.234567],
  ['two_hundredths', 10_000, 50],
  ['centi_celsius', 2150, 21.5],
  ['centi_celsius', -1825, -18.25],
  ['deci_celsius', 25, 2.5],
  ['deciseconds', 15, 1.5],
  ['milliseconds', 1500, 1.5],
  ['minutes', 90, 1.5],
  ['level_percent', 102, 40],
  ['level_percent', 254, 100],
  ['level_percent', 0, 0],
  ['half_percent', 175, 87.5],
  ['percent100ths', 3350, 33.5],
  ['open_percent', 0, 100],
  ['open_percent', 75, 25],
  ['open_percent100ths', 0, 100],
  ['open_percent100ths', 10_000, 0],
  ['open_percent100ths', 6000, 40],
  ['kelvin', 500, 2000],
  ['kelvin', 250, 4000],
  ['hue_degrees', 254, 360],
  ['hue_degrees', 127, 180],
  ['enhanced_hue_degrees', 32_768, 180],
  ['chromaticity', 20_493, 0.3127],
  ['illuminance', 0, 0],
  ['illuminance', 1, 1],
  ['illuminance', 20_001, 100],
  ['not', true, false],
  ['enum', 'EmergencyHeat', 'emergency_heat', { schema: MODES }],
  ['choice', 3, 'deep_clean', { choices: [{ id: 3, name: 'deep_clean' }] }],
  [
    'choices',
    [3, 1],
    ['hall', 'kitchen'],
    {
      choices: [
        { id: 1, name: 'kitchen' },
        { id: 3, name: 'hall' },
      ],
    },
  ],
  ['flags', { rockLeftRight: true, rockUpDown: false }, ['rock_left_right'], { schema: FLAGS }],
  ['flag', { rockLeftRight: true }, true, { schema: FLAGS, member: 'RockLeftRight' }],
  ['text', 'Kitchen', 'Kitchen'],
  ['time', 1_767_225_600, '2026-01-01T00:00:00.000Z'],
  ['time_micro', 1_767_225_600_000_000, '2026-01-01T00:00:00.000Z'],
];

describe('converters', () => {
  test.each(PAIRS)('%s turns raw %j into %j', (name, raw, human, context) => {
    expect(CONVERTERS[name].toHuman(raw, { schema: U16, ...context })).toEqual(human);
  });

  test.each(PAIRS)('%s turns back into raw %j from %j', (name, raw, human, context) => {
    expect(CONVERTERS[name].toRaw(human, { schema: U16, ...context })).toEqual(raw);
  });

  test('a time beyond all calendars is not known', () => {
    expect(CONVERTERS.time_micro.toHuman('18446744073709551615', { schema: {} })).toBeNull();
  });

  test('a word that every object has is no color', () => {
    expect(() => parseColor('constructor')).toThrow(/The color "constructor" is not known/);
    expect(parseColor('red')).toEqual({ rgb: { r: 255, g: 0, b: 0 } });
  });

  test('each converter stands in the table', () => {
    expect([...new Set(PAIRS.map(([name]) => name))].sort()).toEqual(
      Object.keys(CONVERTERS)
        .filter((name) => name !== 'pin')
        .sort(),
    );
  });

  test('a PIN becomes octets and is never shown again', () => {
    expect(CONVERTERS.pin.toRaw('1234', { schema: {} })).toBe(Buffer.from('1234').toString('base64'));
    expect(CONVERTERS.pin.toHuman('MTIzNA==', { schema: {} })).toBe('****');
    expect(CONVERTERS.pin.schema({ schema: {} })).toMatchObject({ 'x-secret': true });
  });

  test('numbers beyond 2^53 come as text and become numbers', () => {
    expect(CONVERTERS.milli.toHuman('230100', { schema: {} })).toBe(230.1);
  });

  test('a name that does not exist is refused with those that do', () => {
    expect(() => CONVERTERS.enum.toRaw('boost', { schema: MODES })).toThrow(/off, emergency_heat/);
    expect(() => CONVERTERS.choice.toRaw('x', { schema: U8, choices: [{ id: 3, name: 'deep_clean' }] })).toThrow(/deep_clean/);
  });

  test('a device without a list of names accepts numbers', () => {
    expect(CONVERTERS.choice.toRaw('value_4', { schema: U8 })).toBe(4);
    expect(CONVERTERS.choice.toHuman(4, { schema: U8 })).toBe('value_4');
  });
});

describe('bounds', () => {
  test('come from the raw bounds through the converter', () => {
    expect(CONVERTERS.level_percent.schema({ schema: U8, min: 1, max: 254 })).toEqual({ type: 'integer', minimum: 1, maximum: 100 });
    expect(CONVERTERS.level_percent.schema({ schema: U8, min: 50, max: 200 })).toEqual({ type: 'integer', minimum: 20, maximum: 78 });
    expect(CONVERTERS.open_percent100ths.schema({ schema: { type: 'integer', minimum: 0, maximum: 10_000 } })).toMatchObject({
      minimum: 0,
      maximum: 100,
    });
    expect(CONVERTERS.kelvin.schema({ schema: U16, min: 153, max: 500 })).toEqual({ type: 'integer', minimum: 2000, maximum: 6535 });
    expect(CONVERTERS.centi_celsius.schema({ schema: U16, min: 700, max: 3000 })).toEqual({ type: 'number', minimum: 7, maximum: 30 });
  });

  test('limits that leave nothing are not believed', () => {
    expect(CONVERTERS.level_percent.schema({ schema: U8, min: 200, max: 100 })).toEqual({ type: 'integer', minimum: 0, maximum: 100 });
  });

  // Some narrow raw ranges hold no whole kelvin and no tenth of a lux; both have tests of their own.
  const numeric = (Object.keys(CONVERTERS) as ConverterName[])
    .filter((name) => !['same', 'measured', 'time', 'time_micro', 'illuminance', 'kelvin'].includes(name))
    .filter((name) => {
      return CONVERTERS[name].schema({ schema: U8 }).minimum !== undefined;
    });

  test.each(numeric)('%s: every human value within its bounds has a raw form within the raw bounds', (name) => {
    const rawBound = fc.integer({ min: 0, max: 65_535 });
    fc.assert(
      fc.property(rawBound, rawBound, fc.double({ min: 0, max: 1, noNaN: true }), (a, b, share) => {
        const [min, max] = [Math.min(a, b), Math.max(a, b) + 300];
        const schema = CONVERTERS[name].schema({ schema: { type: 'integer', minimum: min, maximum: max } }) as {
          type: string;
          minimum: number;
          maximum: number;
        };
        fc.pre(schema.minimum <= schema.maximum);
        const between = schema.minimum + share * (schema.maximum - schema.minimum);
        const human = schema.type === 'integer' ? Math.floor(between) : between;
        const raw = CONVERTERS[name].toRaw(human, { schema: {} }) as number;
        expect(raw).toBeGreaterThanOrEqual(min);
        expect(raw).toBeLessThanOrEqual(max);
      }),
      { numRuns: 60 },
    );
  });
});

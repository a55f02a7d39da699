import { AtmoError } from '../../core/errors.ts';
import type { Json, JsonObject, JsonSchema } from '../../core/json.ts';
import { propertiesOf } from './converter.ts';

/** Units in which people give and read temperatures. */
export const TEMPERATURE_UNITS = ['celsius', 'fahrenheit'] as const;
export type TemperatureUnit = (typeof TEMPERATURE_UNITS)[number];

const PARAMETER = 'unit';

/** Returns °C as °F, to a hundredth. */
export function celsiusToFahrenheit(celsius: number): number {
  return Number(((celsius * 9) / 5 + 32).toFixed(2));
}

/** Returns a text with a range of °C in both units. */
export function celsiusRange(minimum: number, maximum: number): string {
  return `${minimum} to ${maximum} °C, or ${celsiusToFahrenheit(minimum)} to ${celsiusToFahrenheit(maximum)} °F with unit fahrenheit`;
}

/** Returns °F as °C, to a hundredth. */
export function fahrenheitToCelsius(fahrenheit: number): number {
  return Number((((fahrenheit - 32) * 5) / 9).toFixed(2));
}

/** Returns whether callers can choose a tool's unit: it has a temperature parameter, but no parameter `unit` of its own. */
export function takesTemperature(parameters: JsonSchema): boolean {
  const properties = propertiesOf(parameters);
  return Object.values(properties).some(isCelsius) && !(PARAMETER in properties);
}

/** Adds the parameter `unit`. Moves the temperature bounds to the descriptions, in both units. `inCelsius` checks these bounds later. */
export function withUnitChoice(parameters: JsonSchema): JsonSchema {
  const properties = Object.entries(propertiesOf(parameters)).map(([name, schema]) => [
    name,
    isCelsius(schema) ? withoutBounds(schema) : schema,
  ]);
  const unit = {
    type: 'string',
    enum: TEMPERATURE_UNITS,
    default: 'celsius',
    description: 'Unit of the temperatures in parameters and answer',
  };
  return { ...parameters, properties: { ...Object.fromEntries(properties), [PARAMETER]: unit } };
}

/** Returns the unit that the caller chose. */
export function unitOf(params: JsonObject): TemperatureUnit {
  return params[PARAMETER] === 'fahrenheit' ? 'fahrenheit' : 'celsius';
}

/**
 * Returns the values `params` in Celsius, without the unit. `parameters` is their schema before `withUnitChoice`. Throws VALIDATION_ERROR
 * with the range in the caller's unit if a value is out of range.
 */
export function inCelsius(params: JsonObject, parameters: JsonSchema): JsonObject {
  const { [PARAMETER]: _, ...rest } = params;
  const unit = unitOf(params);
  const properties = propertiesOf(parameters);
  return Object.fromEntries(
    Object.entries(rest).map(([name, value]) => {
      const schema = properties[name];
      return [name, schema && isCelsius(schema) ? exact(name, value, { schema, unit }) : value];
    }),
  );
}

/** Converts a number to the caller's unit if `valueUnit` is °C. Returns any other value unchanged. */
export function inCallerUnit(value: Json, valueUnit: string, unit: TemperatureUnit): Json {
  return unit === 'fahrenheit' && valueUnit === '°C' && typeof value === 'number' ? celsiusToFahrenheit(value) : value;
}

function exact(name: string, value: Json, given: { readonly schema: JsonSchema; readonly unit: TemperatureUnit }): Json {
  if (typeof value !== 'number') return value;
  const celsius = given.unit === 'fahrenheit' ? fahrenheitToCelsius(value) : value;
  const { minimum = celsius, maximum = celsius } = given.schema as { minimum?: number; maximum?: number };
  // The tolerance of 0.005 accepts a bound in °F that rounding would otherwise put just outside of the range.
  if (celsius >= minimum - 0.005 && celsius <= maximum + 0.005) return Math.min(Math.max(celsius, minimum), maximum);
  const show = (bound: number): number => (given.unit === 'fahrenheit' ? celsiusToFahrenheit(bound) : bound);
  const sign = given.unit === 'fahrenheit' ? '°F' : '°C';
  const asFahrenheit = fahrenheitToCelsius(value);
  const isMeantAsFahrenheit = given.unit === 'celsius' && asFahrenheit >= minimum && asFahrenheit <= maximum;
  const hint = isMeantAsFahrenheit ? `; if ${value} °F is meant, give unit "fahrenheit"` : '';
  throw new AtmoError(
    'VALIDATION_ERROR',
    `${name}: ${value} ${sign} is out of range; this device takes ${show(minimum)} to ${show(maximum)} ${sign}${hint}`,
    { pointer: `/${name}`, minimum: show(minimum), maximum: show(maximum) },
  );
}

// The result has no bounds. In a schema, bounds cannot depend on the unit: a maximum of 46.4 (8 °C in °F) would also allow 40 °C.
function withoutBounds(schema: JsonSchema): JsonSchema {
  const { minimum, maximum, description, ...rest } = schema as { minimum?: number; maximum?: number; description?: string };
  if (minimum === undefined || maximum === undefined) return schema;
  const text = (description ?? '').replace(/, [-\d.]+ to [-\d.]+ °C/, '').trim();
  return { ...rest, description: `${text} (${celsiusRange(minimum, maximum)})` };
}

function isCelsius(schema: JsonSchema): boolean {
  return schema['x-unit'] === '°C';
}

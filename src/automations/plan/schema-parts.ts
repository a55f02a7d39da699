import { PERSON_NAME } from '../../core/auth/approvals.ts';
import { WEEKDAYS } from '../../core/clock.ts';
import type { FileValue } from '../../core/config/config-section.ts';
import type { JsonSchema } from '../../core/json.ts';
import { WRITTEN_LINE } from '../../core/untrusted-text.ts';

/** Longest time in seconds that a trigger, a condition or a step of an automation names: a day. Only a flag may last longer. */
export const LONGEST_SECONDS = 86_400;
/** Longest time in seconds for which a step sets a flag: 400 days. */
export const LONGEST_FLAG_SECONDS = 400 * LONGEST_SECONDS;

/** Schema of a time of day. */
export const CLOCK_TIME = {
  type: 'string',
  pattern: '^([01][0-9]|2[0-3]):[0-5][0-9]$',
  description: 'Time of day, HH:MM',
  examples: ['07:30'],
} as const;

/** Returns the schema of a text of at most 160 characters. */
export const shortText = (description: string) => ({ type: 'string', minLength: 1, maxLength: 160, description }) as const;

/** Pattern of the name of a parameter, a flag or a webhook. */
export const IDENTIFIER = '^[a-z][a-z0-9_]{0,31}$';

/** Returns the schema of the name of a flag or a webhook. */
export const identifier = (description: string) => ({ type: 'string', pattern: IDENTIFIER, maxLength: 32, description }) as const;

/** Pattern of the name of an agent for people: a single line of visible characters without a slash. */
export const DISPLAY_NAME = `^(?!.*/)${WRITTEN_LINE.slice(1)}`;

/** Members of the schema of a flag's value. */
export const FLAG_VALUE = { type: ['boolean', 'number', 'string'], maxLength: 160 } as const;

export const days = {
  type: 'array',
  minItems: 1,
  maxItems: 7,
  uniqueItems: true,
  items: { enum: WEEKDAYS },
  description: 'Only on these days; every day when absent',
} as const;
export const timeZone = { ...shortText("IANA time zone, such as Europe/Berlin; the hub's own when absent"), examples: ['Europe/Berlin'] };
export const sensorId = shortText('Sensor id as list_sensors tells it: <device id>/<reading>');
export const deviceId = shortText('Device id');

/** Members of triggers and conditions about a reading. */
export const comparison = {
  sensor_id: sensorId,
  above: { type: 'number', description: 'For reading: it rises above this' },
  below: { type: 'number', description: 'For reading: it falls below this' },
  equals: { type: ['number', 'string', 'boolean'], maxLength: 160, description: 'For reading: it becomes this' },
} as const;

/** Events of the sun. Dawn and dusk are those of civil twilight: the sun is 6° below the horizon. */
export const SUN_EVENTS = ['sunrise', 'sunset', 'dawn', 'dusk'] as const;
export type SunEvent = (typeof SUN_EVENTS)[number];

/** Greatest distance in minutes from an event of the sun. */
const MAX_OFFSET_MINUTES = 720;

/** Returns the schema of a distance in minutes from an event of the sun. */
export const offset = (description: string) =>
  ({ type: 'integer', minimum: -MAX_OFFSET_MINUTES, maximum: MAX_OFFSET_MINUTES, description }) as const;

/** Schema of the name of a person of the household. */
export const person = { type: 'string', pattern: PERSON_NAME.source, maxLength: 32, description: 'Name of a person' } as const;

/** Schema of an expression in the Common Expression Language. */
export const expressionText = { type: 'string', minLength: 1, maxLength: 500, description: 'Expression in CEL' } as const;

/** Schemas of the members of objects, by the `type` of the object. */
export type Variants = Readonly<
  Record<string, { readonly required: readonly string[]; readonly properties: Readonly<Record<string, JsonSchema>> }>
>;

/** The types of the objects of a table of variants, by the name of the variant. */
export type ByType<Table> = { readonly [Type in keyof Table]: { readonly type: Type } & FileValue<Table[Type]> };

/** Returns a schema that selects a strict schema by the value of `type`. Errors are then only about fields of the selected type. */
export function byType(variants: Variants): JsonSchema {
  return {
    type: 'object',
    required: ['type'],
    properties: { type: { enum: Object.keys(variants) } },
    allOf: strictBranches(variants),
  };
}

/** Returns the branches of a schema, each of which applies to objects whose `type` is the name of a variant. */
export function strictBranches(variants: Variants): readonly JsonSchema[] {
  return Object.entries(variants).map(([type, { required, properties }]) => ({
    if: { required: ['type'], properties: { type: { const: type } } },
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
    then: { required, additionalProperties: false, properties: { type: true, ...properties } },
  }));
}

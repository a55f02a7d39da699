import type { JsonSchema } from '../../core/json.ts';
import { isSchemaObject, mapSchema } from '../../tools/schema/schema-walk.ts';

/** Lowest and highest value. */
export interface Bounds {
  readonly min: number;
  readonly max: number;
}

const DAY_S = 86_400;

/**
 * Bounds by unit that no device of a home exceeds. Profiles narrow them for each parameter, and the device's own limits further.
 * Counters over a device's whole life have wide bounds.
 */
const REASONABLE: Readonly<Record<string, Bounds>> = {
  s: { min: 0, max: 31 * DAY_S },
  min: { min: 0, max: (31 * DAY_S) / 60 },
  h: { min: 0, max: 876_000 },
  '°': { min: -360, max: 360 },
  '°C': { min: -60, max: 325 },
  '°C difference': { min: -100, max: 100 },
  K: { min: 1000, max: 20_000 },
  W: { min: -100_000, max: 100_000 },
  kW: { min: -100, max: 100 },
  VA: { min: -100_000, max: 100_000 },
  var: { min: -100_000, max: 100_000 },
  A: { min: -500, max: 500 },
  V: { min: -1500, max: 1500 },
  Ah: { min: 0, max: 10_000 },
  Hz: { min: 0, max: 1000 },
  Wh: { min: -1_000_000, max: 1_000_000 },
  kWh: { min: -1_000_000, max: 1_000_000 },
};

/** The reasonable bounds of a unit; undefined for shares, counts and plain numbers. */
export function reasonableBounds(unit: string): Bounds | undefined {
  return Object.hasOwn(REASONABLE, unit) ? REASONABLE[unit] : undefined;
}

/** The schema of human numbers, within the reasonable bounds of their unit. */
export function withinReason(schema: JsonSchema, unit: string): JsonSchema {
  const bounds = reasonableBounds(unit);
  return bounds && (schema.type === 'integer' || schema.type === 'number') ? withBounds(schema, bounds) : schema;
}

/** The schema of raw numbers, at any depth, within the reasonable bounds of the units in the Matter model. */
export function rawWithinReason(schema: JsonSchema): JsonSchema {
  return mapSchema(schema, (part) => {
    const bounds = reasonableBounds(typeof part['x-unit'] === 'string' ? part['x-unit'] : '');
    const scale = typeof part['x-scale'] === 'number' ? part['x-scale'] : 1;
    return bounds ? rawPart(part, { min: Math.ceil(bounds.min / scale), max: Math.floor(bounds.max / scale) }) : part;
  });
}

/** A 64-bit number may be a number or, beyond 2^53, a text: no reasonable value needs the text. */
function rawPart(part: JsonSchema, bounds: Bounds): JsonSchema {
  if (!Array.isArray(part.anyOf)) return withBounds(part, bounds);
  const branches = part.anyOf.filter((one) => isSchemaObject(one) && one.pattern === undefined) as JsonSchema[];
  return { ...part, anyOf: branches.map((one) => (typeof one.minimum === 'number' ? withBounds(one, bounds) : one)) };
}

function withBounds(schema: JsonSchema, { min, max }: Bounds): JsonSchema {
  const { minimum = min, maximum = max } = schema as { minimum?: number; maximum?: number };
  const narrow = { minimum: Math.max(minimum, min), maximum: Math.min(maximum, max) };
  // A device whose own range lies elsewhere keeps it: its numbers then mean something else than the table's.
  return narrow.minimum <= narrow.maximum ? { ...schema, ...narrow } : schema;
}

import type { JsonSchema } from '../../../core/json.ts';

/** Schemas of the OpenAPI document by name. */
export type NamedSchemas = Readonly<Record<string, JsonSchema>>;

/** A text, said in words. */
export const text = (description?: string): JsonSchema => ({ type: 'string', ...(description !== undefined && { description }) });
/** A list of texts. */
export const texts: JsonSchema = { type: 'array', items: { type: 'string' } };
/** An instant in UTC. */
export const instant: JsonSchema = { type: 'string', format: 'date-time' };
/** The same where it may never have been. */
export const instantOrNever: JsonSchema = { type: ['string', 'null'], format: 'date-time' };
/** Any JSON value. */
export const anything = (description: string): JsonSchema => ({ description });
/** A schema of the document. */
export const named = (name: string): JsonSchema => ({ $ref: `#/components/schemas/${name}` });
/** A list of one kind. */
export const listOf = (items: JsonSchema): JsonSchema => ({ type: 'array', items });

/** An object of which the members named in `required` are always there; a client has to bear more than these. */
export function record(
  properties: Readonly<Record<string, JsonSchema>>,
  required: readonly string[] = Object.keys(properties),
): JsonSchema {
  return { type: 'object', ...(required.length > 0 && { required }), properties };
}

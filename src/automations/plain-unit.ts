import { objectOf } from '../core/json.ts';
import type { RegisteredTool } from '../tools/definition/tool-definition.ts';

/**
 * A tool of somebody else may name any text as its unit. Digits could be taken for a part of the value, and letters that are written from right
 * to left would change the order in which it is shown.
 */
const PLAIN_UNIT = /^[\p{Script=Latin}\p{Script=Greek}°%/²³·µ]{1,8}( [\p{Script=Latin}\p{Script=Greek}]{1,12})?$/u;

/** Returns a unit of a tool or sensor if it looks like one, and cannot be taken for a value or a sentence. */
export function plainUnit(unit: unknown): string | undefined {
  return typeof unit === 'string' && PLAIN_UNIT.test(unit) ? unit : undefined;
}

/** Returns the unit that a tool gives for one of its parameters, if it looks like one. */
export function unitOfParam(tool: RegisteredTool | undefined, name: string): string | undefined {
  return plainUnit(objectOf(objectOf(tool?.definition.parameters.properties)[name])['x-unit']);
}

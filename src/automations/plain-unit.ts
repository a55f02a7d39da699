/**
 * A tool of somebody else may name any text as its unit. Digits could be taken for a part of the value, and letters that are written from right
 * to left would change the order in which it is shown.
 */
const PLAIN_UNIT = /^[\p{Script=Latin}\p{Script=Greek}°%/²³·µ]{1,8}( [\p{Script=Latin}\p{Script=Greek}]{1,12})?$/u;

/** Returns a unit of a tool or sensor if it looks like one, and cannot be taken for a value or a sentence. */
export function plainUnit(unit: unknown): string | undefined {
  return typeof unit === 'string' && PLAIN_UNIT.test(unit) ? unit : undefined;
}

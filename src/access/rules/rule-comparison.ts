import type { RuleScalar } from '../../core/access/rules.ts';
import { plainWord } from '../../core/devices/value-words.ts';
import { isJsonObject, type Json } from '../../core/json.ts';
import type { Comparison } from './rule-file.ts';

/** True when the value is as the comparison says. Names are compared in any letter case, former words as those of today; a list is equal to each of its items. */
export function compares(value: Json, comparison: Comparison): boolean {
  if (Array.isArray(value)) return value.some((item: Json) => compares(item, comparison));
  const { above, below, equals, one_of: oneOf } = comparison;
  if (above !== undefined && !(typeof value === 'number' && value > above)) return false;
  if (below !== undefined && !(typeof value === 'number' && value < below)) return false;
  if (equals !== undefined && !isSame(value, equals)) return false;
  return oneOf === undefined || oneOf.some((one) => isSame(value, one));
}

/** Why nothing can be as the comparison says; undefined where something can. */
export function emptiness(comparison: Comparison): string | undefined {
  const { above, below, equals, one_of: oneOf } = comparison;
  if ([above, below, equals, oneOf].every((part) => part === undefined)) return 'needs above, below, equals or one_of';
  if (above !== undefined && below !== undefined && above >= below) return `has an empty range: above ${above} and below ${below}`;
  const named = equals === undefined ? oneOf : [equals];
  if (named && !named.some((one) => compares(one, comparison))) return 'names values that its own bounds exclude';
  return undefined;
}

/** True when whatever is as `narrow` says is as `wide` says too. */
export function isWiderComparison(wide: Comparison, narrow: Comparison): boolean {
  const named = narrow.equals === undefined ? narrow.one_of : [narrow.equals];
  if (named) return named.filter((one) => compares(one, narrow)).every((one) => compares(one, wide));
  if (wide.equals !== undefined || wide.one_of !== undefined) return false;
  const isBelow = wide.below === undefined || (narrow.below !== undefined && narrow.below <= wide.below);
  return isBelow && (wide.above === undefined || (narrow.above !== undefined && narrow.above >= wide.above));
}

/** The member at a JSON pointer (RFC 6901); undefined when there is none. */
export function memberAt(value: Json, pointer: readonly string[]): Json | undefined {
  let at: Json | undefined = value;
  for (const key of pointer) {
    if (Array.isArray(at)) at = /^(0|[1-9]\d*)$/.test(key) ? (at as readonly Json[])[Number(key)] : undefined;
    else at = isJsonObject(at) && Object.hasOwn(at, key) ? at[key] : undefined;
    if (at === undefined) return undefined;
  }
  return at;
}

/** Comparison in words: `above 25`. */
export function comparisonWords({ above, below, equals, one_of: oneOf }: Comparison): string {
  const parts = [
    above === undefined ? '' : `above ${above}`,
    below === undefined ? '' : `below ${below}`,
    equals === undefined ? '' : `equal to ${JSON.stringify(equals)}`,
    oneOf === undefined ? '' : `one of ${oneOf.map((one) => JSON.stringify(one)).join(', ')}`,
  ];
  return parts.filter((part) => part !== '').join(' and ');
}

function isSame(value: Json, wanted: RuleScalar): boolean {
  return typeof value === 'string' && typeof wanted === 'string' ? plainWord(value) === plainWord(wanted) : value === wanted;
}

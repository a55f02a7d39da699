import { isJsonObject, type Json, type JsonObject, valueAt } from '../json.ts';
import type { CallToJudge, RuleVerdict } from './principal.ts';

/** One rule of the owner, as it is written in the rules file. */
export interface ListedRule {
  readonly name: string;
  readonly line: number;
  readonly description?: string;
  readonly effect: 'allow' | 'deny' | 'approve';
  readonly persons?: number;
  readonly reason?: string;
  /** Conditions of the rule, as in the file. */
  readonly when: JsonObject;
}

/** The rules in force. */
export interface RuleListing {
  readonly file: string;
  /** SHA-256 of the file's bytes, hex; absent while there is no file. */
  readonly hash?: string;
  /** IANA time zone of the rules' times. */
  readonly timezone: string;
  /** Decision about an agent's call to which no rule applies. */
  readonly default: 'allow' | 'deny';
  readonly rules: readonly ListedRule[];
  /** Reason why the current rules file was refused; the earlier rules are then in force. Absent if the file is in force. */
  readonly problem?: string;
}

/** The decision about one effect of a call, with its reasons. */
export interface EffectTestResult {
  /** The effect in words, such as `Unlock Front door (hall)`; absent for a call without effects. */
  readonly does?: string;
  readonly target?: string;
  readonly permission?: string;
  readonly values?: JsonObject;
  readonly unforeseen?: readonly string[];
  readonly decision: RuleVerdict['kind'];
  /** Name of the rule that decides; absent if the default decides. */
  readonly rule?: string;
  readonly line?: number;
  /** Reasons for the decision: a sentence for each condition of the rule, or one sentence if the rule has none or the default decides. */
  readonly because: readonly string[];
}

/** The result of a test: what the rules say about a call. */
export interface RuleTestResult {
  readonly verdict: RuleVerdict;
  /** Day and time for which the rules were tested, such as `fri 22:30`; absent if no time was given and the hub's clock is not trusted. */
  readonly at?: string;
  readonly effects: readonly EffectTestResult[];
}

/** Names that exist in the home. If a rule names something else, the name is probably misspelt. */
export interface KnownNames {
  readonly devices: readonly string[];
  readonly areas: readonly string[];
  readonly types: readonly string[];
  /** Names of the values that tools return and set. */
  readonly values: readonly string[];
  /** Ids of tools, in the form `namespace:name`. */
  readonly tools: readonly string[];
}

/** A warning about a part of a rule that is valid but probably a mistake. */
export interface RuleWarning {
  readonly line: number;
  readonly message: string;
}

/** The result of a check of a rules file. */
export interface RuleCheck {
  readonly file: string;
  readonly count: number;
  /** Reason why a hub would refuse the rules file, with file and line. */
  readonly problem?: string;
  readonly warnings: readonly RuleWarning[];
}

/** Port: administration of the owner's rules. */
export interface RuleAdministration {
  list(): RuleListing;
  /**
   * Returns which rule would decide about a call, and why. `at` is an ISO 8601 time or `[day ]HH:MM`; default: now. Throws VALIDATION_ERROR
   * for any other `at`.
   */
  test(call: CallToJudge, at?: string): RuleTestResult;
  /** Returns warnings about the rules in force. The caller passes the known names except device types, which the method finds itself. */
  warnings(known: Omit<KnownNames, 'types'>): readonly RuleWarning[];
}

/** Returns the names of the state values in a device tool's result. `returns` is the JSON Schema of the result. */
export function shownValues(returns: unknown): readonly string[] {
  const values = isJsonObject(returns) ? valueAt(returns, '/properties/state/properties') : undefined;
  return isJsonObject(values) ? Object.keys(values) : [];
}

/** A single JSON value (null, a boolean, a number or a text), not a list or an object. Rules compare only such values. */
export type RuleScalar = Exclude<Json, readonly Json[] | JsonObject>;

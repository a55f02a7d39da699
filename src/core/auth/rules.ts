import { isJsonObject, type Json, type JsonObject } from '../json.ts';
import type { RuledCall, RuleVerdict } from './authorizer.ts';

/** One of the owner's rules, as its file states it. */
export interface ListedRule {
  readonly name: string;
  /** Where it stands in the file. */
  readonly line: number;
  readonly description?: string;
  readonly effect: 'allow' | 'deny' | 'approve';
  /** Persons who have to approve. */
  readonly persons?: number;
  readonly reason?: string;
  /** Its conditions, as in the file. */
  readonly when: JsonObject;
}

/** The rules that hold now. */
export interface RuleListing {
  readonly file: string;
  /** SHA-256 of the file's bytes, hex; absent while there is no file. */
  readonly hash?: string;
  /** IANA time zone in which times of day are meant. */
  readonly timezone: string;
  /** What agents may do that no rule speaks of. */
  readonly default: 'allow' | 'deny';
  readonly rules: readonly ListedRule[];
  /** Why the file as it is now was refused; the rules from before hold on. */
  readonly problem?: string;
}

/** Why an effect of a call is decided as it is. */
export interface EffectTestResult {
  /** In words, such as `Unlock Front door (hall)`; absent for a call that touches nothing but its tool. */
  readonly does?: string;
  readonly target?: string;
  readonly permission?: string;
  readonly values?: JsonObject;
  readonly unforeseen?: readonly string[];
  readonly decision: RuleVerdict['kind'];
  /** The rule that decides; absent where the default does. */
  readonly rule?: string;
  readonly line?: number;
  /** The conditions that hold, one sentence each. */
  readonly because: readonly string[];
}

/** What the rules would say to a call. */
export interface RuleTestResult {
  readonly verdict: RuleVerdict;
  /** Day and time of day that were assumed, such as `fri 22:30`; absent while the hub's clock cannot be believed. */
  readonly at?: string;
  readonly effects: readonly EffectTestResult[];
}

/** Names that exist now, for finding those that a rule misspells. */
export interface KnownNames {
  readonly devices: readonly string[];
  readonly areas: readonly string[];
  /** Types and families that a device has. */
  readonly types: readonly string[];
  /** Names of what tools show and set. */
  readonly values: readonly string[];
  /** `namespace:name`. */
  readonly tools: readonly string[];
}

/** Something about a rule that is allowed and probably not meant. */
export interface RuleWarning {
  readonly line: number;
  readonly message: string;
}

/** What a check of a rules file found. */
export interface RuleCheck {
  readonly file: string;
  readonly count: number;
  /** Why a hub would refuse it, with file and line. */
  readonly problem?: string;
  readonly warnings: readonly RuleWarning[];
}

/** Port: the owner's rules as people administer them. */
export interface RuleAdministration {
  list(): RuleListing;
  /** Which rule would decide about the call, and why; nothing runs. `at` is an ISO 8601 time, or `[day ]HH:MM`. VALIDATION_ERROR. */
  test(call: RuledCall, at?: string): RuleTestResult;
  /** Types of devices it knows itself. */
  warnings(known: Omit<KnownNames, 'types'>): readonly RuleWarning[];
}

/** The values that the result of a device's tool shows, from its schema. */
export function shownValues(returns: unknown): readonly string[] {
  const state = memberOf(memberOf(returns, 'properties'), 'state');
  const values = memberOf(state, 'properties');
  return isJsonObject(values) ? Object.keys(values) : [];
}

function memberOf(value: unknown, name: string): unknown {
  return isJsonObject(value) ? value[name] : undefined;
}

/** A scalar that a rule compares with. */
export type RuleScalar = Exclude<Json, readonly Json[] | JsonObject>;

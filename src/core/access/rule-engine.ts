import type { JsonObject } from '../json.ts';
import type { Effect } from './authorizer.ts';
import type { Principal } from './principal.ts';

/** A call as the owner's rules see it: parsed values and canonical ids. */
export interface RuledCall {
  readonly principal: Principal;
  readonly toolId: string;
  /** Ids that the tool had before: a rule that names one of them means it. */
  readonly formerToolIds: readonly string[];
  readonly effects: readonly Effect[];
  readonly params: JsonObject;
}

/** What the owner's rules say. An `allow` never lifts the approval that a dangerous effect needs by itself. */
export type RuleVerdict =
  | { readonly kind: 'allow'; readonly rule?: string }
  | { readonly kind: 'deny'; readonly rule: string; readonly reason: string }
  | { readonly kind: 'approve'; readonly rule: string; readonly persons: number };

/** Port: the owner's rules over a call. */
export interface RuleEngine {
  judge(call: RuledCall): RuleVerdict;
}

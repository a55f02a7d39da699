import type { RuledCall, RuleVerdict } from '../../core/access/rule-engine.ts';
import type { EffectTrial, StatedRule } from '../../core/access/rules.ts';
import type { DeviceFacts } from '../../core/devices/device-facts.ts';
import {
  type CallView,
  type Condition,
  callConditions,
  type EffectView,
  effectConditions,
  effectText,
  type Truth,
  viewCall,
  viewEffect,
} from './rule-condition.ts';
import type { RuleTerms } from './rule-terms.ts';
import type { MinuteOfWeek } from './rule-time.ts';

/** A rule with what its conditions mean. */
export interface Rule extends StatedRule {
  readonly terms: RuleTerms;
}

/** Where and when a call is judged. */
export interface RuleGround {
  /** Undefined while the hub's clock cannot be believed. */
  readonly minute: MinuteOfWeek | undefined;
  readonly facts: DeviceFacts;
}

interface ReadyRule {
  readonly rule: Rule;
  readonly ofCall: readonly Condition<CallView>[];
  readonly ofEffect: readonly Condition<EffectView>[];
}

const DEFAULT_DENIAL = 'no rule allows it, and agents may only do what a rule allows';

/**
 * An ordered list of rules. For each effect of a call the first rule that fits decides; over the effects of a call,
 * deny wins over approve, the most persons win, and allow comes last. Where nobody can know before the call whether a
 * condition holds, it does for rules that deny or ask, and does not for rules that allow.
 */
export class RuleSet {
  readonly rules: readonly Rule[];
  readonly default: 'allow' | 'deny';
  readonly #ready: readonly ReadyRule[];

  constructor(rules: readonly Rule[], defaultForAgents: 'allow' | 'deny') {
    this.rules = rules;
    this.default = defaultForAgents;
    this.#ready = rules.map((rule) => ({ rule, ofCall: callConditions(rule.terms), ofEffect: effectConditions(rule.terms) }));
  }

  judge(call: RuledCall, ground: RuleGround): RuleVerdict {
    const fitting = this.#fitting(viewCall(call, ground));
    const deciding = effectsOf(call, ground).map((view) => firstOf(fitting, view)?.rule);
    return this.#verdict(call, deciding);
  }

  /** The verdict, and for each effect which rule decides and why. */
  explain(call: RuledCall, ground: RuleGround): { readonly verdict: RuleVerdict; readonly effects: readonly EffectTrial[] } {
    const view = viewCall(call, ground);
    const fitting = this.#fitting(view);
    const effects = effectsOf(call, ground).map((effect) => this.#trial(view, effect, firstOf(fitting, effect)));
    return { verdict: this.judge(call, ground), effects };
  }

  /** The rules whose conditions about caller, tool, time and parameters hold. */
  #fitting(view: CallView): readonly ReadyRule[] {
    return this.#ready.filter(({ rule, ofCall }) => holds(rule, ofCall, view));
  }

  #verdict(call: RuledCall, deciding: readonly (Rule | undefined)[]): RuleVerdict {
    const denying = deciding.find((rule) => rule?.effect === 'deny');
    if (denying) return { kind: 'deny', rule: denying.name, reason: denying.reason ?? `rule ${JSON.stringify(denying.name)}` };
    if (deciding.includes(undefined) && this.#denies(call)) return { kind: 'deny', rule: 'default', reason: DEFAULT_DENIAL };
    const asking = deciding.filter((rule) => rule?.effect === 'approve').toSorted((a, b) => personsOf(b) - personsOf(a))[0];
    if (asking) return { kind: 'approve', rule: asking.name, persons: personsOf(asking) };
    const allowing = deciding.find((rule) => rule !== undefined);
    return allowing ? { kind: 'allow', rule: allowing.name } : { kind: 'allow' };
  }

  #denies({ principal }: RuledCall): boolean {
    return this.default === 'deny' && principal.kind !== 'owner';
  }

  #trial(call: CallView, view: EffectView | undefined, ready: ReadyRule | undefined): EffectTrial {
    const { permission, values, unforeseen } = view?.effect ?? {};
    const touched = {
      ...(view && { does: effectText(view.effect, view.facts), target: view.effect.target }),
      ...(permission !== undefined && { permission }),
      ...(values && { values }),
      ...(unforeseen && { unforeseen }),
    };
    if (!ready)
      return { ...touched, decision: this.#denies(call.call) ? 'deny' : 'allow', because: ['no rule speaks of it: the default decides'] };
    const { rule, ofCall, ofEffect } = ready;
    const because = [...ofCall.map((one) => one.words(call)), ...(view ? ofEffect.map((one) => one.words(view)) : [])];
    return {
      ...touched,
      decision: rule.effect,
      rule: rule.name,
      line: rule.line,
      because: because.length > 0 ? because : ['it has no conditions'],
    };
  }
}

/** A call that says nothing of its effects is still judged, by everything but those. */
function effectsOf({ effects }: RuledCall, { facts }: RuleGround): readonly (EffectView | undefined)[] {
  return effects.length === 0 ? [undefined] : effects.map((effect) => viewEffect(effect, facts));
}

function firstOf(rules: readonly ReadyRule[], view: EffectView | undefined): ReadyRule | undefined {
  return rules.find(({ rule, ofEffect }) => (view ? holds(rule, ofEffect, view) : ofEffect.length === 0));
}

function holds<View>(rule: Rule, conditions: readonly Condition<View>[], view: View): boolean {
  for (const condition of conditions) if (!isMet(rule, condition.test(view))) return false;
  return true;
}

function isMet({ effect }: Rule, truth: Truth): boolean {
  return truth === 'yes' || (truth === 'unforeseen' && effect !== 'allow');
}

function personsOf(rule: Rule | undefined): number {
  return rule?.persons ?? 1;
}

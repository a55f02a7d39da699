import { parsePermission } from '../../core/auth/permission.ts';
import type { CallToJudge, Effect, RuleVerdict } from '../../core/auth/principal.ts';
import type { EffectTestResult, ListedRule } from '../../core/auth/rules.ts';
import { readsIn, targetText } from '../../core/devices/action-descriptions.ts';
import type { DeviceFacts } from '../../core/devices/device-names.ts';
import { type Json, present, valueAt } from '../../core/json.ts';
import {
  compares,
  comparisonText,
  type MinuteOfWeek,
  matches,
  type NamePattern,
  plainName,
  type RuleTerms,
  shownMinute,
  toolSegments,
  type ValueTerm,
} from './rule-terms.ts';

/** A rule with its parsed conditions. */
export interface Rule extends ListedRule {
  readonly terms: RuleTerms;
}

/** The time at which a call is judged, and the facts about devices. */
export interface RuleContext {
  /** Minute of the week; undefined while the hub's clock is not trusted. */
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
 * An ordered list of rules. For each effect of a call, the first matching rule decides. If the effects have different verdicts, deny
 * overrides approve, and approve overrides allow. If several effects need approval, the largest number of persons counts. A condition whose
 * result is unknown before the call counts as met in rules that deny or require approval, and as not met in rules that allow.
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

  judge(call: CallToJudge, context: RuleContext): RuleVerdict {
    const fitting = this.#fitting(viewCall(call, context));
    const deciding = effectsOf(call, context).map((view) => firstOf(fitting, view)?.rule);
    return this.#verdict(call, deciding);
  }

  /** Returns the verdict. For each effect, also returns the deciding rule and the reason. */
  explain(call: CallToJudge, context: RuleContext): { readonly verdict: RuleVerdict; readonly effects: readonly EffectTestResult[] } {
    const view = viewCall(call, context);
    const fitting = this.#fitting(view);
    const effects = effectsOf(call, context).map((effect) => this.#trial(view, effect, firstOf(fitting, effect)));
    return { verdict: this.judge(call, context), effects };
  }

  /** Returns the rules whose conditions about caller, tool, time and parameters hold for the call. */
  #fitting(view: CallView): readonly ReadyRule[] {
    return this.#ready.filter(({ rule, ofCall }) => holds(rule, ofCall, view));
  }

  #verdict(call: CallToJudge, deciding: readonly (Rule | undefined)[]): RuleVerdict {
    const denying = deciding.find((rule) => rule?.effect === 'deny');
    if (denying) return { kind: 'deny', rule: denying.name, reason: denying.reason ?? `rule ${JSON.stringify(denying.name)}` };
    if (deciding.includes(undefined) && this.#denies(call)) return { kind: 'deny', rule: 'default', reason: DEFAULT_DENIAL };
    const asking = deciding.filter((rule) => rule?.effect === 'approve').toSorted((a, b) => personsOf(b) - personsOf(a))[0];
    if (asking) return { kind: 'approve', rule: asking.name, persons: personsOf(asking) };
    const allowing = deciding.find((rule) => rule !== undefined);
    return allowing ? { kind: 'allow', rule: allowing.name } : { kind: 'allow' };
  }

  #denies({ principal }: CallToJudge): boolean {
    return this.default === 'deny' && principal.kind !== 'owner';
  }

  #trial(call: CallView, view: EffectView | undefined, ready: ReadyRule | undefined): EffectTestResult {
    const { permission, values, unforeseen } = view?.effect ?? {};
    const touched = {
      ...(view && { does: effectText(view.effect, view.facts), target: view.effect.target }),
      ...present({ permission, values, unforeseen }),
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

/** Returns the effects to judge. A call without effects is judged once, and matches only rules without conditions about effects. */
function effectsOf({ effects }: CallToJudge, { facts }: RuleContext): readonly (EffectView | undefined)[] {
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

/** Result of a condition. It is `unforeseen` if the result is unknown before the call. */
type Truth = 'yes' | 'no' | 'unforeseen';

interface CallView {
  readonly call: CallToJudge;
  readonly agent: readonly string[];
  /** Current and former names of the tool, each split into segments. */
  readonly tools: readonly (readonly string[])[];
  /** Minute of the week; undefined while the hub's clock is not trusted. */
  readonly minute: MinuteOfWeek | undefined;
  readonly facts: DeviceFacts;
}

interface EffectView {
  readonly effect: Effect;
  readonly device: string | undefined;
  /** The cluster, and its command or attribute; undefined if the effect does not concern exactly one command or attribute of a device. */
  readonly action: readonly string[] | undefined;
  readonly facts: DeviceFacts;
}

interface Condition<View> {
  test(view: View): Truth;
  /** Returns a sentence fragment that explains to people why the condition holds. */
  words(view: View): string;
}

const DEVICE_PATH_LENGTH = 4;

function viewCall(call: CallToJudge, context: RuleContext): CallView {
  return { call, agent: call.principal.id.split('/'), tools: [call.toolId, ...call.formerToolIds].map(toolSegments), ...context };
}

function viewEffect(effect: Effect, facts: DeviceFacts): EffectView {
  const path = effect.target.split('/');
  const action = path.length === DEVICE_PATH_LENGTH ? path.slice(2).map(plainName) : undefined;
  return { effect, device: effect.device ?? deviceOfPermission(effect.permission), action, facts };
}

function callConditions(terms: RuleTerms): readonly Condition<CallView>[] {
  const { agent, kind, tool, times, param } = terms;
  return [
    kind &&
      condition(
        (view: CallView) => kind.includes(kindOf(view)),
        (view) => `the caller is ${kindOf(view) === 'owner' ? 'the owner' : 'an agent'}`,
      ),
    agent &&
      condition(
        (view: CallView) => kindOf(view) === 'agent' && anyOf(agent, view.agent),
        ({ call }) => `the agent is ${call.principal.id}`,
      ),
    tool &&
      condition(
        ({ tools }: CallView) => tools.some((name) => anyOf(tool, name)),
        ({ call }) => `the tool is ${call.toolId}`,
      ),
    times && {
      test: ({ minute }: CallView): Truth => (minute === undefined ? 'unforeseen' : truth(times.has(minute))),
      words: ({ minute }: CallView) =>
        minute === undefined ? "the hub's clock cannot be believed, so that it may be this time" : `it is ${shownMinute(minute)}`,
    },
    ...(param ?? []).map(({ path, pointer, comparison }) =>
      condition(
        ({ call }: CallView) => isSo(valueAt(call.params, path), (value) => compares(value, comparison)),
        () => `the parameter ${pointer} is ${comparisonText(comparison)}`,
      ),
    ),
  ].filter((one) => one !== undefined);
}

function effectConditions(terms: RuleTerms): readonly Condition<EffectView>[] {
  const { device, deviceType, area, action, risk, value } = terms;
  return [
    device &&
      condition(
        (view: EffectView) => isSo(view.device, (id) => device.includes(id) || device.includes('*')),
        (view) => `the device is ${view.device}`,
      ),
    deviceType &&
      condition(
        (view: EffectView) => isSo(view.device, (id) => isOneOf(deviceType, view.facts.typesOf(id))),
        () => `the device is a ${deviceType.join(' or ')}`,
      ),
    area &&
      condition(
        (view: EffectView) =>
          isSo(view.device, (id) => isSo(view.facts.areaOf(id), (key) => area.some((one) => view.facts.areaMeant(one) === key))),
        () => `it is in ${area.join(' or ')}`,
      ),
    action && {
      test: (view: EffectView) => actionTruth(action, view),
      words: ({ effect, facts }: EffectView) => `it does this: ${effectText(effect, facts)}`,
    },
    risk &&
      condition(
        ({ effect }: EffectView) => risk.includes(effect.risk),
        ({ effect }) => `the risk is ${effect.risk}`,
      ),
    value && { test: (view: EffectView) => valueTruth(value, view), words: (view: EffectView) => valueText(value, view) },
  ].filter((one) => one !== undefined);
}

/** Returns the effect in words, such as `Unlock Front door (hall)`. */
function effectText(effect: Pick<Effect, 'target' | 'permission'>, facts: DeviceFacts): string {
  const { target } = effect;
  const device = facts.namedDevice(target.split('/', 1)[0] ?? '');
  return targetText([target], device ? [device] : [], { reads: readsIn([effect]) });
}

function condition<View>(test: (view: View) => boolean, words: (view: View) => string): Condition<View> {
  return { test: (view) => truth(test(view)), words };
}

function truth(isSo: boolean): Truth {
  return isSo ? 'yes' : 'no';
}

function isSo<T>(value: T | undefined, test: (value: T) => boolean): boolean {
  return value !== undefined && test(value);
}

function isOneOf(wanted: readonly string[], has: ReadonlySet<string>): boolean {
  return wanted.some((one) => has.has(one));
}

function anyOf(patterns: readonly NamePattern[], name: readonly string[]): boolean {
  return patterns.some((pattern) => matches(pattern, name));
}

/** Returns the kind of the caller. Every caller except the owner counts as an agent. */
function kindOf({ call }: CallView): 'owner' | 'agent' {
  return call.principal.kind === 'owner' ? 'owner' : 'agent';
}

/** Compares the effect's action with the patterns. If the effect has no `action` but has unforeseen values, returns `unforeseen`. */
function actionTruth(patterns: readonly NamePattern[], { action, effect }: EffectView): Truth {
  if (action) return truth(anyOf(patterns, action));
  return effect.unforeseen && effect.unforeseen.length > 0 ? 'unforeseen' : 'no';
}

function valueTruth(terms: readonly ValueTerm[], { effect }: EffectView): Truth {
  let result: Truth = 'no';
  for (const term of terms) {
    const one = termTruth(term, effect);
    if (one === 'yes') return 'yes';
    if (one === 'unforeseen') result = one;
  }
  return result;
}

function termTruth({ name, comparison }: ValueTerm, { values, unforeseen }: Effect): Truth {
  const value: Json | undefined = values && Object.hasOwn(values, name) ? values[name] : undefined;
  if (value !== undefined) return truth(compares(value, comparison));
  return unforeseen?.some((one) => one === name || one === '*') ? 'unforeseen' : 'no';
}

function valueText(terms: readonly ValueTerm[], { effect }: EffectView): string {
  const held = terms.find((term) => termTruth(term, effect) === 'yes');
  if (held)
    return `${held.name} becomes ${JSON.stringify(effect.values?.[held.name] ?? null)}, which is ${comparisonText(held.comparison)}`;
  const assumed = terms.find((term) => termTruth(term, effect) === 'unforeseen');
  return `what ${assumed?.name ?? 'the value'} becomes is not known before the call, so that it may be ${assumed ? comparisonText(assumed.comparison) : 'so'}`;
}

/** Returns the device id in a permission, such as `hall` in `sensor:read:hall/temperature`; undefined if the permission names no device. */
function deviceOfPermission(text: string): string | undefined {
  const permission = parsePermission(text);
  if (!permission) return undefined;
  const { namespace, action, resource } = permission;
  const isOfDevice = namespace === 'device' || namespace === 'sensor' || (namespace === 'admin' && action === 'device');
  return isOfDevice ? resource?.split('/')[0] : undefined;
}

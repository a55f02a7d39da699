import type { Effect } from '../../core/access/authorizer.ts';
import { parsePermission } from '../../core/access/permission.ts';
import type { RuledCall } from '../../core/access/rule-engine.ts';
import { readsIn, targetText } from '../../core/devices/action-words.ts';
import type { DeviceFacts } from '../../core/devices/device-facts.ts';
import type { Json } from '../../core/json.ts';
import { compares, comparisonWords, memberAt } from './rule-comparison.ts';
import { matches, type NamePattern, plainName, toolSegments } from './rule-pattern.ts';
import type { RuleTerms, ValueTerm } from './rule-terms.ts';
import { type MinuteOfWeek, shownMinute } from './rule-time.ts';

/** Whether a condition holds; `unforeseen` where nobody can know before the call has run. */
export type Truth = 'yes' | 'no' | 'unforeseen';

/** A call as conditions look at it. */
export interface CallView {
  readonly call: RuledCall;
  readonly agent: readonly string[];
  /** The tool by its present name and by those that it had. */
  readonly tools: readonly (readonly string[])[];
  /** Undefined while the hub's clock cannot be believed. */
  readonly minute: MinuteOfWeek | undefined;
  readonly facts: DeviceFacts;
}

/** One effect of it. */
export interface EffectView {
  readonly effect: Effect;
  readonly device: string | undefined;
  /** Cluster and command or attribute; undefined for what is no single element of a device. */
  readonly action: readonly string[] | undefined;
  readonly facts: DeviceFacts;
}

/** One condition of a rule. */
export interface Condition<View> {
  test(view: View): Truth;
  /** What held, in words. */
  words(view: View): string;
}

const DEVICE_PATH_LENGTH = 4;

/** What conditions need to know of a call. */
export function viewCall(call: RuledCall, around: { readonly minute: MinuteOfWeek | undefined; readonly facts: DeviceFacts }): CallView {
  return { call, agent: call.principal.id.split('/'), tools: [call.toolId, ...call.formerToolIds].map(toolSegments), ...around };
}

/** The same of one of its effects. */
export function viewEffect(effect: Effect, facts: DeviceFacts): EffectView {
  const path = effect.target.split('/');
  const action = path.length === DEVICE_PATH_LENGTH ? path.slice(2).map(plainName) : undefined;
  return { effect, device: effect.device ?? deviceOfPermission(effect.permission), action, facts };
}

/** Conditions about caller, tool, time and parameters. */
export function callConditions(terms: RuleTerms): readonly Condition<CallView>[] {
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
        ({ call }: CallView) => isSo(memberAt(call.params, path), (value) => compares(value, comparison)),
        () => `the parameter ${pointer} is ${comparisonWords(comparison)}`,
      ),
    ),
  ].filter((one) => one !== undefined);
}

/** Conditions about what a call does. */
export function effectConditions(terms: RuleTerms): readonly Condition<EffectView>[] {
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
    value && { test: (view: EffectView) => valueTruth(value, view), words: (view: EffectView) => valueWords(value, view) },
  ].filter((one) => one !== undefined);
}

/** What an effect does, as a person reads it, such as `Unlock Front door (hall)`. */
export function effectText(effect: Pick<Effect, 'target' | 'permission'>, facts: DeviceFacts): string {
  const { target } = effect;
  const device = facts.namedDevice(target.split('/', 1)[0] ?? '');
  return targetText([target], device ? [device] : [], readsIn([effect]));
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

/** Whoever is not the owner is bound like an agent. */
function kindOf({ call }: CallView): 'owner' | 'agent' {
  return call.principal.kind === 'owner' ? 'owner' : 'agent';
}

/** Effects that name no single command but let others happen, such as a binding, may be any. */
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

function valueWords(terms: readonly ValueTerm[], { effect }: EffectView): string {
  const held = terms.find((term) => termTruth(term, effect) === 'yes');
  if (held)
    return `${held.name} becomes ${JSON.stringify(effect.values?.[held.name] ?? null)}, which is ${comparisonWords(held.comparison)}`;
  const assumed = terms.find((term) => termTruth(term, effect) === 'unforeseen');
  return `what ${assumed?.name ?? 'the value'} becomes is not known before the call, so that it may be ${assumed ? comparisonWords(assumed.comparison) : 'so'}`;
}

/** Effects of tools that say nothing of devices still need their permission: `sensor:read:hall/temperature`, `admin:device:hall`. */
function deviceOfPermission(text: string): string | undefined {
  const permission = parsePermission(text);
  if (!permission) return undefined;
  const { namespace, action, resource } = permission;
  const isOfDevice = namespace === 'device' || namespace === 'sensor' || (namespace === 'admin' && action === 'device');
  return isOfDevice ? resource?.split('/')[0] : undefined;
}

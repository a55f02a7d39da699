import { type CallPreviewPorts, previewCalls } from '../../calls/call-preview.ts';
import type { CallToJudge, Effect, Principal } from '../../core/auth/principal.ts';
import { deviceElement } from '../../core/devices/action-descriptions.ts';
import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts';
import type { Condition } from '../plan/condition-schema.ts';
import type { AutomationPlan } from '../plan/plan-schema.ts';
import { fillReferences, referencesIn } from '../plan/references.ts';
import { type Action, answersIn, type ChooseStep, isAction, listsIn, type RepeatStep, type Step } from '../plan/step-schema.ts';
import { callOfStep, isHouseCall } from '../run/step-calls.ts';
import {
  ALWAYS_POSSIBLE,
  areJudged,
  bothOf,
  isPossible,
  type Situations,
  situationsLater,
  situationsOf,
  situationsWithout,
  type ZonePorts,
} from './situations.ts';

/** Time from the trigger to a step, in minutes. */
export interface Delay {
  readonly least: number;
  readonly most: number;
}

/** The delay of a step before which the run does not wait. */
export const AT_ONCE: Delay = { least: 0, most: 0 };

/** A value that a call sets, or a value that it changes in a way that is not known beforehand. */
export interface ValueChange {
  /** The changed value: `<device>/<endpoint>/<value>`. */
  readonly value: string;
  readonly device: string;
  /** The new content; undefined if it is not known before the call. */
  readonly becomes: Json | undefined;
  /** True if the new content depends on what the value is before, as for a toggle. */
  readonly isRelative: boolean;
  /** True if the content is that of the reading which set off the run. */
  readonly isCopy: boolean;
  readonly effect: Effect;
}

/** What a step of an automation changes. */
export interface Act extends ValueChange {
  readonly step: CheckedStep;
}

/** A call that an automation makes, with all that it does as far as that is known. */
export interface CheckedStep {
  readonly index: number;
  readonly tool: string;
  /** The call as it is written. */
  readonly action: Action;
  readonly delay: Delay;
  /** How often the call is made in one run, at most. */
  readonly repeats: number;
  /** What holds at the step by the choices and waits before it. Empty if the step is never done. */
  readonly held: Situations;
  /** False if one of these choices and waits depends on what the check cannot judge. */
  readonly isHeldKnown: boolean;
  /** The branches in which the step stands, from the outermost. Steps in two branches of one choice never run in the same run. */
  readonly branches: readonly Branch[];
  readonly calls: readonly Omit<CallToJudge, 'principal'>[];
  /** What changes by the step. */
  readonly acts: readonly Act[];
}

interface Branch {
  readonly of: string;
  readonly option: number;
  readonly isExclusive: boolean;
}

/** The parts of the hub that say what steps do. */
type StepPorts = CallPreviewPorts & ZonePorts;

/** Returns the calls of an automation at all depths of its steps. A step whose call would be refused has no effects. */
export function stepsOf(plan: AutomationPlan, principal: Principal, ports: StepPorts): readonly CheckedStep[] {
  return placedActions(plan.actions, ports).map((placed) => stepOf({ ...placed, plan }, principal, ports));
}

/** Where a call stands: when it comes, how often, in which branches, and the index of its step in the list of the automation. */
type Placed = Pick<CheckedStep, 'index' | 'action' | 'delay' | 'repeats' | 'branches' | 'held' | 'isHeldKnown'>;
type Position = Omit<Placed, 'action' | 'index'> & { readonly index?: number; readonly path: string };

const START: Position = { delay: AT_ONCE, repeats: 1, branches: [], path: '', held: ALWAYS_POSSIBLE, isHeldKnown: true };

/** Returns the calls in steps at all depths, without what they do. */
export function placedActions(steps: readonly Step[], ports: ZonePorts): readonly Placed[] {
  return actionsFrom(steps, START, ports);
}

function actionsFrom(steps: readonly Step[], start: Position, ports: ZonePorts): readonly Placed[] {
  let moment: Moment = start;
  return steps.flatMap((step, at) => {
    const position = { ...start, ...moment, index: start.index ?? at, path: `${start.path}/${at}` };
    moment = momentAfter(position, step, ports);
    if (isAction(step)) return [{ ...position, action: step }];
    if (isHouseCall(step)) return [{ ...position, action: callOfStep(step, 0) }];
    return positionsWithin(step, position, ports).flatMap(([list, inner]) => actionsFrom(list, inner, ports));
  });
}

/** When a step comes, and what holds then. */
type Moment = Pick<CheckedStep, 'delay' | 'held' | 'isHeldKnown'>;

/** Returns when what follows a step comes, and what holds then. A wait that goes on after its time says nothing about what it waited for. */
function momentAfter({ delay, held, isHeldKnown }: Moment, step: Step, ports: ZonePorts): Moment {
  const after = { delay: delayAfter(delay, step), held: situationsLater(held, delayAfter(AT_ONCE, step)), isHeldKnown };
  if (isAction(step) || step.type !== 'wait_until' || step.on_timeout === 'continue') return after;
  return holding(after, step.conditions, ports);
}

/** Returns the same moment if the conditions hold then. */
function holding<At extends Moment>(at: At, conditions: readonly Condition[], ports: ZonePorts): At {
  const held = bothOf(at.held, situationsOf(conditions, ports).filter(isPossible));
  return { ...at, held, isHeldKnown: at.isHeldKnown && areJudged(conditions) };
}

/** Returns the same moment if not all of the conditions hold then. */
function notHolding<At extends Moment>(at: At, conditions: readonly Condition[], ports: ZonePorts): At {
  const held = bothOf(at.held, situationsWithout(conditions, ports));
  return { ...at, held, isHeldKnown: at.isHeldKnown && areJudged(conditions) };
}

/** Returns when what follows a step comes. A wait until something holds or somebody answers may end at once. */
function delayAfter({ least, most }: Delay, step: Step): Delay {
  if (isAction(step)) return { least, most };
  if (step.type === 'wait') return { least: least + step.seconds / 60, most: most + step.seconds / 60 };
  if (step.type === 'wait_until' || step.type === 'ask') return { least, most: most + step.timeout_seconds / 60 };
  const within = listsIn(step).map((steps) => steps.reduce(delayAfter, AT_ONCE));
  const rounds = step.type === 'repeat' ? (step.count ?? step.max) : 1;
  return { least, most: most + rounds * Math.max(0, ...within.map((one) => one.most)) };
}

type InnerPosition = readonly (readonly [readonly Step[], Position])[];

function positionsWithin(step: Exclude<Step, Action>, position: Position, ports: ZonePorts): InnerPosition {
  if (step.type === 'choose') return positionsOfChoice(step, position, ports);
  if (step.type === 'repeat') return [[step.actions, roundOf(step, position, ports)]];
  return listsIn(step).map((steps, option) => [steps, branchOf(position, { option, isExclusive: false })]);
}

function roundOf(step: RepeatStep, position: Position, ports: ZonePorts): Position {
  const most = delayAfter(position.delay, step).most;
  const span = { least: 0, most: most - position.delay.most };
  const round = {
    ...position,
    repeats: position.repeats * (step.count ?? step.max),
    delay: { ...position.delay, most },
    held: situationsLater(position.held, span),
  };
  return step.while ? holding(round, step.while, ports) : round;
}

/** Returns the options, each of which comes only if no earlier one does, and last what is done otherwise. */
function positionsOfChoice({ options, otherwise }: ChooseStep, position: Position, ports: ZonePorts): InnerPosition {
  let rest = position;
  const chosen = options.map(({ conditions, actions }, option): readonly [readonly Step[], Position] => {
    const inner = holding(branchOf(rest, { option, isExclusive: true }), conditions, ports);
    rest = notHolding(rest, conditions, ports);
    return [actions, inner];
  });
  return [...chosen, [otherwise, branchOf(rest, { option: options.length, isExclusive: true })]];
}

function branchOf(position: Position, { option, isExclusive }: Omit<Branch, 'of'>): Position {
  const branch = { of: position.path, option, isExclusive };
  return { ...position, path: `${position.path}/${option}`, branches: [...position.branches, branch] };
}

interface PlannedAction extends Placed {
  readonly plan: AutomationPlan;
}

function stepOf(
  { action, plan, index, delay, repeats, branches, held, isHeldKnown }: PlannedAction,
  principal: Principal,
  ports: CallPreviewPorts,
): CheckedStep {
  const [params, other] = filledParams(action.params, plan);
  const calls = callsOf(action.tool, params, { principal, ports });
  const others = other === undefined ? undefined : callsOf(action.tool, other, { principal, ports });
  const acts: Act[] = [];
  const step: CheckedStep = { index, tool: action.tool, action, delay, repeats, branches, held, isHeldKnown, calls, acts };
  const effects = calls.flatMap((call) => call.effects);
  const differing = others?.flatMap((call) => call.effects);
  for (const [at, effect] of effects.entries()) acts.push(...changesBy(effect, differing?.[at]).map((change) => ({ ...change, step })));
  return step;
}

type Calls = CheckedStep['calls'];

function callsOf(
  tool: string,
  params: Json,
  { principal, ports }: { readonly principal: Principal; readonly ports: CallPreviewPorts },
): Calls {
  try {
    return previewCalls(ports, { tool, params, viewer: principal });
  } catch {
    return [];
  }
}

/**
 * Returns the parameters with sample values for the facts of the trigger, and, if the value of a reading is among them, a second time with
 * another value: what differs in the effects depends on the trigger.
 */
function filledParams(params: JsonObject, plan: AutomationPlan): readonly [Json, Json?] {
  const names = referencesIn(params, 'trigger');
  const asked = answersIn(plan.actions);
  const answer = (name: string) => asked.get(name)?.[0] ?? '';
  if (names.size === 0) return [fillReferences(params, { answer })];
  const facts = sampleFacts(plan);
  const filled = (value: Json) =>
    fillReferences(params, { answer, trigger: (name) => (name === 'value' || name === 'previous' ? value : (facts[name] ?? '')) });
  return names.has('value') || names.has('previous') ? [filled(sampleValue(plan, 0)), filled(sampleValue(plan, 1))] : [filled(0)];
}

function sampleFacts({ triggers }: AutomationPlan): JsonObject {
  return Object.assign({}, ...triggers.filter(isJsonObject));
}

/** Returns a value with which a trigger by a reading may come. */
function sampleValue({ triggers }: AutomationPlan, offset: number): Json {
  const trigger = triggers.find(({ type }) => type === 'reading');
  if (trigger?.type !== 'reading') return offset;
  const { above, below, equals } = trigger;
  if (equals !== undefined) return equals;
  return above !== undefined ? above + 1 + offset : below !== undefined ? below - 1 - offset : 20 + offset;
}

/** Commands whose outcome depends on the state before the call. The preview gives the outcome for the present state, which may differ at a run. */
const RELATIVE = new Set([
  'OnOff/Toggle',
  'LevelControl/Step',
  'LevelControl/StepWithOnOff',
  'LevelControl/MoveWithOnOff',
  'Thermostat/SetpointRaiseLower',
  'FanControl/Step',
  'MicrowaveOvenControl/AddMoreTime',
]);

/** Returns what an effect changes. `other` is the same effect for another value of the trigger; what differs between them is a copy of that. */
export function changesBy(effect: Effect, other?: Effect): readonly ValueChange[] {
  const at = deviceElement(effect.target);
  if (!at) return [];
  const isRelative = RELATIVE.has(`${at.cluster}/${at.element}`);
  const common = { device: at.device, isRelative, effect };
  const isOwn = (name: string) => at.cluster !== 'OnOff' || name === 'is_on';
  const set = Object.entries(effect.values ?? {}).filter(([name, value]) => isOwn(name) && (value === null || typeof value !== 'object'));
  const unforeseen = (effect.unforeseen ?? []).filter((name) => isOwn(name) && name !== '*');
  const isCopy = (name: string, value: Json) => other?.values !== undefined && other.values[name] !== value;
  return [
    ...set.map(([name, value]) => {
      const becomes = isRelative || isCopy(name, value) ? undefined : value;
      return { ...common, value: `${at.device}/${at.part}/${name}`, becomes, isCopy: isCopy(name, value) };
    }),
    ...unforeseen.map((name) => ({ ...common, value: `${at.device}/${at.part}/${name}`, becomes: undefined, isCopy: false })),
  ];
}

/** Returns whether the steps never run in the same run, because they stand in different branches of one choice. */
export function areExclusive(a: CheckedStep, b: CheckedStep): boolean {
  return a.branches.some((one) => one.isExclusive && b.branches.some((other) => other.of === one.of && other.option !== one.option));
}

/** Returns the ids of the devices on which the calls of a step act. */
export function devicesOf({ calls }: CheckedStep): readonly string[] {
  return calls.flatMap(({ effects }) => effects.flatMap(({ device }) => device ?? []));
}

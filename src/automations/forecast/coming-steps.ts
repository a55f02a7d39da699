import type { ComingRuns } from '../automation-ports.ts';
import { type CheckedStep, placedActions } from '../check/acts.ts';
import type { Behaviour } from '../check/behaviour.ts';
import { ALWAYS_POSSIBLE, type ZonePorts } from '../check/situations.ts';
import type { Start } from '../check/starts.ts';
import { simpleConditions } from '../plan/condition-schema.ts';
import { type Action, isAction, type RepeatStep, type Step } from '../plan/step-schema.ts';
import type { Trigger } from '../plan/trigger-schema.ts';
import type { RunWait } from '../run/run-log.ts';
import { nextTimeMoment } from '../triggers/clock-watches.ts';
import type { Minutes, NextHour, Series } from './next-hour.ts';

const MINUTE_MS = 60_000;

/** When a step of an automation comes within the hour. */
export interface StepMoment {
  readonly when: 'at_time' | 'after_wait' | 'if_set_off';
  /** The earliest time, milliseconds since 1970; undefined if it is not known. */
  readonly atMs: number | undefined;
  /** False if conditions, choices or people decide whether it comes. */
  readonly isCertain: boolean;
}

/** A trigger that a call sets off, or may set off. */
export interface SetOffStart {
  readonly start: Start;
  readonly isCertain: boolean;
}

/** When the steps of one automation come within the hour. */
export class ComingSteps {
  readonly behaviour: Behaviour;
  readonly #coming: ComingRuns;
  readonly #hour: NextHour;
  readonly #ports: ZonePorts;
  readonly #byTime = new Map<CheckedStep, StepMoment | undefined>();
  readonly #ifFired = new Map<Start, Map<CheckedStep, StepMoment | undefined>>();
  #afterWaits: ReadonlyMap<Action, StepMoment> | undefined;

  constructor(behaviour: Behaviour, coming: ComingRuns, { hour, ports }: { readonly hour: NextHour; readonly ports: ZonePorts }) {
    this.behaviour = behaviour;
    this.#coming = coming;
    this.#hour = hour;
    this.#ports = ports;
  }

  /** Returns when a step comes because a trigger fires by the time; the soonest moment. */
  byTime(step: CheckedStep): StepMoment | undefined {
    if (this.#byTime.has(step)) return this.#byTime.get(step);
    const moments = this.behaviour.starts.flatMap((start, index) => this.#fromStart(start, this.#coming.due[index], step) ?? []);
    const soonest = soonestOf(moments);
    this.#byTime.set(step, soonest);
    return soonest;
  }

  /** Returns when a step comes in the run that is in progress and waits. */
  afterWait({ action }: CheckedStep): StepMoment | undefined {
    this.#afterWaits ??= this.#computedAfterWaits();
    return this.#afterWaits.get(action);
  }

  /** Returns when a step comes if the triggers fire now. */
  ifSetOff(step: CheckedStep, starts: readonly SetOffStart[]): StepMoment | undefined {
    const moments = starts.flatMap(({ start, isCertain }) => {
      const fired = this.#ifFiredNow(start, step);
      return fired ? [{ when: 'if_set_off' as const, atMs: fired.atMs, isCertain: isCertain && fired.isCertain }] : [];
    });
    return soonestOf(moments);
  }

  #ifFiredNow(start: Start, step: CheckedStep): StepMoment | undefined {
    const known = this.#ifFired.get(start) ?? new Map<CheckedStep, StepMoment | undefined>();
    this.#ifFired.set(start, known);
    if (known.has(step)) return known.get(step);
    const { trigger } = start;
    const stayMs = trigger.type === 'reading' ? (trigger.for_seconds ?? 0) * 1000 : 0;
    const moment = this.#fromStart(start, this.#hour.startMs + stayMs, step, ONCE);
    known.set(step, moment);
    return moment;
  }

  #fromStart(start: Start, firstMs: number | undefined, step: CheckedStep, nextAfter = this.#nextAfter(start.trigger, firstMs)) {
    if (firstMs === undefined || firstMs > this.#hour.endMs || step.held.length === 0) return undefined;
    const delayMs = step.delay.least * MINUTE_MS;
    const fired = this.#firstFiring(start, { firstMs, nextAfter }, { held: this.#heldIn(step), delayMs });
    if (!fired) return undefined;
    const beginMs = fired.atMs === undefined ? undefined : this.#coming.beginOf(fired.atMs);
    if (beginMs === undefined) return { when: 'at_time' as const, atMs: undefined, isCertain: false };
    const isCertain = this.#beginsSurely(start, beginMs === fired.atMs) && isSure(step);
    return { when: 'at_time' as const, atMs: beginMs + delayMs, isCertain };
  }

  /** Returns the first moment of a trigger whose run comes to a step within the hour. */
  #firstFiring(start: Start, series: Series, { held, delayMs }: { readonly held: Minutes | undefined; readonly delayMs: number }) {
    const begins = this.#hour.minutesIn(start.situations);
    const lastMs = this.#hour.endMs - delayMs;
    const { endsAtMs = Infinity } = this.behaviour.automation;
    return this.#hour.firstOf(series, lastMs, (firedMs) => {
      if (!this.#hour.isIn(begins, firedMs)) return false;
      const beginMs = this.#coming.beginOf(firedMs);
      if (beginMs === undefined || beginMs > lastMs || beginMs >= endsAtMs) return false;
      return held === undefined || this.#hour.isIn(held, beginMs + delayMs);
    });
  }

  /** Returns the minutes in which the choices and waits before a step let it come; undefined if they always do or its time is not known. */
  #heldIn({ held, delay }: CheckedStep): Minutes | undefined {
    return held === ALWAYS_POSSIBLE || delay.least !== delay.most ? undefined : this.#hour.minutesIn(held);
  }

  /**
   * Returns whether the run of a trigger that fires at a possible time begins for certain. A run that is under way may drop the trigger. One
   * that begins later, by the cooldown, asks the trigger and the conditions then.
   */
  #beginsSurely({ trigger }: Start, isAtOnce: boolean): boolean {
    const { conditions } = this.behaviour.automation.plan;
    if (this.#coming.isRunning) return false;
    return isAtOnce
      ? simpleConditions(conditions).every(({ type }) => type === 'time')
      : conditions.length === 0 && trigger.type !== 'reading';
  }

  #nextAfter(trigger: Trigger, firstMs = 0): Series['nextAfter'] {
    if (trigger.type === 'time') return (afterMs) => nextTimeMoment(trigger, this.#ports.timeZone, afterMs);
    if (trigger.type !== 'every') return ONCE;
    const everyMs = trigger.seconds * 1000;
    return (afterMs) => firstMs + Math.ceil(Math.max(1, afterMs + 1 - firstMs) / everyMs) * everyMs;
  }

  #computedAfterWaits(): ReadonlyMap<Action, StepMoment> {
    const moments = new Map<Action, StepMoment>();
    const { waits } = this.#coming;
    for (const [action, moment] of waits.flatMap((wait) => this.#after(wait, waits.length === 1))) {
      const known = moments.get(action);
      if (!known || (moment.atMs ?? Infinity) < (known.atMs ?? Infinity)) moments.set(action, moment);
    }
    return moments;
  }

  #after(wait: RunWait, isAlone: boolean): readonly (readonly [Action, StepMoment])[] {
    const { actions } = this.behaviour.automation.plan;
    const isTimed = endsInTime(actions, wait);
    const fromMs = isTimed ? wait.dueMs : this.#hour.startMs;
    return placedActions(stepsAfter(actions, wait), this.#ports).flatMap((placed) => {
      const atMs = fromMs + placed.delay.least * MINUTE_MS;
      if (atMs > this.#hour.endMs || placed.held.length === 0) return [];
      const moment = { when: 'after_wait', atMs: isTimed ? atMs : undefined, isCertain: isTimed && isAlone && isSure(placed) } as const;
      return [[placed.action, moment]];
    });
  }
}

const ONCE = () => undefined;

function soonestOf(moments: readonly StepMoment[]): StepMoment | undefined {
  return moments.toSorted((a, b) => (a.atMs ?? Infinity) - (b.atMs ?? Infinity))[0];
}

/** Returns whether a run comes to a step for certain, and when. */
function isSure({ delay, held }: Pick<CheckedStep, 'delay' | 'held'>): boolean {
  return delay.least === delay.most && held === ALWAYS_POSSIBLE;
}

/** Returns the steps that a run does after a wait. A call that waits for an approval is among them: it is made once people have approved it. */
function stepsAfter(steps: readonly Step[], { path, isCall }: RunWait): readonly Step[] {
  const call = isCall ? stepAt(steps, path.split('/')) : undefined;
  return [...(call ? [call] : []), ...after(steps, path.split('/'))];
}

/** Returns whether a wait ends at its time, and neither before it nor without the steps that follow. */
function endsInTime(steps: readonly Step[], { path }: RunWait): boolean {
  const step = stepAt(steps, path.split('/'));
  return step !== undefined && !isAction(step) && step.type === 'wait';
}

type Place = readonly string[];

function after(steps: readonly Step[], [index, ...inner]: Place): readonly Step[] {
  const step = steps[Number(index)];
  if (!step) return [];
  const round = isAction(step) || step.type !== 'repeat' ? undefined : Number(inner[0]);
  const [list, place] = innerOf(step, inner);
  const rounds = round === undefined ? [] : roundsAfter(step as RepeatStep, round);
  return [...after(list, place), ...rounds, ...steps.slice(Number(index) + 1)];
}

function stepAt(steps: readonly Step[], [index, ...inner]: Place): Step | undefined {
  const step = steps[Number(index)];
  if (!step || inner.length === 0) return step;
  const [list, place] = innerOf(step, inner);
  return place.length === 0 ? step : stepAt(list, place);
}

/** Returns the list within a step to which a place leads, and the rest of the place. */
function innerOf(step: Exclude<Step, Action> | Action, [name, key, ...rest]: Place): readonly [readonly Step[], Place] {
  if (isAction(step)) return [[], []];
  if (step.type === 'choose' && name === 'options') return [step.options[Number(key)]?.actions ?? [], rest];
  if (step.type === 'choose' && name === 'otherwise') return [step.otherwise, placeOf(key, rest)];
  if (step.type === 'parallel' && name === 'branches') return [step.branches[Number(key)] ?? [], rest];
  return step.type === 'repeat' ? [step.actions, placeOf(key, rest)] : [[], []];
}

function placeOf(first: string | undefined, rest: Place): Place {
  return first === undefined ? [] : [first, ...rest];
}

/** Returns a repetition without the rounds up to one. */
function roundsAfter(step: RepeatStep, round: number): readonly Step[] {
  const [name, most] = step.count === undefined ? (['max', step.max] as const) : (['count', step.count] as const);
  return round + 1 < most ? [{ ...step, [name]: most - round - 1 }] : [];
}

import type { Act, CheckedStep, ValueChange } from '../check/acts.ts';
import { differ } from '../check/opposite-effects.ts';
import type { ComingSteps, SetOffStart, StepMoment } from './coming-steps.ts';
import type { Meeting } from './conflict-words.ts';
import type { SetOffTriggers } from './set-off.ts';

/** Effort to find out when a run by one trigger comes to one step. */
const MOMENT_EFFORT = 10;

/** Finds where one automation meets calls, as long as effort is left for it. */
export class AutomationMeetings {
  readonly #coming: ComingSteps;
  #effortLeft: number;

  /** `effort` is that of all calls together, in comparisons of two changes. */
  constructor(coming: ComingSteps, effort: number) {
    this.#coming = coming;
    this.#effortLeft = effort;
  }

  /** Returns where the automation meets the changes of a call: the soonest time for each device and each cause. */
  with(changes: readonly ValueChange[], triggers: SetOffTriggers): readonly Meeting[] {
    const { automation } = this.#coming.behaviour;
    const acts = this.#actsAgainst(changes);
    if (acts.length === 0) return [];
    const moments = this.#momentsOf(new Set(acts.map(({ step }) => step)), this.#setOffBy(triggers, changes));
    const found = new Map<string, Meeting>();
    for (const act of acts) {
      for (const moment of moments.get(act.step) ?? []) {
        const key = `${act.device} ${moment.when}`;
        const known = found.get(key)?.moment;
        if (!known || isSooner(moment, known)) found.set(key, { automation, act, moment });
      }
    }
    return [...found.values()];
  }

  /** Returns what the automation sets to something else than the changes do. */
  #actsAgainst(changes: readonly ValueChange[]): readonly Act[] {
    const { acts } = this.#coming.behaviour;
    const found = new Set<Act>();
    if (!this.#spend(changes.length)) return [];
    for (const change of changes) {
      for (const act of acts.get(change.value) ?? []) {
        if (!this.#spend(1)) return [...found];
        if (differ(change, act)) found.add(act);
      }
    }
    return [...found];
  }

  #setOffBy(triggers: SetOffTriggers, changes: readonly ValueChange[]): readonly SetOffStart[] {
    const { behaviour } = this.#coming;
    return this.#spend(behaviour.starts.length * changes.length) ? triggers.of(behaviour) : [];
  }

  /** Returns when steps come within the hour, by each cause. */
  #momentsOf(steps: Iterable<CheckedStep>, starts: readonly SetOffStart[]): ReadonlyMap<CheckedStep, readonly StepMoment[]> {
    const moments = new Map<CheckedStep, readonly StepMoment[]>();
    for (const step of steps) {
      if (!this.#spend(MOMENT_EFFORT * (1 + starts.length))) return moments;
      const coming = [this.#coming.byTime(step), this.#coming.afterWait(step), this.#coming.ifSetOff(step, starts)];
      moments.set(
        step,
        coming.filter((moment) => moment !== undefined),
      );
    }
    return moments;
  }

  #spend(effort: number): boolean {
    this.#effortLeft -= effort;
    return this.#effortLeft >= 0;
  }
}

function isSooner({ atMs = Infinity, isCertain }: StepMoment, other: StepMoment): boolean {
  const otherMs = other.atMs ?? Infinity;
  return atMs < otherMs || (atMs === otherMs && isCertain && !other.isCertain);
}

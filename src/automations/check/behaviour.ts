import type { Principal } from '../../core/auth/principal.ts';
import { oncePerObject } from '../../core/lifecycle.ts';
import type { CheckPorts } from '../automation-ports.ts';
import type { AutomationPlan } from '../plan/plan-schema.ts';
import { type Act, type CheckedStep, stepsOf } from './acts.ts';
import { ALWAYS_POSSIBLE, bothOf, type Situations, situationsLater } from './situations.ts';
import { type Start, startsOf } from './starts.ts';
import { NEVER, union, type WeekTimes } from './week-times.ts';

/** An automation to check: one that lives, or a candidate. */
export interface CheckedAutomation {
  readonly id: string;
  readonly name: string;
  readonly plan: AutomationPlan;
  /** The principal with whose permissions its calls are made. */
  readonly principal: Principal;
  /** When its permissions end, milliseconds since 1970; absent if they have no end. */
  readonly endsAtMs?: number;
  /** Present if the caller may not see the automation: a finding then gives neither its name nor its times. */
  readonly isHidden?: true;
}

/** What an automation does and when, without its wording. */
export interface Behaviour {
  readonly automation: CheckedAutomation;
  readonly starts: readonly Start[];
  readonly steps: readonly CheckedStep[];
  /** What its steps change, by the changed value. */
  readonly acts: ReadonlyMap<string, readonly Act[]>;
}

/** Returns what an automation does now, by the tools, devices and permissions of now. */
export function behaviourOf(automation: CheckedAutomation, ports: CheckPorts): Behaviour {
  const steps = stepsOf(automation.plan, automation.principal, ports);
  const acts = Map.groupBy(
    steps.flatMap((step) => step.acts),
    ({ value }) => value,
  );
  return { automation, starts: startsOf(automation.plan, ports), steps, acts };
}

/** How long the behaviour of an automation is kept, in milliseconds. Tools, devices and scenes may change meanwhile. */
const KEPT_MS = 30_000;

interface KeptBehaviour {
  readonly behaviour: Behaviour;
  readonly atMs: number;
}

/** Finds out what automations that live do, once in half a minute for each version: each step is previewed, which takes long for many of them. */
class LivingBehaviours {
  readonly #ports: CheckPorts;
  readonly #kept = new WeakMap<AutomationPlan, KeptBehaviour>();

  constructor(ports: CheckPorts) {
    this.#ports = ports;
  }

  of(automation: CheckedAutomation): Behaviour {
    const nowMs = this.#ports.clock.monotonic();
    const kept = this.#kept.get(automation.plan);
    const isFresh = kept && nowMs - kept.atMs < KEPT_MS && haveSamePermissions(kept.behaviour.automation, automation);
    const { starts, steps, acts } = isFresh ? kept.behaviour : behaviourOf(automation, this.#ports);
    const behaviour = { automation, starts, steps, acts };
    if (!isFresh) this.#kept.set(automation.plan, { behaviour, atMs: nowMs });
    return behaviour;
  }
}

/** Returns what automations that live do, as it was found out once for all checks of a hub. */
export const livingBehaviours = oncePerObject((ports: CheckPorts) => new LivingBehaviours(ports));

function haveSamePermissions({ principal: a }: CheckedAutomation, { principal: b }: CheckedAutomation): boolean {
  return a.id === b.id && a.permissions.join() === b.permissions.join();
}

/** Returns the times at which a run of the automation may begin. */
export function timesOfRuns({ starts }: Behaviour): WeekTimes {
  return starts.flatMap(({ situations }) => situations).reduce((sum, { times }) => union(sum, times), NEVER);
}

/** Returns the times at which a run of the automation may come to a step. */
export function timesOfStep({ starts }: Behaviour, step: Pick<CheckedStep, 'delay' | 'held'>): WeekTimes {
  return starts.flatMap((start) => situationsAt(start, step)).reduce((sum, { times }) => union(sum, times), NEVER);
}

/** Returns the times at which the automation may change a value by an act. */
export function timesOfAct(behaviour: Behaviour, { step }: Act): WeekTimes {
  return timesOfStep(behaviour, step);
}

/**
 * Returns the possible situations in which a run by a trigger comes to a step. After a wait, the values of the trigger and of the conditions need
 * not hold any more.
 */
export function situationsAt({ situations }: Start, { delay, held }: Pick<CheckedStep, 'delay' | 'held'>): Situations {
  if (held === ALWAYS_POSSIBLE && delay.most === 0) return situations;
  return bothOf(situationsLater(situations, delay), held);
}

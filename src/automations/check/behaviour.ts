import type { Principal } from '../../core/auth/principal.ts';
import type { AutomationPlan } from '../automation-schema.ts';
import { type Act, type Step, stepsOf } from './acts.ts';
import type { CheckPorts } from './check-ports.ts';
import { type Start, startsOf } from './starts.ts';

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
  readonly steps: readonly Step[];
  /** What its steps change, by the changed value. */
  readonly acts: ReadonlyMap<string, readonly Act[]>;
}

export function behaviourOf(automation: CheckedAutomation, ports: CheckPorts): Behaviour {
  const steps = stepsOf(automation.plan, automation.principal, ports);
  const acts = Map.groupBy(
    steps.flatMap((step) => step.acts),
    ({ value }) => value,
  );
  return { automation, starts: startsOf(automation.plan, ports), steps, acts };
}

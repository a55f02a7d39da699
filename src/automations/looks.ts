import type { Authorizer, Principal } from '../core/auth/principal.ts';
import { canObserve, type Observed, observedBy } from './automation-access.ts';
import type { AutomationPlan } from './plan/plan-schema.ts';

/** Members of triggers and conditions by which the needed permission differs. */
const SUBJECTS = ['type', 'sensor_id', 'device_id', 'flag', 'scene_id', 'agent_id'] as const;

/**
 * What an automation looks at, each thing once. All that ask within one event get one judgement: a run may have dozens of waits that the same
 * event checks, and each look is judged against all grants.
 */
export class Looks {
  readonly #authorizer: Authorizer;
  readonly #looks: readonly Observed[];
  readonly #judged = new Map<Principal, boolean>();

  constructor(plan: AutomationPlan, authorizer: Authorizer) {
    this.#authorizer = authorizer;
    this.#looks = [...new Map(observedBy(plan).map((look) => [keyOf(look), look])).values()];
  }

  /** Returns whether a principal may look at all of it now. */
  mayAll(principal: Principal): boolean {
    const known = this.#judged.get(principal);
    if (known !== undefined) return known;
    const mayAll = this.#looks.every((look) => canObserve(look, principal, this.#authorizer));
    this.#judged.set(principal, mayAll);
    queueMicrotask(() => this.#judged.clear());
    return mayAll;
  }
}

function keyOf(look: Observed): string {
  const members: Partial<Record<string, unknown>> = { ...look };
  return JSON.stringify(SUBJECTS.map((name) => members[name] ?? null));
}

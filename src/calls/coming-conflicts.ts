import type { Effect, Principal } from '../core/auth/principal.ts';
import type { JsonObject } from '../core/json.ts';

/**
 * What makes an automation act: `at_time`: its trigger fires by the time alone. `after_wait`: a run of it is under way and waits.
 * `if_set_off`: the call itself would set it off, or may do so. `not_told`: the caller may not see the automation.
 */
export const CONFLICT_CAUSES = ['at_time', 'after_wait', 'if_set_off', 'not_told'] as const;

/** What an automation will do within the hour to a value that a call sets. Clients get it unchanged, so its fields are in snake_case. */
export interface ComingConflict {
  readonly when: (typeof CONFLICT_CAUSES)[number];
  /** True if neither conditions, a run under way nor people decide whether it comes; an error or a rule of the owner may still stop it. */
  readonly certain: boolean;
  readonly device_id: string;
  /** The automation; absent if the caller may not see it. */
  readonly agent_id?: string;
  readonly name?: string;
  /** When it acts, at the earliest, as ISO 8601 in UTC; absent if that is not known. */
  readonly at?: string;
  /** What it does, such as `Turn off Hall lamp (hall)`. */
  readonly does?: string;
  readonly sentence: string;
}

/** A call that is rehearsed, with what it would do. */
export interface RehearsedEffects {
  /** Canonical id of the tool, such as `scene:good_night@1.0.0`. */
  readonly toolId: string;
  readonly params: JsonObject;
  readonly effects: readonly Effect[];
}

/** What automations will do within the hour, as far as one caller may know of it. */
export interface ComingActs {
  /** Returns where automations set what the call sets to something else: the certain ones first, the soonest first. */
  conflictsOf(call: RehearsedEffects): Promise<readonly ComingConflict[]>;
}

/** Port: what automations will do within the hour. */
export interface ComingAutomations {
  actsFor(caller: Principal): Promise<ComingActs>;
}

/** The automations of a hub that opens them after its pipeline. Until then there are none. */
export class LateComingAutomations implements ComingAutomations {
  #coming: ComingAutomations | undefined;

  /** Sets the automations that are used from now on. */
  use(coming: ComingAutomations): void {
    this.#coming = coming;
  }

  async actsFor(caller: Principal): Promise<ComingActs> {
    return (await this.#coming?.actsFor(caller)) ?? { conflictsOf: async () => [] };
  }
}

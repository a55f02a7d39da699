import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ComingActs, ComingAutomations, ComingConflict, RehearsedEffects } from '../../calls/coming-conflicts.ts';
import type { Principal } from '../../core/auth/principal.ts';
import type { Clock } from '../../core/clock.ts';
import type { AgentQueries, CheckPorts, ComingRuns } from '../automation-ports.ts';
import { changesBy, type ValueChange } from '../check/acts.ts';
import { livingAutomations } from '../check/automation-check.ts';
import { livingBehaviours } from '../check/behaviour.ts';
import { AutomationMeetings } from './automation-meetings.ts';
import { ComingSteps } from './coming-steps.ts';
import { conflictView, hiddenConflict, isCertain, type Meeting } from './conflict-words.ts';
import { NextHour } from './next-hour.ts';
import { SetOffTriggers } from './set-off.ts';

/** Maximum number of conflicts of one call. */
const MAX_CONFLICTS = 20;
/** Maximum number of devices for which an answer says that hidden automations act on them. */
const MAX_HIDDEN = 8;
/**
 * Largest effort of all forecasts of one rehearsal, in comparisons of two changes. Each automation gets an equal share of it, so that agents with
 * many steps, triggers and conditions cannot make a rehearsal long. What is left over counts as nothing found.
 */
const MAX_EFFORT = 500_000;
/** Milliseconds of work after which the hub does its other work. */
const TURN_MS = 3;

/** The parts of the hub that a forecast reads. It calls and changes nothing. */
export interface ForecastPorts {
  readonly check: CheckPorts;
  readonly agents: AgentQueries;
  readonly comingOf: (agent: { readonly id: string }) => ComingRuns;
}

/** Knows what the automations that live will do within the hour, as far as the plans, the clock and the values of now tell it. */
export class AutomationForecast implements ComingAutomations {
  readonly #ports: ForecastPorts;

  constructor(ports: ForecastPorts) {
    this.#ports = ports;
  }

  /** What one automation does is kept for half a minute, so that another forecast takes less. */
  async actsFor(caller: Principal): Promise<ComingActs> {
    const { check, agents, comingOf } = this.#ports;
    const turns = new Turns(check.clock);
    const hour = new NextHour(check);
    // A caller who may check a draft can learn from its findings that hidden automations exist. No other caller may learn it here.
    const mayKnowHidden = check.authorizer.authorize(caller, ['agent:spawn']).allowed;
    const automations = livingAutomations(agents, caller).filter(({ isHidden }) => !isHidden || mayKnowHidden);
    const effort = MAX_EFFORT / Math.max(1, automations.length);
    const seen: AutomationMeetings[] = [];
    const hidden = new Set<string>();
    for (const automation of automations) {
      const behaviour = livingBehaviours(check).of(automation);
      if (automation.isHidden) for (const value of behaviour.acts.keys()) hidden.add(value);
      else seen.push(new AutomationMeetings(new ComingSteps(behaviour, comingOf(automation), { hour, ports: check }), effort));
      await turns.pause();
    }
    return new CallersForecast({ seen, hidden }, caller, { check, turns });
  }
}

/** Lets the hub do its other work between pieces of a forecast. */
class Turns {
  readonly #clock: Clock;
  #sinceMs: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#sinceMs = clock.monotonic();
  }

  async pause(): Promise<void> {
    if (this.#clock.monotonic() - this.#sinceMs < TURN_MS) return;
    await nextTurn();
    this.#sinceMs = this.#clock.monotonic();
  }
}

/** The automations of which a caller learns. */
interface KnownAutomations {
  readonly seen: readonly AutomationMeetings[];
  /** The values that automations change which the caller may not see. */
  readonly hidden: ReadonlySet<string>;
}

/** What automations will do, for one caller and one rehearsal. */
class CallersForecast implements ComingActs {
  readonly #known: KnownAutomations;
  readonly #caller: Principal;
  readonly #ports: CheckPorts;
  readonly #turns: Turns;

  constructor(known: KnownAutomations, caller: Principal, { check, turns }: { readonly check: CheckPorts; readonly turns: Turns }) {
    this.#known = known;
    this.#caller = caller;
    this.#ports = check;
    this.#turns = turns;
  }

  async conflictsOf({ toolId, params, effects }: RehearsedEffects): Promise<readonly ComingConflict[]> {
    const changes = effects.flatMap((effect) => changesBy(effect));
    const triggers = new SetOffTriggers({ toolId, params, changes, caller: this.#caller }, this.#ports);
    const found: Meeting[] = [];
    for (const automation of this.#known.seen) {
      found.push(...automation.with(changes, triggers));
      await this.#turns.pause();
    }
    const told = found.sort(byWeight).slice(0, MAX_CONFLICTS);
    return [...told.map((meeting) => conflictView(meeting, this.#ports)), ...this.#withHidden(changes).slice(0, MAX_HIDDEN)];
  }

  /**
   * Returns the devices on which hidden automations act too. When and how they act is not compared: whether a rehearsed call meets it would tell
   * that, if a caller asked with many calls.
   */
  #withHidden(changes: readonly ValueChange[]): readonly ComingConflict[] {
    const shared = changes.filter(({ value }) => this.#known.hidden.has(value));
    return [...new Set(shared.map(({ device }) => device))].map((device) => hiddenConflict(device, this.#ports));
  }
}

function byWeight(a: Meeting, b: Meeting): number {
  const [first, second] = [a, b].map(isCertain);
  if (first !== second) return first ? -1 : 1;
  return (a.moment.atMs ?? Number.MAX_VALUE) - (b.moment.atMs ?? Number.MAX_VALUE);
}

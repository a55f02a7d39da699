import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ComingActs, ComingAutomations, ComingConflict, RehearsedEffects } from '../../calls/coming-conflicts.ts';
import type { Principal } from '../../core/auth/principal.ts';
import type { AgentQueries, CheckPorts, ComingRuns } from '../automation-ports.ts';
import { type Act, changesBy, type ValueChange } from '../check/acts.ts';
import { livingAutomations } from '../check/automation-check.ts';
import { type Behaviour, livingBehaviours } from '../check/behaviour.ts';
import { differ } from '../check/opposite-effects.ts';
import { ComingSteps, type StepMoment } from './coming-steps.ts';
import { conflictView, hiddenConflict, isCertain, type Meeting } from './conflict-words.ts';
import { NextHour } from './next-hour.ts';
import { SetOffTriggers } from './set-off.ts';

/** Maximum number of conflicts of one call. */
const MAX_CONFLICTS = 20;
/** Maximum number of devices of which it is told that hidden automations act on them. */
const MAX_HIDDEN = 8;
/** Maximum number of pairs of changes of one automation and a call that are compared. */
const MAX_PAIRS = 2_000;
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
    const { check, agents } = this.#ports;
    const behaviours: Behaviour[] = [];
    let turnMs = check.clock.monotonic();
    for (const automation of livingAutomations(agents, caller)) {
      behaviours.push(livingBehaviours(check).of(automation));
      if (check.clock.monotonic() - turnMs < TURN_MS) continue;
      await nextTurn();
      turnMs = check.clock.monotonic();
    }
    return new CallersForecast(behaviours, caller, this.#ports);
  }
}

/** What automations will do, for one caller. */
class CallersForecast implements ComingActs {
  readonly #seen: readonly ComingSteps[];
  readonly #hidden: readonly Behaviour[];
  readonly #caller: Principal;
  readonly #ports: CheckPorts;

  constructor(behaviours: readonly Behaviour[], caller: Principal, { check, comingOf }: ForecastPorts) {
    const hour = new NextHour(check);
    const { visible = [], hidden = [] } = Object.groupBy(behaviours, ({ automation }) => (automation.isHidden ? 'hidden' : 'visible'));
    this.#seen = visible.map((behaviour) => new ComingSteps(behaviour, comingOf(behaviour.automation), { hour, ports: check }));
    // That hidden automations exist is known to who may ask for a check of a draft, and to nobody else.
    this.#hidden = check.authorizer.authorize(caller, ['agent:spawn']).allowed ? hidden : [];
    this.#caller = caller;
    this.#ports = check;
  }

  conflictsOf({ toolId, params, effects }: RehearsedEffects): readonly ComingConflict[] {
    const changes = effects.flatMap((effect) => changesBy(effect));
    const met = this.#seen.flatMap((coming) => {
      const acts = actsAgainst(changes, coming.behaviour);
      return acts.length === 0 ? [] : [{ coming, acts }];
    });
    const behaviours = met.map(({ coming }) => coming.behaviour);
    const triggers = new SetOffTriggers({ toolId, params, changes, caller: this.#caller }, behaviours, this.#ports);
    const found = met.flatMap(({ coming, acts }) => this.#meetingsWith(coming, acts, triggers));
    const told = found.sort(byWeight).slice(0, MAX_CONFLICTS);
    return [...told.map((meeting) => conflictView(meeting, this.#ports)), ...this.#withHidden(changes).slice(0, MAX_HIDDEN)];
  }

  /** Returns where an automation meets the changes: the soonest time for each device and each cause. */
  #meetingsWith(coming: ComingSteps, acts: readonly Act[], triggers: SetOffTriggers): readonly Meeting[] {
    const { automation } = coming.behaviour;
    const starts = triggers.of(coming.behaviour);
    const found = new Map<string, Meeting>();
    for (const act of acts) {
      const { step } = act;
      for (const moment of [coming.byTime(step), coming.afterWait(step), coming.ifSetOff(step, starts)]) {
        if (!moment) continue;
        const key = `${act.device} ${moment.when}`;
        const known = found.get(key)?.moment;
        if (!known || isSooner(moment, known)) found.set(key, { automation, act, moment });
      }
    }
    return [...found.values()];
  }

  /**
   * Returns the devices on which hidden automations act too. When and how they act is not compared: whether a rehearsed call meets it would tell
   * that, if a caller asked with many calls.
   */
  #withHidden(changes: readonly ValueChange[]): readonly ComingConflict[] {
    const shared = changes.filter(({ value }) => this.#hidden.some(({ acts }) => acts.has(value)));
    return [...new Set(shared.map(({ device }) => device))].map((device) => hiddenConflict(device, this.#ports));
  }
}

/** Returns what an automation sets to something else than the changes do. */
function actsAgainst(changes: readonly ValueChange[], { acts }: Behaviour): readonly Act[] {
  let left = MAX_PAIRS;
  const found = new Set<Act>();
  for (const change of changes) {
    for (const act of acts.get(change.value) ?? []) {
      if (left-- <= 0) return [...found];
      if (differ(change, act)) found.add(act);
    }
  }
  return [...found];
}

function isSooner({ atMs = Infinity, isCertain }: StepMoment, other: StepMoment): boolean {
  const otherMs = other.atMs ?? Infinity;
  return atMs < otherMs || (atMs === otherMs && isCertain && !other.isCertain);
}

function byWeight(a: Meeting, b: Meeting): number {
  const [first, second] = [a, b].map(isCertain);
  if (first !== second) return first ? -1 : 1;
  return (a.moment.atMs ?? Number.MAX_VALUE) - (b.moment.atMs ?? Number.MAX_VALUE);
}

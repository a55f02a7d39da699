import type { AutomationPlan } from '../plan/plan-schema.ts';
import type { Trigger } from '../plan/trigger-schema.ts';
import { both, factSituation, inHubZone, isPossible, type Situation, type Situations, situationsOf, type ZonePorts } from './situations.ts';
import { ANY_VALUE, exactly, rangeOf, rangeText, type ValueRange } from './value-range.ts';
import { ALWAYS, minuteTimes, type WeekTimes } from './week-times.ts';

/**
 * When a trigger comes. `clock`: at times of the week that are known. `state`: something becomes so at any time, and may stay so. `event`: at
 * a single moment at which a device says that something happened there, such as the press of a button. `any`: nothing is known, it may come
 * at any time; so may a webhook, since a program may post to it at regular times or whenever a value changes.
 */
type Nature = 'clock' | 'state' | 'event' | 'any';

/** A trigger of an automation, with the situations in which it starts a run. */
export interface Start {
  readonly trigger: Trigger;
  readonly nature: Nature;
  /** Triggers with the same key come at the same moments. */
  readonly key: string;
  /** What holds when the trigger comes, before conditions. */
  readonly own: Situation;
  /** The situations in which the conditions hold too. Only possible ones; empty if the trigger never starts a run. */
  readonly situations: Situations;
  /** Present if the trigger comes when a fact changes: the key of the fact as in situations, and the values with which the trigger comes. */
  readonly watches?: { readonly fact: string; readonly range: ValueRange; readonly isAnyChange: boolean };
}

/** Returns each trigger of a plan as a start. */
export function startsOf({ triggers, conditions }: Pick<AutomationPlan, 'triggers' | 'conditions'>, ports: ZonePorts): readonly Start[] {
  const needed = situationsOf(conditions, ports);
  return triggers.map((trigger) => {
    const start = startOf(trigger, ports);
    const own: Situation = { times: start.times ?? ALWAYS, facts: new Map() };
    const whole = start.watches ? both(own, factSituation(start.watches.fact, start.watches.range)) : own;
    const situations = needed.map((situation) => both(whole, situation)).filter(isPossible);
    return { trigger, nature: start.nature, key: start.key, own: whole, situations, ...(start.watches && { watches: start.watches }) };
  });
}

type TriggerFacts = Pick<Start, 'nature' | 'key' | 'watches'> & { readonly times?: WeekTimes };

function startOf(trigger: Trigger, ports: ZonePorts): TriggerFacts {
  switch (trigger.type) {
    case 'reading': {
      const range = trigger.changes ? ANY_VALUE : rangeOf(trigger);
      const watches = { fact: `reading ${trigger.sensor_id}`, range, isAnyChange: trigger.changes === true };
      return { nature: 'state', key: `reading ${trigger.sensor_id} ${rangeText(range)}`, watches };
    }
    case 'device_event':
      return { nature: 'event', key: `event ${trigger.device_id} ${trigger.event}` };
    case 'reachability': {
      const watches = { fact: `reachability ${trigger.device_id}`, range: exactly(trigger.becomes), isAnyChange: false };
      return { nature: 'state', key: `${watches.fact} ${trigger.becomes}`, watches };
    }
    case 'time': {
      if (trigger.at === undefined) return { nature: 'any', key: `cron ${trigger.cron} ${trigger.time_zone ?? ''}` };
      const times = inHubZone(minuteTimes(trigger.at, trigger.days), trigger.time_zone, ports);
      return { nature: 'clock', key: `time ${trigger.at} ${trigger.time_zone ?? ''}`, times };
    }
    case 'every':
      return { nature: 'any', key: `every ${trigger.seconds}` };
    case 'sun':
    case 'hub_start':
    case 'webhook':
    case 'decision':
    case 'scene':
    case 'automation_ended':
    case 'presence':
      return { nature: 'any', key: `other ${JSON.stringify(trigger)}` };
  }
}

import { readableWords } from '../../core/devices/matter-names.ts';
import type { Json, JsonObject } from '../../core/json.ts';
import { amount, limitText } from './condition-words.ts';
import { dayText, durationText, factTime, type WordPorts } from './time-words.ts';
import type { MomentView } from './trace-view.ts';

/** Returns why a trigger did not fire, such as `Kitchen sensor showed 61 lx and it needs less than 50 lx`. */
export function missReason({ moment: { cause }, trigger = {}, facts, isHidden }: MomentView, ports: WordPorts): string {
  if (isHidden) return 'nothing came that you may look at';
  const sensor = String(trigger.sensor_name ?? trigger.sensor_id);
  const device = String(trigger.device_name ?? trigger.device_id);
  const shown = `${sensor} showed ${amount(facts.value ?? null, facts.unit)}`;
  switch (cause) {
    case 'not_reached':
      return `${shown} and it needs ${limitText(trigger, facts.unit)}`;
    case 'already_there':
      return `${shown}, which it had reached before: it starts when the value gets there, not while it stays there`;
    case 'hysteresis':
      return `${shown} again without having gone back by ${amount(trigger.hysteresis ?? 0, facts.unit)} since it last reached ${limitText(trigger, facts.unit)}`;
    case 'for_seconds_interrupted':
      return `${sensor} was so for ${durationText(facts.held_seconds)} of ${durationText(trigger.for_seconds)}, and then ${interruption(facts)}`;
    case 'first_value':
      return `${shown} as its first value, and there was none before to compare it with`;
    case 'reading_unknown':
      return `${sensor} had no value`;
    case 'reading_too_old':
      return `${shown}, but this was already ${durationText(facts.age_seconds)} old when it arrived`;
    case 'unreachable':
      return `the device of ${sensor} did not answer`;
    case 'sensor_gone':
      return `${sensor} is gone`;
    case 'wrong_day':
      return `it was ${dayText(facts.day)} and it runs only on ${daysText(trigger.days)}`;
    case 'not_due':
      return dueReason(trigger, facts, ports);
    case 'no_place':
      return 'the hub does not know where the house is, so the sun is not known';
    case 'other_event':
      return `${device} sent ${facts.event} and it waits for ${trigger.event}`;
    case 'event_too_old':
      return `${device} sent ${trigger.event} ${durationText(facts.age_seconds)} before it arrived, which is too old`;
    default:
      return otherReason(cause, { trigger, facts, device });
  }
}

interface Missed {
  readonly trigger: JsonObject;
  readonly facts: JsonObject;
  readonly device: string;
}

function otherReason(cause: MomentView['moment']['cause'], { trigger, facts, device }: Missed): string {
  switch (cause) {
    case 'first_state':
      return trigger.type === 'presence'
        ? `it was the first time that anybody said where ${facts.person} is, which is no change`
        : `${device} was ${facts.reachability} from the start of the hub on, which is no change`;
    case 'others_home':
      return `${facts.person} ${facts.presence === 'home' ? 'came while others were home already' : 'left while others were still home'}`;
    case 'other_person':
      return `it was ${facts.person} who ${facts.presence === 'home' ? 'came' : 'left'} and it waits for ${trigger.person}`;
    case 'other_decision':
      return `the call was ${facts.decision} and it waits for one that is ${trigger.decision}`;
    case 'other_outcome':
      return `the run of ${trigger.agent_id} ended with ${facts.outcome} and it waits for ${trigger.outcome}`;
    case 'other_webhook':
      return `somebody posted to ${facts.name} and it waits for ${trigger.name}`;
    default:
      return nothingCame(trigger, device);
  }
}

function interruption({ because, value, unit }: JsonObject): string {
  if (because === 'unreachable') return 'its device did not answer';
  if (because === 'unknown') return 'it had no value';
  if (because === 'changed') return 'the automation was changed';
  return `showed ${amount(value ?? null, unit)}`;
}

function dueReason(trigger: JsonObject, facts: JsonObject, ports: WordPorts): string {
  const next = factTime(facts.next, ports);
  const at =
    trigger.type === 'every' ? `it runs every ${durationText(trigger.seconds)}, and this was not its time` : 'this was not its time';
  return next === undefined ? at : `${at}: the next one is ${next}`;
}

function nothingCame(trigger: JsonObject, device: string): string {
  const { type } = trigger;
  if (type === 'reading') return `${trigger.sensor_name ?? trigger.sensor_id} did not change`;
  if (type === 'device_event') return `${device} sent no ${trigger.event}`;
  if (type === 'reachability') return `${device} did not become ${trigger.becomes}`;
  if (type === 'scene') return `the scene ${readableWords(String(trigger.scene_id))} was not run`;
  if (type === 'webhook') return `nobody posted to ${trigger.name}`;
  if (type === 'presence') return presenceText(trigger);
  if (type === 'decision') return `nobody ${trigger.decision === 'denied' ? 'denied' : 'approved'} such a call`;
  if (type === 'automation_ended') return `no run of ${trigger.agent_id} ended so`;
  return type === 'hub_start' ? 'the hub did not start then' : 'nothing came that would set it off';
}

function presenceText({ person, becomes }: JsonObject): string {
  const what = becomes === 'home' ? 'come home' : 'leave';
  return person === undefined ? 'nobody came or left in the way that it waits for' : `${person} did not ${what}`;
}

function daysText(days: Json | undefined): string {
  return Array.isArray(days) ? days.map(dayText).join(', ') : dayText(days);
}

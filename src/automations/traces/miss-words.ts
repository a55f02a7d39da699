import { amount, readableWords } from '../../core/devices/matter-names.ts';
import type { Json, JsonObject } from '../../core/json.ts';
import { limitText } from './condition-words.ts';
import { dayText, durationText, factTime, type WordPorts } from './time-words.ts';
import type { NoTriggerCause } from './trace.ts';
import type { MomentView } from './trace-view.ts';

type MissedView = Pick<MomentView, 'trigger' | 'facts'>;

/** Why a trigger did not fire, such as `Kitchen sensor showed 61 lx and it needs less than 50 lx`. */
export const MISS_WORDS: Readonly<Record<NoTriggerCause, (view: MissedView, ports: WordPorts) => string>> = {
  not_reached: (view) => `${shownBy(view)} and it needs ${limitOf(view)}`,
  already_there: (view) => `${shownBy(view)}, which it had reached before: it starts when the value gets there, not while it stays there`,
  hysteresis: (view) =>
    `${shownBy(view)} again without having gone back by ${amount(view.trigger?.hysteresis ?? 0, view.facts.unit)} since it last reached ${limitOf(view)}`,
  for_seconds_interrupted: ({ trigger, facts }) =>
    `${sensorOf(trigger)} was so for ${durationText(facts.held_seconds)} of ${durationText(trigger?.for_seconds)}, and then ${interruption(facts)}`,
  first_value: (view) => `${shownBy(view)} as its first value, and there was none before to compare it with`,
  reading_unknown: ({ trigger }) => `${sensorOf(trigger)} had no value`,
  reading_too_old: (view) => `${shownBy(view)}, but this was already ${durationText(view.facts.age_seconds)} old when it arrived`,
  unreachable: ({ trigger }) => `the device of ${sensorOf(trigger)} did not answer`,
  sensor_gone: ({ trigger }) => `${sensorOf(trigger)} is gone`,
  wrong_day: ({ trigger, facts }) => `it was ${dayText(facts.day)} and it runs only on ${daysText(trigger?.days)}`,
  not_due: dueReason,
  no_place: () => 'the hub does not know where the house is, so the sun is not known',
  other_event: ({ trigger, facts }) => `${deviceOf(trigger)} sent ${facts.event} and it waits for ${trigger?.event}`,
  event_too_old: ({ trigger, facts }) =>
    `${deviceOf(trigger)} sent ${trigger?.event} ${durationText(facts.age_seconds)} before it arrived, which is too old`,
  first_state: ({ trigger, facts }) =>
    trigger?.type === 'presence'
      ? `it was the first time that anybody said where ${facts.person} is, which is no change`
      : `${deviceOf(trigger)} was ${facts.reachability} from the start of the hub on, which is no change`,
  others_home: ({ facts }) =>
    `${facts.person} ${facts.presence === 'home' ? 'came while others were home already' : 'left while others were still home'}`,
  other_person: ({ trigger, facts }) =>
    `it was ${facts.person} who ${facts.presence === 'home' ? 'came' : 'left'} and it waits for ${trigger?.person}`,
  other_decision: ({ trigger, facts }) => `the call was ${facts.decision} and it waits for one that is ${trigger?.decision}`,
  other_outcome: ({ trigger, facts }) => `the run of ${trigger?.agent_id} ended with ${facts.outcome} and it waits for ${trigger?.outcome}`,
  other_webhook: ({ trigger, facts }) => `somebody posted to ${facts.name} and it waits for ${trigger?.name}`,
  nothing_came: ({ trigger = {} }) => nothingCame(trigger),
};

function sensorOf(trigger: JsonObject | undefined): string {
  return String(trigger?.sensor_name ?? trigger?.sensor_id);
}

function deviceOf(trigger: JsonObject | undefined): string {
  return String(trigger?.device_name ?? trigger?.device_id);
}

function shownBy({ trigger, facts: { value = null, unit } }: MissedView): string {
  return `${sensorOf(trigger)} showed ${amount(value, unit)}`;
}

function limitOf({ trigger = {}, facts }: MissedView): string {
  return limitText(trigger, facts.unit);
}

function interruption({ because, value, unit }: JsonObject): string {
  if (because === 'unreachable') return 'its device did not answer';
  if (because === 'unknown') return 'it had no value';
  if (because === 'changed') return 'the automation was changed';
  return `showed ${amount(value ?? null, unit)}`;
}

function dueReason({ trigger = {}, facts }: MissedView, ports: WordPorts): string {
  const next = factTime(facts.next, ports);
  const at =
    trigger.type === 'every' ? `it runs every ${durationText(trigger.seconds)}, and this was not its time` : 'this was not its time';
  return next === undefined ? at : `${at}: the next one is ${next}`;
}

function nothingCame(trigger: JsonObject): string {
  const { type } = trigger;
  const device = deviceOf(trigger);
  if (type === 'reading') return `${sensorOf(trigger)} did not change`;
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

import { readableWords } from '../../core/devices/matter-names.ts';
import { type JsonObject, objectOf, objectsOf } from '../../core/json.ts';
import { conditionReason } from './condition-words.ts';
import { missReason } from './miss-words.ts';
import { clockText, durationText, factTime, type WordPorts } from './time-words.ts';
import { outcomeOf } from './trace.ts';
import type { MomentView } from './trace-view.ts';

/** Returns one sentence about a moment, in the words of an owner. */
export function sentenceOf(view: MomentView, ports: WordPorts): string {
  const { cause } = view.moment;
  if (outcomeOf(cause) === 'ran') return runSentence(view, ports);
  if (outcomeOf(cause) === 'not_triggered') return missSentence(view, [missReason(view, ports)], ports);
  return noRunSentence(view, { what: 'did not run', reason: noRunReason(view, ports) }, ports);
}

/** Returns one sentence about the moments that together explain why nothing set an automation off. */
export function sentenceOfAll(views: readonly MomentView[], ports: WordPorts): string {
  const [first] = views;
  if (!first) return '';
  if (views.length === 1) return sentenceOf(first, ports);
  const reasons = views.slice(0, 3).map((view) => missReason(view, ports));
  return missSentence(first, reasons, ports);
}

function missSentence(view: MomentView, reasons: readonly string[], ports: WordPorts): string {
  return noRunSentence(view, { what: 'was not set off', reason: reasons.join('; and ') }, ports);
}

function noRunSentence(view: MomentView, { what, reason }: { readonly what: string; readonly reason: string }, ports: WordPorts): string {
  const { atMs, count } = view.moment;
  if (count === 1) return `It ${what} at ${clockText(atMs, ports)} because ${reason}.`;
  const span = spanText(view, ports);
  return `${span.charAt(0).toUpperCase()}${span.slice(1)} it ${what}, ${count} times; the last time because ${reason}.`;
}

/** Returns the time in which something repeated itself: `between 18:00 and 18:30`, or `at 18:00` within one minute. */
function spanText({ moment: { atMs, lastMs } }: MomentView, ports: WordPorts): string {
  const [from, to] = [clockText(atMs, ports), clockText(lastMs, ports)];
  return from === to ? `at ${from}` : `between ${from} and ${to}`;
}

/** Returns that it ran and how that ended; of repeated runs only the last one is known to have ended so. */
function ranSentence(view: MomentView, end: string, ports: WordPorts): string {
  const { atMs, count } = view.moment;
  const once = `It ran at ${clockText(atMs, ports)} and ${end}`;
  return ended(count === 1 ? once : `It ran ${count} times ${spanText(view, ports)}. The last time it ${end}`);
}

function runSentence(view: MomentView, ports: WordPorts): string {
  const { moment, facts } = view;
  const { cause, atMs, count } = moment;
  const tool = toolText(facts);
  const ran = (end: string) => ranSentence(view, end, ports);
  const stopped = (why: string) => ran(`stopped because ${why}`);
  const message = messageOf(facts);
  switch (cause) {
    case 'running':
      return `It has been running since ${clockText(atMs, ports)}.`;
    case 'waits_for_approval':
      return `It has been running since ${clockText(atMs, ports)} and waits until somebody approves ${tool}.`;
    case 'waits_for_answer':
      return `It has been running since ${clockText(atMs, ports)} and waits until somebody answers its question.`;
    case 'done':
      return count === 1 ? `It ran at ${clockText(atMs, ports)}.` : `It ran ${count} times ${spanText(view, ports)}.`;
    case 'done_with_errors':
      return ran(`came to its end, but ${tool} failed${message}`);
    case 'waited_in_vain':
      return ran('ended early because what it waited for did not come in time');
    case 'refused_by_rule':
      return stopped(`a rule of the owner refuses ${tool}${message}`);
    case 'not_permitted':
      return stopped(`it lacks a permission for ${tool}${message}`);
    case 'approval_denied':
      return stopped(`${tool} was not approved: somebody denied it`);
    case 'approval_expired':
      return stopped(`nobody approved ${tool} in time`);
    case 'resumed_late':
      return stopped(`a wait could not go on after a restart of the hub${message}`);
    case 'given_up':
      return ran(`was given up because ${facts.given_up === 'hub_stopped' ? 'the hub stopped' : 'it was disabled, changed or ended'}`);
    case 'interrupted':
      return ran('was cut short because the hub stopped: some of its steps may have been done');
    default:
      return stopped(`${tool} failed${message}`);
  }
}

/** Returns the message of an error to be put after a sentence; nothing if the caller may not read it. */
function messageOf({ message }: JsonObject): string {
  return typeof message === 'string' ? `: ${message}` : '';
}

function ended(sentence: string): string {
  return /[.!?]$/.test(sentence) ? sentence : `${sentence}.`;
}

function toolText({ tool, asked }: JsonObject): string {
  const name = typeof tool === 'string' ? tool : typeof asked === 'string' ? asked : '';
  return name === '' ? 'a step' : `“${readableWords(name.split(':').at(-1) ?? name)}”`;
}

function noRunReason({ moment: { cause }, unmet, facts, isHidden }: MomentView, ports: WordPorts): string {
  switch (cause) {
    case 'condition_false':
    case 'condition_unknown':
      return conditionsReason(unmet, isHidden, ports);
    case 'cooldown':
      return `it had run shortly before, and two runs are at least ${durationText(facts.cooldown_seconds)} apart`;
    case 'rate_limit':
      return `it had run ${facts.max_runs_per_hour} times within an hour, which is its limit`;
    case 'previous_run':
      return 'its run before was still in progress a minute later';
    case 'superseded':
      return `something newer set it off while it waited for ${facts.waited_for === 'cooldown' ? 'the time between two runs' : 'its run before'}`;
    case 'no_longer_holds':
      return 'what had set it off was over before its turn came';
    case 'resting':
      return `it rests until ${factTime(facts.until, ports)} after ${facts.failures} failed runs`;
    case 'disabled':
      return `${facts.by} had disabled it`;
    case 'ended':
      return `it has ended: ${facts.reason}`;
    case 'not_resumed':
      return `it could not be started again with the hub${messageOf(facts)}`;
    case 'not_observable':
      return 'its permissions no longer show it what it depends on';
    case 'token_ended':
      return 'its permissions have ended';
    case 'disk_refused':
      return `the hub could not write to its disk${messageOf(facts)}`;
    case 'clock_not_trusted':
      return 'the hub did not know whether its clock was right';
    case 'late':
      return `the hub noticed ${factTime(facts.at, ports)} only ${durationText(facts.late_seconds)} later, because its clock was changed or it was busy`;
    default:
      return `the hub was off from ${factTime(facts.from, ports)} to ${factTime(facts.to, ports)}`;
  }
}

function conditionsReason(unmet: readonly JsonObject[], isHidden: boolean, ports: WordPorts): string {
  const reasons = objectsOf(unmet).map((one) => conditionReason(objectOf(one), ports));
  if (reasons.length === 0) return 'a condition did not hold that you may not look at';
  return isHidden ? `${reasons.join(', and ')}, and another condition did not hold that you may not look at` : reasons.join(', and ');
}

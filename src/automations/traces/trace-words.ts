import { readableWords } from '../../core/devices/matter-names.ts';
import { type JsonObject, objectOf, objectsOf } from '../../core/json.ts';
import { conditionReason } from './condition-words.ts';
import { missReason } from './miss-words.ts';
import { clockText, factTime, type WordPorts } from './time-words.ts';
import { outcomeOf } from './trace.ts';
import type { MomentView } from './trace-view.ts';

/** Returns one sentence about a moment, in the words of an owner. */
export function sentenceOf(view: MomentView, ports: WordPorts): string {
  const { cause } = view.moment;
  if (outcomeOf(cause) === 'ran') return runSentence(view, ports);
  const reason = outcomeOf(cause) === 'not_triggered' ? missReason(view, ports) : noRunReason(view, ports);
  const what = outcomeOf(cause) === 'not_triggered' ? 'It was not set off' : 'It did not run';
  return `${what} ${timesText(view, ports)} because ${reason}.`;
}

/** Returns one sentence about the moments that together explain why nothing set an automation off. */
export function sentenceOfAll(views: readonly MomentView[], ports: WordPorts): string {
  const [first] = views;
  if (!first) return '';
  if (views.length === 1) return sentenceOf(first, ports);
  const reasons = views.slice(0, 3).map((view) => missReason(view, ports));
  return `It was not set off ${timesText(first, ports)} because ${reasons.join('; and ')}.`;
}

/** Returns when something happened, and how often if it was more than once. */
function timesText({ moment: { atMs, lastMs, count } }: MomentView, ports: WordPorts): string {
  if (count === 1) return atText(atMs, ports);
  return `${count} times from ${clockText(atMs, ports)} to ${clockText(lastMs, ports)}, the last time`;
}

/** Returns a moment such as `at 18:02`, or `at 18:02 on Fri, 27 Nov` if it is not of today. */
function atText(atMs: number, ports: WordPorts): string {
  return `at ${clockText(atMs, ports)}`;
}

function runSentence(view: MomentView, ports: WordPorts): string {
  const { moment, facts } = view;
  const { cause, atMs, count } = moment;
  const tool = toolText(facts);
  const ran = count === 1 ? `It ran ${atText(atMs, ports)}` : `It ran ${timesText(view, ports)}`;
  const because = `${ran} and stopped because`;
  const message = messageOf(facts);
  switch (cause) {
    case 'running':
      return `It has been running since ${clockText(atMs, ports)}.`;
    case 'waits_for_approval':
      return `It has been running since ${clockText(atMs, ports)} and waits until somebody approves ${tool}.`;
    case 'waits_for_answer':
      return `It has been running since ${clockText(atMs, ports)} and waits until somebody answers its question.`;
    case 'done':
      return count === 1 ? `${ran}.` : `It ran ${count} times from ${clockText(atMs, ports)} to ${clockText(moment.lastMs, ports)}.`;
    case 'done_with_errors':
      return ended(`${ran} to its end, but ${tool} failed${message}`);
    case 'waited_in_vain':
      return `${ran} and ended early because what it waited for did not come in time.`;
    case 'refused_by_rule':
      return ended(`${because} a rule of the owner refuses ${tool}${message}`);
    case 'not_permitted':
      return ended(`${because} it lacks a permission for ${tool}${message}`);
    case 'approval_denied':
      return `${because} ${tool} was not approved: somebody denied it.`;
    case 'approval_expired':
      return `${because} nobody approved ${tool} in time.`;
    case 'resumed_late':
      return ended(`${because} a wait could not go on after a restart of the hub${message}`);
    case 'given_up':
      return `${ran} and was given up because ${facts.given_up === 'hub_stopped' ? 'the hub stopped' : 'it was disabled, changed or ended'}.`;
    case 'interrupted':
      return `${ran}, and the hub stopped during the run: some of its steps may have been done.`;
    default:
      return ended(`${because} ${tool} failed${message}`);
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
      return `it had run shortly before, and ${facts.cooldown_seconds} s have to pass between two runs`;
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
      return `the hub noticed ${factTime(facts.at, ports)} only ${facts.late_seconds} s later, because its clock was changed or it was busy`;
    default:
      return `the hub was off from ${factTime(facts.from, ports)} to ${factTime(facts.to, ports)}`;
  }
}

function conditionsReason(unmet: readonly JsonObject[], isHidden: boolean, ports: WordPorts): string {
  const reasons = objectsOf(unmet).map((one) => conditionReason(objectOf(one), ports));
  if (reasons.length === 0) return 'a condition did not hold that you may not look at';
  return isHidden ? `${reasons.join(', and ')}, and another condition did not hold that you may not look at` : reasons.join(', and ');
}

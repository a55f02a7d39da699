import { readableWords } from '../../core/devices/matter-names.ts';
import { type JsonObject, objectOf, objectsOf } from '../../core/json.ts';
import { conditionReason } from './condition-words.ts';
import { MISS_WORDS } from './miss-words.ts';
import { durationText, factTime, momentText, type WordPorts } from './time-words.ts';
import { type NoRunCause, outcomeOf, type RunCause, type TraceCause } from './trace.ts';
import type { MomentView } from './trace-view.ts';

/** Returns one sentence about a moment, in the words of an owner. */
export function sentenceOf(view: MomentView, ports: WordPorts): string {
  const words = wordsOf(view, ports);
  const outcome = outcomeOf(view.moment.cause);
  if (outcome === 'ran') return words;
  return outcome === 'not_triggered'
    ? missSentence(view, [words], ports)
    : noRunSentence(view, { what: 'did not run', reason: words }, ports);
}

/** Returns one sentence about the moments that together explain why nothing set an automation off. */
export function sentenceOfAll(views: readonly MomentView[], ports: WordPorts): string {
  const [first] = views;
  if (!first) return '';
  if (views.length === 1) return sentenceOf(first, ports);
  const reasons = views.slice(0, 3).map((view) => wordsOf(view, ports));
  return missSentence(first, reasons, ports);
}

/** Returns a sentence about a run, or the reason why there was none. */
function wordsOf(view: MomentView, ports: WordPorts): string {
  const { cause } = view.moment;
  if (view.isHidden && outcomeOf(cause) === 'not_triggered') return 'nothing came that you may look at';
  return WORDS[cause](view, ports);
}

function missSentence(view: MomentView, reasons: readonly string[], ports: WordPorts): string {
  return noRunSentence(view, { what: 'was not set off', reason: reasons.join('; and ') }, ports);
}

function noRunSentence(view: MomentView, { what, reason }: { readonly what: string; readonly reason: string }, ports: WordPorts): string {
  const { atMs, count } = view.moment;
  if (count === 1) return `It ${what} at ${momentText(atMs, ports)} because ${reason}.`;
  const span = spanText(view, ports);
  return `${span.charAt(0).toUpperCase()}${span.slice(1)} it ${what}, ${count} times; the last time because ${reason}.`;
}

/** Returns the time in which something repeated itself: `between 18:00 and 18:30`, or `at 18:00` within one minute. */
function spanText({ moment: { atMs, lastMs } }: MomentView, ports: WordPorts): string {
  const [from, to] = [momentText(atMs, ports), momentText(lastMs, ports)];
  return from === to ? `at ${from}` : `between ${from} and ${to}`;
}

/** Returns that it ran and how that ended; of repeated runs only the last one is known to have ended so. */
function ranSentence(view: MomentView, end: string, ports: WordPorts): string {
  const { atMs, count } = view.moment;
  const once = `It ran at ${momentText(atMs, ports)} and ${end}`;
  return ended(count === 1 ? once : `It ran ${count} times ${spanText(view, ports)}. The last time it ${end}`);
}

type Words = (view: MomentView, ports: WordPorts) => string;

/** Returns the words of a run that ended so. */
function ran(end: (facts: JsonObject) => string): Words {
  return (view, ports) => ranSentence(view, end(view.facts), ports);
}

function stopped(why: (facts: JsonObject) => string): Words {
  return ran((facts) => `stopped because ${why(facts)}`);
}

const RUN_WORDS: Readonly<Record<RunCause, Words>> = {
  running: ({ moment: { atMs } }, ports) => `It has been running since ${momentText(atMs, ports)}.`,
  waits_for_approval: ({ moment: { atMs }, facts }, ports) =>
    `It has been running since ${momentText(atMs, ports)} and waits until somebody approves ${toolText(facts)}.`,
  waits_for_answer: ({ moment: { atMs } }, ports) =>
    `It has been running since ${momentText(atMs, ports)} and waits until somebody answers its question.`,
  done: (view, ports) => {
    const { atMs, count } = view.moment;
    return count === 1 ? `It ran at ${momentText(atMs, ports)}.` : `It ran ${count} times ${spanText(view, ports)}.`;
  },
  done_with_errors: ran((facts) => `came to its end, but ${toolText(facts)} failed${messageOf(facts)}`),
  waited_in_vain: ran(() => 'ended early because what it waited for did not come in time'),
  step_failed: stopped((facts) => `${toolText(facts)} failed${messageOf(facts)}`),
  refused_by_rule: stopped((facts) => `a rule of the owner refuses ${toolText(facts)}${messageOf(facts)}`),
  not_permitted: stopped((facts) => `it lacks a permission for ${toolText(facts)}${messageOf(facts)}`),
  approval_denied: stopped((facts) => `${toolText(facts)} was not approved: somebody denied it`),
  approval_expired: stopped((facts) => `nobody approved ${toolText(facts)} in time`),
  resumed_late: stopped((facts) => `a wait could not go on after a restart of the hub${messageOf(facts)}`),
  given_up: ran(
    (facts) => `was given up because ${facts.given_up === 'hub_stopped' ? 'the hub stopped' : 'it was disabled, changed or ended'}`,
  ),
  interrupted: ran(() => 'was cut short because the hub stopped: some of its steps may have been done'),
};

const NO_RUN_WORDS: Readonly<Record<NoRunCause, Words>> = {
  condition_false: conditionsReason,
  condition_unknown: conditionsReason,
  cooldown: ({ facts }) => `it had run shortly before, and two runs are at least ${durationText(facts.cooldown_seconds)} apart`,
  rate_limit: ({ facts }) => `it had run ${facts.max_runs_per_hour} times within an hour, which is its limit`,
  previous_run: () => 'its run before was still in progress a minute later',
  superseded: ({ facts }) =>
    `something newer set it off while it waited for ${facts.waited_for === 'cooldown' ? 'the time between two runs' : 'its run before'}`,
  no_longer_holds: () => 'what had set it off was over before its turn came',
  resting: ({ facts }, ports) => `it rests until ${factTime(facts.until, ports)} after ${facts.failures} failed runs`,
  disabled: ({ facts }) => `${facts.by} had disabled it`,
  ended: ({ facts }) => `it has ended: ${facts.reason}`,
  not_resumed: ({ facts }) => `it could not be started again with the hub${messageOf(facts)}`,
  not_observable: () => 'its permissions no longer show it what it depends on',
  token_ended: () => 'its permissions have ended',
  disk_refused: ({ facts }) => `the hub could not write to its disk${messageOf(facts)}`,
  clock_not_trusted: () => 'the hub did not know whether its clock was right',
  late: ({ facts }, ports) =>
    `the hub noticed ${factTime(facts.at, ports)} only ${durationText(facts.late_seconds)} later, because its clock was changed or it was busy`,
  hub_off: ({ facts }, ports) => `the hub was off from ${factTime(facts.from, ports)} to ${factTime(facts.to, ports)}`,
};

const WORDS: Readonly<Record<TraceCause, Words>> = { ...RUN_WORDS, ...NO_RUN_WORDS, ...MISS_WORDS };

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

function conditionsReason({ unmet, isHidden }: MomentView, ports: WordPorts): string {
  const reasons = objectsOf(unmet).map((one) => conditionReason(objectOf(one), ports));
  if (reasons.length === 0) return 'a condition did not hold that you may not look at';
  return isHidden ? `${reasons.join(', and ')}, and another condition did not hold that you may not look at` : reasons.join(', and ');
}

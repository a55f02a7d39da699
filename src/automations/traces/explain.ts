import { isoTime } from '../../core/clock.ts';
import { type AgentRecord, isLiving } from '../agent-store.ts';
import type { AutomationPlan } from '../plan/plan-schema.ts';
import type { Trigger } from '../plan/trigger-schema.ts';
import type { WaitingStep } from '../run/run-notes.ts';
import { nextTimeMoment } from '../triggers/clock-watches.ts';
import { nextSunMoment } from '../triggers/sun-times.ts';
import { type MomentPorts, whyNotTriggered } from './not-triggered.ts';
import { outcomeOf, type Trace, type TraceNote } from './trace.ts';
import { HUB, MOST_TRACES, type TraceLog } from './trace-log.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
/** How far from the moment that was asked for a trace explains it. */
const NEAR_MS = 5 * MINUTE_MS;
/** Traces that are older do not explain the present. */
const RECENT_MS = DAY_MS;
const KEPT_MS = 30 * DAY_MS;
const MOST_OFF = 20;

/** What is known of a moment of an automation. It has no `id` if it was computed when it was asked for. */
export type Moment = Omit<Trace, 'id' | 'agent'> & { readonly id?: number };

/** What an automation is, and what it does now. */
export interface Explained {
  readonly record: AgentRecord;
  /** Undefined for a stored configuration that this version cannot read any more. */
  readonly plan: AutomationPlan | undefined;
  readonly activity: { readonly isWatching: boolean; readonly waiting?: WaitingStep };
}

export interface ExplainPorts extends MomentPorts {
  readonly traces: Pick<TraceLog, 'read'>;
}

/** What explains a moment, the best first, and the traces around it, newest first. */
export interface Explanation {
  readonly best: readonly Moment[];
  readonly traces: readonly Moment[];
}

/** Returns what explains why an automation ran or did not run: at a moment (milliseconds since 1970), or lately if none is given. */
export function explain(subject: Explained, atMs: number | undefined, ports: ExplainPorts): Explanation {
  const nowMs = ports.clock.now();
  const traces = tracesOf(subject, atMs, ports);
  const known = [...traces, ...statesOf(subject, atMs ?? nowMs, ports)];
  const found = atMs === undefined ? latestOf(known, nowMs) : nearestTo(known, atMs);
  return { best: found ? [found] : computed(subject, atMs ?? nowMs, ports), traces };
}

/** An agent that came after another one of its name does not show the traces of that one. */
function tracesOf({ record }: Explained, atMs: number | undefined, { traces, clock }: ExplainPorts): readonly Moment[] {
  const nowMs = clock.now();
  const [fromMs, toMs] = atMs === undefined ? [nowMs - KEPT_MS, nowMs] : [atMs - NEAR_MS, atMs + NEAR_MS];
  const limit = MOST_TRACES.fired + MOST_TRACES.near;
  const found = traces.read(record.id, { fromMs: Math.max(record.createdAtMs, fromMs), toMs, limit });
  return found.filter((trace) => trace.atMs >= record.createdAtMs);
}

/** Returns the states that last until now or lasted for a time: ended, disabled, a run in progress, the hub that was off. */
function statesOf(subject: Explained, atMs: number, ports: ExplainPorts): readonly Moment[] {
  const { record, activity } = subject;
  const nowMs = ports.clock.now();
  const since = (sinceMs: number, note: TraceNote): Moment => ({ ...note, atMs: sinceMs, lastMs: nowMs, count: 1 });
  const { disabled, ended, running, reason = '', lastError } = record;
  if (ended) return [since(ended.atMs, { cause: 'ended', facts: { reason } })];
  if (disabled) return [since(disabled.atMs, { cause: 'disabled', facts: { by: disabled.by } }), ...offTimes(subject, atMs, ports)];
  const { waiting } = activity;
  const run: TraceNote = waiting ? { cause: `waits_for_${waiting.awaits}`, facts: { ...waiting } } : { cause: 'running', facts: {} };
  return [
    ...(running ? [since(running.startedAtMs, { ...run, runId: running.runId })] : []),
    ...(isLiving(record) && !activity.isWatching
      ? [since(lastError?.atMs ?? nowMs, { cause: 'not_resumed', facts: { message: lastError?.message ?? '' } })]
      : []),
    ...offTimes(subject, atMs, ports),
  ];
}

/** Returns the times at which the hub was off and a trigger by the time was due, and such a time that contains the moment. */
function offTimes({ record, plan }: Explained, atMs: number, ports: ExplainPorts): readonly Moment[] {
  const nowMs = ports.clock.now();
  const times = ports.traces.read(HUB, { fromMs: Math.max(record.createdAtMs, nowMs - KEPT_MS), toMs: nowMs, limit: MOST_OFF });
  return times.flatMap(({ atMs: fromMs, lastMs: toMs, ...time }): Moment[] => {
    const facts = { from: isoTime(fromMs), to: isoTime(toMs) };
    const due = firstDue(plan, fromMs, ports);
    if (due && due.dueMs <= toMs) return [{ ...time, facts, trigger: { ...due.trigger }, atMs: due.dueMs, lastMs: due.dueMs }];
    return atMs >= fromMs && atMs <= toMs ? [{ ...time, facts, atMs: fromMs, lastMs: toMs }] : [];
  });
}

interface Due {
  readonly trigger: Trigger;
  readonly dueMs: number;
}

function firstDue(plan: AutomationPlan | undefined, afterMs: number, { house, timeZone }: ExplainPorts): Due | undefined {
  const place = house.place();
  const due = (plan?.triggers ?? []).flatMap((trigger): Due[] => {
    if (trigger.type === 'time') return [{ trigger, dueMs: nextTimeMoment(trigger, timeZone, afterMs) ?? Infinity }];
    if (trigger.type !== 'sun' || !place) return [];
    const { event, offset_minutes: offsetMinutes = 0 } = trigger;
    return [{ trigger, dueMs: nextSunMoment({ event, offsetMinutes }, place, afterMs) ?? Infinity }];
  });
  return due.toSorted((a, b) => a.dueMs - b.dueMs)[0];
}

/** What fired explains more than what nearly fired, if both came within the same minute. */
function latestOf(known: readonly Moment[], nowMs: number): Moment | undefined {
  const recent = known.filter(({ lastMs }) => nowMs - lastMs <= RECENT_MS);
  return recent.toSorted((a, b) => minutesTo(a, nowMs) - minutesTo(b, nowMs) || rankOf(a) - rankOf(b) || b.lastMs - a.lastMs)[0];
}

function nearestTo(known: readonly Moment[], atMs: number): Moment | undefined {
  const near = known.filter((moment) => distanceOf(moment, atMs) <= NEAR_MS);
  return near.toSorted(
    (a, b) => minutesTo(a, atMs) - minutesTo(b, atMs) || rankOf(a) - rankOf(b) || startsFrom(a, atMs) - startsFrom(b, atMs),
  )[0];
}

/** People name a time by its minute, so that a whole minute stands for all that happened within it. */
function distanceOf({ atMs: fromMs, lastMs: toMs }: Moment, atMs: number): number {
  const endMs = atMs % MINUTE_MS === 0 ? atMs + MINUTE_MS - 1 : atMs;
  return Math.max(0, fromMs - endMs, atMs - toMs);
}

/** What began at the moment explains it better than what had begun before and still lasted. */
function startsFrom({ atMs: fromMs, lastMs, count }: Moment, atMs: number): number {
  return count === 1 ? Math.abs(fromMs - atMs) : Math.min(Math.abs(fromMs - atMs), Math.abs(lastMs - atMs));
}

function minutesTo(moment: Moment, atMs: number): number {
  return Math.ceil(distanceOf(moment, atMs) / MINUTE_MS);
}

/** A time at which the hub was off looks late to a clock that was wrong at the start. */
const STATES: ReadonlySet<string> = new Set([
  'ended',
  'disabled',
  'not_resumed',
  'running',
  'waits_for_approval',
  'waits_for_answer',
  'late',
]);

function rankOf({ cause, trigger }: Moment): number {
  if (STATES.has(cause) || (cause === 'hub_off' && !trigger)) return 1;
  return outcomeOf(cause) === 'not_triggered' ? 2 : 0;
}

function computed({ plan }: Explained, atMs: number, ports: ExplainPorts): readonly Moment[] {
  const notes = plan ? whyNotTriggered(plan, atMs, ports) : [];
  return notes.map((note) => ({ ...note, atMs, lastMs: atMs, count: 1 }));
}

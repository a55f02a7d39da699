import type { JsonObject } from '../../core/json.ts';

/** What became of a moment at which an automation might have run. `not_triggered`: no trigger fired, although one nearly did. */
export const TRACE_OUTCOMES = ['ran', 'did_not_run', 'not_triggered'] as const;
export type TraceOutcome = (typeof TRACE_OUTCOMES)[number];

/** How a run ended, or what it does now. */
const RUN_CAUSES = [
  'running',
  'waits_for_approval',
  'waits_for_answer',
  'done',
  'done_with_errors',
  'waited_in_vain',
  'step_failed',
  'refused_by_rule',
  'not_permitted',
  'approval_denied',
  'approval_expired',
  'resumed_late',
  'given_up',
  'interrupted',
] as const;
export type RunCause = (typeof RUN_CAUSES)[number];

/** Why a trigger that fired, or whose time had come, started no run. */
const NO_RUN_CAUSES = [
  'condition_false',
  'condition_unknown',
  'cooldown',
  'rate_limit',
  'previous_run',
  'superseded',
  'no_longer_holds',
  'resting',
  'disabled',
  'ended',
  'not_resumed',
  'not_observable',
  'token_ended',
  'disk_refused',
  'clock_not_trusted',
  'late',
  'hub_off',
] as const;
export type NoRunCause = (typeof NO_RUN_CAUSES)[number];

/** Why no trigger fired. */
const NO_TRIGGER_CAUSES = [
  'not_reached',
  'already_there',
  'hysteresis',
  'for_seconds_interrupted',
  'first_value',
  'reading_unknown',
  'reading_too_old',
  'unreachable',
  'sensor_gone',
  'wrong_day',
  'not_due',
  'no_place',
  'other_event',
  'event_too_old',
  'first_state',
  'others_home',
  'other_person',
  'other_decision',
  'other_outcome',
  'other_webhook',
  'nothing_came',
] as const;
export type NoTriggerCause = (typeof NO_TRIGGER_CAUSES)[number];

/** All causes: what explains why an automation ran or did not run at a moment. */
export const TRACE_CAUSES = [...RUN_CAUSES, ...NO_RUN_CAUSES, ...NO_TRIGGER_CAUSES] as const;
export type TraceCause = (typeof TRACE_CAUSES)[number];

const RAN: ReadonlySet<string> = new Set(RUN_CAUSES);
const FIRED: ReadonlySet<string> = new Set([...RUN_CAUSES, ...NO_RUN_CAUSES]);

/** Returns whether the automation ran, did not although a trigger fired, or no trigger fired. */
export function outcomeOf(cause: TraceCause): TraceOutcome {
  if (RAN.has(cause)) return 'ran';
  return FIRED.has(cause) ? 'did_not_run' : 'not_triggered';
}

/** What a part of an automation reports about a moment. */
export interface TraceNote {
  readonly cause: TraceCause;
  /** The trigger as the automation has it; absent if the cause concerns the whole automation. */
  readonly trigger?: JsonObject;
  /** Values of that moment, such as `value` of a reading or `unmet` conditions. */
  readonly facts: JsonObject;
  /** Trace id of the run in the audit log. */
  readonly runId?: string;
  /** When it began and ended, if it lasted or is noted later; milliseconds since 1970. */
  readonly sinceMs?: number;
  readonly untilMs?: number;
}

/** A stored trace. Times are in milliseconds since 1970. */
export interface Trace extends Omit<TraceNote, 'sinceMs' | 'untilMs'> {
  readonly id: number;
  readonly agent: string;
  /** When it happened first, and last. Facts are those of the last time. */
  readonly atMs: number;
  readonly lastMs: number;
  /** How often it happened from `atMs` to `lastMs`. */
  readonly count: number;
}

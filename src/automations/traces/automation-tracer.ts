import type { JsonObject } from '../../core/json.ts';
import type { Trigger } from '../plan/trigger-schema.ts';
import type { RunNotes, RunOutcome } from '../run/run-notes.ts';
import type { Firing, Miss } from '../triggers/watch.ts';
import type { TraceCause, TraceNote } from './trace.ts';
import type { TraceLog } from './trace-log.ts';

/** Facts of triggers that stay out of traces: what others have sent may be long or secret. */
const LEFT_OUT: ReadonlySet<string> = new Set(['body', 'data']);
/** Longest message of a failed step that a trace keeps. */
const MAX_MESSAGE = 300;

/** A run that has ended. */
export interface EndedRun {
  readonly id: string;
  /** Milliseconds since 1970. */
  readonly startedMs: number;
  /** What set it off; undefined if the run went on after a restart. */
  readonly trigger: Trigger | undefined;
  readonly facts: JsonObject;
  readonly outcome: RunOutcome;
  readonly notes: RunNotes;
  /** Why it was cancelled; absent if it was not. */
  readonly givenUp?: 'hub_stopped' | 'stopped';
}

/** Port: notes what becomes of the triggers and runs of one automation. */
export interface Tracer {
  /** A trigger nearly fired. */
  missed(trigger: Trigger, miss: Miss): void;
  /** A trigger fired, and no run began. */
  noRun(firing: Firing, cause: TraceCause, why?: JsonObject): void;
  /** A trigger fired, and no run began because its conditions do not hold. `unmetNow` judges them again to find out which. */
  unmet(firing: Firing, unmetNow: () => readonly JsonObject[]): void;
  began(firing: Firing): void;
  ended(run: EndedRun): void;
}

/** Leaves the traces of one automation. */
export class AutomationTracer implements Tracer {
  readonly #traces: Pick<TraceLog, 'note'>;
  readonly #agent: string;

  constructor(traces: Pick<TraceLog, 'note'>, agent: string) {
    this.#traces = traces;
    this.#agent = agent;
  }

  noRun({ trigger, facts }: Firing, cause: TraceCause, why: JsonObject = {}): void {
    this.#note({ cause, trigger: { ...trigger }, facts: { ...factsOf(facts), ...why }, ...sinceOf(facts) });
  }

  unmet(firing: Firing, unmetNow: () => readonly JsonObject[]): void {
    const unmet = unmetNow();
    const isKnown = unmet.some(({ isUnknown }) => isUnknown === false);
    this.noRun(firing, isKnown ? 'condition_false' : 'condition_unknown', { unmet });
  }

  /** A run leaves its trace when it ends. */
  began(): void {}

  missed(trigger: Trigger, { cause, facts }: Miss): void {
    this.#note({ cause, trigger: { ...trigger }, facts, ...sinceOf(facts) });
  }

  ended(run: EndedRun): void {
    const { id: runId, startedMs: sinceMs, trigger, facts } = run;
    const cause = causeOf(run);
    const about = trigger ? { ...trigger } : factsOf(facts);
    this.#note({ cause, runId, sinceMs, trigger: about, facts: { ...factsOf(facts), ...endOf(run) } });
  }

  #note(note: TraceNote): void {
    this.#traces.note(this.#agent, note);
  }
}

/** Returns when a trigger fired or was due, which may be earlier than what came of it. */
function sinceOf({ at }: JsonObject): Pick<TraceNote, 'sinceMs'> {
  return typeof at === 'string' ? { sinceMs: Date.parse(at) } : {};
}

function factsOf(facts: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(facts).filter(([name]) => !LEFT_OUT.has(name)));
}

function causeOf({ outcome, notes, givenUp }: EndedRun): TraceCause {
  const { flow, error } = outcome;
  if (givenUp) return 'given_up';
  if (flow === 'end') return 'waited_in_vain';
  if (flow === 'continue') return error ? 'done_with_errors' : 'done';
  if (error?.code === 'RULE_BLOCKED') return 'refused_by_rule';
  if (error?.code === 'PERMISSION_DENIED') return 'not_permitted';
  if (error?.code === 'APPROVAL_REQUIRED') return notes.decision?.decision === 'denied' ? 'approval_denied' : 'approval_expired';
  return error?.code === 'TIMEOUT' && !notes.failed ? 'resumed_late' : 'step_failed';
}

function endOf({ outcome: { error }, notes: { failed, decision }, givenUp }: EndedRun): JsonObject {
  const message = (failed?.message ?? error?.message)?.slice(0, MAX_MESSAGE);
  return {
    ...(error && { code: error.code }),
    ...(failed && { step: failed.step, tool: failed.tool }),
    ...(message !== undefined && { message }),
    ...(decision && { answer: decision.decision, asked: decision.tool }),
    ...(givenUp && { given_up: givenUp }),
  };
}

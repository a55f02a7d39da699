import { isoTime } from '../../core/clock.ts';
import type { JsonObject } from '../../core/json.ts';
import { type Action, isAction, listsIn, type SetFlagStep, type Step } from '../plan/step-schema.ts';

/** A step that is a call of a tool of the house, so that permissions, rules and the journal apply to it as to any call. */
export type HouseCallStep = SetFlagStep;

/** Returns the call of a step. Values may still be expressions. */
export function callOfStep(step: HouseCallStep, nowMs: number): Action {
  return { tool: 'core:set_flag', params: flagParams(step, nowMs), on_error: 'stop' };
}

function flagParams({ flag, value, until, for_seconds: forSeconds }: SetFlagStep, nowMs: number): JsonObject {
  const end = forSeconds === undefined ? until : isoTime(nowMs + forSeconds * 1000);
  return { flag, value, ...(end !== undefined && { until: end }) };
}

/** A call that an automation may make, with the index of the step in its list that makes it. */
export interface PlannedCall {
  readonly action: Action;
  readonly index: number;
}

/** Returns all calls that steps may make, at any depth. */
export function callsIn(steps: readonly Step[], nowMs: number): readonly PlannedCall[] {
  return steps.flatMap((step, index) => callsOf(step, nowMs).map((action) => ({ action, index })));
}

function callsOf(step: Step, nowMs: number): readonly Action[] {
  if (isAction(step)) return [step];
  if (step.type === 'set_flag') return [callOfStep(step, nowMs)];
  return listsIn(step).flatMap((steps) => steps.flatMap((one) => callsOf(one, nowMs)));
}

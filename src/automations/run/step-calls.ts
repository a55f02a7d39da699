import { isoTime } from '../../core/clock.ts';
import { type Json, type JsonObject, objectOf } from '../../core/json.ts';
import { type Action, type AskStep, isAction, type NotifyStep, placedListsIn, type SetFlagStep, type Step } from '../plan/step-schema.ts';

/** A step that is a call of a tool of the house, so that permissions, rules and the journal apply to it as to any call. */
export type HouseCallStep = SetFlagStep | NotifyStep | AskStep;

/** Returns whether a step is a call of a tool of the house. */
export function isHouseCall(step: Step): step is HouseCallStep {
  return 'type' in step && (step.type === 'set_flag' || step.type === 'notify' || step.type === 'ask');
}

/** The tool of a step that asks. */
export const ASK_TOOL = 'hub:ask_person';

/** Returns the call of a step. Values may still be expressions. A message that is not sent ends no run. */
export function callOfStep(step: HouseCallStep, nowMs: number): Action {
  if (step.type === 'notify') return { tool: 'hub:send_notice', params: noticeParams(step), on_error: 'continue' };
  if (step.type === 'ask') return { tool: ASK_TOOL, params: questionParams(step), on_error: 'stop' };
  return { tool: 'core:set_flag', params: flagParams(step, nowMs), on_error: 'stop' };
}

function noticeParams({ message, person, urgency }: NotifyStep): JsonObject {
  return { message, ...(person !== undefined && { person }), ...(urgency && { urgency }) };
}

function questionParams({ question, person, answers, timeout_seconds: seconds }: AskStep): JsonObject {
  return { question, ...(person !== undefined && { person }), answers: [...answers], timeout_seconds: Math.ceil(seconds) };
}

function flagParams({ flag, value, until, for_seconds: forSeconds }: SetFlagStep, nowMs: number): JsonObject {
  const end = forSeconds === undefined ? until : isoTime(nowMs + forSeconds * 1000);
  return { flag, value, ...(end !== undefined && { until: end }) };
}

/** Returns what later steps need of the result of a call. It is written to the disk while the run waits. */
export function keptResult({ tool }: Action, result: Json): JsonObject {
  return tool === ASK_TOOL ? objectOf(result) : {};
}

/** A call that an automation may make, with the keys that lead to its step in the list of steps, the first of which is an index. */
export interface PlannedCall {
  readonly action: Action;
  readonly path: readonly (string | number)[];
}

/** Returns all calls that steps may make, at any depth. */
export function callsIn(steps: readonly Step[], nowMs: number): readonly PlannedCall[] {
  return steps.flatMap((step, index) => callsOf(step, nowMs).map(({ action, path }) => ({ action, path: [index, ...path] })));
}

function callsOf(step: Step, nowMs: number): readonly PlannedCall[] {
  if (isAction(step)) return [{ action: step, path: [] }];
  if (isHouseCall(step)) return [{ action: callOfStep(step, nowMs), path: [] }];
  return placedListsIn(step).flatMap(([place, steps]) =>
    callsIn(steps, nowMs).map(({ action, path }) => ({ action, path: [...place, ...path] })),
  );
}

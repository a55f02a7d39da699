import { AtmoError, toAtmoError } from '../../../core/errors.ts';
import type { Json } from '../../../core/json.ts';
import { isActing, type ToolContext } from '../../definition/tool-definition.ts';
import { copyJson, copyJsonObject, RESULT_LIMITS } from '../../schema/plain-json.ts';
import { askCaller } from '../asking/ask-caller.ts';
import { callChunk } from '../asking/call-chunk.ts';
import { toolMessage } from '../asking/tool-message.ts';
import type { Call } from '../call.ts';
import { normalizeResult } from '../call-answer.ts';
import { jobViewOf } from '../jobs/job-store.ts';
import { chooseRoute, noCapableNode } from '../routes/call-route.ts';
import { failsOver, runElsewhere } from '../routes/remote-run.ts';
import type { RouteCandidate, RouteRefusal } from '../routes/route-score.ts';
import { auditIntent, eventData, eventParams } from '../told/call-audit.ts';
import { isNamedIn } from '../tool-offer.ts';
import type { Stage } from './admission-stages.ts';
import { confirmRules } from './consent-stages.ts';
import { confirmEffects } from './effect-stages.ts';
import { runAttempts } from './run-attempts.ts';
import { boundedContext, newRun } from './run-context.ts';
import type { StageContext } from './stage-context.ts';

/** What may have changed while a call waited for its turn. */
const STILL_STANDS = [confirmEffects, confirmRules] as const;

/** What happens to an admitted call, in the order of design 4. */
export const EXECUTION_STAGES: readonly Stage[] = [
  takeSlot,
  chooseRoute,
  writeIntent,
  confirmWanted,
  ...STILL_STANDS,
  runTool,
  checkResult,
];

/** The same for a call that becomes a job of another hub. */
export const REMOTE_JOB_STAGES: readonly Stage[] = [...EXECUTION_STAGES.slice(0, -1), keepJobPlace];

async function takeSlot(call: Call, context: StageContext): Promise<void> {
  const { within, principal } = call.request;
  call.deadline.throwIfOver();
  // A step that waited for a slot while the call around it holds one could wait for ever.
  if (call.mode === 'sync' && within && context.running.has(within)) return;
  call.onEnd(await context.gates.enter(principal, call.deadline.signal));
  call.job?.running();
}

async function writeIntent(call: Call, context: StageContext): Promise<void> {
  const run = newRun(call.tool.definition, context.nowMs());
  call.run = run;
  const intent = auditIntent(call, context, run);
  try {
    await context.audit.record(intent);
  } catch (error) {
    const failure = toAtmoError(error);
    // The journal has told of a disk that takes no rows, and counts those that it could not write.
    const isTold = failure.code === 'STORAGE_FAILED' && !intent.mustSync;
    if (!isTold) context.logger.error('audit.intent_failed', { tool: call.tool.id, trace_id: call.traceId, dangerous: intent.mustSync });
    if (intent.mustSync) throw failure;
  }
}

/** Nobody may wait any more for a call that has waited, and its time may be over. */
function confirmWanted(call: Call): Promise<void> {
  return call.deadline.confirm(call.startedMs - call.waitedMs);
}

async function runTool(call: Call, context: StageContext): Promise<void> {
  call.claim?.dispatched();
  call.request.onDispatch?.();
  context.events.emit('agi.tool.invoked', call.tool.id, { ...eventData(call), ...eventParams(call) });
  const { definition } = call.tool;
  // A hub that runs the call repeats it itself where that makes sense.
  const retries = call.route[0]?.isLocal ? definition.execution.retries : 0;
  const attempts = { definition, retries, deadline: call.deadline, clock: context.clock };
  try {
    call.rawResult = await runAttempts({ ...attempts, run: () => runOnRoute(call, context) });
  } catch (error) {
    if (toAtmoError(error).code === 'OUTCOME_UNKNOWN') call.isDispatched = true;
    throw error;
  }
}

function keepJobPlace(call: Call, context: StageContext): void {
  const job = jobViewOf(call.rawResult);
  if (!job) throw new AtmoError('RESULT_INVALID', `${call.ranOn?.id} did not answer with a job; ${call.tool.id} may be running there`);
  call.remoteJob = job;
  call.result = normalizeResult(copyJson(job, RESULT_LIMITS));
  context.jobPlaces.remember({ jobId: job.job_id, hubId: call.ranOn?.id ?? '', owner: call.request.principal });
}

function checkResult(call: Call, context: StageContext): void {
  const { id, definition } = call.tool;
  try {
    const result = copyJson(call.rawResult, RESULT_LIMITS);
    call.result = normalizeResult(result);
    // The hub that has the tool has checked it; for the two of them a schema could be made that no check of a result ends with.
    if (call.isElsewhere || Object.keys(definition.returns).length === 0) return;
    const check = context.validator.check(definition.returns, result, RESULT_LIMITS);
    if (!check.isValid) throw new AtmoError('RESULT_INVALID', check.problems.map((problem) => problem.message).join('; '));
  } catch (error) {
    const { message } = toAtmoError(error);
    context.logger.warn('tool.result_invalid', { tool: id, trace_id: call.traceId, problem: message });
    if (call.result && context.resultInvalid === 'warn') return;
    const doubt = definition.execution.hasSideEffects ? '; it has run and may have taken effect' : '';
    throw new AtmoError('RESULT_INVALID', `The answer of ${id} breaks its own schema: ${message}${doubt}`);
  }
}

/** Tries hubs in order; the next one only while the one before has accepted nothing, or where twice is as good as once. */
async function runOnRoute(call: Call, context: StageContext): Promise<Json> {
  const tries: RouteRefusal[] = [];
  for (const [index, candidate] of call.route.entries()) {
    call.ranOn = candidate;
    try {
      return await runOn(candidate, call, context);
    } catch (error) {
      const isLast = index === call.route.length - 1;
      if (candidate.isLocal ? isLast || !mayLeave(call, context, error) : !failsOver(call, error)) throw error;
      tries.push({ node_id: candidate.id, reason: toAtmoError(error).message });
    }
  }
  throw noCapableNode(call, tries);
}

/**
 * Whether a service that this hub cannot reach may be asked over another hub: where the owner lets what the call carries, such as a
 * question or a picture, leave this one. What acts may have reached the service all the same.
 */
function mayLeave({ tool, deadline }: Call, { failOverTools }: StageContext, thrown: unknown): boolean {
  if (!isNamedIn(failOverTools, tool) || isActing(tool.definition)) return false;
  return toAtmoError(thrown).code === 'SERVICE_UNAVAILABLE' && !deadline.signal.aborted;
}

/** RFC 6838 §4.2 and RFC 9110 §8.3.1: type, subtype and parameters. */
const MEDIA_TYPE = /^[\w!#$&^.+-]{1,127}\/[\w!#$&^.+-]{1,127}(?:; ?[\w.-]+=[\w."+-]+)*$/;
const MAX_MEDIA_TYPE = 255;
const DETAILS_LIMITS = { maxSize: 16_384, maxDepth: 32 };

function runOn(candidate: RouteCandidate, call: Call, context: StageContext): Promise<Json> {
  if (!candidate.isLocal) return runElsewhere(candidate, call, context.router);
  call.isDispatched = true;
  return runHere(call, context);
}

async function runHere(call: Call, context: StageContext): Promise<Json> {
  const given = toolContext(call, context);
  context.running.add(given);
  if (call.plan?.steps) context.stepsLeft.set(given, [...call.plan.steps]);
  call.onEnd(() => context.running.delete(given));
  try {
    return await call.tool.handler(call.params, given);
  } catch (thrown) {
    // What a handler throws once it was told to end says nothing of the tool: what ended the call does.
    throw call.deadline.signal.aborted ? thrown : toAtmoError(thrown, `The tool ${call.tool.id}`);
  }
}

function mediaType(text: string): string {
  if (text.length <= MAX_MEDIA_TYPE && MEDIA_TYPE.test(text)) return text;
  throw new AtmoError('VALIDATION_ERROR', 'A content type is a media type such as text/markdown; charset=utf-8');
}

function toolContext(call: Call, context: StageContext): ToolContext {
  const { principal, sessionId } = call.request;
  const { determinism } = call.tool.definition.execution;
  const run = call.run ?? newRun(call.tool.definition, context.nowMs());
  const world = determinism === 'bounded' ? boundedContext(run) : { clock: context.clock, random: Math.random };
  return {
    agentId: principal.id,
    principal,
    get role() {
      return context.roleOf(principal);
    },
    sessionId: sessionId ?? call.traceId,
    traceId: call.traceId,
    requestId: call.requestId,
    permissions: principal.permissions,
    nodeId: context.nodeId,
    signal: call.deadline.signal,
    deadlineMs: call.deadline.atMs,
    ...world,
    run,
    logger: context.logger.child({ tool: call.tool.id, trace_id: call.traceId }),
    confirm: () => STILL_STANDS.forEach((stage) => void stage(call, context)),
    progress: (fraction, note, partial) => call.tell(callChunk(fraction, note, partial)),
    ask: (question) => askCaller(call, question),
    tell: (level, data) => call.say(toolMessage(level, data)),
    callerData: call.request.callerData,
    contentType(type) {
      call.contentType = mediaType(type);
    },
    details(details) {
      call.resultDetails = copyJsonObject(details, DETAILS_LIMITS);
    },
  };
}

import { type Clock, pause } from '../../core/clock.ts';
import { AtmoError, ERROR_CODES, type ErrorCode, toAtmoError } from '../../core/errors.ts';
import type { Json } from '../../core/json.ts';
import { retryDelayMs } from '../../tools/definition/invocation-policy.ts';
import { boundedChunk, boundedMessage } from '../../tools/definition/notifications.ts';
import { isActing, type ToolContext, type ToolDefinition } from '../../tools/definition/tool-definition.ts';
import { copyJson, copyJsonObject, RESULT_LIMITS } from '../../tools/schema/plain-json.ts';
import { askCaller } from '../ask-caller.ts';
import { boundedContext, type Call, type CallDeadline, newRun } from '../call.ts';
import { auditIntent, eventData, eventParams } from '../call-audit.ts';
import { parseJobView } from '../jobs/job-store.ts';
import { isListed } from '../offered-tools.ts';
import type { StageContext } from '../pipeline-context.ts';
import { normalizeResult } from '../request-and-answer.ts';
import { canTryNextHub, chooseRoute, noCapableNode, runOnHub } from '../routing/call-route.ts';
import type { RouteCandidate, RouteRefusal } from '../routing/route-ranking.ts';
import type { Stage } from './admission.ts';
import { confirmEffects } from './authorization.ts';
import { confirmRules } from './consent.ts';

/** What may have changed while a call waited for its turn. */
const CONFIRMATION_STAGES = [confirmEffects, confirmRules] as const;

/** What happens to an admitted call, in the order of design 4. */
export const EXECUTION_STAGES: readonly Stage[] = [
  takeSlot,
  chooseRoute,
  writeIntent,
  confirmCallerWaits,
  ...CONFIRMATION_STAGES,
  runTool,
  checkResult,
];

/** The same for a call that becomes a job of another hub. */
export const REMOTE_JOB_STAGES: readonly Stage[] = [...EXECUTION_STAGES.slice(0, -1), rememberJobLocation];

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
function confirmCallerWaits(call: Call): Promise<void> {
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

function rememberJobLocation(call: Call, context: StageContext): void {
  const job = parseJobView(call.rawResult);
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
      if (candidate.isLocal ? isLast || !canFailOverFromHere(call, context, error) : !canTryNextHub(call, error)) throw error;
      tries.push({ node_id: candidate.id, reason: toAtmoError(error).message });
    }
  }
  throw noCapableNode(call, tries);
}

/**
 * Whether a service that this hub cannot reach may be asked over another hub: where the owner lets what the call carries, such as a
 * question or a picture, leave this one. What acts may have reached the service all the same.
 */
function canFailOverFromHere({ tool, deadline }: Call, { failOverTools }: StageContext, thrown: unknown): boolean {
  if (!isListed(failOverTools, tool) || isActing(tool.definition)) return false;
  return toAtmoError(thrown).code === 'SERVICE_UNAVAILABLE' && !deadline.signal.aborted;
}

/** RFC 6838 §4.2 and RFC 9110 §8.3.1: type, subtype and parameters. */
const MEDIA_TYPE = /^[\w!#$&^.+-]{1,127}\/[\w!#$&^.+-]{1,127}(?:; ?[\w.-]+=[\w."+-]+)*$/;
const MAX_MEDIA_TYPE = 255;
const DETAILS_LIMITS = { maxSize: 16_384, maxDepth: 32 };

function runOn(candidate: RouteCandidate, call: Call, context: StageContext): Promise<Json> {
  if (!candidate.isLocal) return runOnHub(candidate, call, context.router);
  call.isDispatched = true;
  return runLocally(call, context);
}

async function runLocally(call: Call, context: StageContext): Promise<Json> {
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
    confirm: () => CONFIRMATION_STAGES.forEach((stage) => void stage(call, context)),
    progress: (fraction, note, partial) => call.emitChunk(boundedChunk(fraction, note, partial)),
    ask: (question) => askCaller(call, question),
    tell: (level, data) => call.emitMessage(boundedMessage(level, data)),
    callerData: call.request.callerData,
    contentType(type) {
      call.contentType = mediaType(type);
    },
    details(details) {
      call.resultDetails = copyJsonObject(details, DETAILS_LIMITS);
    },
  };
}

/** How long a handler may take after the abort to say more precisely what happened. */
export const GRACE_MS = 250;

/** Errors after which nothing of the call can still take effect. */
const NOTHING_DELIVERED: ReadonlySet<ErrorCode> = new Set([
  'DEVICE_UNREACHABLE',
  'NODE_UNAVAILABLE',
  'HUB_UNREACHABLE',
  'SERVICE_UNAVAILABLE',
  'RATE_LIMITED',
  'RESOURCE_EXCEEDED',
]);

interface Attempts<T> {
  readonly definition: ToolDefinition;
  /** Extra tries. */
  readonly retries: number;
  readonly deadline: CallDeadline;
  readonly clock: Clock;
  readonly run: () => Promise<T>;
}

/**
 * Runs within the deadline and repeats by the policy: only where the tool allows it, the error says "later" and is not permanent, and nothing
 * was delivered or a repeat is harmless. Throws what `run` threw last; after an abort what ended the call, or what became of it.
 */
async function runAttempts<T>(attempts: Attempts<T>): Promise<T> {
  for (let repeats = 0; ; repeats++) {
    try {
      return await runOnce(attempts);
    } catch (error) {
      const isOver = repeats >= attempts.retries || !isRepeatable(error, attempts.definition);
      const delayMs = retryDelayMs(repeats + 1);
      if (isOver || delayMs >= attempts.deadline.remainingMs) throw error;
      const { clock, deadline } = attempts;
      const untilMs = clock.monotonic() + delayMs;
      await pause(clock, delayMs, deadline.signal);
      await deadline.confirm(untilMs);
    }
  }
}

function isRepeatable(error: unknown, definition: ToolDefinition): boolean {
  const { code, details } = toAtmoError(error);
  if (details.permanent === true) return false;
  return ERROR_CODES[code].retry === 'later' && (NOTHING_DELIVERED.has(code) || definition.execution.isIdempotent);
}

function runOnce<T>({ definition, deadline, clock, run }: Attempts<T>): Promise<T> {
  const { signal } = deadline;
  if (signal.aborted) return Promise.reject(deadline.error());
  return new Promise<T>((resolve, reject) => {
    let stopGrace = () => {};
    const onAbort = () => {
      stopGrace = clock.after(GRACE_MS, () => reject(endedEarly(definition, deadline)));
    };
    const settle = () => {
      signal.removeEventListener('abort', onAbort);
      stopGrace();
    };
    signal.addEventListener('abort', onAbort, { once: true });
    run().then(
      (value) => {
        settle();
        resolve(value);
      },
      (error: unknown) => {
        settle();
        reject(signal.aborted ? afterAbort(error, definition, deadline) : error);
      },
    );
  });
}

/** A handler's own report after the abort wins where it is more precise than ours. */
function afterAbort(error: unknown, definition: ToolDefinition, deadline: CallDeadline): AtmoError {
  if (!(error instanceof AtmoError)) return endedEarly(definition, deadline);
  return error.code === 'CANCELLED' || error.code === 'TIMEOUT' ? deadline.error() : error;
}

/** Nobody can say what became of an abandoned call that acts: honest is only that it is unknown. */
function endedEarly(definition: ToolDefinition, deadline: CallDeadline): AtmoError {
  if (!isActing(definition)) return deadline.error();
  return new AtmoError(
    'OUTCOME_UNKNOWN',
    `${definition.namespace}:${definition.name} ${endReason(deadline)} while it was running; read the state before calling it again`,
  );
}

function endReason({ cause, timeoutMs }: CallDeadline): string {
  if (cause === 'caller') return 'was cancelled';
  if (cause === 'stopping') return 'was ended, the hub is stopping,';
  return cause === 'revoked' ? 'was ended, its caller may no longer make it,' : `ran into its deadline of ${timeoutMs} ms`;
}

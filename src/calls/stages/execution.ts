import { randomBytes, randomUUID } from 'node:crypto';
import { type Clock, pause } from '../../core/clock.ts';
import { AtmoError, ERROR_CODES, type ErrorCode, toAtmoError } from '../../core/errors.ts';
import type { Json } from '../../core/json.ts';
import type { RunContext } from '../../core/storage/audit-log.ts';
import { retryDelayMs } from '../../tools/definition/invocation-policy.ts';
import { boundedChunk, boundedMessage } from '../../tools/definition/notifications.ts';
import { isActing, type ToolContext, type ToolDefinition } from '../../tools/definition/tool-definition.ts';
import { copyJson, copyJsonObject, RESULT_LIMITS } from '../../tools/schema/plain-json.ts';
import { withoutSecretTexts } from '../../tools/schema/secrets.ts';
import {
  type ApprovedCall,
  type AwaitedCall,
  type CheckedCall,
  type ConfirmedCall,
  isElsewhere,
  type QueuedCall,
  type RanCall,
  type RecordedCall,
  type RemoteJobCall,
  type RoutableCall,
  type RoutedCall,
  type RuledCall,
  type ScheduledCall,
  secretsOf,
} from '../call.ts';
import { auditIntent, eventData, eventParams, stateOf } from '../call-audit.ts';
import type { CallDeadline } from '../call-deadline.ts';
import { parseJobView } from '../jobs/job-store.ts';
import type { RouteCandidate, StageContext } from '../pipeline-context.ts';
import { type JobView, type NormalResult, normalizeResult } from '../request-and-answer.ts';
import { canTryNextHub, noCapableNode, type RouteRefusal, rankedHubs, runOnHub } from '../routing/call-route.ts';
import { askCaller, boundedContext } from '../tool-context.ts';
import { confirmEffects, isListed } from './authorization.ts';
import { approvedWithin, confirmRules, isUnsigned, rulesAllow } from './consent.ts';

const SEED_BYTES = 16;

/**
 * Makes the call a job of this hub, or takes the job that waited for the approval of the call. From now on, the job's signal can abort the
 * call; the request's signal has no effect on it.
 */
export function createJob(call: ApprovedCall, context: StageContext): QueuedCall {
  const { running, request, tool } = call;
  running.deadline.throwIfOver();
  const job = running.job ? context.jobs.begin(running.job.view.job_id, tool) : context.jobs.create(request.principal, tool);
  running.job = job;
  const view = copyJsonObject(job.view, RESULT_LIMITS);
  running.settleClaim(view, view);
  running.startDeadline(tool, context, job.signal);
  return { ...call, job };
}

/** Waits until the limits of the hub and of the caller permit one more running call. Rejects with RESOURCE_EXCEEDED if too many wait. */
export async function takeSlot(call: ApprovedCall, context: StageContext): Promise<ScheduledCall> {
  const { running, request } = call;
  const { within, principal } = request;
  running.deadline.throwIfOver();
  // A step does not wait for a slot of its own: the outer call keeps its slot until the step ends. With waiting, both could wait forever.
  if (running.mode === 'sync' && within && context.running.has(within)) return call as ScheduledCall;
  running.onEnd(await context.callerLimiter.enter(principal, running.deadline.signal));
  running.job?.running();
  return call as ScheduledCall;
}

/** Chooses the hubs to try, best first. */
export function chooseRoute(call: ScheduledCall, context: StageContext): RoutedCall {
  return { ...call, route: rankedHubs(call, context) } as RoutedCall;
}

/** Rejects if no hub could run the call now, as `chooseRoute` does. */
export function requireRoute(call: RuledCall<'asked'>, context: StageContext): RoutableCall {
  rankedHubs(call, context);
  return call as RoutableCall;
}

/** Writes the intent, with the state before the call, to the audit log. A dangerous call fails if this write fails. */
export async function writeIntent(call: RoutedCall, context: StageContext): Promise<RecordedCall> {
  await keepStateBefore(call, context);
  const run = newRun(call.tool.definition, context.time.now());
  const intent = auditIntent(call, context, run);
  try {
    await context.audit.record(intent);
  } catch (error) {
    const failure = toAtmoError(error);
    // The audit log itself reports a full disk and counts the rows that it could not write.
    const isReported = failure.code === 'STORAGE_FAILED' && !intent.mustSync;
    if (!isReported)
      context.logger.error('audit.intent_failed', { tool: call.tool.id, trace_id: call.running.traceId, dangerous: intent.mustSync });
    if (intent.mustSync) throw failure;
  }
  return { ...call, run } as RecordedCall;
}

/** Keeps the values that the call may change, as they are now. Only values that devices do not report have to be asked for. */
async function keepStateBefore({ running, effects, route, tool, params }: RoutedCall, { states }: StageContext): Promise<void> {
  if (!route[0]?.isLocal) return;
  const restorable = tool.restorable?.(params);
  if (restorable) {
    running.restorable = restorable;
    running.before = stateOf(restorable);
    return;
  }
  if (effects.length === 0) return;
  const before = states.before(effects, running.deadline.signal);
  const known = before instanceof Promise ? await before : before;
  if (Object.keys(known).length > 0) running.before = known;
}

/** Returns the context of one run: an id, the time `nowMs`, and a random seed (16 bytes, hex) for a bounded tool. */
export function newRun({ execution }: ToolDefinition, nowMs: number): RunContext {
  const randomSeed = execution.determinism === 'bounded' ? randomBytes(SEED_BYTES).toString('hex') : '';
  return { runId: randomUUID(), logicalTimeMs: nowMs, randomSeed };
}

/** Rejects if the caller has disconnected or the deadline has passed while the call waited. */
export async function confirmCallerWaits(call: RecordedCall): Promise<AwaitedCall> {
  const { deadline, startedMs, waitedMs } = call.running;
  await deadline.confirm(startedMs - waitedMs);
  return call as AwaitedCall;
}

/** Runs the tool on this hub or on another hub. */
export async function runTool(call: ConfirmedCall, context: StageContext): Promise<RanCall> {
  const { running, tool } = call;
  running.claim?.dispatched();
  call.request.onDispatch?.();
  context.events.emit('agi.tool.invoked', tool.id, { ...eventData(call), ...eventParams(call) });
  const { definition } = tool;
  // A remote hub makes the retries that its tool permits, so this hub makes none.
  const retries = call.route[0]?.isLocal ? definition.execution.retries : 0;
  const attempts = { definition, retries, deadline: running.deadline, clock: context.clock };
  try {
    const rawResult = await runAttempts({ ...attempts, run: () => runOnRoute(call, context) });
    // The newest facts are used: if the tool called `confirm` while it ran, the facts have changed.
    return { ...running.facts, rawResult } as RanCall;
  } catch (error) {
    if (toAtmoError(error).code === 'OUTCOME_UNKNOWN') running.isDispatched = true;
    throw error;
  }
}

/** Stores which hub runs the job. Throws RESULT_INVALID if that hub did not return a job. */
export function rememberJobLocation(call: RanCall, context: StageContext): RemoteJobCall {
  const { ranOn } = call.running;
  const started = parseJobView(call.rawResult);
  if (!started) throw new AtmoError('RESULT_INVALID', `${ranOn?.id} did not answer with a job; ${call.tool.id} may be running there`);
  // The other hub's name of the tool would stand in sentences of this hub.
  const remoteJob: JobView = { ...started, tool: call.tool.id, ...(ranOn && { node_id: ranOn.id, node_name: ranOn.name }) };
  const ended = call.running.keep({ ...call, remoteJob, result: normalizeResult(copyJson(remoteJob, RESULT_LIMITS)) } as RemoteJobCall);
  context.jobPlaces.remember({ jobId: remoteJob.job_id, hubId: ranOn?.id ?? '', owner: call.request.principal });
  return ended;
}

/** Normalises the result and checks it against the tool's schema. Unless `resultInvalid` is `warn`, a mismatch throws RESULT_INVALID. */
export function checkResult(call: RanCall, context: StageContext): CheckedCall {
  const { id, definition } = call.tool;
  let normal: NormalResult | undefined;
  try {
    const result = copyJson(call.rawResult, RESULT_LIMITS);
    normal = normalizeResult(result);
    const checked = { ...call, result: normal } as CheckedCall;
    // The other hub has checked the result. A second check is avoided, because a hostile hub's schema could make it endless.
    if (isElsewhere(call) || Object.keys(definition.returns).length === 0) return checked;
    const check = context.validator.check(definition.returns, result, RESULT_LIMITS);
    if (check.isValid) return checked;
    throw new AtmoError('RESULT_INVALID', check.problems.map((problem) => problem.message).join('; '));
  } catch (error) {
    const { message } = toAtmoError(error);
    context.logger.warn('tool.result_invalid', { tool: id, trace_id: call.running.traceId, problem: message });
    if (normal && context.resultInvalid === 'warn') return { ...call, result: normal } as CheckedCall;
    const doubt = definition.execution.hasSideEffects ? '; it has run and may have taken effect' : '';
    throw new AtmoError('RESULT_INVALID', `The answer of ${id} breaks its own schema: ${message}${doubt}`);
  }
}

/**
 * Tries the hubs in order. Tries the next hub only if the call did not run before, or if a second run has no further effect. If a hub was lost
 * after it had taken the call, throws the first such error, since the call may have acted there; else NO_CAPABLE_NODE.
 */
async function runOnRoute(call: ConfirmedCall, context: StageContext): Promise<Json> {
  const tries: RouteRefusal[] = [];
  let lost: AtmoError | undefined;
  for (const [index, candidate] of call.route.entries()) {
    call.running.ranOn = candidate;
    try {
      return await runOn(candidate, call, context);
    } catch (error) {
      const isLast = index === call.route.length - 1;
      if (candidate.isLocal ? isLast || !canFailOverFromHere(call, context, error) : !canTryNextHub(call, error)) throw lost ?? error;
      const failure = toAtmoError(error);
      if (call.running.isDispatched && !candidate.isLocal) lost ??= failure;
      tries.push({ node_id: candidate.id, reason: failure.message });
    }
  }
  throw lost ?? noCapableNode(call, tries);
}

/**
 * Returns whether another hub may run the call after this hub could not reach the service. The owner must permit that the parameters, such
 * as a question or a picture, leave this hub. A second run must have no further effect: the service may have received the call.
 */
function canFailOverFromHere({ tool, running: { deadline } }: ConfirmedCall, { failOverTools }: StageContext, thrown: unknown): boolean {
  if (!isListed(failOverTools, tool) || isActing(tool.definition)) return false;
  return toAtmoError(thrown).code === 'SERVICE_UNAVAILABLE' && !deadline.signal.aborted;
}

/** RFC 6838 §4.2 and RFC 9110 §8.3.1: type, subtype and parameters. */
const MEDIA_TYPE = /^[\w!#$&^.+-]{1,127}\/[\w!#$&^.+-]{1,127}(?:; ?[\w.-]+=[\w."+-]+)*$/;
const MAX_MEDIA_TYPE = 255;
const DETAILS_LIMITS = { maxSize: 16_384, maxDepth: 32 };

function runOn(candidate: RouteCandidate, call: ConfirmedCall, context: StageContext): Promise<Json> {
  if (!candidate.isLocal) return runOnHub(candidate, call, context.router);
  call.running.isDispatched = true;
  return runLocally(call, context);
}

async function runLocally(call: ConfirmedCall, context: StageContext): Promise<Json> {
  const given = toolContext(call, context);
  context.running.add(given);
  if (isUnsigned(call.request, context)) context.unsigned.add(given);
  const { steps, covering } = approvedWithin(call, context);
  if (steps) context.stepsLeft.set(given, [...steps]);
  if (covering) context.covering.set(given, covering);
  call.running.onEnd(() => context.running.delete(given));
  try {
    return await call.tool.handler(call.params, given);
  } catch (thrown) {
    // After an abort, the error is thrown unchanged, because `afterAbort` decides the final error.
    throw call.running.deadline.signal.aborted ? thrown : toAtmoError(thrown, `The tool ${call.tool.id}`);
  }
}

function mediaType(text: string): string {
  if (text.length <= MAX_MEDIA_TYPE && MEDIA_TYPE.test(text)) return text;
  throw new AtmoError('VALIDATION_ERROR', 'A content type is a media type such as text/markdown; charset=utf-8');
}

function toolContext(call: ConfirmedCall, context: StageContext): ToolContext {
  const { running, tool, run } = call;
  const { principal, sessionId, callerData } = call.request;
  const { determinism } = tool.definition.execution;
  let confirmed = call;
  return {
    agentId: principal.id,
    principal,
    get role() {
      return context.roleOf(principal);
    },
    sessionId: sessionId ?? running.traceId,
    traceId: running.traceId,
    requestId: running.requestId,
    permissions: principal.permissions,
    nodeId: context.self.id,
    signal: running.deadline.signal,
    deadlineMs: running.deadline.atMs,
    ...(determinism === 'bounded' ? boundedContext(run) : { clock: context.clock, random: Math.random }),
    run,
    logger: context.logger.child({ tool: tool.id, trace_id: running.traceId }),
    confirm() {
      confirmed = running.keep(confirmRules(confirmEffects(confirmed, context), context));
    },
    allows: (effects) => rulesAllow({ ...confirmed, effects }, context),
    progress: (fraction, note, partial) => running.emitChunk(tool, boundedChunk(fraction, note, partial)),
    ask: (question) => askCaller(call, question),
    tell(level, data) {
      const message = boundedMessage(level, data);
      if (running.hasEnded) return;
      call.request.onMessage?.({ level: message.level, data: withoutSecretTexts(message.data, secretsOf(call)) });
    },
    callerData,
    contentType(type) {
      running.contentType = mediaType(type);
    },
    details(details) {
      running.resultDetails = copyJsonObject(details, DETAILS_LIMITS);
    },
  };
}

/** Milliseconds after an abort within which the handler may still report a more precise outcome. */
export const GRACE_MS = 250;

/** Error codes which show that nothing was delivered. A call that fails with one of them has had no effect. */
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
  /** Maximum number of retries after the first attempt. */
  readonly retries: number;
  readonly deadline: CallDeadline;
  readonly clock: Clock;
  readonly run: () => Promise<T>;
}

/**
 * Runs the call within the deadline. Retries it up to `retries` times if the error is temporary and either nothing was delivered or the
 * tool is idempotent. Rejects with the last error of `run`. After an abort, rejects with the result of `afterAbort` instead.
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

async function runOnce<T>({ definition, deadline, clock, run }: Attempts<T>): Promise<T> {
  const { signal } = deadline;
  if (signal.aborted) throw deadline.error();
  const abandoned = Promise.withResolvers<never>();
  let stopGrace = () => {};
  const onAbort = () => {
    stopGrace = clock.after(GRACE_MS, () => abandoned.reject(endedEarly(definition, deadline)));
  };
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([run(), abandoned.promise]);
  } catch (error) {
    throw signal.aborted ? afterAbort(error, definition, deadline) : error;
  } finally {
    signal.removeEventListener('abort', onAbort);
    stopGrace();
  }
}

/** Returns the error of an aborted call. An error of the handler is kept if it is more precise than CANCELLED and TIMEOUT. */
function afterAbort(error: unknown, definition: ToolDefinition, deadline: CallDeadline): AtmoError {
  if (!(error instanceof AtmoError)) return endedEarly(definition, deadline);
  return error.code === 'CANCELLED' || error.code === 'TIMEOUT' ? deadline.error() : error;
}

/** Returns the error of a call that ended early: the cause of the end, or OUTCOME_UNKNOWN if a repeat could have a second effect. */
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

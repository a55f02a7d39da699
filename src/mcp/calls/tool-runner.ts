import { MAX_WAIT_S } from '../../calls/jobs/job-directory.ts';
import { type CallRequest, hasEnded, type JobView } from '../../calls/request-and-answer.ts';
import { type Clock, pause } from '../../core/clock.ts';
import { AtmoError, type ErrorBody } from '../../core/errors.ts';
import { isJsonObject, type JsonObject } from '../../core/json.ts';
import { escapeAllHidden } from '../../core/untrusted-text.ts';
import type { CallPort, JobPort } from '../../http/ports.ts';
import type { RegisteredTool } from '../../tools/definition/tool-definition.ts';
import { copyJsonObject, RESULT_LIMITS } from '../../tools/schema/plain-json.ts';
import { maskSecrets } from '../../tools/schema/secrets.ts';
import type { McpCaller, ToolRun, ToolRunner } from '../mcp-feature.ts';
import { elicitation, neededCapabilities, RequestStates, type StateSubject, showsForms } from './elicitation.ts';
import type { InteractiveCalls } from './interactive-calls.ts';
import { type JobOutcome, outcomeOf, takesTasks, taskOf } from './tasks.ts';
import { errorResult, toolResult } from './tool-result.ts';

/** The parts of the hub that are needed for calls. */
export interface RunnerParts {
  readonly pipeline: Pick<CallPort, 'call'>;
  readonly approvals: ApprovalElicitation;
  readonly interactive: InteractiveCalls;
  readonly longCalls: LongCalls;
}

/** Returns a function that calls a tool through the pipeline. The function resolves with the result, or with a question to the person. */
export function pipelineRunner(parts: RunnerParts): ToolRunner {
  const { interactive } = parts;
  return async (run, caller) =>
    interactive.answer({ name: run.tool.id, params: run.params }, caller, (asked) => runOnce(parts, run, asked));
}

async function runOnce({ pipeline, approvals, longCalls }: RunnerParts, run: ToolRun, caller: McpCaller): Promise<JsonObject> {
  const { tool, listing } = run;
  approvals.admit(run, caller);
  const request = requestOf(run, caller);
  const isTyped = listing === 'typed';
  const waits = run.waitsForApproval && tool.definition.execution.isAsyncAllowed;
  const outcome = waits
    ? await longCalls.run({ request: { ...request, waitsForApproval: true }, isTyped }, caller)
    : isLong(tool)
      ? await longCalls.run({ request, isTyped }, caller)
      : await pipeline.call(request);
  if (outcome.status === 'running') return outcome.handle;
  if (outcome.status === 'success') return toolResult(tool, outcome.result);
  const { code, message, details } = outcome.error;
  // For a client of MCP 2026-07-28, a missing client capability is a protocol error and not an error of the tool.
  if (caller.era === 'modern' && neededCapabilities(outcome.error)) throw new AtmoError(code, message, details);
  return approvals.ask(outcome.error, run, caller) ?? errorResult(withApprovalAdvice(outcome.error), { era: caller.era, listing });
}

function requestOf({ tool, params }: ToolRun, caller: McpCaller): CallRequest {
  const { principal, trace, signal, session, ask } = caller;
  return {
    principal,
    tool: tool.id,
    params,
    traceId: trace.traceId,
    signal,
    ...(session && { sessionId: session.id }),
    onChunk: ({ fraction, note }) => caller.progress(fraction, note),
    ...(ask && { onQuestion: ask }),
    onMessage: caller.sendMessage,
  };
}

/** Timeout in milliseconds above which a tool counts as long-running. */
const LONG_MS = 30_000;
/** Milliseconds that a client waits for a result before it gets a task or a job id instead. */
const TASK_PATIENCE_MS = 1_000;
const JOB_PATIENCE_MS = 25_000;
const FIRST_POLL_MS = 50;
const LONGEST_POLL_MS = 1_000;

/** The outcome of a call, or the job that still runs. */
export type LongOutcome = JobOutcome | { readonly status: 'running'; readonly handle: JsonObject };

interface LongCallParts {
  readonly pipeline: Pick<CallPort, 'callAsync'>;
  readonly jobs: Pick<JobPort, 'status' | 'cancel'>;
  readonly clock: Clock;
}

interface LongCall {
  readonly request: CallRequest;
  /** True if the client checks the result against a schema, so that a job id cannot replace the result. */
  readonly isTyped: boolean;
}

/** Returns whether calls of a tool may take longer than clients wait. */
function isLong({ definition: { execution } }: Pick<RegisteredTool, 'definition'>): boolean {
  return execution.isAsyncAllowed && execution.timeoutMs > LONG_MS;
}

/**
 * Runs a long call as a job. Returns the result if the job ends soon. Otherwise, a client that supports tasks gets a `CreateTaskResult`.
 * Any other client gets the job id for `job_status`, unless it checks an output schema: then it waits for the result, also while people
 * decide.
 */
export class LongCalls {
  readonly #pipeline: LongCallParts['pipeline'];
  readonly #jobs: LongCallParts['jobs'];
  readonly #clock: Clock;

  constructor({ pipeline, jobs, clock }: LongCallParts) {
    this.#pipeline = pipeline;
    this.#jobs = jobs;
    this.#clock = clock;
  }

  async run({ request, isTyped }: LongCall, caller: McpCaller): Promise<LongOutcome> {
    // The job may outlive the request, so it does not get the request's signal and callbacks. `#watch` cancels it if the client leaves.
    const { signal: _signal, onChunk: _onChunk, onQuestion: _onQuestion, onMessage: _onMessage, ...lasting } = request;
    const begun = await this.#pipeline.callAsync(lasting);
    if (begun.kind === 'refused') return begun.answer;
    const isTask = takesTasks(caller.clientCapabilities);
    if (begun.job.status === 'waiting' && !isTask && !isTyped) return { status: 'running', handle: waitingHandle(begun.job) };
    const patienceMs = isTask ? TASK_PATIENCE_MS : isTyped ? Number.POSITIVE_INFINITY : JOB_PATIENCE_MS;
    const job = await this.#watch(begun.job, patienceMs, caller);
    if (hasEnded(job)) return outcomeOf(job);
    if (!isTask) return { status: 'running', handle: jobHandle(job) };
    return { status: 'running', handle: { ...taskOf(job, this.#clock.now(), () => ({})), resultType: 'task' } };
  }

  /** Resolves with the job when the job has ended or the time is over. If the client cancels or disconnects before, cancels the job. */
  async #watch(begun: JobView, patienceMs: number, caller: McpCaller): Promise<JobView> {
    const endMs = this.#clock.monotonic() + patienceMs;
    let job = begun;
    for (let lookMs = FIRST_POLL_MS; !hasEnded(job); lookMs = Math.min(lookMs * 2, LONGEST_POLL_MS)) {
      const leftMs = endMs - this.#clock.monotonic();
      if (leftMs <= 0) break;
      await pause(this.#clock, Math.min(lookMs, leftMs), caller.signal);
      const { principal } = caller;
      if (caller.signal.aborted) return this.#jobs.cancel(job.job_id, { principal, signal: new AbortController().signal });
      const { progress: told } = job;
      job = await this.#jobs.status(job.job_id, caller);
      const { progress } = job;
      // Progress is sent only if it has changed, because MCP requires it to increase.
      if (progress && (progress.fraction !== told?.fraction || progress.note !== told?.note))
        caller.progress(progress.fraction, progress.note);
    }
    return job;
  }
}

function jobHandle({ job_id: id, tool, status }: JobView): JsonObject {
  const text = `${tool} goes on as job ${id}. Ask job_status with {"job_id": "${id}"} how far it is; do not call the tool again.`;
  return { content: [{ type: 'text', text }], structuredContent: { job_id: id, tool, status } };
}

function waitingHandle(job: JobView): JsonObject {
  const { job_id: id, tool, waits_until: until } = job;
  const structuredContent = copyJsonObject(job, RESULT_LIMITS);
  const time = until === undefined ? '' : ` until ${until}`;
  const text = `${tool} waits${time} for a person as job ${id} and runs when that person approves it, ${approvalPlace(structuredContent)}. Ask job_status with {"job_id": "${id}", "wait_seconds": ${MAX_WAIT_S}} for its result; do not call the tool again.`;
  return { content: [{ type: 'text', text }], structuredContent };
}

const APPROVAL_KEY = 'approval';
const MAX_LINES = 20;
const MAX_TEXT = 1_000;
type DangerousCall = Pick<ToolRun, 'tool' | 'params'>;

/**
 * Asks the person at the client to get a dangerous call approved. Uses an `input_required` result (MCP 2026-07-28), or an elicitation in a
 * session. The answer only makes the client repeat the call. The approval itself is a signature that is made elsewhere (docs/approvals.md).
 */
export class ApprovalElicitation {
  readonly #states: RequestStates;

  constructor({ clock }: { readonly clock: Clock }) {
    this.#states = new RequestStates({ clock, purpose: 'approval' });
  }

  /** Returns a question in place of APPROVAL_REQUIRED. Returns undefined if it was asked before, or if the client cannot show forms. */
  ask(error: ErrorBody, call: DangerousCall, caller: McpCaller): JsonObject | undefined {
    if (error.code !== 'APPROVAL_REQUIRED' || caller.requestState !== undefined || !showsForms(caller.clientCapabilities)) return undefined;
    const question = { message: messageOf(error, call, caller), schema: { type: 'object', properties: {} } };
    return {
      resultType: 'input_required',
      inputRequests: { [APPROVAL_KEY]: elicitation(question) },
      requestState: this.#states.issue(subjectOf(call, caller)).state,
    };
  }

  /**
   * If the call has a `requestState`, checks that `ask` issued this state. Throws VALIDATION_ERROR if the state is forged, already used,
   * expired, or belongs to another caller or call. Throws CANCELLED if the person declined. If the call has no state, does nothing.
   */
  admit(call: DangerousCall, caller: McpCaller): void {
    const { requestState: state, inputResponses } = caller;
    if (state === undefined) return;
    this.#states.redeem(state, subjectOf(call, caller));
    const answer = inputResponses[APPROVAL_KEY];
    if (isJsonObject(answer) && answer.action === 'accept') return;
    throw new AtmoError(
      'CANCELLED',
      'The call was not made: the person at the client did not want to go on. The request for approval stays',
    );
  }
}

function subjectOf({ tool, params }: DangerousCall, { principal }: McpCaller): StateSubject {
  return { name: tool.id, params, principal };
}

/** Adds `how` to the details of an APPROVAL_REQUIRED error: the steps to an approval, which a model can explain to the person. */
function withApprovalAdvice(error: ErrorBody): ErrorBody {
  if (error.code !== 'APPROVAL_REQUIRED') return error;
  return {
    ...error,
    details: {
      ...error.details,
      how: `A person agrees ${approvalPlace(error.details)}. Then make the same call again within 10 minutes; nothing else approves it.`,
    },
  };
}

function messageOf(error: ErrorBody, call: DangerousCall, caller: McpCaller): string {
  const { expires_at: until, will_do: lines } = error.details;
  const end = typeof until === 'string' ? ` It can be approved until ${until}.` : '';
  const work = Array.isArray(lines) ? lines.slice(0, MAX_LINES).map((line) => `\n${foreignText(line)}`) : [];
  const more = Array.isArray(lines) && lines.length > MAX_LINES ? `\nand ${lines.length - MAX_LINES} more` : '';
  return `${requestText(error, call, caller)}.${work.join('')}${more}\nA person has to agree ${approvalPlace(error.details)}.${end} Continue here once that is done: this form approves nothing.`;
}

/** Returns the summary that the executing hub has put into the error. If there is none, this hub makes a summary. */
function requestText({ details: { summary } }: ErrorBody, { tool, params }: DangerousCall, { principal }: McpCaller): string {
  if (typeof summary === 'string') return foreignText(summary);
  // The title is quoted and cut because it may contain a name that comes from a device.
  const title = JSON.stringify(tool.definition.metadata.title.slice(0, 80));
  const given = foreignText(JSON.stringify(maskSecrets(tool.definition.parameters, params)));
  return `${principal.id} wants: ${title} (${tool.id}) with ${given}`;
}

/** Returns a shortened text in which hidden characters are escaped. */
function foreignText(text: unknown): string {
  return escapeAllHidden(String(text)).slice(0, MAX_TEXT);
}

function approvalPlace(details: JsonObject): string {
  const id = String(details.approval_id ?? '');
  const { node_id: hubId, node_name: name = hubId } = details;
  const hub = typeof name === 'string' ? `the hub ${name}` : 'the hub';
  return `on the page of ${hub}, under Approvals, or there with "atmo approve ${id}"`;
}

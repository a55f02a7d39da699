import { randomUUID } from 'node:crypto';
import { canonicalJson } from '../codec/canonical-json.ts';
import { blake3Hex } from '../codec/hashes.ts';
import type { Effect, Principal, RateAllowance, Risk } from '../core/auth/principal.ts';
import { isoTime } from '../core/clock.ts';
import type { ExpectedChange, Reversibility } from '../core/devices/device-states.ts';
import type { AtmoError, ErrorBody } from '../core/errors.ts';
import type { JobId } from '../core/ids.ts';
import type { Json, JsonObject } from '../core/json.ts';
import type { CallChunk, ToolMessage } from '../tools/definition/notifications.ts';
import type {
  CallerData,
  RegisteredTool,
  SkippedMember,
  ToolAnswer,
  ToolContext,
  ToolQuestion,
} from '../tools/definition/tool-definition.ts';
import type { ComingConflict } from './coming-conflicts.ts';

/** The caller's limits and preferences for the choice of the hub that runs a call. */
export interface RoutingPreferences {
  readonly prefer_nodes?: readonly string[];
  readonly exclude_nodes?: readonly string[];
  /** Ids or names of the only hubs that may run the call. */
  readonly only_nodes?: readonly string[];
  readonly hop_budget?: number;
}

/** A tool call, in the form in which HTTP, MCP and the mesh pass it to the pipeline. */
export interface CallRequest {
  readonly principal: Principal;
  /** Name, canonical id, alias or model-facing name. */
  readonly tool: string;
  /** Required versions as a Semver range, such as `>=1.0.0`. */
  readonly version?: string;
  readonly params: unknown;
  /** Time limit that the caller requests. It can shorten the tool's time limit, but cannot extend it. */
  readonly timeoutMs?: number;
  readonly idempotencyKey?: string;
  /** Id that the caller chose for the request; random if absent. */
  readonly requestId?: string;
  readonly traceId?: string;
  readonly sessionId?: string;
  readonly signal?: AbortSignal;
  /** Is called once when all checks have passed, right before the handler starts or the call is sent to another hub. */
  readonly onDispatch?: () => void;
  /** Receives progress and partial results of a tool with `stream_supported`, until the call ends. */
  readonly onChunk?: (chunk: CallChunk) => void;
  /**
   * Sends a question to the person behind the caller. The pipeline checks whether the answer matches the question. Absent if nobody can be
   * asked. The signal aborts if the call ends first.
   */
  readonly onQuestion?: (question: Required<ToolQuestion>, signal: AbortSignal) => Promise<ToolAnswer>;
  readonly onMessage?: (message: ToolMessage) => void;
  /** The caller needs partial results. If the tool does not support them, the call is refused with NOT_SUPPORTED. */
  readonly wantsChunks?: true;
  readonly routing?: RoutingPreferences;
  /** Data about the user and the session. A program with an embedded hub passes it to its own tools. */
  readonly callerData?: CallerData;
  /**
   * The context of the outer call, if this call is one of its steps. A step uses the outer call's slot, and is aborted when the outer call
   * ends. Calls that arrive over HTTP, MCP or the mesh never have this field.
   */
  readonly within?: ToolContext;
  /**
   * For a job: if people have to approve the call first, the job waits for them and runs when they approve. Without this field, the call is
   * refused with APPROVAL_REQUIRED, and the caller repeats it.
   */
  readonly waitsForApproval?: true;
  /**
   * Set if the call came from another hub without that hub's signature: only the session with this direct neighbour vouches for it. Such a
   * call is refused if it is dangerous, administers the hub or needs an approval (`signature: required` in the details of the error).
   */
  readonly isUnsigned?: true;
  /** Set if the hub itself makes the call, for example for an automation. */
  readonly isOwn?: true;
}

interface AnswerBase {
  readonly id: string;
  readonly request_id: string;
  readonly trace_id: string;
  /** Time of the answer by the hub's clock, as RFC 3339 text in UTC. */
  readonly timestamp: string;
  readonly execution: { readonly node_id: string; readonly duration_ms: number; readonly hops: number };
  /** BLAKE3 hash (hex) of the result or error in canonical form (RFC 8785). */
  readonly response_hash: string;
  /** Media type of the text in the result. Absent if the tool does not declare it. */
  readonly content_type?: string;
  /** Data that the tool adds to its result; not included in the hash. */
  readonly details?: JsonObject;
}

/** The answer to a call: the normalised result, or an error. */
export type CallAnswer =
  | (AnswerBase & { readonly status: 'success'; readonly result: Json })
  | (AnswerBase & { readonly status: 'error'; readonly error: ErrorBody });

/**
 * The states of a job. `waiting` means that the job runs when people approve it; `expired` means that the job has ended and its result was
 * deleted.
 */
export const JOB_STATUSES = ['waiting', 'queued', 'running', 'succeeded', 'failed', 'cancelled', 'expired'] as const;
type JobStatus = (typeof JOB_STATUSES)[number];

/** A job as shown to callers. */
export interface JobView {
  readonly job_id: JobId;
  readonly tool: string;
  readonly status: JobStatus;
  readonly created_at: string;
  /** The request for approval that the job waits for, or was waiting for. */
  readonly approval_id?: string;
  /** Until when people can approve the call of a job that waits, or waited, as RFC 3339 text in UTC. */
  readonly waits_until?: string;
  /** The other hub on which the job runs. */
  readonly node_id?: string;
  readonly node_name?: string;
  readonly finished_at?: string;
  readonly progress?: { readonly fraction: number; readonly note?: string };
  readonly result?: Json;
  readonly error?: ErrorBody;
}

/** Returns whether a job has ended. */
export function hasEnded({ status }: Pick<JobView, 'status'>): boolean {
  return status !== 'waiting' && status !== 'queued' && status !== 'running';
}

/** The answer to `callAsync`: the started job, or the refusal of the call. */
export type AsyncAnswer = { readonly kind: 'job'; readonly job: JobView } | { readonly kind: 'refused'; readonly answer: CallAnswer };

/** The result of a check without a run: the call's risk and effects, or the error with which the call would be refused. */
export type Preflight =
  | { readonly allowed: true; readonly risk: Risk; readonly effects: readonly Effect[] }
  | { readonly allowed: false; readonly error: ErrorBody };

/**
 * What a call would do. `would_run`: it would run at once. `needs_approval`: people would have to approve it first. `would_be_refused`: with
 * `error`. `not_known`: only another hub could tell, and it does not.
 */
export const REHEARSAL_OUTCOMES = ['would_run', 'needs_approval', 'would_be_refused', 'not_known'] as const;

/** The approval that a call would need. */
export interface ApprovalNeed {
  /** Number of persons who have to approve. */
  readonly persons: number;
  readonly reason: string;
}

/** A call that was rehearsed, in the form in which clients get it. */
export interface Rehearsal {
  readonly tool: string;
  readonly outcome: (typeof REHEARSAL_OUTCOMES)[number];
  readonly error?: ErrorBody;
  readonly risk: Risk;
  readonly effects: readonly Pick<Effect, 'target' | 'permission' | 'risk'>[];
  readonly changes: readonly ExpectedChange[];
  /** What else the call or a call inside it changes and undo brings back, such as `flag/vacation_mode`; absent if there is nothing. */
  readonly places?: readonly string[];
  readonly approval?: ApprovalNeed;
  /** Name of the owner's rule that decides. */
  readonly rule?: string;
  /** The rate limits of the caller of which at most a tenth is left. */
  readonly limits: readonly RateAllowance[];
  readonly skipped: readonly SkippedMember[];
  /** The calls that the call makes itself, in order. */
  readonly calls: readonly Rehearsal[];
  /** What automations will do within the hour to what the call sets; absent if nothing is known of that. */
  readonly conflicts?: readonly ComingConflict[];
  readonly undo: Reversibility;
  /** The other hub that would run the call, and that has rehearsed it. */
  readonly node_id?: string;
}

/** Port: runs tool calls, or only checks them. A refused or failed call causes no exception: the answer contains the error. */
export interface ToolCaller {
  call(request: CallRequest): Promise<CallAnswer>;
  /** Checks a call and starts it as a job of the caller. Resolves as soon as the job is created or the call is refused. */
  callAsync(request: CallRequest): Promise<AsyncAnswer>;
  /**
   * Checks a call and its inner calls without running them. Rate limits are not checked. If a call needs an approval that does not exist
   * yet, the approval is requested. An existing approval is not used up.
   */
  preflight(request: CallRequest): Promise<Preflight>;
  /**
   * Tells what a call would do, for whom it would need an approval, or why it would be refused, without running anything. Asks nobody, and
   * uses up no approval, idempotency key or rate limit of calls. Rejects with RATE_LIMITED if too many calls are rehearsed.
   */
  rehearse(request: CallRequest): Promise<Rehearsal>;
  /** Returns whether the checks would permit at least one call of the tool. The parameters need not be known. */
  preflightTool(request: Omit<CallRequest, 'params'>): Promise<Preflight>;
  /** Returns a filter that accepts the tools that the caller may call with some parameters. Lists and searches use this filter. */
  offeredTo(principal: Principal): (tool: RegisteredTool) => boolean;
  /**
   * Returns the reason if no call of the tool can run, whoever makes it; otherwise undefined. `now`: any reason that exists at present.
   * `ever`: only a reason that stays until the hubs change.
   */
  obstacleTo(tool: RegisteredTool, when?: 'now' | 'ever'): string | undefined;
}

interface AnswerFacts {
  readonly requestId: string;
  readonly traceId: string;
  readonly nodeId: string;
  /** Milliseconds since 1970. */
  readonly nowMs: number;
  readonly durationMs: number;
  readonly hops: number;
  readonly contentType?: string | undefined;
  readonly details?: JsonObject | undefined;
}

export interface NormalResult {
  readonly value: Json;
  readonly hash: string;
}

/** Sorts the keys of all objects in a result, and hashes this canonical form. The items of arrays keep their order. */
export function normalizeResult(result: Json): NormalResult {
  const text = canonicalJson(result);
  return { value: JSON.parse(text) as Json, hash: blake3Hex(text) };
}

/** Returns the answer to a successful call. The answer gets a new id. */
export function successAnswer(facts: AnswerFacts, result: NormalResult): CallAnswer {
  const { contentType, details } = facts;
  return {
    ...base(facts, result.hash),
    status: 'success',
    result: result.value,
    ...(contentType !== undefined && { content_type: contentType }),
    ...(details && { details }),
  };
}

/** Returns the answer to a failed or refused call, with the hash of the error. */
export function errorAnswer(facts: AnswerFacts, error: AtmoError): CallAnswer {
  return { ...base(facts, errorHash(error)), status: 'error', error: error.toBody() };
}

/** Returns the BLAKE3 (hex) of the canonical form of an error as shown to callers. */
export function errorHash(error: AtmoError): string {
  return blake3Hex(canonicalJson({ ...error.toBody() }));
}

function base(facts: AnswerFacts, responseHash: string): AnswerBase {
  return {
    id: randomUUID(),
    request_id: facts.requestId,
    trace_id: facts.traceId,
    timestamp: isoTime(facts.nowMs),
    execution: { node_id: facts.nodeId, duration_ms: Math.round(facts.durationMs * 1000) / 1000, hops: facts.hops },
    response_hash: responseHash,
  };
}

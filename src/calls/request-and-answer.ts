import { randomUUID } from 'node:crypto';
import { canonicalJson } from '../codec/canonical-json.ts';
import { blake3Hex } from '../codec/hashes.ts';
import type { Effect, Principal, Risk } from '../core/auth/principal.ts';
import { isoTime } from '../core/clock.ts';
import type { AtmoError, ErrorBody } from '../core/errors.ts';
import type { JobId } from '../core/ids.ts';
import type { Json, JsonObject } from '../core/json.ts';
import type { CallChunk, ToolMessage } from '../tools/definition/notifications.ts';
import type { CallerData, RegisteredTool, ToolAnswer, ToolContext, ToolQuestion } from '../tools/definition/tool-definition.ts';

/** The caller's preferences for the hub that runs a call. */
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
  /** Time limit that the caller requests. It has no effect if it is longer than the tool's time limit. */
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
   * Sends a question to the person behind the caller; the answer is checked against the question. Absent if nobody can be asked. The signal
   * aborts if the call ends first.
   */
  readonly onQuestion?: (question: Required<ToolQuestion>, signal: AbortSignal) => Promise<ToolAnswer>;
  readonly onMessage?: (message: ToolMessage) => void;
  /** The caller needs partial results: a tool that does not support them is refused with NOT_SUPPORTED. */
  readonly wantsChunks?: true;
  readonly routing?: RoutingPreferences;
  /** Data about the user and the session that a program with an embedded hub passes to its own tools. */
  readonly callerData?: CallerData;
  /**
   * The context of the outer call, if this call is one of its steps. A step uses the outer call's slot and ends with the outer call. HTTP,
   * MCP and the mesh never set this field.
   */
  readonly within?: ToolContext;
  /** Set if the hub itself makes the call, for example for an automation. */
  readonly isOwn?: true;
}

interface AnswerBase {
  readonly id: string;
  readonly request_id: string;
  readonly trace_id: string;
  /** Time of the answer, RFC 3339 in UTC, by the hub's clock. */
  readonly timestamp: string;
  readonly execution: { readonly node_id: string; readonly duration_ms: number; readonly hops: number };
  /** BLAKE3, hex, of the RFC 8785 form of the result or error. */
  readonly response_hash: string;
  /** Media type of a text in the result, if the tool declares it. */
  readonly content_type?: string;
  /** Data that the tool adds to its result; not included in the hash. */
  readonly details?: JsonObject;
}

/** The answer to a call: the normalised result, or an error. */
export type CallAnswer =
  | (AnswerBase & { readonly status: 'success'; readonly result: Json })
  | (AnswerBase & { readonly status: 'error'; readonly error: ErrorBody });

/** States of a job; `expired` if its result was deleted. */
export const JOB_STATUSES = ['queued', 'running', 'succeeded', 'failed', 'cancelled', 'expired'] as const;
export type JobStatus = (typeof JOB_STATUSES)[number];

/** A job as shown to callers. */
export interface JobView {
  readonly job_id: JobId;
  readonly tool: string;
  readonly status: JobStatus;
  readonly created_at: string;
  readonly finished_at?: string;
  readonly progress?: { readonly fraction: number; readonly note?: string };
  readonly result?: Json;
  readonly error?: ErrorBody;
}

/** The answer to a call that becomes a job: the started job, or the refusal. */
export type AsyncAnswer = { readonly kind: 'job'; readonly job: JobView } | { readonly kind: 'refused'; readonly answer: CallAnswer };

/** The result of checking a call without running it: its risk and effects, or the error that would refuse it. */
export type Preflight =
  | { readonly allowed: true; readonly risk: Risk; readonly effects: readonly Effect[] }
  | { readonly allowed: false; readonly error: ErrorBody };

/** Port: runs tool calls, or checks them without running. Its calls never throw: refusals and failures are answers. */
export interface ToolCaller {
  call(request: CallRequest): Promise<CallAnswer>;
  /** Checks a call and runs it as a job of the caller. Resolves as soon as the job has started or the call is refused. */
  callAsync(request: CallRequest): Promise<AsyncAnswer>;
  /**
   * Returns whether a call and its inner calls would pass their checks; rate limits are not checked. Nothing runs and no approval is used,
   * but a necessary approval is requested.
   */
  preflight(request: CallRequest): Promise<Preflight>;
  /** Returns whether a call of the tool could pass its checks. The parameters need not be known yet. */
  preflightTool(request: Omit<CallRequest, 'params'>): Promise<Preflight>;
  /** Returns a filter for the tools that the caller may call with some parameters. Lists and searches show only these tools. */
  offeredTo(principal: Principal): (tool: RegisteredTool) => boolean;
  /**
   * Returns why no call of the tool by any caller can run: at present (`now`), or as long as the hubs stay unchanged (`ever`). Returns
   * undefined if a call could run.
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

/** Sorts the keys of the objects in a result and hashes its canonical form. The order of arrays has a meaning and is kept. */
export function normalizeResult(result: Json): NormalResult {
  const text = canonicalJson(result);
  return { value: JSON.parse(text) as Json, hash: blake3Hex(text) };
}

/** Returns the envelope of a successful call, with a new id. */
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

/** Returns the envelope of a failed or refused call, with the error's hash. */
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

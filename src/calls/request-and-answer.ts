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

/** Where the caller wants a call to run. */
export interface RoutingPreferences {
  readonly prefer_nodes?: readonly string[];
  readonly exclude_nodes?: readonly string[];
  /** Ids or names of the only hubs that may run it. */
  readonly only_nodes?: readonly string[];
  readonly hop_budget?: number;
}

/** A call of a tool, as HTTP, MCP and the mesh pass it to the pipeline. */
export interface CallRequest {
  readonly principal: Principal;
  /** Name, canonical id, alias or model-facing name. */
  readonly tool: string;
  /** Required versions as a Semver range, such as `>=1.0.0`. */
  readonly version?: string;
  readonly params: unknown;
  /** Shortens the tool's own time limit, never lengthens it. */
  readonly timeoutMs?: number;
  readonly idempotencyKey?: string;
  /** The caller's own id of the request; random when absent. */
  readonly requestId?: string;
  readonly traceId?: string;
  readonly sessionId?: string;
  readonly signal?: AbortSignal;
  /** Is called once when all checks have passed, right before the handler starts or another hub is called. */
  readonly onDispatch?: () => void;
  /** Receives progress and partial results of a tool with `stream_supported`, until the call is answered. */
  readonly onChunk?: (chunk: CallChunk) => void;
  /** Asks the person behind the caller; absent if nobody can be asked. The signal aborts if the call ends first. */
  readonly onQuestion?: (question: Required<ToolQuestion>, signal: AbortSignal) => Promise<ToolAnswer>;
  readonly onMessage?: (message: ToolMessage) => void;
  /** The caller needs partial results: a tool without them is refused with NOT_SUPPORTED. */
  readonly wantsChunks?: true;
  readonly routing?: RoutingPreferences;
  /** Data that a program with an embedded hub passes to its own tools: facts about its user and its session. */
  readonly callerData?: CallerData;
  /** The context of the outer call of a step: the step runs in its slot and ends with it. HTTP, MCP and the mesh never set it. */
  readonly within?: ToolContext;
  /** The hub itself makes the call, for example for an automation. */
  readonly isOwn?: true;
}

interface AnswerBase {
  readonly id: string;
  readonly request_id: string;
  readonly trace_id: string;
  /** Time of the answer, RFC 3339 in UTC, by the best known time. */
  readonly timestamp: string;
  readonly execution: { readonly node_id: string; readonly duration_ms: number; readonly hops: number };
  /** BLAKE3, hex, of the RFC 8785 form of the result or error. */
  readonly response_hash: string;
  /** Media type of a text in the result, if the tool declares it. */
  readonly content_type?: string;
  /** Data that the tool adds to its result; the hash does not cover it. */
  readonly details?: JsonObject;
}

/** The answer of a call: the normalised result, or an error. */
export type CallAnswer =
  | (AnswerBase & { readonly status: 'success'; readonly result: Json })
  | (AnswerBase & { readonly status: 'error'; readonly error: ErrorBody });

/** States of a job; `expired` means that its result was deleted. */
export const JOB_STATUSES = ['queued', 'running', 'succeeded', 'failed', 'cancelled', 'expired'] as const;
export type JobStatus = (typeof JOB_STATUSES)[number];

/** A job as callers see it. */
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

/** The answer of a call that becomes a job: the started job, or the refusal. */
export type AsyncAnswer = { readonly kind: 'job'; readonly job: JobView } | { readonly kind: 'refused'; readonly answer: CallAnswer };

/** Whether a call would pass its checks now, and its effects. */
export type Preflight =
  | { readonly allowed: true; readonly risk: Risk; readonly effects: readonly Effect[] }
  | { readonly allowed: false; readonly error: ErrorBody };

/** Port: makes calls of tools, or judges them without running. A call never throws: refusals and failures are answers. */
export interface ToolCaller {
  call(request: CallRequest): Promise<CallAnswer>;
  /** Checks a call and runs it as a job of the caller; returns at once, also for a refusal. */
  callAsync(request: CallRequest): Promise<AsyncAnswer>;
  /**
   * Returns whether a call would pass its checks, without the rate limit. Nothing runs and nothing is used up, but a necessary approval is
   * requested. Inner calls are checked too.
   */
  preflight(request: CallRequest): Promise<Preflight>;
  /** Returns whether a call of the tool could pass, before its parameters are known. */
  preflightTool(request: Omit<CallRequest, 'params'>): Promise<Preflight>;
  /** Returns a filter for the tools of which the caller may make some call; lists and searches show only these. */
  offeredTo(principal: Principal): (tool: RegisteredTool) => boolean;
  /** Returns why no caller's call of a tool would run `now`, or `ever` while the hubs stay unchanged; undefined if a call could run. */
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

/** A result with sorted keys and its canonical text. */
export interface NormalResult {
  readonly value: Json;
  readonly hash: string;
}

/** Sorts the members of a result and hashes its canonical form; arrays keep their order, which has meaning. */
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

/** Returns the envelope of a call that failed or was refused; the hash is that of the error. */
export function errorAnswer(facts: AnswerFacts, error: AtmoError): CallAnswer {
  return { ...base(facts, errorHash(error)), status: 'error', error: error.toBody() };
}

/** Returns the BLAKE3 (hex) of an error's canonical form as callers see it. */
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

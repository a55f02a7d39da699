import { randomUUID } from 'node:crypto';
import { canonicalJson } from '../codec/canonical-json.ts';
import { blake3Hex } from '../codec/hashes.ts';
import type { Principal } from '../core/auth/principal.ts';
import { isoTime } from '../core/clock.ts';
import type { AtmoError, ErrorBody } from '../core/errors.ts';
import type { Json, JsonObject } from '../core/json.ts';
import type { ToolAnswer, ToolQuestion } from '../tools/definition/elicitation.ts';
import type { CallChunk, ToolMessage } from '../tools/definition/notifications.ts';
import type { CallerData, ToolContext } from '../tools/definition/tool-definition.ts';
import type { RoutingPreferences } from './routing/route-ranking.ts';

/** One call of a tool, as every door hands it over. */
export interface CallRequest {
  readonly principal: Principal;
  /** Name, canonical id, alias or model-facing name. */
  readonly tool: string;
  /** Semver range, such as `>=1.0.0`. */
  readonly version?: string;
  readonly params: unknown;
  /** Shortens the tool's own time limit, never lengthens it. */
  readonly timeoutMs?: number;
  readonly idempotencyKey?: string;
  /** The caller's own id of the request; made up when absent. */
  readonly requestId?: string;
  readonly traceId?: string;
  readonly sessionId?: string;
  /** Aborts when the caller gives up. */
  readonly signal?: AbortSignal;
  /** Told once when the call was let through, right before its handler starts or another hub is asked. */
  readonly onDispatch?: () => void;
  /** Hears how far the call is and what it has found so far, of a tool with `stream_supported`, until it is answered. */
  readonly onChunk?: (chunk: CallChunk) => void;
  /**
   * Asks the person behind the caller; what it answers is checked against the question. Absent where nobody can be asked. The
   * signal aborts when the call ends first.
   */
  readonly onQuestion?: (question: Required<ToolQuestion>, signal: AbortSignal) => Promise<ToolAnswer>;
  /** Hears what the tool tells while it runs; nobody listens when absent. */
  readonly onMessage?: (message: ToolMessage) => void;
  /** The caller relies on chunks: NOT_SUPPORTED by a tool that has none. */
  readonly wantsChunks?: true;
  readonly routing?: RoutingPreferences;
  /** What a program that runs the hub inside itself gives its own tools along: facts of its user and its session. */
  readonly callerData?: CallerData;
  /**
   * The running call of which this one is a step, as its handler was given it: the step runs in the slot of that call, ends
   * with it and not after it. No door sets it.
   */
  readonly within?: ToolContext;
  /** The hub makes it by itself, such as for an automation, so that it did not wait for the hub anywhere. */
  readonly isOwn?: true;
}

interface AnswerBase {
  readonly id: string;
  readonly request_id: string;
  readonly trace_id: string;
  /** When it was answered, RFC 3339 in UTC, by the best that the hub knows of the time. */
  readonly timestamp: string;
  readonly execution: { readonly node_id: string; readonly duration_ms: number; readonly hops: number };
  /** BLAKE3, hex, of the RFC 8785 form of the result or error. */
  readonly response_hash: string;
  /** Media type of what a text in the result holds, where the tool says one. */
  readonly content_type?: string;
  /** What the tool says about its result beside it; the hash does not cover it. */
  readonly details?: JsonObject;
}

/** The answer of a call (source 000 §4): the normalised result, or an error of the one table. */
export type CallAnswer =
  | (AnswerBase & { readonly status: 'success'; readonly result: Json })
  | (AnswerBase & { readonly status: 'error'; readonly error: ErrorBody });

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

/** The envelope of a call that ended well, under an id of its own. */
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

/** The envelope of a call that failed or was refused; the hash is that of the error. */
export function errorAnswer(facts: AnswerFacts, error: AtmoError): CallAnswer {
  return { ...base(facts, errorHash(error)), status: 'error', error: error.toBody() };
}

/** BLAKE3, hex, of the canonical form of an error as callers see it. */
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

import { randomUUID } from 'node:crypto';
import type { Principal } from '../../core/access/principal.ts';
import type { AtmoError, ErrorBody } from '../../core/errors.ts';
import type { Json } from '../../core/json.ts';
import { canonicalJson } from '../../wire/canonical-json.ts';
import { blake3Hex } from '../../wire/hashes.ts';
import type { ToolContext } from '../definition/tool-definition.ts';
import type { CallChunk } from './asking/call-chunk.ts';
import type { ToolMessage } from './asking/tool-message.ts';
import type { ToolAnswer, ToolQuestion } from './asking/tool-question.ts';
import type { RoutingWish } from './routes/route-score.ts';

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
  readonly routing?: RoutingWish;
  /**
   * The running call of which this one is a step, as its handler was given it: the step runs in the slot of that call, ends
   * with it and not after it. No door sets it.
   */
  readonly within?: ToolContext;
}

interface AnswerBase {
  readonly id: string;
  readonly request_id: string;
  readonly trace_id: string;
  readonly execution: { readonly node_id: string; readonly duration_ms: number; readonly hops: number };
  /** BLAKE3, hex, of the RFC 8785 form of the result or error. */
  readonly response_hash: string;
}

/** The answer of a call (source 000 §4): the normalised result, or an error of the one table. */
export type CallAnswer =
  | (AnswerBase & { readonly status: 'success'; readonly result: Json })
  | (AnswerBase & { readonly status: 'error'; readonly error: ErrorBody });

interface AnswerFacts {
  readonly requestId: string;
  readonly traceId: string;
  readonly nodeId: string;
  readonly durationMs: number;
  readonly hops: number;
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
  return { ...base(facts, result.hash), status: 'success', result: result.value };
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
    execution: { node_id: facts.nodeId, duration_ms: Math.round(facts.durationMs * 1000) / 1000, hops: facts.hops },
    response_hash: responseHash,
  };
}

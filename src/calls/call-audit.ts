import { principalKey } from '../core/auth/principal.ts';
import type { Clock } from '../core/clock.ts';
import { AtmoError } from '../core/errors.ts';
import type { Json, JsonObject } from '../core/json.ts';
import { redact } from '../core/logger.ts';
import type { AuditIntent, AuditOutcome, AuditSink, RunContext } from '../core/storage/audit-sink.ts';
import { copyJsonObject, RESULT_LIMITS } from '../tools/schema/plain-json.ts';
import { maskResult, maskSecrets, withoutSecretTexts } from '../tools/schema/secrets.ts';
import type { Call } from './call.ts';
import type { StageContext } from './pipeline-context.ts';
import type { CallAnswer } from './request-and-answer.ts';
import type { RouteCandidate } from './routing/route-ranking.ts';

/** Longest JSON text of parameters or a result that the journal and events repeat. */
const MAX_SHOWN_LENGTH = 4_096;

/** What is written before a call runs (source 001, ToolRequest). */
export function auditIntent(call: Call, context: StageContext, run: RunContext): AuditIntent {
  const params = auditedParams(call);
  return {
    kind: 'intent',
    ...commonEntry(call, run.logicalTimeMs),
    ...nodeOf(call.route[0]),
    argumentsHash: call.hash(context.sealSecret),
    ...(params.isShort && { params: params.value }),
    effects: call.effects,
    decision: {
      ...(call.approval && { approvedBy: call.approval.by, approvalId: call.approval.id }),
      ...(call.rule !== undefined && { rule: call.rule }),
    },
    run,
    mustSync: call.risk === 'dangerous' || (call.isElsewhere && call.tool.definition.metadata.isDangerous),
  };
}

/** What is written when a call has ended or was refused (source 001, ToolResponse and ToolDenied). */
export function auditOutcome(call: Call, answer: CallAnswer, atMs: number): AuditOutcome {
  const result = answer.status === 'success' ? auditedResult(call, answer.result) : undefined;
  return {
    kind: call.isDispatched ? 'outcome' : 'refusal',
    ...commonEntry(call, atMs),
    ...nodeOf(call.ranOn),
    durationMs: answer.execution.duration_ms,
    responseHash: answer.response_hash,
    ...(result !== undefined && { result }),
    ...(answer.status === 'error' && { error: answer.error.code, message: String(redact(answer.error.message)) }),
  };
}

/** Parameters as events show them, or how long they are: events are remembered for listeners that come back. */
export function eventParams(call: Call): JsonObject {
  const params = auditedParams(call);
  if (!call.tool.definition.metadata.audit.logParams) return {};
  return params.isShort ? { params: params.value } : { params_length: params.length };
}

function commonEntry(call: Call, atMs: number) {
  const { requestId, traceId, isResolved } = call;
  // A name that no tool has is whatever the caller wrote, perhaps a token in the wrong place.
  const toolId = isResolved ? call.toolId : String(redact(call.toolId));
  return { requestId, traceId, principal: call.request.principal, toolId, atMs };
}

function nodeOf(candidate: RouteCandidate | undefined): { readonly nodeId?: string } {
  return candidate && !candidate.isLocal ? { nodeId: candidate.id } : {};
}

interface AuditedParams {
  readonly isShort: boolean;
  readonly value: JsonObject;
  readonly length: number;
}

/** Asked for by the journal and by events, of parameters that no longer change. */
const shownParamsOfCalls = new WeakMap<Call, AuditedParams>();

function auditedParams(call: Call): AuditedParams {
  const known = shownParamsOfCalls.get(call);
  if (known) return known;
  const { parameters, metadata } = call.tool.definition;
  const value = maskSecrets(parameters, call.params);
  const { length } = JSON.stringify(value);
  const params = { isShort: metadata.audit.logParams && length <= MAX_SHOWN_LENGTH, value, length };
  shownParamsOfCalls.set(call, params);
  return params;
}

function auditedResult(call: Call, result: Json): Json | undefined {
  if (!call.tool.definition.metadata.audit.logResult) return undefined;
  const masked = maskedResult(call, result);
  return JSON.stringify(masked).length <= MAX_SHOWN_LENGTH ? masked : undefined;
}

/** What every event of a call carries. */
export function eventData(call: Call): JsonObject {
  const data = { tool: call.toolId, request_id: call.requestId, trace_id: call.traceId, agent_id: call.request.principal.id };
  if (!call.isResolved) return data;
  const { audit, isDangerous } = call.tool.definition.metadata;
  // A generic tool is as dangerous as what it is told to do.
  return audit.notifyAdmins || (!isDangerous && call.risk === 'dangerous') ? { ...data, notify_admins: true } : data;
}

const WINDOW_MS = 10_000;

interface AuditWriterCollaborators {
  readonly audit: AuditSink;
  readonly clock: Clock;
  readonly nowMs: () => number;
}

/**
 * Writes down how calls end, so that nobody can fill the disk by being refused: of a caller that calls too often the first
 * RATE_LIMITED in 10 s is a row, and one note tells how many more there were.
 */
export class CallAuditWriter {
  readonly #collaborators: AuditWriterCollaborators;
  /** How many were left out, by caller; an entry lives as long as its window. */
  readonly #leftOut = new Map<string, number>();

  constructor(collaborators: AuditWriterCollaborators) {
    this.#collaborators = collaborators;
  }

  /** As `AuditSink.record`. */
  async record(outcome: AuditOutcome): Promise<void> {
    if (outcome.error === 'RATE_LIMITED' && outcome.kind === 'refusal' && this.#isLeftOut(outcome)) return;
    await this.#collaborators.audit.record(outcome);
  }

  /** A call that got the answer of an earlier one with the same idempotency key: nothing ran. */
  async recordRepeat({ request, requestId, traceId, toolId }: Call): Promise<void> {
    const { audit, nowMs } = this.#collaborators;
    const data = { tool: toolId, request: requestId };
    await audit.record({ kind: 'note', event: 'call.repeated', atMs: nowMs(), principalId: request.principal.id, traceId, data });
  }

  #isLeftOut({ principal }: AuditOutcome): boolean {
    const key = principalKey(principal);
    const count = this.#leftOut.get(key);
    this.#leftOut.set(key, (count ?? -1) + 1);
    if (count !== undefined) return true;
    this.#collaborators.clock.after(WINDOW_MS, () => this.#close(key, principal.id));
    return false;
  }

  #close(key: string, principalId: string): void {
    const count = this.#leftOut.get(key) ?? 0;
    this.#leftOut.delete(key);
    if (count === 0) return;
    const { audit, nowMs } = this.#collaborators;
    // A disk that refuses is told of by the rows that matter.
    audit.record({ kind: 'note', event: 'call.rate_limited', atMs: nowMs(), principalId, data: { count } }).catch(() => {});
  }
}

/** The answer as it may lie on the disk. */
export function storableAnswer(call: Call, answer: CallAnswer): JsonObject {
  if (answer.status === 'error') return copyJsonObject(answer, RESULT_LIMITS);
  return copyJsonObject({ ...answer, result: maskedResult(call, answer.result) }, RESULT_LIMITS);
}

/** The result without what its schema or the call's parameters say is secret. */
function maskedResult({ tool, secrets }: Call, result: Json): Json {
  return withoutSecretTexts(maskResult(tool.definition.returns, result), secrets);
}

/** The error as callers may be told it: a tool may repeat in it what it was given. */
export function redactedError({ secrets }: Call, error: AtmoError): AtmoError {
  if (secrets.length === 0) return error;
  const { code, message, details } = error;
  return new AtmoError(code, withoutSecretTexts(message, secrets), withoutSecretTexts(details, secrets), { cause: error.cause });
}

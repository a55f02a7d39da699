import type { Json, JsonObject } from '../../../core/json.ts';
import { redact } from '../../../core/logger.ts';
import type { AuditIntent, AuditOutcome, RunContext } from '../../../core/storage/audit-sink.ts';
import { maskSecrets } from '../../schema/secret-params.ts';
import type { Call } from '../call.ts';
import type { CallAnswer } from '../call-answer.ts';
import type { RouteCandidate } from '../routes/route-score.ts';
import type { StageContext } from '../stages/stage-context.ts';
import { maskedResult } from './call-secrets.ts';

/** Longest JSON text of parameters or a result that the journal and events repeat. */
const MAX_SHOWN_LENGTH = 4_096;

/** What is written before a call runs (source 001, ToolRequest). */
export function auditIntent(call: Call, context: StageContext, run: RunContext): AuditIntent {
  const params = shownParams(call);
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
  const result = answer.status === 'success' ? shownResult(call, answer.result) : undefined;
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
  const params = shownParams(call);
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

interface ShownParams {
  readonly isShort: boolean;
  readonly value: JsonObject;
  readonly length: number;
}

/** Asked for by the journal and by events, of parameters that no longer change. */
const shown = new WeakMap<Call, ShownParams>();

function shownParams(call: Call): ShownParams {
  const known = shown.get(call);
  if (known) return known;
  const { parameters, metadata } = call.tool.definition;
  const value = maskSecrets(parameters, call.params);
  const { length } = JSON.stringify(value);
  const params = { isShort: metadata.audit.logParams && length <= MAX_SHOWN_LENGTH, value, length };
  shown.set(call, params);
  return params;
}

function shownResult(call: Call, result: Json): Json | undefined {
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

import { principalKey } from '../core/auth/principal.ts';
import type { TrustedTime } from '../core/clock.ts';
import type { HubContext } from '../core/context.ts';
import { type DeviceState, KEPT_BY_HUB } from '../core/devices/device-model.ts';
import { AtmoError } from '../core/errors.ts';
import type { Json, JsonObject } from '../core/json.ts';
import { redact } from '../core/logger.ts';
import type { RunContext } from '../core/storage/audit-log.ts';
import type { AuditIntent, AuditOutcome } from '../core/storage/audit-sink.ts';
import type { Restorable } from '../tools/definition/tool-definition.ts';
import { copyJsonObject, RESULT_LIMITS } from '../tools/schema/plain-json.ts';
import { maskResult, maskSecrets, withoutSecretTexts } from '../tools/schema/secrets.ts';
import {
  type CallFacts,
  callHash,
  isElsewhere,
  type ReauthorizedCall,
  type RoutedCall,
  type RunningCall,
  riskOf,
  secretsOf,
  toolIdOf,
} from './call.ts';
import type { RouteCandidate, StageContext } from './pipeline-context.ts';
import type { CallAnswer } from './request-and-answer.ts';

/** Maximum length of parameters or a result in the audit log and in events, in characters of JSON text. */
const MAX_SHOWN_LENGTH = 4_096;

/** Returns the audit row that is written before a call runs. */
export function auditIntent(call: RoutedCall, context: StageContext, run: RunContext): AuditIntent {
  const params = auditedParams(call);
  const approval = call.approval ?? call.coveredBy;
  return {
    kind: 'intent',
    ...commonEntry(call, run.logicalTimeMs),
    ...nodeOf(call.route[0]),
    argumentsHash: callHash(call, context.sealSecret),
    ...(params.isShort && { params: params.value }),
    effects: call.effects,
    ...(call.running.before && { before: call.running.before }),
    decision: {
      ...(approval && { approvedBy: approval.by, approvalId: approval.id }),
      ...(call.rule !== undefined && { rule: call.rule }),
    },
    run,
    mustSync: riskOf(call) === 'dangerous' || (isElsewhere(call) && call.tool.definition.metadata.isDangerous),
  };
}

/** Returns the audit row that is written when a call has ended or was refused. */
export function auditOutcome(call: CallFacts, answer: CallAnswer, { time, states }: Pick<StageContext, 'time' | 'states'>): AuditOutcome {
  const { before, isDispatched, restorable } = call.running;
  const result = answer.status === 'success' ? auditedResult(call, answer.result) : undefined;
  return {
    kind: isDispatched ? 'outcome' : 'refusal',
    ...commonEntry(call, time.now()),
    ...nodeOf(call.running.ranOn),
    durationMs: answer.execution.duration_ms,
    responseHash: answer.response_hash,
    ...(result !== undefined && { result }),
    ...(before && isDispatched && { after: restorable ? stateOf(restorable) : states.latest(before) }),
    ...(answer.status === 'error' && { error: answer.error.code, message: String(redact(answer.error.message)) }),
  };
}

/**
 * Returns the parameters for an event, with masked secrets. If they are too long, returns only their length. If the tool forbids logging,
 * returns an empty object. Events follow the rules of the audit log, because the hub stores events for listeners that reconnect.
 */
export function eventParams(call: ReauthorizedCall): JsonObject {
  const params = auditedParams(call);
  if (!call.tool.definition.metadata.audit.logParams) return {};
  return params.isShort ? { params: params.value } : { params_length: params.length };
}

/** Returns what is there now in the form of the audit log. What is not known is absent. */
export function stateOf({ path, now }: Restorable): DeviceState {
  const value = now();
  return { [KEPT_BY_HUB]: value === undefined ? {} : { [path]: value } };
}

function commonEntry(call: CallFacts, atMs: number) {
  const { requestId, traceId } = call.running;
  // The name of an unknown tool may be any text, even a token by mistake.
  const toolId = call.tool ? call.tool.id : String(redact(toolIdOf(call)));
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

/** The logged parameters of each call, cached to mask secrets only once. No stage after `writeIntent` changes the parameters. */
const shownParamsOfCalls = new WeakMap<RunningCall, AuditedParams>();

function auditedParams(call: RoutedCall): AuditedParams {
  const known = shownParamsOfCalls.get(call.running);
  if (known) return known;
  const { parameters, metadata } = call.tool.definition;
  const value = maskSecrets(parameters, call.params);
  const { length } = JSON.stringify(value);
  const params = { isShort: metadata.audit.logParams && length <= MAX_SHOWN_LENGTH, value, length };
  shownParamsOfCalls.set(call.running, params);
  return params;
}

function auditedResult(call: CallFacts, result: Json): Json | undefined {
  if (!call.tool?.definition.metadata.audit.logResult) return undefined;
  const masked = maskedResult(call, result);
  return JSON.stringify(masked).length <= MAX_SHOWN_LENGTH ? masked : undefined;
}

/** Returns the fields that all events about a call have in common. */
export function eventData(call: CallFacts): JsonObject {
  const { requestId, traceId } = call.running;
  const data = { tool: toolIdOf(call), request_id: requestId, trace_id: traceId, agent_id: call.request.principal.id };
  if (!call.tool) return data;
  const { audit, isDangerous } = call.tool.definition.metadata;
  // Administrators are also notified of a dangerous call of a tool that is not declared dangerous, such as a generic tool.
  return audit.notifyAdmins || (!isDangerous && riskOf(call) === 'dangerous') ? { ...data, notify_admins: true } : data;
}

const WINDOW_MS = 10_000;

interface AuditWriterCollaborators extends Pick<HubContext, 'clock' | 'audit'> {
  readonly time: Pick<TrustedTime, 'now'>;
}

/**
 * Writes outcomes of calls to the audit log. If a caller gets several RATE_LIMITED refusals within 10 s, writes the first one and, after
 * the 10 s, one note with the number of the others.
 */
export class CallAuditWriter {
  readonly #collaborators: AuditWriterCollaborators;
  /** By caller: the number of RATE_LIMITED refusals that were not written. An entry is deleted after 10 s. */
  readonly #leftOut = new Map<string, number>();

  constructor(collaborators: AuditWriterCollaborators) {
    this.#collaborators = collaborators;
  }

  /** Writes an outcome to the audit log, except for a caller's repeated RATE_LIMITED refusals. Rejects like `AuditSink.record`. */
  async record(outcome: AuditOutcome): Promise<void> {
    if (outcome.error === 'RATE_LIMITED' && outcome.kind === 'refusal' && this.#isLeftOut(outcome)) return;
    await this.#collaborators.audit.record(outcome);
  }

  /** Records that a call received the stored answer of an earlier call with the same idempotency key, and that no tool ran. */
  async recordRepeat(call: CallFacts): Promise<void> {
    const { audit, time } = this.#collaborators;
    const { request, requestId, traceId } = call.running;
    const data = { tool: toolIdOf(call), request: requestId };
    await audit.record({ kind: 'note', event: 'call.repeated', atMs: time.now(), principalId: request.principal.id, traceId, data });
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
    const { audit, time } = this.#collaborators;
    // A failed write is ignored here, because the writes of more important rows report the same failure of the disk.
    audit.record({ kind: 'note', event: 'call.rate_limited', atMs: time.now(), principalId, data: { count } }).catch(() => {});
  }
}

/** Returns the answer without secrets, for the idempotency store. */
export function storableAnswer(call: CallFacts, answer: CallAnswer): JsonObject {
  if (answer.status === 'error') return copyJsonObject(answer, RESULT_LIMITS);
  return copyJsonObject({ ...answer, result: maskedResult(call, answer.result) }, RESULT_LIMITS);
}

/** Returns the result without the values that its schema marks as secret, and without the values of secret parameters. */
function maskedResult(call: CallFacts, result: Json): Json {
  return withoutSecretTexts(maskResult(call.tool?.definition.returns ?? {}, result), secretsOf(call));
}

/** Returns the error without the values of secret parameters, because a tool may repeat such a value in its error message. */
export function redactedError(call: CallFacts, error: AtmoError): AtmoError {
  const secrets = secretsOf(call);
  if (secrets.length === 0) return error;
  const { code, message, details } = error;
  return new AtmoError(code, withoutSecretTexts(message, secrets), withoutSecretTexts(details, secrets), { cause: error.cause });
}

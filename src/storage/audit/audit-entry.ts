import { canonicalJson } from '../../codec/canonical-json.ts';
import type { Effect, Principal } from '../../core/auth/principal.ts';
import { AtmoError } from '../../core/errors.ts';
import { type Json, type JsonObject, present } from '../../core/json.ts';
import { redact } from '../../core/logger.ts';
import type { AuditIntent, AuditNote, AuditOutcome } from '../../core/storage/audit-sink.ts';
import type { AuditFields } from './audit-chain.ts';

/** An entry of the audit log. */
export type AuditEntry = AuditIntent | AuditOutcome | AuditNote;

const MAX_CONTENT_LENGTH = 32_768;
const MAX_MEMBER_LENGTH = 1_024;
const MAX_NAME_LENGTH = 256;
// Setup codes and tokens, which no identifier resembles. Endpoints and pipeline mask secrets by schema; this is the second defence.
const SECRETS = /MT:[A-Z0-9.\-*]{10,}|\bat[01]\.[A-Za-z0-9_-]{16,}(?:\.[A-Za-z0-9_-]+)?/g;

/** Most names match this and need no further check. */
const PLAIN = /^[a-z0-9:@_/-]*$/;

/** Members of an object in the order of their names, each as RFC 8785 text: every call waits for this, so only what callers sent is sorted. */
type Members = Readonly<Record<string, string | undefined>>;

/** An entry as the fields of a row: ids of principal and tokens, never their text; notes and messages redacted as in the log. */
export function fieldsOf(entry: AuditEntry): AuditFields {
  if (entry.kind === 'note') return noteFields(entry);
  const { kind, principal, toolId, requestId, traceId } = entry;
  const content = entry.kind === 'intent' ? intentContent(entry) : outcomeContent(entry);
  return {
    kind,
    atMs: Math.trunc(entry.atMs),
    agent: name(principal.id),
    ...(principal.token && { tokens: tokenIds(principal.token) }),
    tool: name(toolId),
    request: name(requestId),
    trace: name(traceId),
    content: contentText(content),
  };
}

function noteFields({ event, atMs, principalId, traceId, data }: AuditNote): AuditFields {
  return {
    kind: 'note',
    atMs: Math.trunc(atMs),
    ...(principalId !== undefined && { agent: name(principalId) }),
    ...(traceId !== undefined && { trace: name(traceId) }),
    content: contentText({ data: canonical(redact(data) as JsonObject), event: JSON.stringify(event) }),
  };
}

/** The token's own id, then the ids of its chain. */
function tokenIds({ id, chain }: NonNullable<Principal['token']>): readonly string[] {
  return [id, ...chain].map((tokenId) => name(tokenId).replace(/\s/g, '_'));
}

function intentContent({ principal, argumentsHash, params, effects, decision, run, mustSync, nodeId }: AuditIntent): Members {
  const { runId, logicalTimeMs, randomSeed } = run;
  const { approvedBy, approvalId, rule } = decision;
  return {
    arguments_hash: JSON.stringify(argumentsHash),
    decision: Object.keys(decision).length > 0 ? canonical(present({ approved_by: approvedBy, approval_id: approvalId, rule })) : undefined,
    effects: effects.length > 0 ? canonical(effects.map(effectContent)) : undefined,
    must_sync: mustSync ? 'true' : undefined,
    node_id: nodeId && JSON.stringify(nodeId),
    params: params && canonical(params),
    principal_kind: `"${principal.kind}"`,
    run: `{"logical_time_ms":${logicalTimeMs},"random_seed":${JSON.stringify(randomSeed)},"run_id":${JSON.stringify(runId)}}`,
  };
}

function effectContent({ permission, risk, target, device, values, unforeseen }: Effect): JsonObject {
  return present({ permission, risk, target, device, values, unforeseen });
}

function outcomeContent({ principal, error, message, responseHash, result, durationMs, nodeId }: AuditOutcome): Members {
  return {
    duration_ms: JSON.stringify(durationMs),
    error: error && `"${error}"`,
    message: message === undefined ? undefined : JSON.stringify(redact(message.toWellFormed())),
    node_id: nodeId && JSON.stringify(nodeId),
    principal_kind: `"${principal.kind}"`,
    response_hash: responseHash && `"${responseHash}"`,
    result: result === undefined ? undefined : canonical(result),
  };
}

/** The members as text. Members that are too long are left out and named: a row must never be refused for the content of a call. */
function contentText(members: Members): string {
  const text = scrubbed(objectText(members));
  if (text.length <= MAX_CONTENT_LENGTH) return text;
  const omitted = Object.keys(members).filter((name) => (members[name]?.length ?? 0) > MAX_MEMBER_LENGTH);
  const short = Object.entries(members).map(([name, value]) => [name, omitted.includes(name) ? undefined : value] as const);
  const sorted = [...short, ['omitted', JSON.stringify(omitted)] as const].sort(([a], [b]) => (a < b ? -1 : 1));
  return scrubbed(objectText(Object.fromEntries(sorted)));
}

function objectText(members: Members): string {
  let text = '';
  for (const name in members) if (members[name] !== undefined) text += `${text === '' ? '{' : ','}"${name}":${members[name]}`;
  return `${text}}`;
}

function canonical(content: Json): string {
  try {
    return canonicalJson(content);
  } catch (error) {
    if (!(error instanceof AtmoError)) throw error;
    return canonicalJson(wellFormed(content));
  }
}

/** Halves of surrogate pairs, which a caller's text may hold and UTF-8 cannot, become U+FFFD. */
function wellFormed(value: Json): Json {
  if (typeof value === 'string') return value.toWellFormed();
  if (Array.isArray(value)) return value.map((item: Json) => wellFormed(item));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key.toWellFormed(), wellFormed(item)]));
}

/** A name without control characters: SQLite ends a text at a zero byte, and the row would no longer fit its hash. */
function name(text: string): string {
  if (text.length <= MAX_NAME_LENGTH && PLAIN.test(text)) return text;
  return scrubbed(
    text
      .slice(0, MAX_NAME_LENGTH)
      .toWellFormed()
      .replace(/\p{Cc}/gu, '\ufffd'),
  );
}

function scrubbed(text: string): string {
  if (!text.includes('MT:') && !text.includes('at0.') && !text.includes('at1.')) return text;
  return text.replace(SECRETS, '[redacted]');
}

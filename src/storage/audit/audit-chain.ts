import { canonicalJson, jsonText } from '../../codec/canonical-json.ts';
import { sha256Hex } from '../../codec/hashes.ts';
import type { Effect, Principal } from '../../core/auth/principal.ts';
import { isoTime } from '../../core/clock.ts';
import { AtmoError } from '../../core/errors.ts';
import { isJsonObject, type Json, type JsonObject, objectOf, present } from '../../core/json.ts';
import { redact } from '../../core/logger.ts';
import type { AuditRow, AuditVerification } from '../../core/storage/audit-log.ts';
import type { AuditIntent, AuditNote, AuditOutcome } from '../../core/storage/audit-sink.ts';

/** The content of an audit row, before it is linked into the chain. */
export interface AuditFields {
  readonly kind: AuditRow['kind'];
  /** Time in whole milliseconds since 1970. */
  readonly atMs: number;
  readonly agent?: string;
  /** Id of the token, then the ids of all tokens in its chain: root first, the token itself last. */
  readonly tokens?: readonly string[];
  readonly tool?: string;
  readonly request?: string;
  readonly trace?: string;
  /** A JSON object in RFC 8785 form. */
  readonly content: string;
}

/** Sequence number and hash of a row in the chain. */
export interface ChainLink {
  readonly seq: number;
  /** SHA-256 as 64 hex digits. */
  readonly hash: string;
}

/** Returns the link with number 0, which belongs to no row. The first row of the hub's chain follows it. */
export function genesis(hub: string): ChainLink {
  return { seq: 0, hash: sha256Hex(`atmosphere-edge audit v1 ${hub}`) };
}

/** Returns the link of the next row. Its hash is the SHA-256 of two joined texts: the previous hash in hex, and the result of `rowText`. */
export function nextLink(previous: ChainLink, hub: string, fields: AuditFields): ChainLink {
  const seq = previous.seq + 1;
  return { seq, hash: sha256Hex(previous.hash + rowText(hub, seq, fields)) };
}

/** Returns a row in the form of the AuditLog port. */
export function rowOf(hub: string, { seq, hash }: ChainLink, fields: AuditFields): AuditRow {
  const { kind, atMs, agent, tokens, tool, request, trace, content } = fields;
  const [token, ...rest] = tokens ?? [];
  const chain = token === undefined ? undefined : rest;
  const named = present({ agent, token, chain, tool, request, trace });
  return { seq, at: isoTime(atMs), kind, hash, hub, ...named, content: contentOf(content) };
}

/** Content of a row that was damaged in the file. `verify_audit` says which row that is. */
const UNREADABLE: JsonObject = { event: 'audit.unreadable' };

function contentOf(text: string): JsonObject {
  try {
    const content: Json = JSON.parse(text);
    return isJsonObject(content) ? content : UNREADABLE;
  } catch {
    return UNREADABLE;
  }
}

/**
 * Returns a row as RFC 8785 text without its hash. The other members are the same as in `rowOf`, so anyone with an export can recompute the
 * chain. Assembles the text from strings, because the stored content already is RFC 8785 text.
 */
function rowText(hub: string, seq: number, { kind, atMs, agent, tokens, tool, request, trace, content }: AuditFields): string {
  const [token, ...chain] = tokens ?? [];
  return (
    `{${member('agent', agent)}"at":"${isoTime(atMs)}",${token === undefined ? '' : `"chain":${JSON.stringify(chain)},`}` +
    `"content":${content},${member('hub', hub)}"kind":"${kind}",${member('request', request)}"seq":${seq}` +
    `${last('token', token)}${last('tool', tool)}${last('trace', trace)}}`
  );
}

function member(name: string, value: string | undefined): string {
  return value === undefined ? '' : `"${name}":${jsonText(value)},`;
}

function last(name: string, value: string | undefined): string {
  return value === undefined ? '' : `,"${name}":${jsonText(value)}`;
}

type Problem = NonNullable<AuditVerification['problem']>;

/** Event names of the notes that the audit log writes about itself. */
export const AUDIT_LOG_NOTES = {
  began: 'audit.began',
  opened: 'audit.opened',
  pruned: 'audit.pruned',
  resumed: 'audit.resumed',
  /** The hub was restored from a backup. The rows after this note were written after the restore. */
  restored: 'audit.restored',
  /** Rows were lost or do not match their hash. While this note is stored, `AuditCheck.finish` reports the loss. */
  lost: 'audit.lost',
} as const;

interface CheckStart {
  readonly hub: string;
  /** Link of the last pruned row, or the `genesis` link if no row was pruned. */
  readonly after: ChainLink;
  /** Links of this chain that were stored earlier. A row with the same number must have the same hash. */
  readonly witnesses: readonly ChainLink[];
  /** True if the check covers all stored rows. The check then fails if rows were pruned and no stored note names the last pruned row. */
  readonly isWhole: boolean;
}

/** Recomputes a chain row by row. Remembers the first row that does not match, and the reason. */
export class AuditCheck {
  readonly #start: CheckStart;
  #last: ChainLink;
  #rows = 0;
  #problem: Problem | undefined;
  /** A row that does not follow from the row before it. If the next row follows from this row, only this row is wrong. */
  #suspect: ChainLink | undefined;
  #loss: Problem | undefined;
  #pruneNote: ChainLink | undefined;

  constructor(start: CheckStart) {
    this.#start = start;
    this.#last = start.after;
    this.#witness(start.after);
  }

  get rows(): number {
    return this.#rows;
  }

  /** True after a row did not match. */
  get isBroken(): boolean {
    return this.#problem !== undefined || this.#suspect !== undefined;
  }

  /** Checks the next row. Must be called with every row after `CheckStart.after`, in order. */
  take(link: ChainLink, fields: AuditFields): void {
    if (this.#problem) return;
    const expectedSeq = this.#last.seq + 1;
    if (this.#suspect) this.#judge(this.#suspect, link, fields);
    else if (link.seq !== expectedSeq) {
      this.#problem = { seq: expectedSeq, reason: `the rows ${expectedSeq} to ${link.seq - 1} were removed` };
    } else if (nextLink(this.#last, this.#start.hub, fields).hash === link.hash) this.#accept(link, fields);
    else this.#suspect = link;
  }

  /** Returns the first problem of the chain, or undefined. Must be called after the last row, whose expected number is `headSeq`. */
  finish(headSeq: number): Problem | undefined {
    return this.finishRows(headSeq) ?? this.#loss;
  }

  /** Does the same as `finish`, but ignores losses that the audit log has already noted in the chain. */
  finishRows(headSeq: number): Problem | undefined {
    if (this.#suspect) this.#problem ??= { seq: this.#suspect.seq, reason: UNLINKED };
    const highest = Math.max(headSeq, ...this.#start.witnesses.map(({ seq }) => seq));
    if (highest > this.#last.seq) {
      this.#problem ??= { seq: this.#last.seq + 1, reason: `the rows after ${this.#last.seq} were cut off: there were ${highest}` };
    }
    this.#problem ??= this.#unnotedPruning();
    return this.#problem;
  }

  #accept(link: ChainLink, fields: AuditFields): void {
    this.#last = link;
    this.#rows++;
    this.#witness(link);
    if (fields.kind === 'note') this.#readNote(link, fields);
  }

  #judge(suspect: ChainLink, link: ChainLink, fields: AuditFields): void {
    const isOnlyContent = link.seq === suspect.seq + 1 && nextLink(suspect, this.#start.hub, fields).hash === link.hash;
    this.#problem = { seq: suspect.seq, reason: isOnlyContent ? 'the row itself was changed or put in; the one after it fits' : UNLINKED };
  }

  #witness(link: ChainLink): void {
    const witness = this.#start.witnesses.find(({ seq }) => seq === link.seq);
    if (!witness || witness.hash === link.hash) return;
    this.#problem = {
      seq: link.seq,
      reason: `the row is not the one of the head that was kept (${witness.hash}): the audit log was rewritten`,
    };
  }

  #readNote({ seq }: ChainLink, { content }: AuditFields): void {
    const note = contentOf(content);
    // Whoever changes the file can compute a hash that fits.
    if (note === UNREADABLE) this.#problem = { seq, reason: 'the content of the row is no JSON object' };
    const { event } = note;
    const data = objectOf(note.data);
    if (event === AUDIT_LOG_NOTES.pruned) this.#pruneNote = { seq: Number(data.until_seq), hash: String(data.until_hash) };
    if (event === AUDIT_LOG_NOTES.lost) this.#loss ??= { seq: Number(data.seq), reason: String(data.reason) };
  }

  #unnotedPruning(): Problem | undefined {
    const { isWhole, after } = this.#start;
    const { seq, hash } = after;
    if (!isWhole || seq === 0 || (this.#pruneNote?.seq === seq && this.#pruneNote.hash === hash)) return undefined;
    return { seq: seq + 1, reason: `the rows up to ${seq} were removed, and not by the hub` };
  }
}

const UNLINKED = 'the row does not follow from the one before it: it was changed, inserted or moved, or rows before it were replaced';

/** An entry of the audit log: an intent, an outcome or a note. */
export type AuditEntry = AuditIntent | AuditOutcome | AuditNote;

const MAX_CONTENT_LENGTH = 32_768;
const MAX_MEMBER_LENGTH = 1_024;
const MAX_NAME_LENGTH = 256;
// Matches setup codes and tokens, but no ids. This is a second defence: endpoints and the pipeline already mask secrets by schema.
const SECRETS = /MT:[A-Z0-9.\-*]{10,}|\bat[01]\.[A-Za-z0-9_-]{16,}(?:\.[A-Za-z0-9_-]+)?/g;

/** Most names match this pattern and need no further check. */
const PLAIN = /^[a-z0-9:@_/-]*$/;

/** Members of a JSON object, sorted by name. Each value is RFC 8785 text. */
type Members = Readonly<Record<string, string | undefined>>;

/** Returns the row fields of an entry. Principal and tokens appear only as ids. Secrets in notes and messages are redacted. */
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

/** Returns the token's own id, then the ids of all tokens in its chain. */
function tokenIds({ id, chain }: NonNullable<Principal['token']>): readonly string[] {
  return [id, ...chain].map((tokenId) => name(tokenId).replace(/\s/g, '_'));
}

function intentContent({ principal, argumentsHash, params, effects, before, decision, run, mustSync, nodeId }: AuditIntent): Members {
  const { runId, logicalTimeMs, randomSeed } = run;
  const { approvedBy, approvalId, rule } = decision;
  return {
    arguments_hash: jsonText(argumentsHash),
    before: before && canonical(before),
    decision: Object.keys(decision).length > 0 ? canonical(present({ approved_by: approvedBy, approval_id: approvalId, rule })) : undefined,
    effects: effects.length > 0 ? canonical(effects.map(effectContent)) : undefined,
    must_sync: mustSync ? 'true' : undefined,
    node_id: nodeId && JSON.stringify(nodeId),
    params: params && canonical(params),
    principal_kind: `"${principal.kind}"`,
    run: `{"logical_time_ms":${logicalTimeMs},"random_seed":${jsonText(randomSeed)},"run_id":${jsonText(runId)}}`,
  };
}

function effectContent({ permission, risk, target, device, values, unforeseen }: Effect): JsonObject {
  return present({ permission, risk, target, device, values, unforeseen });
}

function outcomeContent({ principal, error, message, responseHash, result, after, durationMs, nodeId }: AuditOutcome): Members {
  return {
    after: after && canonical(after),
    duration_ms: JSON.stringify(durationMs),
    error: error && `"${error}"`,
    message: message === undefined ? undefined : JSON.stringify(redact(message.toWellFormed())),
    node_id: nodeId && JSON.stringify(nodeId),
    principal_kind: `"${principal.kind}"`,
    response_hash: responseHash && `"${responseHash}"`,
    result: result === undefined ? undefined : canonical(result),
  };
}

/** Returns JSON text. If it is too long, omits long members and lists their names in `omitted`, so that no row is refused for its size. */
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

/** Replaces unpaired surrogates in a caller's text by U+FFFD, since UTF-8 cannot encode unpaired surrogates. */
function wellFormed(value: Json): Json {
  if (typeof value === 'string') return value.toWellFormed();
  if (Array.isArray(value)) return value.map((item: Json) => wellFormed(item));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key.toWellFormed(), wellFormed(item)]));
}

/** Returns a name without control characters. Otherwise SQLite would end the text at a zero byte, and the row would not match its hash. */
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

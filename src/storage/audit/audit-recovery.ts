import type { DatabaseSync } from 'node:sqlite';
import { canonicalJson } from '../../codec/canonical-json.ts';
import { isJsonObject, type JsonObject } from '../../core/json.ts';
import type { AuditVerification } from '../../core/storage/audit-log.ts';
import type { KeyValueStore } from '../../core/storage/key-value-store.ts';
import { type AUDIT_LOG_NOTES, AuditCheck, type AuditFields, type ChainLink } from './audit-chain.ts';
import { type ChainedRow, type ChainStart, lastLink, linkAt, SLICE_ROWS, sliceAfter } from './audit-database.ts';

/** A fault of the stored chain. It is logged and emitted as `hub.warning`. A fault found at the start is also noted in the chain. */
export interface Loss {
  readonly warning: 'audit.log_truncated' | 'audit.log_rewritten' | 'audit.log_damaged' | 'audit.log_replaced';
  readonly seq: number;
  readonly reason: string;
}

/** An opened chain, before new rows are appended to it. */
export interface OpenedChain {
  readonly database: DatabaseSync;
  readonly ledger: ChainStart;
  /** Link of the last row, which is in audit.db or in the front file. */
  readonly head: ChainLink;
  /** Rows of the front file that could not be committed yet. */
  readonly waiting: readonly ChainedRow[];
  readonly problem?: NonNullable<AuditVerification['problem']>;
}

interface ChainAnchors {
  readonly hub: string;
  readonly anchor: AuditAnchor;
  /** Number of the last written row, according to the file `anchors`. */
  readonly rowsGiven: number;
}

/** Checks the end of the chain, compares it with its anchors, and finds the calls without an outcome. */
export function examineChain(chain: OpenedChain, { hub, anchor, rowsGiven }: ChainAnchors) {
  const { database, ledger, problem, waiting } = chain;
  const inFront: Loss | undefined = problem && { warning: 'audit.log_damaged', ...problem };
  const losses = [foreign(ledger, hub), cutOff(chain, anchor, problem ? 0 : rowsGiven), brokenTail(database, ledger), inFront].filter(
    (loss) => loss !== undefined,
  );
  const openFromSeq = losses.length > 0 ? 0 : (anchor.read()?.openFromSeq ?? 0);
  const openIntents = intentsSince(database, openFromSeq - 1);
  for (const { link, fields } of waiting) openIntents.track(link.seq, fields);
  return { losses, openIntents };
}

/** Returns a note of the audit log about itself. Unlike in other notes, hashes are not redacted. */
export function auditNote(event: (typeof AUDIT_LOG_NOTES)[keyof typeof AUDIT_LOG_NOTES], atMs: number, data: JsonObject): AuditFields {
  return { kind: 'note', atMs, content: canonicalJson({ event, data }) };
}

function foreign({ hub: beganBy }: ChainStart, hub: string): Loss | undefined {
  if (beganBy === hub) return undefined;
  return { warning: 'audit.log_replaced', seq: 0, reason: `the audit log was begun by ${beganBy}, and this hub is ${hub}` };
}

function cutOff({ database, ledger, head, waiting }: OpenedChain, anchor: AuditAnchor, rowsGiven: number): Loss | undefined {
  const expected = anchor.read()?.head;
  const lastSeq = Math.max(expected?.seq ?? 0, rowsGiven);
  if (lastSeq > head.seq) {
    const known = lastSeq === expected?.seq ? `; the last one had the hash ${expected.hash}` : '';
    return { warning: 'audit.log_truncated', seq: head.seq + 1, reason: `the rows ${head.seq + 1} to ${lastSeq} were cut off${known}` };
  }
  if (!expected || expected.seq < ledger.pruned.seq) return undefined;
  const kept = [ledger.pruned, ...waiting.map(({ link }) => link)].find(({ seq }) => seq === expected.seq);
  const found = kept ?? linkAt(database, expected.seq);
  if (found?.hash === expected.hash) return undefined;
  return { warning: 'audit.log_rewritten', seq: expected.seq, reason: `row ${expected.seq} is not the one with the hash ${expected.hash}` };
}

function brokenTail(database: DatabaseSync, ledger: ChainStart): Loss | undefined {
  const head = lastLink(database, ledger);
  const after = linkAt(database, head.seq - SLICE_ROWS);
  const check = new AuditCheck({ hub: ledger.hub, after: after ?? ledger.pruned, witnesses: [], isWhole: false });
  for (const { link, fields } of sliceAfter(database, after?.seq ?? ledger.pruned.seq, head.seq)) check.take(link, fields);
  if (!check.isBroken) return undefined;
  const problem = check.finish(head.seq);
  return problem && { warning: 'audit.log_damaged', ...problem };
}

function intentsSince(database: DatabaseSync, afterSeq: number): OpenIntents {
  const intents = new OpenIntents();
  let lastSeq = afterSeq;
  for (;;) {
    const rows = sliceAfter(database, lastSeq, Number.MAX_SAFE_INTEGER);
    for (const { link, fields } of rows) intents.track(link.seq, fields);
    if (rows.length < SLICE_ROWS) return intents;
    lastSeq = rows.at(-1)?.link.seq ?? lastSeq;
  }
}

const SPACE = 'audit';
const KEY = 'head';

interface Anchor {
  readonly head: ChainLink;
  /** All intents before this row have an outcome. */
  readonly openFromSeq: number;
}

/** Stores the head of the chain outside of audit.db, so that truncation is detected. */
export class AuditAnchor {
  readonly #store: KeyValueStore;
  #kept: Anchor | undefined;

  constructor(store: KeyValueStore) {
    this.#store = store;
  }

  read(): Anchor | undefined {
    this.#kept ??= this.#load();
    return this.#kept;
  }

  /** Stores the head. The row of the head must already be on the disk, because otherwise a power cut would look like a truncation. */
  write(anchor: Anchor): void {
    const kept = this.read();
    if (kept?.head.hash === anchor.head.hash && kept.openFromSeq === anchor.openFromSeq) return;
    this.#store.set(SPACE, KEY, { seq: anchor.head.seq, hash: anchor.head.hash, open_from: anchor.openFromSeq });
    this.#kept = anchor;
  }

  #load(): Anchor | undefined {
    const kept = this.#store.get(SPACE, KEY);
    if (!isJsonObject(kept)) return undefined;
    const { seq, hash, open_from: openFromSeq } = kept;
    if (typeof seq !== 'number' || typeof hash !== 'string') return undefined;
    return { head: { seq, hash }, openFromSeq: typeof openFromSeq === 'number' ? openFromSeq : 0 };
  }
}

interface OpenIntent {
  readonly seq: number;
  readonly fields: AuditFields;
}

/** Finds the intents without an outcome among the rows. */
export class OpenIntents {
  // Callers may use a request id twice. An outcome ends the newest matching intent. If it ended the oldest, all rows would have to be read,
  // and not only those from the first open intent on.
  readonly #byRequest = new Map<string | undefined, OpenIntent[]>();

  /** Takes the next row. Must be called in order, with every row from the first open intent on. */
  track(seq: number, fields: AuditFields): void {
    const { kind, request, agent, tool } = fields;
    if (kind === 'note') return;
    const open = this.#byRequest.get(request) ?? [];
    if (kind === 'intent') {
      this.#byRequest.set(request, [...open, { seq, fields }]);
      return;
    }
    const ended = open.findLastIndex((intent) => intent.fields.agent === agent && intent.fields.tool === tool);
    if (ended === -1) return;
    if (open.length === 1) this.#byRequest.delete(request);
    else this.#byRequest.set(request, open.toSpliced(ended, 1));
  }

  list(): readonly OpenIntent[] {
    return [...this.#byRequest.values()].flat();
  }

  /** Returns the row number of the first intent without an outcome. */
  first(): number | undefined {
    const all = this.list().map(({ seq }) => seq);
    return all.length === 0 ? undefined : Math.min(...all);
  }
}

/** Returns the outcome row for a call that ran when the process ended. */
export function unknownOutcome({ seq, fields }: OpenIntent, atMs: number): AuditFields {
  return {
    ...fields,
    kind: 'outcome',
    atMs,
    content: `{"duration_ms":0,"error":"OUTCOME_UNKNOWN","intent":${seq},"message":"The hub stopped while the call ran; it may or may not have taken effect"}`,
  };
}

import type { DatabaseSync } from 'node:sqlite';
import type { JsonObject } from '../../core/json.ts';
import type { AuditVerification } from '../../core/storage/audit-log.ts';
import { canonicalJson } from '../../wire/canonical-json.ts';
import type { AuditAnchor } from './audit-anchor.ts';
import type { AuditFields, ChainLink } from './audit-chain.ts';
import { AuditCheck, type JOURNAL_NOTES } from './audit-check.ts';
import { type ChainedRow, type LedgerStart, lastLink, linkAt, SLICE_ROWS, sliceAfter } from './audit-ledger.ts';
import { OpenIntents } from './open-intents.ts';

/** What is wrong with a file that was opened: for the log and the event `hub.warning`, and as a note in the chain. */
export interface Loss {
  readonly warning: 'audit_truncated' | 'audit_rewritten' | 'audit_damaged' | 'audit_foreign';
  readonly seq: number;
  readonly reason: string;
}

/** A chain that was opened and not written to yet. */
export interface OpenedChain {
  readonly database: DatabaseSync;
  readonly ledger: LedgerStart;
  /** The last row, wherever it is. */
  readonly head: ChainLink;
  /** Rows that the disk keeps from being committed. */
  readonly waiting: readonly ChainedRow[];
  /** What is wrong with the front. */
  readonly problem?: NonNullable<AuditVerification['problem']>;
}

/** What a start found in the files. */
interface Opened {
  readonly losses: readonly Loss[];
  readonly openIntents: OpenIntents;
}

interface Kept {
  readonly hub: string;
  readonly anchor: AuditAnchor;
  /** Number of the last row that was given to the disk, as another file tells it. */
  readonly rowsGiven: number;
}

/** Looks through the end of the chain, holds it against its anchors, and finds the calls without an outcome. */
export function examine(chain: OpenedChain, { hub, anchor, rowsGiven }: Kept): Opened {
  const { database, ledger, problem, waiting } = chain;
  const inFront: Loss | undefined = problem && { warning: 'audit_damaged', ...problem };
  const losses = [foreign(ledger, hub), cutOff(chain, anchor, problem ? 0 : rowsGiven), brokenTail(database, ledger), inFront].filter(
    (loss) => loss !== undefined,
  );
  const openFromSeq = losses.length > 0 ? 0 : (anchor.read()?.openFromSeq ?? 0);
  const openIntents = intentsSince(database, openFromSeq - 1);
  for (const { link, fields } of waiting) openIntents.track(link.seq, fields);
  return { losses, openIntents };
}

/** A note that the journal writes about itself. Hashes stay, which in notes of others would be cut. */
export function journalNote(event: (typeof JOURNAL_NOTES)[keyof typeof JOURNAL_NOTES], atMs: number, data: JsonObject): AuditFields {
  return { kind: 'note', atMs, content: canonicalJson({ event, data }) };
}

function foreign({ hub: beganBy }: LedgerStart, hub: string): Loss | undefined {
  if (beganBy === hub) return undefined;
  return { warning: 'audit_foreign', seq: 0, reason: `the journal was begun by ${beganBy}, and this hub is ${hub}` };
}

function cutOff({ database, ledger, head, waiting }: OpenedChain, anchor: AuditAnchor, rowsGiven: number): Loss | undefined {
  const expected = anchor.read()?.head;
  const lastSeq = Math.max(expected?.seq ?? 0, rowsGiven);
  if (lastSeq > head.seq) {
    const known = lastSeq === expected?.seq ? `; the last one had the hash ${expected.hash}` : '';
    return { warning: 'audit_truncated', seq: head.seq + 1, reason: `the rows ${head.seq + 1} to ${lastSeq} were cut off${known}` };
  }
  if (!expected || expected.seq < ledger.pruned.seq) return undefined;
  const kept = [ledger.pruned, ...waiting.map(({ link }) => link)].find(({ seq }) => seq === expected.seq);
  const found = kept ?? linkAt(database, expected.seq);
  if (found?.hash === expected.hash) return undefined;
  return { warning: 'audit_rewritten', seq: expected.seq, reason: `row ${expected.seq} is not the one with the hash ${expected.hash}` };
}

function brokenTail(database: DatabaseSync, ledger: LedgerStart): Loss | undefined {
  const head = lastLink(database, ledger);
  const after = linkAt(database, head.seq - SLICE_ROWS);
  const check = new AuditCheck({ hub: ledger.hub, after: after ?? ledger.pruned, witnesses: [], isWhole: false });
  for (const { link, fields } of sliceAfter(database, after?.seq ?? ledger.pruned.seq, head.seq)) check.take(link, fields);
  if (!check.isBroken) return undefined;
  const problem = check.finish(head.seq);
  return problem && { warning: 'audit_damaged', ...problem };
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

import { crc32 } from 'node:zlib';
import { AUDIT_KINDS, type AuditVerification } from '../../core/storage/audit-log.ts';
import { type AuditFields, type ChainLink, nextLink } from './audit-chain.ts';
import type { ChainedRow } from './audit-ledger.ts';

/** What audit.db holds already. */
interface Ground {
  readonly hub: string;
  readonly head: ChainLink;
  /** A row that is in audit.db, or the one that its chain begins after. */
  readonly linkAt: (seq: number) => ChainLink | undefined;
}

/** What of the lines continues the chain. */
interface FrontRows {
  readonly rows: readonly ChainedRow[];
  /** Bytes of the lines up to the last that fits, and its check. */
  readonly lengthBytes: number;
  readonly check: number;
  /** First line that does not fit; nothing after it is taken. */
  readonly problem?: NonNullable<AuditVerification['problem']>;
}

interface ParsedLine {
  readonly check: number;
  readonly body: string;
  readonly seq: number;
  readonly fields: AuditFields;
}

/** What the check of the first line continues: a front belongs behind one row and no other. */
export function frontCheck({ hash }: ChainLink): number {
  return crc32(hash);
}

/**
 * A row as a line of the front: a CRC-32 that goes on over all lines, and what `rowsOfFront` makes the row of. The chain with its
 * SHA-256 is made when rows are committed, many at once, because every call waits for its line.
 */
export function frontLine(check: number, seq: number, fields: AuditFields): { readonly check: number; readonly text: string } {
  const { kind, atMs, agent, tokens, tool, request, trace, content } = fields;
  // In JSON there is no tab: those inside texts are escaped.
  const body = `${JSON.stringify([seq, kind, atMs, agent, tokens, tool, request, trace])}\t${content}`;
  const next = crc32(body, check);
  return { check: next, text: `${next}\t${body}\n` };
}

/**
 * The rows that follow on what audit.db holds. Lines of rows that are in audit.db as well are passed over when they are the same:
 * the hub was killed between the commit and the cut of the front.
 */
export function rowsOfFront(lines: readonly string[], { hub, head, linkAt }: Ground): FrontRows {
  const rows: ChainedRow[] = [];
  let last = linkAt((parseLine(lines[0] ?? '')?.seq ?? 0) - 1) ?? head;
  let [check, lengthBytes] = [frontCheck(last), 0];
  for (const text of lines) {
    const line = parseLine(text);
    if (!line || line.seq !== last.seq + 1 || line.check !== crc32(line.body, check)) {
      return { rows, lengthBytes, check, problem: problemAfter(rows.at(-1)?.link ?? head) };
    }
    last = nextLink(last, hub, line.fields);
    if (last.seq > head.seq) rows.push({ link: last, fields: line.fields });
    else if (linkAt(last.seq)?.hash !== last.hash) return { rows, lengthBytes, check, problem: problemAfter(head) };
    check = line.check;
    lengthBytes += Buffer.byteLength(text) + 1;
  }
  return { rows, lengthBytes, check };
}

function problemAfter({ seq }: ChainLink): NonNullable<FrontRows['problem']> {
  return { seq: seq + 1, reason: `what audit.front holds does not follow on row ${seq}: it was changed, or rows before it are gone` };
}

/** Without believing anything: what does not come out as it was written does not fit its check. */
function parseLine(line: string): ParsedLine | undefined {
  const [check = '', head = '', content = ''] = line.split('\t');
  const [seq, kind, atMs, agent, tokens, tool, request, trace] = parsedList(head);
  const kindName = AUDIT_KINDS.find((known) => known === kind);
  if (typeof seq !== 'number' || typeof atMs !== 'number' || !kindName || parsedList(`[${content}]`).length !== 1) return undefined;
  const fields: AuditFields = {
    kind: kindName,
    atMs,
    ...(typeof agent === 'string' && { agent }),
    ...(Array.isArray(tokens) && { tokens: tokens.map(String) }),
    ...(typeof tool === 'string' && { tool }),
    ...(typeof request === 'string' && { request }),
    ...(typeof trace === 'string' && { trace }),
    content,
  };
  return { check: Number(check), body: `${head}\t${content}`, seq, fields };
}

function parsedList(text: string): readonly unknown[] {
  try {
    const parsed: unknown = JSON.parse(text);
    return Array.isArray(parsed) ? parsed : [];
  } catch {
    return [];
  }
}

import type { AuditVerification } from '../core/audit-log.ts';
import { isJsonObject, type Json } from '../core/json.ts';
import { type AuditFields, type ChainLink, nextLink } from './audit-chain.ts';
import type { ChainedRow } from './audit-ledger.ts';
import { AUDIT_KINDS } from './audit-schema.ts';

const HASH_LENGTH = 64;

/** What audit.db holds already. */
interface Ground {
  readonly hub: string;
  readonly head: ChainLink;
  /** Hash of a row that is in audit.db; absent for one that was given up. */
  readonly hashAt: (seq: number) => string | undefined;
}

/** What of the lines continues the chain. */
interface FrontRows {
  readonly rows: readonly ChainedRow[];
  /** Bytes of the lines up to the last that is in the chain. */
  readonly lengthBytes: number;
  /** First line that does not fit; nothing after it is taken. */
  readonly problem?: NonNullable<AuditVerification['problem']>;
}

/** A row as a line of the front: its hash and its RFC 8785 form. */
export function frontLine(hash: string, text: string): string {
  return `${hash}${text}\n`;
}

/**
 * The rows that follow on what audit.db holds, each checked by its hash. Lines of rows that are in audit.db are passed over: the
 * hub was killed between the commit and the cut of the front.
 */
export function rowsOfFront(lines: readonly string[], { hub, head, hashAt }: Ground): FrontRows {
  const rows: ChainedRow[] = [];
  let [last, lengthBytes] = [head, 0];
  for (const line of lines) {
    const row = parseLine(line);
    const isKnown = row && row.link.seq <= head.seq && (hashAt(row.link.seq) ?? row.link.hash) === row.link.hash;
    if (!isKnown) {
      if (!row || !follows(last, row, hub)) return { rows, lengthBytes, problem: problemAfter(last) };
      rows.push(row);
      last = row.link;
    }
    lengthBytes += Buffer.byteLength(line) + 1;
  }
  return { rows, lengthBytes };
}

function follows(last: ChainLink, { link, fields }: ChainedRow, hub: string): boolean {
  const next = nextLink(last, hub, fields);
  return next.seq === link.seq && next.hash === link.hash;
}

function problemAfter({ seq }: ChainLink): NonNullable<FrontRows['problem']> {
  return { seq: seq + 1, reason: `what audit.front holds does not follow on row ${seq}: it was changed, or rows before it are gone` };
}

/** Without believing anything: what does not come out as it was written does not fit its hash. */
function parseLine(line: string): ChainedRow | undefined {
  const text = line.slice(HASH_LENGTH);
  const row = parsed(text);
  if (!isJsonObject(row)) return undefined;
  const { seq, at, kind, agent, token, chain, tool, request, trace } = row;
  const atMs = Date.parse(String(at));
  const kindName = AUDIT_KINDS.find((known) => known === kind);
  if (typeof seq !== 'number' || !kindName || !Number.isFinite(atMs)) return undefined;
  const fields: AuditFields = {
    kind: kindName,
    atMs,
    ...(typeof agent === 'string' && { agent }),
    ...(typeof token === 'string' && { tokens: [token, ...(Array.isArray(chain) ? chain.map(String) : [])] }),
    ...(typeof tool === 'string' && { tool }),
    ...(typeof request === 'string' && { request }),
    ...(typeof trace === 'string' && { trace }),
    content: contentText(text),
  };
  return { link: { seq, hash: line.slice(0, HASH_LENGTH) }, fields };
}

function parsed(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}

/** The member `content` as it was written: no name before it and no member after the last `hub` can look like these. */
function contentText(text: string): string {
  return text.slice(text.indexOf('"content":') + '"content":'.length, text.lastIndexOf(',"hub":'));
}

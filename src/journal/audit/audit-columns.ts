import { AUDIT_KINDS } from '../../core/storage/audit-log.ts';
import type { AuditFields, ChainLink } from './audit-chain.ts';

/** A row of `entry` with its words spelled out, as SQLite answers it. */
type StoredRow = Readonly<Record<string, unknown>>;

/** How rows are read wherever they are. */
export const ROW_COLUMNS =
  'e.seq, e.at, e.kind, a.text AS agent, k.text AS tokens, coalesce(t.text, e.tool) AS tool, e.request, e.trace, e.content, e.hash';
/** The tables that go with `ROW_COLUMNS`. */
export const ROW_TABLES =
  "entry e LEFT JOIN word a ON a.id = e.agent LEFT JOIN word k ON k.id = e.tokens LEFT JOIN word t ON t.id = e.tool AND typeof(e.tool) = 'integer'";

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const TRACE = /^[0-9a-f]{32}$/;

/** Ids in their short form: a UUID is 16 bytes, a trace id of W3C Trace Context 16 after a zero byte, any other a text. */
export function packId(id: string | undefined): Uint8Array | string | null {
  if (id === undefined) return null;
  if (id.length === 36 && UUID.test(id)) return Buffer.from(id.replaceAll('-', ''), 'hex');
  return id.length === 32 && TRACE.test(id) ? Buffer.from(`00${id}`, 'hex') : id;
}

/** Reads a row without believing it: what no hub writes comes back as something that does not fit its hash. */
export function parseRow(row: StoredRow): { readonly link: ChainLink; readonly fields: AuditFields } {
  const [agent, tool] = [optional(row.agent), optional(row.tool)];
  const [request, trace] = [unpackId(row.request), unpackId(row.trace)];
  const tokens = tokenList(row.tokens);
  return {
    link: { seq: Number(row.seq), hash: hexOf(row.hash) },
    fields: {
      kind: AUDIT_KINDS[Number(row.kind)] ?? 'note',
      atMs: Number(row.at),
      ...(agent !== undefined && { agent }),
      ...(tokens && { tokens }),
      ...(tool !== undefined && { tool }),
      ...(request !== undefined && { request }),
      ...(trace !== undefined && { trace }),
      content: String(row.content),
    },
  };
}

/** Hex of a BLOB. */
export function hexOf(value: unknown): string {
  return value instanceof Uint8Array ? Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('hex') : '';
}

function unpackId(value: unknown): string | undefined {
  if (!(value instanceof Uint8Array)) return optional(value);
  const hex = hexOf(value);
  if (value.byteLength !== 16) return hex.slice(2);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

function optional(value: unknown): string | undefined {
  return value === null || value === undefined ? undefined : String(value);
}

function tokenList(value: unknown): readonly string[] | undefined {
  return value === null || value === undefined ? undefined : String(value).split(' ');
}

import { doneText, type NamedDevice } from '../core/devices/action-words.ts';
import { terminalText } from '../core/foreign-text.ts';
import { isJsonObject, type Json, type JsonObject } from '../core/json.ts';
import { cellText } from './terminal/text-table.ts';

/** How an export is written; each text ends its line itself. What callers sent cannot steer a terminal that shows it. */
export interface ExportFormat {
  readonly begin: string;
  row(row: JsonObject): string;
  /** Where the chain stood: whoever keeps the export can verify the journal against it. */
  end(head: JsonObject): string;
}

const COLUMNS = ['seq', 'at', 'kind', 'hub', 'agent', 'token', 'chain', 'tool', 'request', 'trace', 'error', 'content', 'hash'];

/** One JSON document a line; the last one holds the head alone. */
const JSON_LINES: ExportFormat = {
  begin: '',
  row: (row) => `${terminalText(JSON.stringify(row))}\n`,
  end: (head) => `${JSON.stringify({ head })}\n`,
};

/** RFC 4180 with a heading; the last line is a comment with the head. */
const CSV: ExportFormat = {
  begin: `${COLUMNS.join(',')}\r\n`,
  row: (row) => `${COLUMNS.map((column) => csvCell(memberOf(row, column))).join(',')}\r\n`,
  end: ({ seq, hash, hub, at }) => `# head ${seq}:${hash} of ${hub} at ${at}\r\n`,
};

/** The formats by the name that `--format` takes. */
export const EXPORT_FORMATS: ReadonlyMap<string, ExportFormat> = new Map([
  ['jsonl', JSON_LINES],
  ['csv', CSV],
]);

/** A row as one line for people. */
export function auditLine(row: JsonObject, devices: readonly NamedDevice[]): string {
  return [row.seq, row.at, row.kind, row.agent, row.tool, story(row, devices)].map(cellText).join('  ');
}

function story({ kind, content }: JsonObject, devices: readonly NamedDevice[]): string {
  if (!isJsonObject(content)) return '';
  if (kind === 'note') return [content.event, jsonOf(content.data)].join(' ');
  if (kind === 'intent') {
    const parts = [doneText(content.effects, devices), jsonOf(content.params), jsonOf(content.decision)];
    return parts.filter((text) => text !== '').join('  ');
  }
  const duration = `${content.duration_ms} ms`;
  return content.error === undefined ? `ok, ${duration}` : `${content.error}, ${duration}: ${content.message ?? ''}`;
}

const FOR_PROGRAMS = new Set(['signature', 'call_hash']);

/** An object in one line, without what only a program can read; nothing for an empty one. */
function jsonOf(value: Json | undefined): string {
  if (!isJsonObject(value)) return '';
  const members = Object.entries(value).filter(([name]) => !FOR_PROGRAMS.has(name));
  return members.length === 0 ? '' : JSON.stringify(Object.fromEntries(members));
}

function memberOf(row: JsonObject, column: string): unknown {
  return column === 'error' && isJsonObject(row.content) ? row.content.error : row[column];
}

/** What a spreadsheet would run as a formula begins with an apostrophe instead. */
function csvCell(value: unknown): string {
  if (value === undefined || value === null) return '';
  const text = Array.isArray(value) ? value.join(' ') : typeof value === 'object' ? JSON.stringify(value) : String(value);
  const safe = terminalText(/^[=+\-@\t\r]/.test(text) ? `'${text}` : text);
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

import { open } from 'node:fs/promises';
import { describeCompleted, type NamedDevice } from '../../core/devices/action-descriptions.ts';
import { AtmoError } from '../../core/errors.ts';
import { isJsonObject, type Json, type JsonObject, objectOf, present } from '../../core/json.ts';
import { terminalText } from '../../core/untrusted-text.ts';
import { type Command, type Invocation, timeOption, usage } from '../command.ts';
import { objectsIn } from '../hub/answer-lists.ts';
import type { HubClient, Query } from '../hub/hub-client.ts';
import { Outages } from '../hub/outages.ts';
import { cellText, textTable } from '../terminal/text-table.ts';
import { requestCommand } from '../tool-command.ts';

/** A file format for exports of the audit log. Each row ends with a line break, and its control characters are escaped. */
interface ExportFormat {
  readonly begin: string;
  row(row: JsonObject): string;
  /** Returns the last line. It contains the head of the hash chain, with which a person can verify the audit log later. */
  end(head: JsonObject): string;
}

const COLUMNS = ['seq', 'at', 'kind', 'hub', 'agent', 'token', 'chain', 'tool', 'request', 'trace', 'error', 'content', 'hash'];

/** JSON lines. The last line contains only the head of the hash chain. */
const JSON_LINES: ExportFormat = {
  begin: '',
  row: (row) => `${terminalText(JSON.stringify(row))}\n`,
  end: (head) => `${JSON.stringify({ head })}\n`,
};

/** CSV with a heading (RFC 4180). The last line is a comment with the head of the hash chain. */
const CSV: ExportFormat = {
  begin: `${COLUMNS.join(',')}\r\n`,
  row: (row) => `${COLUMNS.map((column) => csvCell(memberOf(row, column))).join(',')}\r\n`,
  end: ({ seq, hash, hub, at }) => `# head ${seq}:${hash} of ${hub} at ${at}\r\n`,
};

/** The export formats by their name in `--format`. */
export const EXPORT_FORMATS: ReadonlyMap<string, ExportFormat> = new Map([
  ['jsonl', JSON_LINES],
  ['csv', CSV],
]);

/** Returns an audit row as one line for people. */
function auditLine(row: JsonObject, devices: readonly NamedDevice[]): string {
  const trace = typeof row.trace === 'string' ? [`trace ${row.trace}`] : [];
  return [row.seq, row.at, row.kind, row.agent, row.tool, contentText(row, devices), ...trace].map(cellText).join('  ');
}

function contentText({ kind, content }: JsonObject, devices: readonly NamedDevice[]): string {
  if (!isJsonObject(content)) return '';
  if (kind === 'note') return [content.event, jsonOf(content.data)].join(' ');
  if (kind === 'intent') {
    const parts = [describeCompleted(content.effects, devices), jsonOf(content.params), jsonOf(content.decision)];
    return parts.filter((text) => text !== '').join('  ');
  }
  const duration = `${content.duration_ms} ms`;
  return content.error === undefined ? `ok, ${duration}` : `${content.error}, ${duration}: ${content.message ?? ''}`;
}

const FOR_PROGRAMS = new Set(['signature', 'call_hash']);

/** Returns an object as JSON on one line, without the fields that only programs need. Returns an empty text for an empty object. */
function jsonOf(value: Json | undefined): string {
  if (!isJsonObject(value)) return '';
  const members = Object.entries(value).filter(([name]) => !FOR_PROGRAMS.has(name));
  return members.length === 0 ? '' : JSON.stringify(Object.fromEntries(members));
}

function memberOf(row: JsonObject, column: string): unknown {
  return column === 'error' && isJsonObject(row.content) ? row.content.error : row[column];
}

/** Returns a CSV cell. A text that a spreadsheet would run as a formula gets an apostrophe as a prefix. */
function csvCell(value: unknown): string {
  if (value === undefined || value === null) return '';
  const text = Array.isArray(value) ? value.join(' ') : typeof value === 'object' ? JSON.stringify(value) : String(value);
  const safe = terminalText(/^[=+\-@\t\r]/.test(text) ? `'${text}` : text);
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

const FOLLOW_EVERY_MS = 1_000;
const FOLLOW_ROWS = 100;
/** The tool that this command itself calls. Without `--tool`, `--follow` omits the rows of this tool, because each poll adds such a row. */
const OWN_TOOL = /^hub:read_audit@/;
const SINCE = { value: 'TIME', help: 'from here on: 24h, 7d, or ISO 8601' };
const UNTIL = { value: 'TIME', help: 'up to here' };

const tail: Command = {
  name: 'audit tail',
  summary: 'the newest rows of the journal of calls',
  examples: ['audit tail', 'audit tail --agent kitchen-assistant --follow'],
  options: {
    limit: { value: 'N', help: 'this many rows (20)' },
    agent: { value: 'ID', help: 'only calls of this agent', completes: 'agent' },
    tool: { value: 'TOOL', help: 'only calls of this tool, as atmo tools lists it' },
    follow: { help: 'go on with what comes, until Ctrl-C; with --json one row a line' },
  },
  async run(call) {
    const query = { agent: call.text('agent'), tool: await toolOf(call) };
    const answer = await call.hub.get('/api/v1/audit', { ...query, limit: call.integer('limit') ?? 20 });
    const rows = objectsIn(answer, 'rows').toReversed();
    const devices = call.output.isJson ? [] : await namedDevices(call);
    if (!call.isSet('follow')) {
      call.output.answer({ rows }, () => (rows.length === 0 ? '(none)\n' : rows.map((row) => auditLine(row, devices)).join('\n')));
      return;
    }
    for (const row of rows) call.output.line(row, auditLine(row, devices));
    await follow(call, { query, devices }, Number(rows.at(-1)?.seq ?? 0));
  },
};

const verify: Command = {
  name: 'audit verify',
  summary: 'recompute the chain of the journal: exit code 0 when nothing was changed, removed, inserted or cut off',
  examples: ['audit verify', 'audit verify --head "$(cat head.txt)"'],
  options: { head: { value: 'HEAD', help: 'a line of atmo audit head that was kept elsewhere, or its SEQ:HASH alone' } },
  async run(call) {
    const head = expectedHead(call.text('head'));
    const answer = await call.output.during('Recomputing the chain', () => call.hub.post('/api/v1/audit/verify', head));
    const [problem, found] = [objectOf(answer.problem), objectOf(answer.head)];
    call.output.answer(answer, () =>
      answer.intact === true
        ? `intact: ${answer.rows} rows, head ${found.seq}:${found.hash}\n`
        : `NOT INTACT at row ${problem.seq}: ${problem.reason}\n`,
    );
    return answer.intact === true ? 0 : 1;
  },
};

const head = requestCommand({
  name: 'audit head',
  summary: 'where the chain of the journal stands; keep it elsewhere for audit verify --head',
  examples: ['audit head'],
  request: ({ hub }) => hub.get('/api/v1/audit/head'),
  text: ({ seq, hash, hub, at }) => `${seq}:${hash}  ${hub}  ${at}\n`,
});

const exportCommand: Command = {
  name: 'audit export',
  summary: 'the whole journal, oldest first, with its head at the end',
  examples: ['audit export --format csv --since 30d --output journal.csv'],
  options: {
    format: { value: 'FORMAT', help: 'jsonl (default) or csv', completes: [...EXPORT_FORMATS.keys()] },
    since: SINCE,
    until: UNTIL,
    output: { value: 'FILE', help: 'a new file instead of standard output' },
  },
  async run(call) {
    const format = EXPORT_FORMATS.get(call.text('format') ?? 'jsonl');
    if (!format) throw usage(`--format takes ${[...EXPORT_FORMATS.keys()].join(' or ')}, not ${JSON.stringify(call.text('format'))}`);
    const file = call.text('output');
    if (file === undefined) await writeExport(call, format, async (text) => void call.io.stdout.write(text));
    else await exportToFile(call, format, file);
  },
};

const replay: Command = {
  name: 'audit replay',
  summary: 'run pure calls of the past again and compare; nothing that acts is done again',
  examples: ['audit replay --since 24h'],
  operands: [{ name: 'REQUEST', help: 'request id of one call, as atmo audit tail --json tells it', isOptional: true }],
  options: {
    since: SINCE,
    until: UNTIL,
    tool: { value: 'TOOL', help: 'only calls of this tool' },
    limit: { value: 'N', help: 'at most N calls' },
  },
  async run(call) {
    const [request] = call.operands;
    const range = { since: timeOption(call, 'since'), until: timeOption(call, 'until') };
    const body = present({ request, ...range, tool: await toolOf(call), limit: call.integer('limit') });
    const answer = await call.hub.post('/api/v1/audit/replay', body);
    if (request !== undefined && objectsIn(answer, 'calls').length === 0)
      throw usage(`The journal has no call with the request id ${JSON.stringify(request)}; atmo audit tail --json tells the ids`);
    call.output.answer(answer, () => textTable(['REQUEST', 'AT', 'TOOL', 'VERDICT', 'HASH'], objectsIn(answer, 'calls').map(replayRow)));
    return Number(answer.differing) > 0 ? 1 : 0;
  },
};

/** The commands about the audit log: `atmo audit …`. */
export const auditCommands: readonly Command[] = [tail, verify, head, exportCommand, replay];

/** Returns the devices with their current names. Returns an empty list if the caller may not read devices. */
async function namedDevices(call: Invocation): Promise<readonly NamedDevice[]> {
  const answer = await call.hub.get('/api/v1/devices').catch(() => ({}));
  return objectsIn(answer, 'devices') as unknown as readonly NamedDevice[];
}

interface Followed {
  readonly query: { readonly tool: string | undefined; readonly agent: string | undefined };
  readonly devices: readonly NamedDevice[];
}

async function follow(call: Invocation, { query, devices }: Followed, seen: number) {
  const outages = new Outages(call.output);
  outages.end();
  let lastSeq = seen;
  while (!call.io.signal?.aborted) {
    await call.io.sleep(FOLLOW_EVERY_MS);
    const fresh = await rowsAfter(call, query, lastSeq).catch((error: unknown) => outages.begin(error));
    if (!fresh) continue;
    outages.end();
    lastSeq = Number(fresh.at(-1)?.seq ?? lastSeq);
    for (const row of fresh)
      if (query.tool !== undefined || !OWN_TOOL.test(String(row.tool))) call.output.line(row, auditLine(row, devices));
  }
}

async function rowsAfter(call: Invocation, query: Readonly<Record<string, string | undefined>>, lastSeq: number): Promise<JsonObject[]> {
  const fresh: JsonObject[] = [];
  try {
    for await (const page of newestPages(call.hub, { ...query, limit: FOLLOW_ROWS })) {
      fresh.push(...page.filter((row) => Number(row.seq) > lastSeq));
      if (page.some((row) => Number(row.seq) <= lastSeq)) break;
    }
  } catch (thrown) {
    if (!call.io.signal?.aborted) throw thrown;
  }
  return fresh.toReversed();
}

/** Returns the tool filter for `--tool`. A name without a version matches all versions. An unknown name is returned unchanged. */
async function toolOf(call: Invocation): Promise<string | undefined> {
  const name = call.text('tool');
  if (name === undefined || name.includes('@')) return name;
  try {
    const { id } = await call.hub.get(`/api/v1/tools/${encodeURIComponent(name)}`);
    return typeof id === 'string' ? id.slice(0, id.lastIndexOf('@')) : name;
  } catch (error) {
    if (error instanceof AtmoError && error.code === 'TOOL_NOT_FOUND') return name;
    throw error;
  }
}

async function writeExport(call: Invocation, format: ExportFormat, write: (text: string) => Promise<void>): Promise<string> {
  const end = await call.hub.get('/api/v1/audit/head');
  await write(format.begin);
  const query = { since: call.text('since'), until: call.text('until') };
  for await (const row of allRows(call.hub, query, Number(end.seq))) await write(format.row(row));
  await write(format.end(end));
  return `${end.seq}:${end.hash}`;
}

async function exportToFile(call: Invocation, format: ExportFormat, path: string): Promise<void> {
  const file = await open(path, 'wx', 0o600).catch((cause: NodeJS.ErrnoException) => {
    const reason = cause.code === 'EEXIST' ? 'it exists already; name another file' : cause.message;
    throw new AtmoError('CONFLICT', `${path} cannot be written: ${reason}`, { path }, { cause });
  });
  try {
    const until = await writeExport(call, format, async (text) => void (await file.write(text)));
    call.output.note(`${path} holds the journal up to ${until}`);
  } finally {
    await file.close();
  }
}

function expectedHead(text: string | undefined): JsonObject {
  if (text === undefined) return {};
  const [, seq, hash] = /^(\d{1,15}):([0-9a-fA-F]{64})(?:\s|$)/.exec(text.trim()) ?? [];
  if (seq !== undefined && hash !== undefined) return { seq: Number(seq), hash };
  throw usage(`--head takes what "atmo audit head" says, number:hash, not ${JSON.stringify(text)}`);
}

function replayRow({ request, at, tool, verdict, recorded_hash: hash }: JsonObject): readonly unknown[] {
  return [request, at, tool, verdict, typeof hash === 'string' ? hash.slice(0, 16) : undefined];
}

const PATH = '/api/v1/audit';
/** Number of rows in one request. */
const WINDOW_ROWS = 200;

/** Yields pages of the audit log, newest page first. Each page begins with its newest row. */
async function* newestPages(hub: HubClient, query: Query): AsyncGenerator<readonly JsonObject[]> {
  let before = query.before;
  do {
    const page = await hub.get(PATH, { ...query, before });
    yield objectsIn(page, 'rows');
    before = typeof page.next_before === 'number' ? page.next_before : undefined;
  } while (before !== undefined);
}

/** Yields every row up to `lastSeq`, oldest first. Holds at most a few hundred rows in memory. */
async function* allRows(hub: HubClient, query: Query, lastSeq: number): AsyncGenerator<JsonObject> {
  for (let first = await oldestSeq(hub, lastSeq); first <= lastSeq; first += WINDOW_ROWS) {
    const rows: JsonObject[] = [];
    const end = Math.min(first + WINDOW_ROWS, lastSeq + 1);
    for await (const page of newestPages(hub, { ...query, before: end, limit: WINDOW_ROWS })) {
      rows.push(...page.filter((row) => Number(row.seq) >= first));
      if (page.some((row) => Number(row.seq) < first)) break;
    }
    yield* rows.toReversed();
  }
}

/** Returns the sequence number of the oldest stored row. Uses binary search, since the numbers have no gaps. */
async function oldestSeq(hub: HubClient, lastSeq: number): Promise<number> {
  let [low, high] = [1, lastSeq];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const page = await hub.get(PATH, { before: middle + 1, limit: 1 });
    if (objectsIn(page, 'rows').length > 0) high = middle;
    else low = middle + 1;
  }
  return low;
}

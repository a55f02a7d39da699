import { type ChildProcess, spawn } from 'node:child_process';
import { ConcurrencyLimiter } from '../../core/concurrency-limiter.ts';
import { AtmoError, type ErrorCode } from '../../core/errors.ts';
import { residentBytes } from '../../core/health.ts';
import { isJsonObject } from '../../core/json.ts';
import { nodeArguments } from '../../tools/programs/node-process.ts';
import {
  answerTooLarge,
  type Database,
  type DatabaseAnswer,
  type DatabaseBounds,
  type DatabaseQuery,
  MAX_ANSWER_BYTES,
} from './database.ts';

interface SqliteOptions extends DatabaseBounds {
  readonly path: string;
}

const HEAP_BYTES = 64 * 1_048_576;
/** Maximum resident memory in bytes of the process that runs a statement. Node.js itself needs a part of it. */
const MAX_RESIDENT_BYTES = 167_772_160;
/** Maximum number of concurrent statements. A small board does not have the memory for more. */
const MAX_CONCURRENT = 2;
const WATCH_EVERY_MS = 25;
const TOO_LARGE = -1;
/** The hub's error code and message for each primary result code of SQLite (sqlite.org/rescode.html), the lowest byte of any code. */
const RESULT_CODES: Readonly<Record<number, readonly [ErrorCode, string]>> = {
  0: ['VALIDATION_ERROR', 'The parameters do not fit the statement'],
  1: ['VALIDATION_ERROR', 'The statement is wrong'],
  5: ['SERVICE_UNAVAILABLE', 'The database is busy with another program'],
  6: ['SERVICE_UNAVAILABLE', 'The database is busy with another program'],
  7: ['RESOURCE_EXCEEDED', 'The statement takes too much memory'],
  8: ['PERMISSION_DENIED', 'The database is only for reading'],
  13: ['STORAGE_FAILED', 'The disk is full'],
  14: ['SERVICE_UNAVAILABLE', 'The file of the database cannot be opened; is it there, and may the user of the hub read it?'],
  18: ['PAYLOAD_TOO_LARGE', 'A value is too long'],
  19: ['VALIDATION_ERROR', 'The statement breaks a rule of the table'],
  20: ['VALIDATION_ERROR', 'A value has the wrong type'],
  23: ['PERMISSION_DENIED', 'The statement would change or reach what it may not'],
  25: ['VALIDATION_ERROR', 'There are too many parameters'],
  26: ['SERVICE_REFUSED', 'The file is no database of SQLite'],
};

/**
 * An SQLite database in a file. Each statement runs in a separate process, which is killed at the time limit. SQL cannot open other files,
 * load extensions or change SQLite's settings. Without `isWritable`, it cannot change data. Two statements run at a time; further
 * statements wait.
 */
export class SqliteDatabase implements Database {
  readonly #options: SqliteOptions;
  readonly #running = new ConcurrencyLimiter({ maxRunning: MAX_CONCURRENT });

  constructor(options: SqliteOptions) {
    this.#options = options;
  }

  async query(query: DatabaseQuery): Promise<DatabaseAnswer> {
    return this.#running.run(() => this.#run(query), query.signal);
  }

  async #run({ text, params, maxRows, signal }: DatabaseQuery): Promise<DatabaseAnswer> {
    const { path, isWritable, timeoutMs } = this.#options;
    signal.throwIfAborted();
    const program = nodeArguments(SQLITE_PROGRAM, HEAP_BYTES);
    const child = spawn(process.execPath, program, { stdio: ['ignore', 'ignore', 'ignore', 'ipc'], env: {}, cwd: '/' });
    const limit = AbortSignal.timeout(timeoutMs);
    const end = () => child.kill('SIGKILL');
    const ends = AbortSignal.any([signal, limit]);
    ends.addEventListener('abort', end, { once: true });
    // SQLite in Node.js has no memory limit, so the hub watches the memory of the process.
    const watch = setInterval(() => residentBytes(child.pid) > MAX_RESIDENT_BYTES && end(), WATCH_EVERY_MS);
    try {
      child.send({ path, isWritable, text, params, maxRows, maxBytes: MAX_ANSWER_BYTES });
      return answerOf(await messageOf(child));
    } catch (error) {
      if (!ends.aborted) throw error;
      // SQLite rolls back an unfinished statement, but this statement may have finished just before its process was killed.
      if (isWritable) throw new AtmoError('OUTCOME_UNKNOWN', 'The statement was ended; whether it changed something is not known');
      signal.throwIfAborted();
      throw new AtmoError('TIMEOUT', `The statement took more than ${timeoutMs} ms`);
    } finally {
      clearInterval(watch);
      ends.removeEventListener('abort', end);
      end();
    }
  }
}

function messageOf(child: ChildProcess): Promise<unknown> {
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  child.once('message', resolve);
  child.once('error', (error) => reject(new AtmoError('RESOURCE_EXCEEDED', 'No process can be started for it', {}, { cause: error })));
  child.once('exit', () => reject(new AtmoError('RESOURCE_EXCEEDED', 'The statement takes too much memory', { permanent: true })));
  return promise;
}

function answerOf(message: unknown): DatabaseAnswer {
  if (!isJsonObject(message) || typeof message.error !== 'string') return message as DatabaseAnswer;
  const code = Number(message.code);
  if (code === TOO_LARGE) throw answerTooLarge();
  const [kind, what] = RESULT_CODES[code & 0xff] ?? ['SERVICE_REFUSED', 'The database cannot be used'];
  const hasDetail = kind === 'VALIDATION_ERROR' || kind === 'PERMISSION_DENIED';
  throw new AtmoError(kind, hasDetail ? `${what}: ${message.error.slice(0, 300)}` : what, { sqlite_code: code });
}

/**
 * The program that runs one statement in a separate process. The hub cannot interrupt a step of SQLite, but it can kill a process. The
 * program is a string because the hub ships as one bundle. It receives `{path, isWritable, text, params, maxRows, maxBytes}`. It sends
 * `{columns, rows, isTruncated, changes}`, or `{error, code}` if the statement fails.
 */
const SQLITE_PROGRAM = `
import { constants as c, DatabaseSync } from 'node:sqlite';

const READING = [c.SQLITE_SELECT, c.SQLITE_READ, c.SQLITE_RECURSIVE];
const LOOKING = ['table_info', 'table_xinfo', 'table_list', 'index_list', 'index_info', 'foreign_key_list'];

function judge(isWritable) {
  return (action, name, detail) => {
    if (action === c.SQLITE_FUNCTION) return detail === 'load_extension' ? c.SQLITE_DENY : c.SQLITE_OK;
    if (action === c.SQLITE_PRAGMA) return LOOKING.includes(name) ? c.SQLITE_OK : c.SQLITE_DENY;
    if (action === c.SQLITE_ATTACH || action === c.SQLITE_DETACH) return c.SQLITE_DENY;
    return isWritable || READING.includes(action) ? c.SQLITE_OK : c.SQLITE_DENY;
  };
}

function bound(value) {
  if (typeof value === 'boolean') return Number(value);
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : value;
}

function shown(value) {
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
  if (typeof value === 'number' && !Number.isFinite(value)) return String(value);
  return value instanceof Uint8Array ? Buffer.from(value).toString('base64') : value;
}

function run({ path, isWritable, text, params, maxRows, maxBytes }) {
  const database = new DatabaseSync(path, { readOnly: !isWritable, timeout: 2000, allowExtension: false, defensive: true });
  database.exec('PRAGMA temp_store = MEMORY; PRAGMA trusted_schema = OFF');
  database.setAuthorizer(judge(isWritable));
  const statement = database.prepare(text);
  if (text.slice(statement.sourceSQL.length).trim() !== '') return { error: 'Only one statement can be run at a time', code: 1 };
  statement.setReadBigInts(true);
  statement.setReturnArrays(true);
  const columns = statement.columns().map(({ name }) => name);
  const values = params.map(bound);
  if (columns.length === 0) return { columns, rows: [], isTruncated: false, changes: Number(statement.run(...values).changes) };
  const rows = [];
  let bytes = 0;
  for (const values_ of statement.iterate(...values)) {
    if (rows.length === maxRows) return { columns, rows, isTruncated: true };
    const row = values_.map(shown);
    bytes += JSON.stringify(row).length;
    if (bytes > maxBytes) return { error: 'too large', code: -1 };
    rows.push(row);
  }
  return { columns, rows, isTruncated: false };
}

process.once('message', (job) => {
  let answer;
  try {
    answer = run(job);
  } catch (error) {
    answer = { error: String(error.message), code: error.errcode ?? 0 };
  }
  process.send(answer, () => process.disconnect());
});`;

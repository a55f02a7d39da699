import { type ChildProcess, spawn } from 'node:child_process';
import { ConcurrencyGate } from '../../core/concurrency-gate.ts';
import { AtmoError, type ErrorCode } from '../../core/errors.ts';
import { isJsonObject } from '../../core/json.ts';
import { residentBytes } from '../../core/process/resident-bytes.ts';
import { nodeArguments } from '../../tools/programs/node-program.ts';
import { type Database, type DatabaseAnswer, type DatabaseQuery, MAX_ANSWER_BYTES, tooMuchData } from './database.ts';
import { SQLITE_PROGRAM } from './sqlite-program.ts';

/** A file and what may happen to it. */
interface SqliteOptions {
  readonly path: string;
  readonly isWritable: boolean;
  readonly timeoutMs: number;
}

const HEAP_BYTES = 64 * 1_048_576;
/** Node itself and what a statement may take. */
const MAX_RESIDENT_BYTES = 167_772_160;
/** Each may take so much: more at a time than a small board has. */
const MOST_AT_ONCE = 2;
const WATCH_EVERY_MS = 25;
const TOO_LARGE = -1;
/** Result codes (sqlite.org/rescode.html); extended ones have them in the lowest byte. */
const CODES: Readonly<Record<number, readonly [ErrorCode, string]>> = {
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
 * A database of SQLite in a file. Each statement runs in a process of its own, which is ended at the time limit. Other files,
 * extensions and settings of SQLite are out of reach; without `isWritable` so is every change. Two run at a time, others wait.
 */
export class SqliteDatabase implements Database {
  readonly #options: SqliteOptions;
  readonly #running = new ConcurrencyGate({ maxRunning: MOST_AT_ONCE });

  constructor(options: SqliteOptions) {
    this.#options = options;
  }

  async query(query: DatabaseQuery): Promise<DatabaseAnswer> {
    return this.#running.run(() => this.#run(query), query.signal);
  }

  async #run({ text, params, maxRows, signal }: DatabaseQuery): Promise<DatabaseAnswer> {
    const { path, isWritable, timeoutMs } = this.#options;
    signal.throwIfAborted();
    const child = startProcess();
    const limit = AbortSignal.timeout(timeoutMs);
    const end = () => child.kill('SIGKILL');
    const ends = AbortSignal.any([signal, limit]);
    ends.addEventListener('abort', end, { once: true });
    // SQLite as Node has it keeps no bound on memory.
    const watch = setInterval(() => residentBytes(child.pid) > MAX_RESIDENT_BYTES && end(), WATCH_EVERY_MS);
    try {
      child.send({ path, isWritable, text, params, maxRows, maxBytes: MAX_ANSWER_BYTES });
      return answerOf(await messageOf(child));
    } catch (error) {
      if (!ends.aborted) throw error;
      // SQLite undoes what was not finished, but it may just have been.
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

function startProcess(): ChildProcess {
  return spawn(process.execPath, nodeArguments(SQLITE_PROGRAM, HEAP_BYTES), {
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    env: {},
    cwd: '/',
  });
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
  if (code === TOO_LARGE) throw tooMuchData();
  const [kind, what] = CODES[code & 0xff] ?? ['SERVICE_REFUSED', 'The database cannot be used'];
  const isTold = kind === 'VALIDATION_ERROR' || kind === 'PERMISSION_DENIED';
  throw new AtmoError(kind, isTold ? `${what}: ${message.error.slice(0, 300)}` : what, { sqlite_code: code });
}

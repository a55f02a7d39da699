import { Socket } from 'node:net';
import type { Client, QueryArrayResult } from 'pg';
import { AtmoError, type ErrorCode } from '../../core/errors.ts';
import type { Json } from '../../core/json.ts';
import { INVOCATION_POLICY } from '../../tools/definition/invocation-policy.ts';
import { certificateFailure, connectionCode } from '../http-client/http-request.ts';
import {
  answerTooLarge,
  type Database,
  type DatabaseAnswer,
  type DatabaseBounds,
  type DatabaseQuery,
  MAX_ANSWER_BYTES,
} from './database.ts';
import type { PostgresConfig } from './databases-config.ts';

interface PostgresOptions extends DatabaseBounds {
  readonly server: PostgresConfig;
}

const WATCH_EVERY_MS = 20;
/** Finds a role that the user can assume (SET ROLE) and that has rights beyond the database (PostgreSQL manual, 22.5, predefined roles). */
const PRIVILEGED_ROLES = `SELECT rolname FROM pg_catalog.pg_roles WHERE pg_catalog.pg_has_role(oid, 'MEMBER') AND (rolsuper OR rolcreaterole
  OR rolname IN ('pg_execute_server_program', 'pg_read_server_files', 'pg_write_server_files')) LIMIT 1`;
const AS_TEXT = { getTypeParser: () => (text: string) => text };

/**
 * A PostgreSQL database. Each statement uses a new connection, so it cannot change settings for later statements. Without `isWritable`, a
 * statement must be one SELECT, VALUES, TABLE or WITH, and runs as a cursor in a read-only transaction. Refuses a database user who can
 * assume one of `PRIVILEGED_ROLES`: the user's SQL could run programs on the server and read its files.
 */
export class PostgresDatabase implements Database {
  readonly #options: PostgresOptions;

  constructor(options: PostgresOptions) {
    this.#options = options;
  }

  async query(query: DatabaseQuery): Promise<DatabaseAnswer> {
    const { isWritable, timeoutMs } = this.#options;
    query.signal.throwIfAborted();
    const { client, socket } = await this.#connection();
    const limit = AbortSignal.any([query.signal, AbortSignal.timeout(timeoutMs + INVOCATION_POLICY.connectTimeoutMs)]);
    const cut = () => void socket.destroy();
    const watch = setInterval(() => socket.bytesRead > MAX_ANSWER_BYTES && cut(), WATCH_EVERY_MS);
    limit.addEventListener('abort', cut, { once: true });
    // When `cut` destroys the socket, the client emits an error. Without a listener, the error would end the process.
    client.on('error', () => {});
    try {
      await client.connect();
      return isWritable ? await runWritable(client, query) : await readRows(client, query);
    } catch (error) {
      if (socket.bytesRead > MAX_ANSWER_BYTES) throw answerTooLarge();
      query.signal.throwIfAborted();
      throw postgresError(error, isWritable);
    } finally {
      clearInterval(watch);
      limit.removeEventListener('abort', cut);
      cut();
    }
  }

  async #connection(): Promise<{ readonly client: Client; readonly socket: Socket }> {
    const { server, timeoutMs } = this.#options;
    const { default: pg } = await import('pg');
    const socket = new Socket();
    const client = new pg.Client({
      host: server.host,
      port: server.port,
      database: server.database,
      user: server.user,
      password: server.password ?? '',
      ssl: server.tls,
      stream: () => socket,
      connectionTimeoutMillis: INVOCATION_POLICY.connectTimeoutMs,
      statement_timeout: timeoutMs,
      application_name: 'atmosphere-edge',
    });
    return { client, socket };
  }
}

async function readRows(client: Client, query: DatabaseQuery): Promise<DatabaseAnswer> {
  await beginTransaction(client, 'BEGIN READ ONLY');
  await runStatement(client, `DECLARE atmo NO SCROLL CURSOR FOR ${query.text}`, query.params);
  // One FETCH must return all rows: a function in the query could change the time limit, and the new limit would apply to a second FETCH.
  const result = await runStatement(client, `FETCH FORWARD ${query.maxRows + 1} FROM atmo`);
  await client.query('ROLLBACK');
  return answerOf(result, query.maxRows);
}

async function runWritable(client: Client, query: DatabaseQuery): Promise<DatabaseAnswer> {
  await beginTransaction(client, 'BEGIN');
  const result = await runStatement(client, query.text, query.params);
  const answer = { ...answerOf(result, query.maxRows), ...(result.fields.length === 0 && { changes: result.rowCount ?? 0 }) };
  await client.query('COMMIT');
  return answer;
}

async function beginTransaction(client: Client, text: string): Promise<void> {
  await client.query(text);
  const [role] = (await client.query<{ readonly rolname: string }>(PRIVILEGED_ROLES)).rows;
  if (!role) return;
  const message = `The user of this database may act as ${role.rolname}, whose SQL reaches beyond the database, to files and programs; the owner has to configure another user`;
  throw new AtmoError('NOT_CONFIGURED', message);
}

/** Runs one statement. With the extended protocol, PostgreSQL refuses a text with several statements (PostgreSQL manual, 55.2.3). */
function runStatement(client: Client, text: string, values: readonly Json[] = []): Promise<QueryArrayResult<string[]>> {
  const config = { text, values: [...values], rowMode: 'array', types: AS_TEXT, queryMode: 'extended' } as const;
  return client.query<string[]>(config);
}

function answerOf({ fields, rows }: QueryArrayResult<(string | null)[]>, maxRows: number): DatabaseAnswer {
  return {
    columns: fields.map(({ name }) => name),
    rows: rows.slice(0, maxRows).map((row) => row.map((text, index) => postgresValue(text, fields[index]?.dataTypeID ?? 0))),
    isTruncated: rows.length > maxRows,
  };
}

/** Object ids that PostgreSQL gives to types (pg_type.dat). */
const BOOLEAN = 16;
const BYTES = 17;
const NUMBERS = new Set([20, 21, 23, 26, 700, 701]);
const JSONS = new Set([114, 3802]);

/**
 * Converts a value from PostgreSQL's text form to JSON. Booleans, JSON values, and numbers that JavaScript can represent exactly keep their
 * type. Bytes become base64. All other values stay text.
 */
export function postgresValue(text: string | null, type: number): Json {
  if (text === null) return null;
  if (type === BOOLEAN) return text === 't';
  if (type === BYTES) return Buffer.from(text.slice(2), 'hex').toString('base64');
  if (JSONS.has(type)) return JSON.parse(text) as Json;
  return NUMBERS.has(type) ? exactNumber(text) : text;
}

function exactNumber(text: string): Json {
  const value = Number(text);
  const isExact = Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value) || /[.e]/.test(text));
  return isExact ? value : text;
}

/** The hub's error code and message for each SQLSTATE code (PostgreSQL manual, appendix A). The first matching pattern counts. */
const SQLSTATES: readonly (readonly [RegExp, ErrorCode, string])[] = [
  [/^57014$/, 'TIMEOUT', 'The statement took too long'],
  [/^(25...|42501|0A000)$/, 'PERMISSION_DENIED', 'The statement would change or reach what it may not'],
  [/^42601$/, 'VALIDATION_ERROR', 'The statement is wrong, or none that may run here'],
  [/^(22|23|42|21|08P01)/, 'VALIDATION_ERROR', 'The statement is wrong'],
  [/^(28|3D)/, 'SERVICE_REFUSED', 'The database does not let the hub in'],
  [/^(53|57|08)/, 'SERVICE_UNAVAILABLE', 'The database cannot take work now'],
];
const NOT_CONNECTED = /^(ECONNREFUSED|ENOENT|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ERR_TLS)/;

/** Converts an error of PostgreSQL, or of the connection to it, into an error of the port `Database`. */
export function postgresError(error: unknown, isWritable: boolean): unknown {
  if (error instanceof AtmoError) return error;
  const code = connectionCode(error);
  if (/^[0-9A-Z]{5}$/.test(code)) {
    const message = error instanceof Error ? error.message.slice(0, 300) : '';
    const [, kind, summary] = SQLSTATES.find(([pattern]) => pattern.test(code)) ?? [code, 'SERVICE_REFUSED', 'The database refused'];
    return new AtmoError(kind, `${summary}: ${message}`, { sqlstate: code });
  }
  const certificate = certificateFailure('The database', code);
  if (certificate) return certificate;
  if (isWritable && !NOT_CONNECTED.test(code)) {
    return new AtmoError('OUTCOME_UNKNOWN', 'The connection to the database ended; whether the statement changed something is not known');
  }
  return new AtmoError('SERVICE_UNAVAILABLE', `The database cannot be reached (${code})`, { reason: code });
}

import { Socket } from 'node:net';
import type { Client, QueryArrayResult } from 'pg';
import { AtmoError } from '../../core/errors.ts';
import type { Json } from '../../core/json.ts';
import { INVOCATION_POLICY } from '../../tools/calls/bounds/invocation-policy.ts';
import { type Database, type DatabaseAnswer, type DatabaseQuery, MAX_ANSWER_BYTES, tooMuchData } from './database.ts';
import type { PostgresConfig } from './databases-config.ts';
import { postgresFailure } from './postgres-failure.ts';
import { postgresValue } from './postgres-value.ts';

/** A server and what may happen there. */
interface PostgresOptions {
  readonly server: PostgresConfig;
  readonly isWritable: boolean;
  readonly timeoutMs: number;
}

/** A connection and what came through it. */
interface Connection {
  readonly client: Client;
  readonly socket: Socket;
}

const WATCH_EVERY_MS = 20;
/** Roles that SQL may take on (SET ROLE), and of which one reaches beyond the database (PostgreSQL manual, 22.5, predefined roles). */
const MIGHTY_ROLES = `SELECT rolname FROM pg_catalog.pg_roles WHERE pg_catalog.pg_has_role(oid, 'MEMBER') AND (rolsuper OR rolcreaterole
  OR rolname IN ('pg_execute_server_program', 'pg_read_server_files', 'pg_write_server_files')) LIMIT 1`;
const AS_TEXT = { getTypeParser: () => (text: string) => text };

/**
 * A database of PostgreSQL; each statement has a connection of its own, so that it leaves no settings behind. Without
 * `isWritable` it is the query of a cursor in a read-only transaction: SELECT, VALUES, TABLE and WITH, never more than one. A role
 * that is a superuser, or may become one, is refused: SQL could then run programs on the server and read its files.
 */
export class PostgresDatabase implements Database {
  readonly #options: PostgresOptions;

  constructor(options: PostgresOptions) {
    this.#options = options;
  }

  async query(query: DatabaseQuery): Promise<DatabaseAnswer> {
    const { isWritable, timeoutMs } = this.#options;
    query.signal.throwIfAborted();
    const connection = await this.#connection();
    const { client, socket } = connection;
    const limit = AbortSignal.any([query.signal, AbortSignal.timeout(timeoutMs + INVOCATION_POLICY.connectTimeoutMs)]);
    const cut = () => void socket.destroy();
    const watch = setInterval(() => socket.bytesRead > MAX_ANSWER_BYTES && cut(), WATCH_EVERY_MS);
    limit.addEventListener('abort', cut, { once: true });
    // A connection that is cut tells so by an event too.
    client.on('error', () => {});
    try {
      await client.connect();
      return isWritable ? await changed(client, query) : await read(client, query);
    } catch (error) {
      if (socket.bytesRead > MAX_ANSWER_BYTES) throw tooMuchData();
      query.signal.throwIfAborted();
      throw postgresFailure(error, isWritable);
    } finally {
      clearInterval(watch);
      limit.removeEventListener('abort', cut);
      cut();
    }
  }

  async #connection(): Promise<Connection> {
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

async function read(client: Client, query: DatabaseQuery): Promise<DatabaseAnswer> {
  await begin(client, 'BEGIN READ ONLY');
  await run(client, `DECLARE atmo NO SCROLL CURSOR FOR ${query.text}`, query.params);
  // All at once: between two statements of ours its functions could lift the time limit.
  const result = await run(client, `FETCH FORWARD ${query.maxRows + 1} FROM atmo`);
  await client.query('ROLLBACK');
  return answerOf(result, query.maxRows);
}

async function changed(client: Client, query: DatabaseQuery): Promise<DatabaseAnswer> {
  await begin(client, 'BEGIN');
  const result = await run(client, query.text, query.params);
  const answer = { ...answerOf(result, query.maxRows), ...(result.fields.length === 0 && { changes: result.rowCount ?? 0 }) };
  await client.query('COMMIT');
  return answer;
}

async function begin(client: Client, text: string): Promise<void> {
  await client.query(text);
  const [role] = (await client.query<{ readonly rolname: string }>(MIGHTY_ROLES)).rows;
  if (!role) return;
  const message = `The user of this database may act as ${role.rolname}, whose SQL reaches beyond the database, to files and programs; the owner has to configure another user`;
  throw new AtmoError('NOT_CONFIGURED', message);
}

/** By the extended protocol, in which a text is one statement (PostgreSQL manual, 55.2.3). */
function run(client: Client, text: string, values: readonly Json[] = []): Promise<QueryArrayResult<string[]>> {
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

import { createServer } from 'node:net';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { PostgresDatabase } from '../../../src/connectors/databases/postgres-database.ts';
import type { Json } from '../../../src/core/json.ts';
import { hasPostgres, PostgresServer } from './postgres-server.ts';

const PORT = 54_329;
const { signal } = new AbortController();
let server: PostgresServer;

beforeAll(async () => {
  if (!hasPostgres) return;
  server = await PostgresServer.start(PORT);
  await boss(`CREATE TABLE day (date date, kwh float8, big int8, more jsonb);
    INSERT INTO day VALUES ('2026-01-01', 4.5, 9007199254740993, '{"a":[1]}'), ('2026-01-02', NULL, 7, NULL);
    CREATE TABLE secret (x text);
    CREATE ROLE reader LOGIN; GRANT SELECT ON day TO reader;
    CREATE ROLE writer LOGIN; GRANT ALL ON day TO writer;
    CREATE ROLE deputy LOGIN; GRANT boss TO deputy; CREATE ROLE maker LOGIN CREATEROLE;
    CREATE ROLE runner LOGIN; GRANT pg_execute_server_program TO runner; CREATE ROLE viewer LOGIN; GRANT pg_read_server_files TO viewer`);
});

afterAll(() => server?.[Symbol.asyncDispose]());

async function boss(text: string): Promise<void> {
  const client = new pg.Client({ host: '127.0.0.1', port: PORT, user: 'boss', database: 'postgres' });
  await client.connect();
  await client.query(text);
  await client.end();
}

interface Asking {
  readonly user?: string;
  readonly isWritable?: boolean;
  readonly timeoutMs?: number;
  readonly maxRows?: number;
  readonly host?: string;
  readonly port?: number;
  readonly signal?: AbortSignal;
}

function ask(text: string, params: readonly Json[] = [], asking: Asking = {}) {
  const { user = 'reader', isWritable = false, timeoutMs = 5_000, maxRows = 100, host = '127.0.0.1', port = PORT } = asking;
  const database = new PostgresDatabase({ server: { host, port, database: 'postgres', user, tls: false }, isWritable, timeoutMs });
  return database.query({ text, params, maxRows, signal: asking.signal ?? signal });
}

const count = async () => (await ask('SELECT count(*) FROM day')).rows[0]?.[0];

describe.skipIf(!hasPostgres)('PostgreSQL', () => {
  test('gives columns and rows, over a socket in a folder too', async () => {
    const answer = {
      columns: ['date', 'kwh', 'n', 'more'],
      rows: [
        ['2026-01-01', 4.5, '9007199254740993', { a: [1] }],
        ['2026-01-02', null, 7, null],
      ],
      isTruncated: false,
    };
    expect(await ask('SELECT date, kwh, big AS n, more FROM day ORDER BY date;')).toEqual(answer);
    expect(await ask('SELECT date, kwh, big AS n, more FROM day ORDER BY date -- all', [], { host: server.folder })).toEqual(answer);
  });

  test('takes values as parameters, and gives no more rows than asked for', async () => {
    expect(await ask('SELECT count(*) FROM day WHERE date::text = $1', ["x' OR 1=1; --"])).toMatchObject({ rows: [[0]] });
    expect(await ask('SELECT $1::int + 1, $2::text, $3::bool', [41, null, true])).toMatchObject({ rows: [[42, null, true]] });
    expect(await ask('SELECT * FROM generate_series(1, 1000000)', [], { maxRows: 2 })).toMatchObject({
      rows: [[1], [2]],
      isTruncated: true,
    });
  });

  test.each([
    ['INSERT', "INSERT INTO day VALUES ('2027-01-01', 1, 1, NULL)"],
    ['changes in WITH', 'WITH gone AS (DELETE FROM day RETURNING *) SELECT * FROM gone'],
    ['functions that change', "SELECT setval('numbers', 1)"],
    ['leaving the transaction', 'COMMIT'],
    ['two statements', 'SELECT 1; DELETE FROM day'],
    ['the end of the cursor', 'SELECT 1; COMMIT; DELETE FROM day; --'],
    ['COPY', "COPY day TO PROGRAM 'cat > /tmp/stolen'"],
    ['more power', 'SET ROLE boss'],
    ['tables of others', 'SELECT * FROM secret'],
    ['the way back to writing', "SELECT set_config('transaction_read_only', 'off', false)"],
  ])('for reading keeps out %s', async (_, text) => {
    await boss('CREATE SEQUENCE IF NOT EXISTS numbers; GRANT ALL ON numbers TO writer');
    await expect(ask(text, [], { user: 'writer' })).rejects.toMatchObject({
      code: expect.stringMatching(/PERMISSION_DENIED|VALIDATION_ERROR/),
    });
    expect(await count()).toBe(2);
  });

  test('refuses to work as a superuser', async () => {
    await expect(ask('SELECT 1', [], { user: 'boss' })).rejects.toMatchObject({ code: 'NOT_CONFIGURED' });
    await expect(ask('SELECT 1', [], { user: 'boss', isWritable: true })).rejects.toMatchObject({ code: 'NOT_CONFIGURED' });
  });

  test.each(['deputy', 'maker', 'runner', 'viewer'])('refuses to work as a user that may reach files and programs (%s)', async (user) => {
    const asBoss = "SELECT set_config('role', 'boss', false), query_to_xml('select pg_ls_dir(''/'')', false, false, '')";
    await expect(ask(asBoss, [], { user })).rejects.toMatchObject({ code: 'NOT_CONFIGURED' });
    await expect(ask("COPY (SELECT 1) TO PROGRAM 'true'", [], { user, isWritable: true })).rejects.toMatchObject({
      code: 'NOT_CONFIGURED',
    });
  });

  test('ends a statement at its time limit, which SQL cannot lift', async () => {
    const started = performance.now();
    await expect(ask('SELECT pg_sleep(30)', [], { timeoutMs: 400 })).rejects.toMatchObject({ code: 'TIMEOUT' });
    const lifting = "SELECT set_config('statement_timeout', '0', false), pg_sleep(30) FROM generate_series(1, 2)";
    await expect(ask(lifting, [], { timeoutMs: 400 })).rejects.toMatchObject({ code: 'TIMEOUT' });
    const caller = AbortSignal.timeout(200);
    await expect(ask('SELECT pg_sleep(30)', [], { signal: caller })).rejects.toThrow(caller.reason);
    // A single one that was not ended would have slept so long.
    expect(performance.now() - started).toBeLessThan(30_000);
  });

  test('gives no more bytes than fit', async () => {
    const before = process.memoryUsage().rss;
    await expect(ask("SELECT repeat('x', 20000) FROM generate_series(1, 2000)", [], { maxRows: 10_000 })).rejects.toMatchObject({
      code: 'PAYLOAD_TOO_LARGE',
    });
    expect(process.memoryUsage().rss - before).toBeLessThan(200_000_000);
  });

  test('tells mistakes in its own words', async () => {
    await expect(ask('SELECT nothing FROM day')).rejects.toMatchObject({
      code: 'VALIDATION_ERROR',
      message: expect.stringContaining('column "nothing" does not exist'),
    });
    await expect(ask('SELECT 1', [], { user: 'nobody' })).rejects.toMatchObject({ code: 'SERVICE_REFUSED' });
  });

  test('for writing changes, in one statement that counts as a whole', async () => {
    const writing = { user: 'writer', isWritable: true };
    expect(await ask("INSERT INTO day (date) VALUES ('2030-01-01'), ('2030-01-02')", [], writing)).toMatchObject({ changes: 2, rows: [] });
    expect(await ask('DELETE FROM day WHERE date >= $1 RETURNING date', ['2030-01-01'], writing)).toMatchObject({
      rows: [['2030-01-01'], ['2030-01-02']],
    });
    await expect(ask("INSERT INTO day (date) VALUES ('2030-01-03'), ('never')", [], writing)).rejects.toMatchObject({
      code: 'VALIDATION_ERROR',
    });
    expect(await count()).toBe(2);
  });
});

test('a server that is not there, or that says nothing, is unavailable', async () => {
  await expect(ask('SELECT 1', [], { port: 1 })).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
  const silent = createServer(() => {});
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  const { port } = silent.address() as { port: number };
  const caller = AbortSignal.timeout(300);
  await expect(ask('SELECT 1', [], { port, signal: caller })).rejects.toThrow(caller.reason);
  silent.close();
});

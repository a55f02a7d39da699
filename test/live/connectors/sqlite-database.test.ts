import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { SqliteDatabase } from '../../../src/connectors/databases/sqlite-database.ts';
import type { Json } from '../../../src/core/json.ts';

let folder: string;
let path: string;
const { signal } = new AbortController();
const FOR_EVER = 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n';

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'sqlite-database-'));
  path = join(folder, 'energy.db');
  const database = new DatabaseSync(path);
  database.exec(
    "CREATE TABLE day (date TEXT, kwh REAL, raw BLOB, big INTEGER); INSERT INTO day VALUES ('2026-01-01', 4.5, x'ff00', 9007199254740993)",
  );
  database.exec("INSERT INTO day VALUES ('2026-01-02', NULL, NULL, 7)");
  database.close();
  new DatabaseSync(join(folder, 'other.db')).exec('CREATE TABLE secret (x)');
});

afterAll(() => rmSync(folder, { recursive: true }));

function ask(text: string, params: readonly Json[] = [], { maxRows = 100, isWritable = false, timeoutMs = 8_000, file = path } = {}) {
  return new SqliteDatabase({ path: file, isWritable, timeoutMs }).query({ text, params, maxRows, signal });
}

test('a query gives columns and rows; what JSON has no number or bytes for comes as text', async () => {
  expect(await ask('SELECT date, kwh, raw, big AS n FROM day ORDER BY date;')).toEqual({
    columns: ['date', 'kwh', 'raw', 'n'],
    rows: [
      ['2026-01-01', 4.5, '/wA=', '9007199254740993'],
      ['2026-01-02', null, null, 7],
    ],
    isTruncated: false,
  });
});

test('values are parameters, whatever stands in them', async () => {
  const evil = "x' OR 1=1; --";
  expect(await ask('SELECT count(*) FROM day WHERE date = ?', [evil])).toMatchObject({ rows: [[0]] });
  expect(await ask('SELECT ?, ?, ?, ?', [true, null, 1.5, { a: 1 }])).toMatchObject({ rows: [[1, null, 1.5, '{"a":1}']] });
});

test('rows end where the caller says, and bytes where the hub does', async () => {
  expect(await ask('SELECT date FROM day ORDER BY date', [], { maxRows: 1 })).toMatchObject({ rows: [['2026-01-01']], isTruncated: true });
  await expect(ask('SELECT hex(zeroblob(2000000)) FROM day')).rejects.toMatchObject({ code: 'PAYLOAD_TOO_LARGE' });
});

describe('a database for reading', () => {
  test.each([
    ['changes', "INSERT INTO day VALUES ('x', 1, NULL, 1)"],
    ['tables that go', 'DROP TABLE day'],
    ['other files', 'ATTACH DATABASE $other AS other'],
    ['copies elsewhere', 'VACUUM INTO $copy'],
    ['settings', 'PRAGMA query_only = OFF'],
    ['transactions', 'BEGIN'],
    ['temporary tables', 'CREATE TEMP TABLE x (a)'],
  ])('keeps out %s', async (_, text) => {
    const filled = text.replace('$other', `'${join(folder, 'other.db')}'`).replace('$copy', `'${join(folder, 'copy.db')}'`);
    await expect(ask(filled)).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
    expect(await ask('SELECT count(*) FROM day')).toMatchObject({ rows: [[2]] });
  });

  test('loads no programs and runs one statement', async () => {
    await expect(ask("SELECT load_extension('/tmp/x.so')")).rejects.toMatchObject({ code: expect.stringMatching(/VALIDATION|PERMISSION/) });
    await expect(ask('SELECT 1; SELECT 2')).rejects.toMatchObject({ code: 'VALIDATION_ERROR' });
  });

  test('tells its tables', async () => {
    expect(await ask("SELECT name FROM pragma_table_info('day')")).toMatchObject({ rows: [['date'], ['kwh'], ['raw'], ['big']] });
  });
});

test('a statement that takes for ever is ended', async () => {
  await expect(ask(FOR_EVER, [], { timeoutMs: 700 })).rejects.toMatchObject({ code: 'TIMEOUT' });
  const caller = AbortSignal.timeout(500);
  const query = new SqliteDatabase({ path, isWritable: false, timeoutMs: 60_000 }).query({
    text: FOR_EVER,
    params: [],
    maxRows: 1,
    signal: caller,
  });
  await expect(query).rejects.toThrow(caller.reason);
});

test('memory has a bound', async () => {
  await expect(ask('SELECT length(randomblob(300000000))')).rejects.toMatchObject({ code: 'RESOURCE_EXCEEDED' });
});

test('two statements run at a time, since each may take much memory; others wait for their turn', async () => {
  const database = new SqliteDatabase({ path, isWritable: false, timeoutMs: 400 });
  const ended: number[] = [];
  const query = async () => {
    await expect(database.query({ text: FOR_EVER, params: [], maxRows: 1, signal })).rejects.toMatchObject({ code: 'TIMEOUT' });
    ended.push(performance.now());
  };
  await Promise.all([query(), query(), query()]);
  expect((ended[2] ?? 0) - (ended[0] ?? 0)).toBeGreaterThan(300);
});

test('mistakes are told in the words of SQLite, a file that is none in ours', async () => {
  await expect(ask('SELEC 1')).rejects.toMatchObject({ code: 'VALIDATION_ERROR', message: expect.stringContaining('syntax error') });
  await expect(ask('SELECT 1', [1, 2])).rejects.toMatchObject({ code: 'VALIDATION_ERROR' });
  await expect(ask('SELECT 1', [], { file: join(folder, 'none.db') })).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
  writeFileSync(join(folder, 'garbage.db'), 'x'.repeat(4_096));
  await expect(ask('SELECT * FROM day', [], { file: join(folder, 'garbage.db') })).rejects.toMatchObject({ code: 'SERVICE_REFUSED' });
});

describe('a database for writing', () => {
  test('changes, and tells how much', async () => {
    expect(await ask("INSERT INTO day (date) VALUES ('a'), ('b')", [], { isWritable: true })).toEqual({
      columns: [],
      rows: [],
      isTruncated: false,
      changes: 2,
    });
    expect(await ask("DELETE FROM day WHERE date < 'c' AND date >= 'a' RETURNING date", [], { isWritable: true })).toMatchObject({
      rows: [['a'], ['b']],
    });
  });

  test('reaches no other file, and does not know what became of a statement that was ended', async () => {
    await expect(ask(`ATTACH DATABASE '${join(folder, 'other.db')}' AS other`, [], { isWritable: true })).rejects.toMatchObject({
      code: 'PERMISSION_DENIED',
    });
    await expect(ask(FOR_EVER, [], { isWritable: true, timeoutMs: 600 })).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' });
  });
});

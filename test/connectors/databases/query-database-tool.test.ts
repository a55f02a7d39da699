import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, expect, test } from 'vitest';
import { postgresError, postgresValue } from '../../../src/connectors/databases/postgres-database.ts';
import { openDatabases } from '../../../src/connectors/databases/query-database-tool.ts';
import { agent, makePipeline } from '../../calls/pipeline-fixture.ts';

const folder = mkdtempSync(join(tmpdir(), 'databases-'));
afterAll(() => rmSync(folder, { recursive: true }));

function fixture(config: Parameters<typeof openDatabases>[1], env: NodeJS.ProcessEnv = {}) {
  const { tools, capabilities = [] } = openDatabases({ env }, config);
  const hub = makePipeline({ capabilities: () => capabilities.map(({ type }) => type) });
  const findings = tools.flatMap((tool) => hub.registry.register(tool));
  const call = (params: { database: string; query: string }, ...permissions: readonly string[]) =>
    hub.pipeline.call({ principal: agent(...permissions), tool: 'query_database', params });
  return { call, findings, definition: tools[0]?.definition };
}

test('a database is queried by its name with the permission for it', async () => {
  const sqlite = join(folder, 'energy.db');
  new DatabaseSync(sqlite).exec('CREATE TABLE t (a); INSERT INTO t VALUES (1)');
  const { call, findings, definition } = fixture({ databases: { energy: { sqlite, writable: false, timeoutSeconds: 10 } } });
  expect(findings).toEqual([]);
  expect(definition?.execution.hasSideEffects).toBe(false);
  const params = { database: 'energy', query: 'SELECT a FROM t' };
  expect(await call(params, 'db:query:energy')).toMatchObject({ result: { columns: ['a'], rows: [[1]], truncated: false } });
  expect(await call(params, 'db:query:house')).toMatchObject({ error: { code: 'PERMISSION_DENIED' } });
  expect(await call({ ...params, database: 'house' }, 'db:query:*')).toMatchObject({ error: { code: 'NOT_FOUND' } });
});

test('the tool has side effects as soon as one database is writable', () => {
  const config = { sqlite: join(folder, 'x.db'), timeoutSeconds: 10 };
  const { definition } = fixture({ databases: { a: { ...config, writable: false }, b: { ...config, writable: true } } });
  expect(definition?.execution).toMatchObject({ hasSideEffects: true, isIdempotent: false });
});

test('without databases nothing is configured, and a password has to be there at the start', async () => {
  expect(await fixture({}).call({ database: 'energy', query: 'SELECT 1' }, 'db:query:*')).toMatchObject({
    error: { code: 'NOT_CONFIGURED' },
  });
  const postgres = { host: 'localhost', port: 5432, database: 'x', user: 'y', password: 'env:SQL_PASSWORD', tls: false };
  expect(() => fixture({ databases: { house: { postgres, writable: false, timeoutSeconds: 1 } } })).toThrow(
    expect.objectContaining({ code: 'CONFIG_INVALID' }),
  );
});

test.each([
  [null, 25, null],
  ['t', 16, true],
  ['7', 23, 7],
  ['9007199254740993', 20, '9007199254740993'],
  ['1.5', 701, 1.5],
  ['NaN', 701, 'NaN'],
  ['1.10', 1700, '1.10'],
  ['{"a":[1]}', 3802, { a: [1] }],
  ['\\xff00', 17, '/wA='],
  ['2026-01-01 00:00:00+00', 1184, '2026-01-01 00:00:00+00'],
])('the text %s of type %i is %j', (text, type, value) => {
  expect(postgresValue(text, type)).toEqual(value);
});

test.each([
  ['57014', false, 'TIMEOUT'],
  ['25006', false, 'PERMISSION_DENIED'],
  ['42703', false, 'VALIDATION_ERROR'],
  ['28P01', false, 'SERVICE_REFUSED'],
  ['53300', false, 'SERVICE_UNAVAILABLE'],
  ['XX000', false, 'SERVICE_REFUSED'],
  ['ECONNREFUSED', true, 'SERVICE_UNAVAILABLE'],
  ['ECONNRESET', true, 'OUTCOME_UNKNOWN'],
  ['ECONNRESET', false, 'SERVICE_UNAVAILABLE'],
])('%s (writable: %s) is %s', (code, isWritable, expected) => {
  expect(postgresError(Object.assign(new Error('said the server'), { code }), isWritable)).toMatchObject({ code: expected });
});

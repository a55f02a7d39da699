import { readSecret } from '../../core/config/config-section.ts';
import { AtmoError } from '../../core/errors.ts';
import { defineTool, p } from '../../tools/definition/define-tool.ts';
import { type RegisteredTool, unconfigured } from '../../tools/definition/tool-definition.ts';
import { type Connector, type ConnectorContext, resultSchema } from '../connector.ts';
import type { ConnectorsConfig } from '../connectors-config.ts';
import type { Database } from './database.ts';
import type { DatabaseConfig } from './databases-config.ts';
import { PostgresDatabase } from './postgres-database.ts';
import { SqliteDatabase } from './sqlite-database.ts';

/** Returns a connector with the tool `query_database`. Throws CONFIG_INVALID if the password of a database cannot be read. */
export function openDatabases({ env }: Pick<ConnectorContext, 'env'>, { databases }: Pick<ConnectorsConfig, 'databases'>): Connector {
  const entries = Object.entries(databases ?? {});
  const canChange = entries.some(([, { writable }]) => writable);
  const tool = queryDatabaseTool(new Map(entries.map(([name, config]) => [name, openDatabase(config, env)])), canChange);
  if (entries.length === 0)
    return { tools: [unconfigured(tool, 'set connectors.databases in the configuration to a file of SQLite or a server of PostgreSQL')] };
  return { tools: [tool], capabilities: [{ type: 'database_access', description: () => 'Databases that can be asked by SQL' }] };
}

function openDatabase({ sqlite, postgres, writable, timeoutSeconds }: DatabaseConfig, env: NodeJS.ProcessEnv): Database {
  const timeoutMs = timeoutSeconds * 1_000;
  if (sqlite !== undefined) return new SqliteDatabase({ path: sqlite, isWritable: writable, timeoutMs });
  if (postgres === undefined) throw new AtmoError('CONFIG_INVALID', 'A database is a file (sqlite) or a server (postgres)');
  const { password, ...address } = postgres;
  const server = { ...address, ...(password !== undefined && { password: readSecret(password, env) }) };
  return new PostgresDatabase({ server, isWritable: writable, timeoutMs });
}

/** Returns the tool `query_database`. `canChange` is true if at least one database is writable. */
function queryDatabaseTool(databases: ReadonlyMap<string, Database>, canChange: boolean): RegisteredTool {
  return defineTool(
    {
      name: 'query_database',
      title: 'Query database',
      description:
        'Runs one SQL statement on a database that the owner named; most are only for reading. Values belong into params, in the ' +
        'text as ? for SQLite and $1 for PostgreSQL.',
      category: 'querying',
      capabilities: ['database_access'],
      permissions: ['db:query:{database}'],
      hasSideEffects: canChange,
      isIdempotent: !canChange,
      timeoutMs: 70_000,
      tags: ['sql', 'sqlite', 'postgresql', 'data'],
      parameters: {
        database: p.string({ description: 'Name of the database', pattern: '^[a-z0-9][a-z0-9_-]*$', maxLength: 32 }),
        query: p.string({ description: 'One SQL statement', minLength: 1, maxLength: 20_000 }),
        params: p.array(p.json({ description: 'A value' }), { description: 'Values in their order', maxItems: 100, default: [] }),
        max_rows: p.integer({ description: 'Most rows to tell', minimum: 1, maximum: 10_000, default: 1_000 }),
      },
      returns: resultSchema(['columns', 'rows', 'truncated'], {
        columns: { type: 'array', items: { type: 'string' } },
        rows: { type: 'array', items: { type: 'array' }, description: 'Values in the order of the columns' },
        truncated: { type: 'boolean' },
        changes: { type: 'integer', description: 'Rows that the statement changed' },
      }),
      examples: [
        {
          description: 'Yesterday’s energy',
          params: { database: 'energy', query: 'SELECT * FROM day WHERE date = ?', params: ['2026-01-31'] },
        },
      ],
    },
    async ({ database, query, params, max_rows: maxRows }, { signal }) => {
      const target = databases.get(database);
      if (!target) throw new AtmoError('NOT_FOUND', `There is no database ${database} in the configuration`);
      const { columns, rows, isTruncated, changes } = await target.query({ text: query, params, maxRows, signal });
      return { columns, rows, truncated: isTruncated, ...(changes !== undefined && { changes }) };
    },
  );
}

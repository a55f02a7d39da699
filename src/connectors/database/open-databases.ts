import { readSecret } from '../../core/settings/secret-source.ts';
import { withoutSetting } from '../../tools/definition/missing-setting.ts';
import type { Connector, ConnectorGround } from '../connector.ts';
import type { ConnectorsConfig } from '../connector-config.ts';
import type { Database } from './database.ts';
import type { DatabaseConfig } from './databases-config.ts';
import { PostgresDatabase } from './postgres-database.ts';
import { queryTool } from './query-tool.ts';
import { SqliteDatabase } from './sqlite-database.ts';

/** `query_database` over the databases of the configuration. CONFIG_INVALID for a password that is not there. */
export function openDatabases({ env }: Pick<ConnectorGround, 'env'>, { databases }: Pick<ConnectorsConfig, 'databases'>): Connector {
  const entries = Object.entries(databases ?? {});
  const canChange = entries.some(([, { writable }]) => writable);
  const tool = queryTool(new Map(entries.map(([name, config]) => [name, openDatabase(config, env)])), canChange);
  if (entries.length === 0)
    return { tools: [withoutSetting(tool, 'set connectors.databases in the configuration to a file of SQLite or a server of PostgreSQL')] };
  return { tools: [tool], capabilities: [{ type: 'database_access', description: () => 'Databases that can be asked by SQL' }] };
}

function openDatabase(config: DatabaseConfig, env: NodeJS.ProcessEnv): Database {
  const bounds = { isWritable: config.writable, timeoutMs: config.timeoutSeconds * 1_000 };
  if ('sqlite' in config) return new SqliteDatabase({ path: config.sqlite, isWritable: bounds.isWritable, timeoutMs: bounds.timeoutMs });
  const { password, ...server } = config.postgres;
  return new PostgresDatabase({
    server: { ...server, ...(password !== undefined && { password: readSecret(password, env) }) },
    isWritable: bounds.isWritable,
    timeoutMs: bounds.timeoutMs,
  });
}

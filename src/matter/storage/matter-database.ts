import { DatabaseSync } from 'node:sqlite';
import type { SqliteStorageDriver } from '@matter/nodejs';

type Creator = NonNullable<NonNullable<ConstructorParameters<typeof SqliteStorageDriver>[0]>['databaseCreator']>;

/**
 * The database under matter.js's sqlite driver. Unlike its own (0.17.9) it syncs each commit, so that a power cut takes
 * no device that has just joined, and it can write again after the disk was full.
 */
export const openMatterDatabase: Creator = (path) => {
  const database = new DatabaseSync(path);
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL');
  const prepare = database.prepare.bind(database) as unknown as ReturnType<Creator>['prepare'];
  return {
    prepare,
    exec(sql) {
      // SQLite rolls back by itself when the disk is full. Refusing to do it again would leave matter.js in that transaction for ever.
      if (sql !== 'ROLLBACK' || database.isTransaction) database.exec(sql);
    },
    close: () => database.close(),
  };
};

import { constants, DatabaseSync as RealDatabase, StatementSync } from 'node:sqlite';
import { untilSynced } from './simulated-files.ts';
import { currentProcess, type SimulatedProcess } from './simulated-process.ts';

const opened = new WeakMap<SimulatedProcess, Set<RealDatabase>>();

/** SQLite in a simulated process: the real one, which ends with the process. */
export class DatabaseSync extends RealDatabase {
  constructor(...given: ConstructorParameters<typeof RealDatabase>) {
    super(...given);
    const process = currentProcess();
    if (process) databasesOf(process).add(this);
  }

  override close(): void {
    const process = currentProcess();
    process?.requireAlive();
    super.close();
    if (process) databasesOf(process).delete(this);
  }
}

function databasesOf(process: SimulatedProcess): Set<RealDatabase> {
  const known = opened.get(process) ?? new Set();
  opened.set(process, known);
  return known;
}

/** The databases that a process has open. */
export function openDatabases(process: SimulatedProcess): readonly RealDatabase[] {
  return [...databasesOf(process)].filter(({ isOpen }) => isOpen);
}

/** Closes what a killed process had open. SQLite writes to the files then, so they must have been copied before. */
export function closeDatabases(process: SimulatedProcess): void {
  for (const database of openDatabases(process)) RealDatabase.prototype.close.call(database);
  opened.delete(process);
}

/** Stands for the copy of a database by pages, which runs in a thread. */
export async function backup(database: RealDatabase, path: string): Promise<number> {
  await untilSynced();
  database.exec(`VACUUM INTO '${path.replaceAll("'", "''")}'`);
  return 1;
}

export { constants, StatementSync };

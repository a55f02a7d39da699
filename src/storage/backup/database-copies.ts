import { readdirSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { Clock } from '../../core/clock.ts';
import { attemptWrite } from '../../core/files/file-system.ts';
import { SnapshotFolder } from '../snapshot-folder.ts';
import { stateFiles } from '../state-files.ts';
import { guardStorageAsync } from '../storage-error.ts';

/** A consistent copy of a database; both paths are below the state directory. */
export interface DatabaseCopy {
  readonly database: string;
  readonly copy: string;
}

/** A database that this process has open for itself. */
export interface OpenDatabase {
  /** Name of its file in the state directory. */
  readonly name: string;
  snapshot(): Promise<{ readonly path: string }>;
}

const SNAPSHOTS = 'snapshots';
/** Begins the name of a copy that only a backup needs. */
const COPY_PREFIX = 'backup-';

/** Makes a consistent copy of each database of a state directory, also while the hub runs. */
export class DatabaseCopies {
  readonly #clock: Clock;
  readonly #stateDir: string;
  readonly #open: readonly OpenDatabase[];

  /** `open` is in the order of copying, since a copy may refer to the content of the next one; the last is copied at the very end. */
  constructor(clock: Clock, stateDir: string, open: readonly OpenDatabase[] = []) {
    this.#clock = clock;
    this.#stateDir = stateDir;
    this.#open = open;
  }

  /** STORAGE_FAILED. */
  async take(): Promise<readonly DatabaseCopy[]> {
    const ours = new Set(this.#open.map(({ name }) => name));
    const others = stateFiles(this.#stateDir).databases.filter((database) => !ours.has(database));
    const copies: DatabaseCopy[] = [];
    for (const database of this.#open.slice(0, -1)) copies.push(await this.#snapshotOf(database));
    for (const database of others) copies.push(await this.#copyOf(database));
    for (const database of this.#open.slice(-1)) copies.push(await this.#snapshotOf(database));
    return copies;
  }

  /** Removes the copies that only a backup needs; those that the disk does not delete now go after the next backup. */
  drop(): void {
    const folder = join(this.#stateDir, SNAPSHOTS);
    attemptWrite(() => {
      for (const name of readdirSync(folder)) if (name.startsWith(COPY_PREFIX)) rmSync(join(folder, name), { force: true });
    });
  }

  async #snapshotOf({ name, snapshot }: OpenDatabase): Promise<DatabaseCopy> {
    return { database: name, copy: this.#relative((await snapshot()).path) };
  }

  /** Copies through a separate connection, which other connections do not block. */
  async #copyOf(database: string): Promise<DatabaseCopy> {
    const path = join(this.#stateDir, database);
    const folder = new SnapshotFolder(join(this.#stateDir, SNAPSHOTS), `${COPY_PREFIX}${database.replaceAll('/', '-')}`, 1);
    return await guardStorageAsync(path, async () => {
      folder.prepare();
      using connection = new DatabaseSync(path, { readOnly: true });
      connection.exec('PRAGMA busy_timeout = 5000');
      return { database, copy: this.#relative((await folder.take(connection, this.#clock.now())).path) };
    });
  }

  #relative(path: string): string {
    return `${SNAPSHOTS}/${basename(path)}`;
  }
}

import { chmodSync, copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { AtmoError } from '../../core/errors.ts';
import { isJsonObject } from '../../core/json.ts';
import type { Logger } from '../../core/logger.ts';
import { replaceFile, syncPath } from '../../core/storage/durable-file.ts';
import { type FabricIdentity, inspectStorage } from './storage-inspection.ts';

/** Name of the matter.js node, and of its folder in the state directory. */
export const NODE_FOLDER = 'hub';
const DATABASE = 'storage.db';
const SNAPSHOTS_KEPT = 3;
const DRIVER_FILE_TEXT = '{"kind":"sqlite","type":"kv"}';

/**
 * Guards the one file that holds the fabric's keys: looked at before matter.js opens it, copied after each change,
 * put back from the newest good copy when damaged. Once a fabric exists, a storage without that very fabric is never
 * accepted, since matter.js would make a new one and every device of the home would be lost.
 */
export class MatterStorage {
  readonly #logger: Logger;
  readonly #stateDir: string;

  constructor(collaborators: { readonly logger: Logger }, options: { readonly stateDir: string }) {
    this.#logger = collaborators.logger;
    this.#stateDir = options.stateDir;
  }

  /** Makes the folder ready for matter.js. STORAGE_FAILED when the fabric is gone and no copy of it is good. */
  prepare(): void {
    mkdirSync(this.#nodeDir, { recursive: true, mode: 0o700 });
    mkdirSync(this.#snapshotDir, { recursive: true, mode: 0o700 });
    tightenModes(this.#stateDir);
    // matter.js only tests whether a process of the noted number lives, which a reused number blocks; the hub holds its own lock.
    for (const file of ['matter.pid', 'matter.lock']) rmSync(join(this.#nodeDir, file), { force: true });
    const fault = this.#faultOf(this.#database);
    if (fault !== undefined) this.#restore(fault);
    // Without this file matter.js would look for another driver's data and start empty.
    if (existsSync(this.#database)) this.#repairDriverFile();
  }

  /** Notes which fabric is ours, once; STORAGE_FAILED if it is not the one noted before. Called while matter.js runs. */
  confirmFabric(): void {
    const found = inspectStorage(this.#database);
    if (found.state === 'broken' || found.identity === undefined) throw this.#failure('holds no fabric after the start');
    const expected = this.#expected();
    if (expected !== undefined && !isSame(expected, found.identity)) throw this.#failure('holds another fabric than the one of this home');
    if (expected === undefined) replaceFile(this.#marker, JSON.stringify(found.identity));
  }

  /** Copies the storage; a failure is a warning, since the storage itself is whole. */
  snapshot(): void {
    const numbers = this.#snapshots();
    const file = join(this.#snapshotDir, `${String((numbers[0] ?? 0) + 1).padStart(8, '0')}.db`);
    try {
      this.#copyDatabase(`${file}.part`);
      renameSync(`${file}.part`, file);
      for (const old of numbers.slice(SNAPSHOTS_KEPT - 1)) rmSync(this.#snapshotFile(old), { force: true });
    } catch (error) {
      rmSync(`${file}.part`, { force: true });
      this.#logger.warn('matter.snapshot_failed', { reason: error instanceof Error ? error.message : String(error) });
    }
  }

  #copyDatabase(target: string): void {
    rmSync(target, { force: true });
    const database = new DatabaseSync(this.#database, { readOnly: true });
    try {
      database.prepare('VACUUM INTO ?').run(target);
    } finally {
      database.close();
    }
    chmodSync(target, 0o600);
    syncPath(target);
  }

  /** Why a storage file must not be used; undefined when it may, or when there is nothing yet to lose. */
  #faultOf(file: string): string | undefined {
    const hasHistory = existsSync(this.#marker) || this.#snapshots().length > 0;
    if (!existsSync(file)) return hasHistory ? 'is missing' : undefined;
    const found = inspectStorage(file);
    if (found.state === 'broken') return `is damaged (${found.reason})`;
    if (found.identity === undefined) return hasHistory ? 'has lost its fabric' : undefined;
    const expected = this.#expected();
    return expected === undefined || isSame(expected, found.identity) ? undefined : 'holds another fabric than the one of this home';
  }

  #restore(fault: string): void {
    const good = this.#snapshots().find((number) => this.#faultOf(this.#snapshotFile(number)) === undefined);
    if (good === undefined) throw this.#failure(fault);
    const quarantine = this.#quarantine();
    copyFileSync(this.#snapshotFile(good), `${this.#database}.part`);
    chmodSync(`${this.#database}.part`, 0o600);
    syncPath(`${this.#database}.part`);
    renameSync(`${this.#database}.part`, this.#database);
    const snapshotAt = statSync(this.#snapshotFile(good)).mtime.toISOString();
    this.#logger.error('matter.storage_restored', { fault, snapshotAt, quarantine });
  }

  /** Moves the damaged file and its write-ahead log aside: a stale log would be replayed into the restored file. */
  #quarantine(): string {
    const base = join(this.#stateDir, 'quarantine');
    mkdirSync(base, { recursive: true, mode: 0o700 });
    const folder = join(base, String(readdirSync(base).length + 1));
    mkdirSync(folder, { mode: 0o700 });
    for (const name of [DATABASE, `${DATABASE}-wal`, `${DATABASE}-shm`]) {
      if (existsSync(join(this.#nodeDir, name))) renameSync(join(this.#nodeDir, name), join(folder, name));
    }
    return folder;
  }

  #repairDriverFile(): void {
    const file = join(this.#nodeDir, 'driver.json');
    if (parseFile(file)?.kind !== 'sqlite') replaceFile(file, DRIVER_FILE_TEXT);
  }

  #expected(): FabricIdentity | undefined {
    const marker = parseFile(this.#marker);
    if (typeof marker?.fabricId !== 'string' || typeof marker.rootHash !== 'string') return undefined;
    return { fabricId: marker.fabricId, rootHash: marker.rootHash };
  }

  /** Numbers of the snapshots, newest first. */
  #snapshots(): readonly number[] {
    if (!existsSync(this.#snapshotDir)) return [];
    const names = readdirSync(this.#snapshotDir).filter((name) => /^\d{8}\.db$/.test(name));
    return names.map((name) => Number.parseInt(name, 10)).sort((a, b) => b - a);
  }

  #snapshotFile(number: number): string {
    return join(this.#snapshotDir, `${String(number).padStart(8, '0')}.db`);
  }

  #failure(fault: string): AtmoError {
    return new AtmoError(
      'STORAGE_FAILED',
      `The Matter storage ${this.#database} ${fault}, and no snapshot of this home's fabric is good. Put your own copy of the state directory back. ` +
        `To give the home up and start anew, move ${this.#stateDir} away: every device then has to be reset and commissioned again.`,
    );
  }

  get #nodeDir(): string {
    return join(this.#stateDir, NODE_FOLDER);
  }

  get #database(): string {
    return join(this.#nodeDir, DATABASE);
  }

  get #snapshotDir(): string {
    return join(this.#stateDir, 'snapshots');
  }

  get #marker(): string {
    return join(this.#stateDir, 'fabric.json');
  }
}

function isSame(a: FabricIdentity, b: FabricIdentity): boolean {
  return a.fabricId === b.fabricId && a.rootHash === b.rootHash;
}

function parseFile(file: string) {
  try {
    const value: unknown = JSON.parse(readFileSync(file, 'utf8'));
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Takes group and others every right: an older version or a copy may have left some. */
function tightenModes(folder: string): void {
  chmodSync(folder, 0o700);
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) tightenModes(path);
    else if (entry.isFile()) chmodSync(path, 0o600);
  }
}

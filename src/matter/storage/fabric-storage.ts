import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { AtmoError } from '../../core/errors.ts';
import { replaceFile, setAsideUnlessFile } from '../../core/files/file-system.ts';
import { RecoverableFile, repairReporter } from '../../core/files/recoverable-file.ts';
import type { HubProblems } from '../../core/health.ts';
import { isJsonObject, type JsonObject, tryParseJson } from '../../core/json.ts';
import type { Logger } from '../../core/logger.ts';
import type { FileAnchor } from '../../core/storage/key-value-store.ts';
import { type FabricIdentity, type Inspection, inspectStorage } from './matter-database.ts';
import { copyStorage, removeLockFiles, restoreStorage, SIDE_FILES } from './storage-copy.ts';

/** Name of the matter.js node, and of its folder in the state directory. */
export const NODE_FOLDER = 'hub';
const DATABASE = 'storage.db';
const SNAPSHOTS_KEPT = 3;
const OLDER = 'has lost its last';
const DRIVER_FILE_TEXT = '{"kind":"sqlite","type":"kv"}';

interface StorageParts {
  readonly logger: Logger;
  readonly problems: Pick<HubProblems, 'raise'>;
  readonly anchor: FileAnchor;
}

/**
 * Protects the file that contains the fabric's keys. Checks the file before matter.js opens it, and keeps copies. If the file is damaged,
 * restores the newest valid copy. Once the home has a fabric, never accepts a file without this fabric: matter.js would then create a new
 * fabric, and every device of the home would be lost.
 */
export class FabricStorage {
  readonly #parts: StorageParts;
  readonly #stateDir: string;
  readonly #nodeDir: string;
  readonly #database: string;
  readonly #snapshotDir: string;
  readonly #driverFile: string;
  readonly #marker: RecoverableFile;

  constructor(parts: StorageParts, stateDir: string) {
    this.#parts = parts;
    this.#stateDir = stateDir;
    this.#nodeDir = join(stateDir, NODE_FOLDER);
    this.#database = join(this.#nodeDir, DATABASE);
    this.#snapshotDir = join(stateDir, 'snapshots');
    this.#driverFile = join(this.#nodeDir, 'driver.json');
    const path = join(stateDir, 'fabric.json');
    const isWhole = (text: string) => identityIn(text) !== undefined;
    this.#marker = new RecoverableFile({ path, isWhole, onRepaired: repairReporter(parts) });
  }

  /** Prepares the folder for matter.js. Throws STORAGE_FAILED if the fabric is lost and no copy of it is valid. */
  prepare(): void {
    for (const folder of [this.#nodeDir, this.#snapshotDir]) makeFolder(folder);
    tightenModes(this.#stateDir);
    for (const file of [...SIDE_FILES.map((suffix) => this.#database + suffix), this.#driverFile]) this.#freePlace(file);
    removeLockFiles(this.#nodeDir);
    const fault = this.#faultOf(this.#database) ?? this.#lossOf();
    if (fault !== undefined) this.#restore(fault);
    // Without the driver file, matter.js would read another driver's data and start empty.
    if (existsSync(this.#database)) this.#repairDriverFile();
  }

  /** Stores our fabric's identity the first time; later throws STORAGE_FAILED if the fabric is another one. matter.js must be running. */
  confirmFabric(): void {
    const found = inspectStorage(this.#database);
    if (found.state === 'broken' || found.identity === undefined) throw this.#failure('holds no fabric after the start');
    const expected = this.#expected();
    if (expected !== undefined && !isSame(expected, found.identity)) throw this.#failure('holds another fabric than the one of this home');
    if (expected === undefined) this.#marker.write(JSON.stringify(found.identity));
  }

  /** Copies the storage. Logs a failure as a warning, since the storage itself is valid. */
  snapshot(): void {
    const numbers = this.#snapshots();
    const file = this.#snapshotFile((numbers[0] ?? 0) + 1);
    try {
      copyStorage(this.#database, file);
      for (const old of numbers.slice(SNAPSHOTS_KEPT - 1)) rmSync(this.#snapshotFile(old), { force: true });
    } catch (error) {
      this.#parts.logger.warn('matter.snapshot_failed', { reason: error instanceof Error ? error.message : String(error) });
    }
  }

  /** Compares a readable storage file with its anchor. Returns what the file has lost, or undefined if the file is intact. */
  #lossOf(): string | undefined {
    const found = existsSync(this.#database) ? inspectStorage(this.#database) : undefined;
    if (found?.state !== 'whole') return undefined;
    const expected = this.#parts.anchor.least();
    const generation = found.mark?.generation ?? 0;
    if (expected && generation < expected.generation) return `${OLDER} ${expected.generation - generation} changes`;
    const isOther = expected?.generation === generation && expected.digest !== '' && found.mark?.digest !== expected.digest;
    return isOther || !found.isAsWritten ? 'holds values that are not as they were written' : undefined;
  }

  /** Returns why a storage file must not be used; undefined if it is valid. Before the first fabric, a file without a fabric is valid. */
  #faultOf(file: string): string | undefined {
    const hadFabric = this.#expected() !== undefined || this.#snapshots().length > 0;
    if (!existsSync(file))
      return hadFabric || (file === this.#database && this.#parts.anchor.least() !== undefined) ? 'is missing' : undefined;
    const found = inspectStorage(file);
    if (found.state === 'broken') return `is damaged (${found.reason})`;
    // A hub that was killed during its first start has a storage without a fabric.
    if (found.identity === undefined) return hadFabric ? 'has lost its fabric' : undefined;
    const expected = this.#expected();
    return expected === undefined || isSame(expected, found.identity) ? undefined : 'holds another fabric than the one of this home';
  }

  #restore(fault: string): void {
    const good = this.#snapshots().find((number) => this.#isGood(this.#snapshotFile(number)));
    const isUsable = this.#faultOf(this.#database) === undefined;
    if (isUsable && (good === undefined || !this.#isNewer(good, fault))) {
      this.#report(fault, 'matter.storage_kept', {});
      return;
    }
    if (good === undefined) throw this.#failure(fault);
    const quarantine = this.#quarantine();
    const copy = this.#snapshotFile(good);
    restoreStorage(copy, this.#database);
    this.#report(fault, 'matter.storage_restored', { snapshotAt: statSync(copy).mtime.toISOString(), quarantine });
  }

  #report(fault: string, event: string, data: JsonObject): void {
    const { logger, problems } = this.#parts;
    logger.error(event, { fault, ...data });
    const copy = typeof data.snapshotAt === 'string' ? `; its copy of ${data.snapshotAt} is in its place` : '';
    problems.raise(DATABASE, `The storage of the Matter devices ${fault}${copy}. What was changed since is lost`);
  }

  #isGood(file: string): boolean {
    const found = inspectStorage(file);
    return found.state === 'whole' && found.isAsWritten && this.#faultOf(file) === undefined;
  }

  /** Returns whether to restore a snapshot. If the storage is intact but older than expected, the snapshot must have more changes. */
  #isNewer(snapshot: number, fault: string): boolean {
    const [copy, file] = [inspectStorage(this.#snapshotFile(snapshot)), inspectStorage(this.#database)];
    const generationOf = (found: Inspection) => (found.state === 'whole' ? (found.mark?.generation ?? 0) : 0);
    return !fault.startsWith(OLDER) || generationOf(copy) > generationOf(file);
  }

  #freePlace(path: string): void {
    const aside = setAsideUnlessFile(path);
    if (aside === undefined) return;
    this.#parts.logger.error('matter.path_set_aside', { path, aside });
    this.#parts.problems.raise(path, `${basename(path)} was no file, and was set aside as ${basename(aside)}`);
  }

  /** Moves the damaged file away. Also moves its write-ahead log, which would otherwise be replayed into the restored file. */
  #quarantine(): string {
    const base = join(this.#stateDir, 'quarantine');
    mkdirSync(base, { recursive: true, mode: 0o700 });
    const folder = join(base, String(readdirSync(base).length + 1));
    mkdirSync(folder, { mode: 0o700 });
    for (const name of SIDE_FILES.map((suffix) => DATABASE + suffix)) {
      if (existsSync(join(this.#nodeDir, name))) renameSync(join(this.#nodeDir, name), join(folder, name));
    }
    return folder;
  }

  #repairDriverFile(): void {
    const driver = existsSync(this.#driverFile) ? tryParseJson(readFileSync(this.#driverFile, 'utf8')) : undefined;
    if (!isJsonObject(driver) || driver.kind !== 'sqlite') replaceFile(this.#driverFile, DRIVER_FILE_TEXT);
  }

  #expected(): FabricIdentity | undefined {
    return identityIn(this.#marker.read() ?? '');
  }

  /** Returns the numbers of the snapshots, newest first. */
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
}

function makeFolder(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
  } catch (error) {
    const message = `${folder} is no folder, or cannot be made: move what lies there away (${String(error)})`;
    throw new AtmoError('STORAGE_FAILED', message, { path: folder });
  }
}

function isSame(a: FabricIdentity, b: FabricIdentity): boolean {
  return a.fabricId === b.fabricId && a.rootHash === b.rootHash;
}

function identityIn(text: string): FabricIdentity | undefined {
  const marker = tryParseJson(text);
  if (!isJsonObject(marker) || typeof marker.fabricId !== 'string' || typeof marker.rootHash !== 'string') return undefined;
  return { fabricId: marker.fabricId, rootHash: marker.rootHash };
}

/** Removes all permissions of group and others, which an older version or a copy may have left. */
function tightenModes(folder: string): void {
  chmodSync(folder, 0o700);
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) tightenModes(path);
    else if (entry.isFile()) chmodSync(path, 0o600);
  }
}

import '../matter-platform.ts';
import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { AtmoError } from '../../core/errors.ts';
import type { HubProblems } from '../../core/health.ts';
import type { Logger } from '../../core/logger.ts';
import { inspectStorage } from '../storage/matter-database.ts';
import { copyStorage, removeLockFiles, restoreStorage, SIDE_FILES } from '../storage/storage-copy.ts';

/** Returns the name of a bridge's node, which is also that of its folder. */
export function bridgeFolder(number: number): string {
  return `bridge-${number}`;
}

/** The file of a bridge with the keys of the ecosystems that commissioned it, and a copy that is made when these change. */
export class BridgeStorage {
  readonly #parts: { readonly logger: Logger; readonly problems: Pick<HubProblems, 'raise'> };
  readonly #folder: string;
  readonly #database: string;
  readonly #copy: string;

  constructor(parts: { readonly logger: Logger; readonly problems: Pick<HubProblems, 'raise'> }, stateDir: string, number: number) {
    this.#parts = parts;
    this.#folder = join(stateDir, bridgeFolder(number));
    this.#database = join(this.#folder, 'storage.db');
    this.#copy = join(stateDir, 'snapshots', `${bridgeFolder(number)}.db`);
  }

  /** Prepares the folder for matter.js. If the file is damaged or missing, puts the copy in its place. Throws STORAGE_FAILED without one. */
  prepare(): void {
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    removeLockFiles(this.#folder);
    const fault = this.#fault();
    if (fault !== undefined) this.#restore(fault);
  }

  /** Copies the file. Logs a failure as a warning, since the file itself is valid. */
  snapshot(): void {
    try {
      copyStorage(this.#database, this.#copy);
    } catch (error) {
      this.#parts.logger.warn('matter.snapshot_failed', { reason: error instanceof Error ? error.message : String(error) });
    }
  }

  /** Deletes the file and its copy. */
  erase(): void {
    rmSync(this.#folder, { recursive: true, force: true });
    rmSync(this.#copy, { force: true });
  }

  /** Returns why the file cannot be used. A bridge without a copy has never been commissioned, so it may begin without a file. */
  #fault(): string | undefined {
    if (!existsSync(this.#database)) return existsSync(this.#copy) ? 'is missing' : undefined;
    const found = inspectStorage(this.#database);
    return found.state === 'broken' ? `is damaged (${found.reason})` : undefined;
  }

  #restore(fault: string): void {
    const { logger, problems } = this.#parts;
    const about = `The storage of the Matter bridge ${this.#database} ${fault}`;
    if (!existsSync(this.#copy) || inspectStorage(this.#copy).state === 'broken') {
      const remedy = 'Put your own copy of the state directory back, or remove the folder and commission the bridge again';
      throw new AtmoError('STORAGE_FAILED', `${about}, and there is no good copy. ${remedy}`, { path: this.#database });
    }
    for (const suffix of SIDE_FILES) rmSync(this.#database + suffix, { force: true });
    restoreStorage(this.#copy, this.#database);
    logger.error('matter.storage_restored', { fault, path: this.#database });
    problems.raise(this.#database, `${about}; its copy is in its place. What the ecosystems changed since is lost`);
  }
}

import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { AtmoError } from '../../core/errors.ts';
import { toStorageError } from '../storage-error.ts';
import { sealStream } from './archive-cipher.ts';
import { type ArchiveSource, archiveContent } from './archive-content.ts';
import type { Derive } from './archive-header.ts';
import { type ArchiveTable, OUTSIDE } from './archive-table.ts';
import type { DatabaseCopy } from './database-copies.ts';
import { AUDIT_FRONT, stateFiles } from './state-files.ts';

/** What is to be backed up, and how. */
export interface ArchiveOrder {
  readonly stateDir: string;
  /** Of the databases; all other files are taken as they lie there. */
  readonly copies: readonly DatabaseCopy[];
  readonly isRunning: boolean;
  /** Absolute paths of files from elsewhere. */
  readonly outside: readonly string[];
  readonly head: Omit<ArchiveTable, 'entries'>;
  readonly passphrase: string;
  readonly derive: Derive;
}

/** Where the bytes of an archive go, one piece after the other. */
interface ArchiveTarget {
  write(piece: Uint8Array): Promise<void>;
}

/** What went into an archive. */
export interface ArchiveFigures {
  readonly files: number;
  /** Of the archive. */
  readonly bytes: number;
}

/** Writes the archive of a state directory to `target`. STORAGE_FAILED; CONFLICT when a file changed meanwhile. */
export async function makeArchive(order: ArchiveOrder, target: ArchiveTarget): Promise<ArchiveFigures> {
  const sources: ArchiveSource[] = [];
  try {
    for (const [path, file] of filesOf(order)) sources.push(await openSource(path, file));
    requireIdentity(sources, order.stateDir);
    let bytes = 0;
    for await (const piece of sealStream(archiveContent(order.head, sources), order.passphrase, order.derive)) {
      await target.write(piece);
      bytes += piece.length;
    }
    return { files: sources.length, bytes };
  } catch (error) {
    throw toStorageError(error, order.stateDir);
  } finally {
    for (const { handle } of sources) await handle.close();
  }
}

/** Paths in the archive with those on the disk. */
function* filesOf({ stateDir, copies, isRunning, outside }: ArchiveOrder): Generator<readonly [path: string, file: string]> {
  for (const { database, copy } of copies) yield [database, join(stateDir, copy)];
  // While the hub runs the copy of audit.db has its lines.
  const isWanted = (path: string) => !(isRunning && path === AUDIT_FRONT);
  for (const path of stateFiles(stateDir).others.filter(isWanted)) yield [path, join(stateDir, path)];
  for (const file of outside) yield [`${OUTSIDE}${file}`, file];
}

async function openSource(path: string, file: string): Promise<ArchiveSource> {
  const handle = await open(file, 'r');
  const { size, mode } = await handle.stat();
  return { path, bytes: size, isExecutable: (mode & 0o100) !== 0, handle };
}

function requireIdentity(sources: readonly ArchiveSource[], stateDir: string): void {
  if (sources.some(({ path }) => path === 'hub.key')) return;
  throw new AtmoError('NOT_FOUND', `${stateDir} holds no hub: it has no hub.key. Set ATMO_STATE_DIR to the hub's state directory`, {
    stateDir,
  });
}

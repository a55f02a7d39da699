import { createPrivateKey } from 'node:crypto';
import { existsSync, statSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import semver from 'semver';
import { hubIdOf, rawPublicKey } from '../../codec/public-key.ts';
import { isoTime, systemClock } from '../../core/clock.ts';
import { AtmoError, systemCode } from '../../core/errors.ts';
import { EventBus } from '../../core/events.ts';
import { readSmallFile, runAsOwnerOf } from '../../core/files/owner-rights.ts';
import { HubProblems } from '../../core/health.ts';
import { silentLogger } from '../../core/logger.ts';
import { packageVersion } from '../../core/package-files.ts';
import type { BackupReport, BackupRequest, BackupService, RestoreReport } from '../../core/storage/backup.ts';
import { skipGroupCounter } from '../../matter/storage/matter-database.ts';
import { AnnouncedEpoch } from '../../mesh/gossip/hub-record.ts';
import { type ArchiveTable, OUTSIDE } from '../../storage/backup/archive-content.ts';
import { byScrypt, type Derive } from '../../storage/backup/archive-encryption.ts';
import { type ArchiveFigures, BackupFile, type BackupOptions, createArchive, DatabaseCopies } from '../../storage/backup/create-backup.ts';
import { restoreArchive } from '../../storage/backup/restore-backup.ts';
import { writeRestoreNote } from '../../storage/pending-restore.ts';
import { StateAnchors } from '../../storage/state-anchors.ts';
import { defaultStateDirectory, SYSTEM_STATE_DIRECTORY, WritableCopy } from '../../storage/state-directory.ts';
import { StateLock } from '../../storage/state-lock.ts';
import { StateStore } from '../../storage/state-store.ts';
import { guardStorage } from '../../storage/storage-error.ts';
import { type Environment, filesOutsideState } from '../config/config.ts';

/**
 * The hub that runs as a service of the machine. Its `EnvironmentFile` is in no backup: systemd reads it as root, the user of the hub may not be
 * able to, and secrets that the configuration takes from the environment are to stay out of backups.
 */
interface SystemService {
  readonly stateDir: string;
  readonly environmentFile: string;
}

/** The service that the packages install. */
export const PACKAGED_SERVICE: SystemService = {
  stateDir: SYSTEM_STATE_DIRECTORY,
  environmentFile: '/etc/atmosphere-edge/environment',
};

/** Returns the backup service for the hub on this machine. It needs no token, since only the owner can read the hub's files. */
export function stateArchive(env: Environment, derive = byScrypt, service = PACKAGED_SERVICE): BackupService {
  const { stateDir: system, environmentFile } = service;
  const leftOutOf = (stateDir: string) => (resolve(stateDir) === resolve(system) && existsSync(environmentFile) ? [environmentFile] : []);
  return {
    stateDir: () => resolve(defaultStateDirectory(env)),
    backup: async (wishes) => {
      requireOpenHub(wishes.stateDir, { env, system, command: 'backup' });
      return { ...(await backup(wishes, env, derive)), leftOut: leftOutOf(wishes.stateDir) };
    },
    restore: async (wishes) => {
      requireOpenHub(wishes.stateDir, { env, system, command: 'restore' });
      return restore(wishes, derive);
    },
  };
}

async function backup(wishes: BackupRequest, env: Environment, derive: Derive): Promise<Omit<BackupReport, 'leftOut'>> {
  const { stateDir, file, passphrase, askForCopies } = wishes;
  const hub = hubOf(stateDir);
  const target = await BackupFile.open(file);
  try {
    const report = await runAsOwnerOf(stateDir, async () => {
      const head = { version: packageVersion(), hub, madeAt: isoTime(systemClock.now()) };
      const order = { head, outside: filesOutsideState(env, stateDir), passphrase, key: { derive } };
      await using lock = new StateLock(stateDir);
      const standing = await standingOf(lock);
      if (standing === 'running') {
        const figures = await createArchive({ ...order, stateDir, copies: await askForCopies(), isRunning: true }, target);
        return { hub, ...figures, isOfRunningHub: true };
      }
      if (standing === 'stopped') return { hub, ...(await archiveStopped({ ...order, stateDir }, target)), isOfRunningHub: false };
      await using copy = await WritableCopy.of(stateDir);
      return { hub, ...(await archiveStopped({ ...order, stateDir: copy.path }, target)), isOfRunningHub: false };
    });
    await target.commit();
    return report;
  } catch (error) {
    await target.drop();
    throw error;
  }
}

async function archiveStopped(order: Omit<BackupOptions, 'copies' | 'isRunning'>, target: BackupFile): Promise<ArchiveFigures> {
  const databases = new DatabaseCopies(systemClock, order.stateDir);
  try {
    return await createArchive({ ...order, copies: await databases.take(), isRunning: false }, target);
  } finally {
    databases.drop();
  }
}

/** Tries to take the hub's lock, to find out whether the hub runs. On a read-only disk no hub can run, and no lock is taken. */
async function standingOf(lock: StateLock): Promise<'running' | 'stopped' | 'read-only'> {
  try {
    await lock.start();
    return 'stopped';
  } catch (error) {
    if (error instanceof AtmoError && error.code === 'CONFLICT') return 'running';
    if (error instanceof AtmoError && error.details.cause === 'not-writable') return 'read-only';
    throw error;
  }
}

interface ClosedHub {
  readonly env: Environment;
  /** State directory of a hub that runs as a service. */
  readonly system: string;
  readonly command: 'backup' | 'restore';
}

/** Throws PERMISSION_DENIED if this machine has a system hub, but the command would use this user's own, empty state directory. */
function requireOpenHub(stateDir: string, { env, system, command }: ClosedHub): void {
  const isFallback = !env.ATMO_STATE_DIR && resolve(stateDir) !== system && existsSync(system);
  if (!isFallback || existsSync(join(stateDir, 'hub.key'))) return;
  const message = `The hub of this machine keeps its state in ${system}, which is open to its own user and root alone: use "sudo atmo ${command} …"`;
  throw new AtmoError('PERMISSION_DENIED', message, { state_dir: system });
}

function hubOf(stateDir: string): string {
  const path = join(stateDir, 'hub.key');
  if (!existsSync(path)) {
    throw new AtmoError('NOT_FOUND', `${stateDir} holds no hub that this user can see; use "sudo atmo backup …" or set ATMO_STATE_DIR`, {
      stateDir,
    });
  }
  return guardStorage(path, () => hubIdOf(rawPublicKey(createPrivateKey(readSmallFile(path)))));
}

async function restore({ stateDir, file, passphrase }: Parameters<BackupService['restore']>[0], derive: Derive): Promise<RestoreReport> {
  await using archive = await openBackup(file);
  const { table, aside } = await runAsOwnerOf(stateDir, () =>
    restoreArchive({
      stateDir,
      archive: bytesOf(archive, file),
      passphrase,
      derive,
      accept: requireKnownVersion,
      advance: skipCounters,
      now: isoTime(systemClock.now()),
    }),
  );
  return {
    hub: table.hub,
    madeAt: table.madeAt,
    version: table.version,
    files: table.entries.length,
    ...(aside !== undefined && { aside }),
    outside: outsideOf(table).map((path) => ({ path: path.slice(OUTSIDE.length), restoredAs: join(stateDir, path) })),
  };
}

/** Yields the bytes of a backup. A read error names the backup's file. */
async function* bytesOf(archive: FileHandle, file: string): AsyncGenerator<Uint8Array> {
  try {
    yield* archive.createReadStream({ autoClose: false });
  } catch (cause) {
    throw new AtmoError(
      'STORAGE_FAILED',
      `${file} cannot be read (${systemCode(cause)}). See \`dmesg\`, look at the disk that it is on, or take another copy of the backup`,
      { path: file },
      { cause },
    );
  }
}

async function openBackup(file: string): Promise<FileHandle> {
  try {
    if (statSync(file).isDirectory())
      throw new AtmoError('NOT_FOUND', `${file} is a folder; name the file that "atmo backup" wrote`, { file });
    return await open(file, 'r');
  } catch (cause) {
    if (cause instanceof AtmoError) throw cause;
    throw new AtmoError(
      'NOT_FOUND',
      `${file} cannot be read (${systemCode(cause)}); name the file that "atmo backup" wrote`,
      { file },
      { cause },
    );
  }
}

const outsideOf = ({ entries }: ArchiveTable): readonly string[] =>
  entries.map(({ path }) => path).filter((path) => path.startsWith(`${OUTSIDE}/`));

/** Throws NOT_SUPPORTED if a newer version of the hub made the backup. This version would report it as damaged. */
function requireKnownVersion({ version }: ArchiveTable): void {
  const own = packageVersion();
  if (semver.valid(version) !== null && semver.lte(version, own)) return;
  throw new AtmoError(
    'NOT_SUPPORTED',
    `The backup was made by atmosphere-edge ${version}, and this is ${own}. Install that version first`,
    {
      version,
    },
  );
}

/**
 * Increases the counters that other hubs remember. Otherwise, they would refuse the restored hub's next messages as replayed. Opens the
 * databases as a start of the hub does. If a database is unusable, the restore therefore fails now, not at the next start.
 */
async function skipCounters(directory: string, { madeAt }: ArchiveTable): Promise<void> {
  const clock = systemClock;
  await using fileAnchors = new StateAnchors(directory, silentLogger);
  const collaborators = {
    clock,
    logger: silentLogger,
    events: new EventBus('atmosphere-edge', clock),
    problems: new HubProblems(),
    fileAnchors,
  };
  const options = { directory, snapshotDirectory: join(directory, 'snapshots'), skipsCopyAtStop: true };
  await using store = new StateStore(collaborators, options);
  await store.start();
  const epoch = new AnnouncedEpoch({ store, clock });
  epoch.begin();
  // The clock of a board without a battery may be behind. The time of the backup is therefore a lower limit.
  epoch.surpass(Math.floor(Math.max(clock.now(), Date.parse(madeAt)) / 1000));
  writeRestoreNote(store, { madeAt, restoredAt: isoTime(clock.now()) });
  skipGroupCounter(join(directory, 'matter'));
}

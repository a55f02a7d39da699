import { join } from 'node:path';
import { isoTime, type TrustedTime } from '../core/clock.ts';
import type { HubContext } from '../core/context.ts';
import type { HubProblems } from '../core/health.ts';
import type { HubId } from '../core/ids.ts';
import type { ServiceStack } from '../core/lifecycle.ts';
import { packageVersion } from '../core/package-files.ts';
import type { KeyValueStore } from '../core/storage/key-value-store.ts';
import { BackupFile, createArchive, DatabaseCopies } from '../storage/backup/create-backup.ts';
import { ScheduledBackups } from '../storage/backup/own-backups.ts';
import { BACKUP_FOLDER } from '../storage/state-directory.ts';
import { filesOutsideState, type HubConfig } from './config/config.ts';

/** A database of the running hub that can be copied. */
interface CopiedDatabase {
  snapshot(): Promise<{ readonly path: string }>;
}

interface CopiedParts extends Pick<HubContext, 'clock'> {
  readonly store: CopiedDatabase;
  readonly readings: CopiedDatabase;
  readonly auth: { readonly audit: CopiedDatabase };
}

/** The parts of the hub that its own backups need. */
interface BackupParts extends CopiedParts, Pick<HubContext, 'logger'> {
  readonly store: CopiedDatabase & KeyValueStore;
  readonly problems: HubProblems;
  readonly auth: { readonly audit: CopiedDatabase; readonly key: { readonly hubId: HubId }; readonly time: TrustedTime };
}

/** Returns the functions that copy the databases. audit.db is last: its copy must contain the audit head that state.db's copy names. */
export function databaseCopies({ clock, store, readings, auth }: CopiedParts, stateDir: string): DatabaseCopies {
  return new DatabaseCopies(clock, stateDir, [
    { name: 'history.db', snapshot: () => readings.snapshot() },
    { name: 'state.db', snapshot: () => store.snapshot() },
    { name: 'audit.db', snapshot: () => auth.audit.snapshot() },
  ]);
}

/** Starts the backups that the hub itself writes. */
export async function openBackups(infrastructure: BackupParts, config: HubConfig, stack: ServiceStack): Promise<ScheduledBackups> {
  const { clock, store, problems, auth } = infrastructure;
  const { stateDir, backup } = config;
  const logger = infrastructure.logger.child({ module: 'backup' });
  const copies = databaseCopies(infrastructure, stateDir);
  const write = async (file: string, passphrase: string): Promise<void> => {
    const head = { version: packageVersion(), hub: auth.key.hubId, madeAt: isoTime(clock.now()) };
    const outside = filesOutsideState(process.env, stateDir, config);
    const target = await BackupFile.open(file);
    try {
      const taken = await copies.take();
      await createArchive(
        { stateDir, copies: taken, isRunning: true, outside, head, passphrase, key: { cost: config.memory.backupCost } },
        target,
      );
      await target.commit();
    } catch (error) {
      await target.drop();
      throw error;
    }
  };
  const folder = backup.folder ?? join(stateDir, BACKUP_FOLDER);
  const backups = new ScheduledBackups(
    { clock, time: auth.time, store, logger, problems, write },
    { stateDir, folder, isFolderOwn: backup.folder === undefined, hubId: auth.key.hubId },
  );
  await stack.start(backups);
  return backups;
}

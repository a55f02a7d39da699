/** A request for a backup. */
export interface BackupRequest {
  readonly stateDir: string;
  /** Path of the new file; undefined means stdout. */
  readonly file: string | undefined;
  readonly passphrase: string;
  /** Asks a running hub to copy its databases. Returns the paths of the databases and of the copies, below the state directory. */
  readonly askForCopies: () => Promise<readonly { readonly database: string; readonly copy: string }[]>;
}

/** Numbers about a finished backup. */
export interface BackupReport {
  readonly hub: string;
  readonly files: number;
  /** Size of the archive in bytes. */
  readonly bytes: number;
  readonly isOfRunningHub: boolean;
  /** Paths of files on which the hub of this machine depends, and which are in no backup. */
  readonly leftOut: readonly string[];
}

/** The result of a restore. */
export interface RestoreReport {
  readonly hub: string;
  /** Time of the backup in ISO 8601. */
  readonly madeAt: string;
  readonly version: string;
  readonly files: number;
  /** Folder to which the earlier files were moved; absent if there were none. */
  readonly aside?: string;
  /** Files that were outside of the state directory: their former paths, and the paths to which they were restored. */
  readonly outside: readonly { readonly path: string; readonly restoredAs: string }[];
}

/** Port: writes the state of this machine's hub into an encrypted file, and restores it from such a file. */
export interface BackupService {
  stateDir(): string;
  /** Writes a backup. Rejects with CONFLICT (the file exists), NOT_FOUND (the directory has no hub) or STORAGE_FAILED (the disk fails). */
  backup(request: BackupRequest): Promise<BackupReport>;
  /**
   * Restores a backup. Rejects with CONFLICT (a hub runs on the directory), PERMISSION_DENIED (wrong passphrase), VALIDATION_ERROR (damaged
   * file), NOT_SUPPORTED (backup of a newer version) or STORAGE_FAILED. If it fails before it moves the first file, nothing changes.
   */
  restore(request: Omit<BackupRequest, 'askForCopies' | 'file'> & { readonly file: string }): Promise<RestoreReport>;
}

/** When the hub writes backups by itself, and how many of them it keeps. */
export interface BackupSchedule {
  /** Local time of day, `HH:MM`; absent if the hub writes a backup only when a person asks for it. */
  readonly at?: string;
  readonly keep: number;
}

/** A backup in the hub's folder. */
export interface KeptBackup {
  readonly file: string;
  readonly madeAtMs: number;
  readonly bytes: number;
}

/** The state of the hub's own backups. */
export interface BackupStatus {
  readonly folder: string;
  /** Whether the folder is on the disk of the state directory: a disk that fails then takes the backups with it. */
  readonly isOnSameDisk: boolean;
  /** Absent until a person has set a passphrase. */
  readonly schedule?: BackupSchedule;
  readonly nextAtMs?: number;
  readonly lastSuccessAtMs?: number;
  readonly lastFailure?: { readonly atMs: number; readonly message: string };
  /** Why no backup protects the hub as the schedule says; absent if all is well. */
  readonly problem?: string;
  /** The backups in the folder, newest first. */
  readonly backups: readonly KeptBackup[];
}

/** Port: the backups that the hub itself writes. */
export interface OwnBackups {
  status(): BackupStatus;
  /** Writes a backup. Rejects with NOT_CONFIGURED (no passphrase), NOT_FOUND (the folder is missing) or STORAGE_FAILED (the disk fails). */
  makeNow(): Promise<KeptBackup>;
  /** Stores the schedule. Throws NOT_CONFIGURED if there is no passphrase yet, STORAGE_FAILED if the disk refuses. */
  setSchedule(schedule: BackupSchedule, passphrase?: string): void;
}

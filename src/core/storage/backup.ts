/** A request for a backup. */
export interface BackupRequest {
  readonly stateDir: string;
  /** Path of the new file; undefined means stdout. */
  readonly file: string | undefined;
  readonly passphrase: string;
  /** Requests copies of the databases from a running hub; returns paths below the state directory. */
  readonly askForCopies: () => Promise<readonly { readonly database: string; readonly copy: string }[]>;
}

/** Numbers about a finished backup. */
export interface BackupReport {
  readonly hub: string;
  readonly files: number;
  /** Size of the archive in bytes. */
  readonly bytes: number;
  readonly isOfRunningHub: boolean;
}

/** The result of a restore. */
export interface RestoreReport {
  readonly hub: string;
  /** Time of the backup in ISO 8601. */
  readonly madeAt: string;
  readonly version: string;
  readonly files: number;
  /** Folder with the earlier files; absent if there were none. */
  readonly aside?: string;
  /** Files from outside of the state directory, with their former and new paths. */
  readonly outside: readonly { readonly path: string; readonly restoredAs: string }[];
}

/** Port: writes the state of this machine's hub into an encrypted file, and restores it. */
export interface BackupService {
  stateDir(): string;
  /**
   * Writes a backup. Rejects with CONFLICT if the file exists, NOT_FOUND if the directory has no hub, and STORAGE_FAILED if the disk fails.
   */
  backup(request: BackupRequest): Promise<BackupReport>;
  /**
   * Restores a backup. Rejects with CONFLICT (a hub runs on the directory), PERMISSION_DENIED (wrong passphrase), VALIDATION_ERROR (damaged
   * file), NOT_SUPPORTED (backup of a newer version) or STORAGE_FAILED. An error before the first file moves changes nothing.
   */
  restore(request: Omit<BackupRequest, 'askForCopies' | 'file'> & { readonly file: string }): Promise<RestoreReport>;
}

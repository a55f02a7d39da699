/** Asks a hub that runs for copies of its databases; paths are below the state directory. */
export type RequestCopies = () => Promise<readonly { readonly database: string; readonly copy: string }[]>;

/** How a backup is made. */
export interface BackupRequest {
  readonly stateDir: string;
  /** Path of the new file; stdout when absent. */
  readonly file: string | undefined;
  readonly passphrase: string;
  readonly askForCopies: RequestCopies;
}

/** What a backup holds. */
export interface BackupReport {
  readonly hub: string;
  readonly files: number;
  /** Of the archive. */
  readonly bytes: number;
  /** Whether the hub ran meanwhile. */
  readonly isOfRunningHub: boolean;
}

/** What a restore did. */
export interface RestoreReport {
  readonly hub: string;
  /** ISO 8601. */
  readonly madeAt: string;
  /** Of the software that made the backup. */
  readonly version: string;
  readonly files: number;
  /** Folder with what was there before; absent when there was nothing. */
  readonly aside?: string;
  /** Files from outside of the state directory, where they were, and where they lie now. */
  readonly outside: readonly { readonly path: string; readonly restoredAs: string }[];
}

/** Port: what a hub of this machine keeps, as one file under a passphrase and back. */
export interface BackupService {
  /** Directory of the hub that commands on this machine mean. */
  stateDir(): string;
  /** CONFLICT when the file is there already, NOT_FOUND when the directory holds no hub, STORAGE_FAILED. */
  backup(wishes: BackupRequest): Promise<BackupReport>;
  /**
   * CONFLICT while a hub runs on the directory, PERMISSION_DENIED for another passphrase, VALIDATION_ERROR for what is damaged,
   * NOT_SUPPORTED for the backup of a newer version, STORAGE_FAILED; all was left as it was then.
   */
  restore(wishes: Omit<BackupRequest, 'askForCopies' | 'file'> & { readonly file: string }): Promise<RestoreReport>;
}

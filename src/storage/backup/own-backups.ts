import { mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Clock, TrustedTime } from '../../core/clock.ts';
import { AtmoError, toAtmoError } from '../../core/errors.ts';
import { attemptWrite } from '../../core/files/file-system.ts';
import { BACKUP_OVERDUE, type HubProblems } from '../../core/health.ts';
import { isJsonObject } from '../../core/json.ts';
import type { Service } from '../../core/lifecycle.ts';
import { atWallTime, nextLocalTime } from '../../core/local-time.ts';
import type { Logger } from '../../core/logger.ts';
import type { BackupSchedule, BackupStatus, KeptBackup, OwnBackups } from '../../core/storage/backup.ts';
import type { KeyValueStore } from '../../core/storage/key-value-store.ts';

interface OwnBackupsParts {
  readonly clock: Clock;
  /** No backup is written by itself while the time is not trusted: its name and the order of deletion would be wrong. */
  readonly time: Pick<TrustedTime, 'isTrusted'>;
  readonly store: KeyValueStore;
  readonly logger: Logger;
  readonly problems: Pick<HubProblems, 'raise' | 'clear'>;
  /** Writes a backup to a new file. Rejects if that fails; the file then does not exist. */
  readonly write: (file: string, passphrase: string) => Promise<void>;
}

interface OwnBackupsOptions {
  readonly stateDir: string;
  /** Folder for the backups. If it is the hub's own, the hub creates it; a folder of the owner may be on a disk that is not mounted. */
  readonly folder: string;
  readonly isFolderOwn: boolean;
  readonly hubId: string;
  readonly timeZone?: string;
}

const SPACE = 'backups';
const OVERDUE_MS = 48 * 3_600_000;
/** How long a backup that fell due while the hub was off waits after the start. */
const START_DELAY_MS = 120_000;
/** How soon a backup that failed is tried again. */
const RETRY_MS = 3_600_000;
const CHECK_MS = 3_600_000;

/** Writes backups of the hub into a folder, once a day and when a person asks, and deletes the oldest ones. */
export class ScheduledBackups implements OwnBackups, Service {
  readonly #parts: OwnBackupsParts;
  readonly #options: OwnBackupsOptions;
  readonly #timeZone: string;
  #cancel = () => {};
  #cancelCheck = () => {};
  #running: Promise<KeptBackup> | undefined;
  #isStopped = false;

  constructor(parts: OwnBackupsParts, options: OwnBackupsOptions) {
    this.#parts = parts;
    this.#options = options;
    this.#timeZone = options.timeZone ?? Intl.DateTimeFormat().resolvedOptions().timeZone;
  }

  async start(): Promise<void> {
    attemptWrite(() => this.#deletePartialFiles());
    this.#arm(START_DELAY_MS);
    this.#checkOverdue();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isStopped = true;
    this.#cancel();
    this.#cancelCheck();
    await this.#running?.catch(() => {});
  }

  status(): BackupStatus {
    const { folder, stateDir } = this.#options;
    const { schedule, lastSuccessAtMs, lastFailure } = this.#stored();
    const nextAtMs = this.#dueMs();
    const problem = this.#problem();
    return {
      folder,
      isOnSameDisk: isOnSameDisk(folder, stateDir),
      ...(schedule && { schedule: { keep: schedule.keep, ...(schedule.at !== undefined && { at: schedule.at }) } }),
      ...(nextAtMs !== undefined && { nextAtMs: Math.max(nextAtMs, this.#parts.clock.now()) }),
      ...(lastSuccessAtMs !== undefined && { lastSuccessAtMs }),
      ...(lastFailure && { lastFailure }),
      ...(problem !== undefined && { problem }),
      backups: this.#list(),
    };
  }

  setSchedule({ at, keep }: BackupSchedule, passphrase?: string): void {
    const secret = passphrase ?? this.#stored().schedule?.passphrase;
    if (secret === undefined) throw noPassphrase();
    const schedule = { keep, passphrase: secret, setAtMs: this.#parts.clock.now(), ...(at !== undefined && { at }) };
    this.#parts.store.set(SPACE, 'schedule', schedule);
    this.#arm(START_DELAY_MS);
    this.#showProblem();
  }

  /** Writes a backup; if one is being written, waits for that one. */
  makeNow(): Promise<KeptBackup> {
    const running = this.#running ?? this.#make().finally(() => (this.#running = undefined));
    this.#running = running;
    return running;
  }

  async #make(): Promise<KeptBackup> {
    const { clock, store, write } = this.#parts;
    const { schedule } = this.#stored();
    if (!schedule) throw noPassphrase();
    const { folder, isFolderOwn } = this.#options;
    const madeAtMs = clock.now();
    try {
      if (isFolderOwn) mkdirSync(folder, { recursive: true, mode: 0o700 });
      const file = join(folder, nameOf(this.#prefix(), madeAtMs));
      await write(file, schedule.passphrase);
      store.set(SPACE, 'last_success', { atMs: madeAtMs });
      store.delete(SPACE, 'last_failure');
      this.#deleteOldest(schedule.keep);
      return { file, madeAtMs, bytes: statSync(file).size };
    } catch (thrown) {
      const { code, message } = toAtmoError(thrown);
      this.#parts.logger.error('backup.failed', { code, message });
      attemptWrite(() => store.set(SPACE, 'last_failure', { atMs: clock.now(), message }));
      throw thrown;
    } finally {
      this.#showProblem();
    }
  }

  /** Starts the timer for the next backup. One that is due already is written after `delayMs`. */
  #arm(delayMs: number): void {
    this.#cancel();
    const dueMs = this.#dueMs();
    if (dueMs === undefined || this.#isStopped) return;
    const { clock } = this.#parts;
    this.#cancel = atWallTime(clock, Math.max(dueMs, clock.now() + (dueMs <= clock.now() ? delayMs : 0)), () => void this.#makeDue());
  }

  async #makeDue(): Promise<void> {
    if (!this.#parts.time.isTrusted()) {
      this.#arm(RETRY_MS);
      return;
    }
    await this.makeNow().catch(() => {});
    this.#arm(RETRY_MS);
  }

  /** Returns when the next backup is due: the first time of day after the last backup, or after the schedule was set. */
  #dueMs(): number | undefined {
    const { schedule, lastSuccessAtMs } = this.#stored();
    if (schedule?.at === undefined) return undefined;
    const lastMs = Math.max(schedule.setAtMs, lastSuccessAtMs ?? 0);
    // A clock that was ahead may have left a time in the future, after which no backup would be due for years.
    return nextLocalTime({ at: schedule.at, timeZone: this.#timeZone }, Math.min(lastMs, this.#parts.clock.now()));
  }

  #problem(): string | undefined {
    const { schedule, lastSuccessAtMs, lastFailure } = this.#stored();
    if (schedule?.at === undefined) return undefined;
    if (lastFailure) return `The last backup failed: ${lastFailure.message}`;
    const sinceMs = Math.max(schedule.setAtMs, lastSuccessAtMs ?? 0);
    if (this.#parts.clock.now() - sinceMs <= OVERDUE_MS) return undefined;
    return `No backup was written since ${new Date(sinceMs).toISOString()}; see that ${this.#options.folder} can be written, then make one: atmo backups now`;
  }

  #showProblem(): void {
    const problem = this.#problem();
    if (problem === undefined) this.#parts.problems.clear(BACKUP_OVERDUE);
    else this.#parts.problems.raise(BACKUP_OVERDUE, problem);
  }

  #checkOverdue(): void {
    this.#showProblem();
    this.#cancelCheck = this.#parts.clock.after(CHECK_MS, () => this.#checkOverdue());
  }

  #list(): readonly KeptBackup[] {
    const { folder } = this.#options;
    const names = namesIn(folder).filter((name) => timeIn(name, this.#prefix()) !== undefined);
    const found = names.map((name) => {
      const file = join(folder, name);
      return { file, madeAtMs: timeIn(name, this.#prefix()) ?? 0, bytes: statSync(file, { throwIfNoEntry: false })?.size ?? 0 };
    });
    return found.sort((a, b) => b.madeAtMs - a.madeAtMs);
  }

  #deleteOldest(keep: number): void {
    for (const { file } of this.#list().slice(keep)) attemptWrite(() => rmSync(file, { force: true }));
  }

  /** Deletes what a backup left behind that a crash interrupted. */
  #deletePartialFiles(): void {
    const { folder } = this.#options;
    const partial = namesIn(folder).filter((name) => name.startsWith(this.#prefix()) && name.endsWith('.atmo.partial'));
    for (const name of partial) rmSync(join(folder, name), { force: true });
  }

  #prefix(): string {
    return `atmosphere-${this.#options.hubId}-`;
  }

  #stored(): StoredBackups {
    const read = (key: string) => this.#parts.store.get(SPACE, key);
    const [schedule, success, failure] = [read('schedule'), read('last_success'), read('last_failure')];
    // The casts are safe because only this class writes these entries.
    return {
      ...(isJsonObject(schedule) && { schedule: schedule as unknown as StoredSchedule }),
      ...(isJsonObject(success) && { lastSuccessAtMs: Number(success.atMs) }),
      ...(isJsonObject(failure) && { lastFailure: { atMs: Number(failure.atMs), message: String(failure.message) } }),
    };
  }
}

interface StoredSchedule extends BackupSchedule {
  readonly passphrase: string;
  readonly setAtMs: number;
}

interface StoredBackups extends Pick<BackupStatus, 'lastSuccessAtMs' | 'lastFailure'> {
  readonly schedule?: StoredSchedule;
}

function noPassphrase(): AtmoError {
  return new AtmoError('NOT_CONFIGURED', 'A backup needs a passphrase; set one with the schedule: atmo backups schedule 03:30');
}

function nameOf(prefix: string, atMs: number): string {
  return `${prefix}${new Date(atMs).toISOString().replace(/[-:]|\.\d+/g, '')}.atmo`;
}

/** Returns the time in the name of a backup of this hub (milliseconds since 1970); undefined for any other name. */
function timeIn(name: string, prefix: string): number | undefined {
  const [, year, month, day, hour, minute, second] =
    /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z\.atmo$/.exec(name.startsWith(prefix) ? name.slice(prefix.length) : '') ?? [];
  return year === undefined ? undefined : Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function isOnSameDisk(folder: string, stateDir: string): boolean {
  const of = (path: string) => statSync(path, { throwIfNoEntry: false })?.dev;
  return (of(folder) ?? of(dirname(folder))) === of(stateDir);
}

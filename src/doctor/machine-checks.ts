import { execFile } from 'node:child_process';
import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  fsyncSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  statSync,
} from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { writeAll } from '../core/files/file-system.ts';
import { runAsOwnerOf } from '../core/files/owner-rights.ts';
import { type CheckResult, type Finding, failed, named, ok, warning } from './check-result.ts';

const OLDEST_NODE = 24;
/** If the clock shows an earlier time, it is wrong: this version did not exist then. A board without a battery starts in 1970. */
const EARLIEST_TIME_MS = Date.UTC(2026, 0, 1);
/** systemd-timesyncd creates this file when it has first set the clock after a boot. */
const SYNCHRONISED_FILE = '/run/systemd/timesync/synchronized';
const ASK_MS = 2_000;
/** Advice to switch on NTP. On a minimal Debian, timedatectl fails until an NTP client such as systemd-timesyncd is installed. */
const KEEP_TIME = 'sudo timedatectl set-ntp true; where it says that NTP is not supported, first sudo apt install systemd-timesyncd';

/** Checks that this version of Node.js can run the hub. */
export function nodeCheck(version: string): Finding {
  const isNew = Number(version.split('.')[0]) >= OLDEST_NODE;
  return isNew ? ok(version) : failed(version, `run atmo of the package, or ./scripts/atmo in a checkout: both bring Node ${OLDEST_NODE}`);
}

/** Checks that the machine's clock is not before the earliest possible time. */
export function clockCheck(nowMs: number): Finding {
  const found = new Date(nowMs).toISOString();
  if (nowMs >= EARLIEST_TIME_MS) return ok(found);
  return failed(found, `set the time: ${KEEP_TIME}`);
}

/** Checks whether NTP sets the clock. `ask` returns the output of timedatectl, or undefined if the program is missing. */
export async function networkTimeCheck(ask: () => Promise<string | undefined> = askTimedatectl): Promise<Finding> {
  if (existsSync(SYNCHRONISED_FILE)) return ok('synchronised');
  const answer = await ask();
  if (answer === undefined) return ok('not known here: no timedatectl (the hub says below what it believes)');
  if (answer.trim() === 'yes') return ok('synchronised');
  return warning('not synchronised', `${KEEP_TIME}; it needs a way to the internet`);
}

async function askTimedatectl(): Promise<string | undefined> {
  try {
    const { stdout } = await promisify(execFile)('timedatectl', ['show', '--property=NTPSynchronized', '--value'], { timeout: ASK_MS });
    return stdout;
  } catch {
    return undefined;
  }
}

/**
 * Checks whether the kernel enforces memory limits of services (cgroups(7)). The firmware of a Raspberry Pi switches these limits off, and
 * systemd does not report this. `folder` is the mount point of the control groups.
 */
export function memoryBoundCheck(folder = '/sys/fs/cgroup'): Finding {
  const file = join(folder, 'cgroup.controllers');
  if (!existsSync(file)) return ok('not known here: no control groups of version 2');
  if (readFileSync(file, 'utf8').split(/\s+/).includes('memory')) return ok('kept by the kernel');
  const advice =
    'MemoryMax= of the service holds nothing: put cgroup_enable=memory at the end of the one line of /boot/firmware/cmdline.txt, and restart the board';
  return warning('not kept by this kernel', advice);
}

const MIB = 1024 * 1024;
/** A board that is sold with 512 MB shows a part of that; the next larger ones have 1 GB. */
const SMALL_BOARD_BYTES = 700 * MIB;

/** Checks that a small board has the memory profile for small boards. `profile` is the configured one, `totalBytes` the board's memory. */
export function memoryProfileCheck(profile: string, totalBytes: number): Finding {
  const found = `${profile}, on a machine with ${Math.round(totalBytes / MIB)} MiB`;
  if (profile !== 'normal' || totalBytes >= SMALL_BOARD_BYTES) return ok(found);
  return warning(
    found,
    'write memory: small into the configuration and put small.conf beside the unit (docs/small-boards.md), then restart the hub',
  );
}

const LEAST_FREE_BYTES = 100 * MIB;
/** Maximum milliseconds for writing a mebibyte. A slower disk delays every call. */
const SLOWEST_WRITE_MS = 2_000;
/** Maximum size of a database that is checked. A larger one would take minutes on a board. */
const LARGEST_CHECKED_BYTES = 256 * MIB;
const MOST_ENTRIES = 5_000;
const DATABASE = /\.(db|sqlite)$/;
const SET_ASIDE = /\.(corrupt|damaged)-|^matter\/quarantine\//;

/** Checks a state directory: its owner and modes, damaged files and the disk. */
export function directoryChecks(dir: string): readonly CheckResult[] {
  const directory = named('state directory', directoryCheck(dir));
  if (!canAccess(dir, constants.R_OK | constants.X_OK))
    return [directory, named('state files', warning('not readable for this user', `sudo atmo doctor looks into ${dir}`))];
  const files = entriesIn(dir);
  return [
    directory,
    named('state files', permissionCheck(dir, files)),
    named('damaged files', setAsideCheck(dir, files)),
    named('free space', spaceCheck(dir)),
    named('writing', writeCheck(dir)),
  ];
}

/** Checks the databases of a state directory. It reads each of them whole, so the hub does not do this while it serves calls. */
export async function databaseChecks(dir: string): Promise<readonly CheckResult[]> {
  if (!canAccess(dir, constants.R_OK | constants.X_OK)) return [];
  return [named('databases', await databaseCheck(dir, entriesIn(dir)))];
}

function directoryCheck(dir: string): Finding {
  const mode = statSync(dir).mode & 0o777;
  if ((mode & 0o077) === 0) return ok(dir);
  return failed(`${dir} has mode ${mode.toString(8)}`, `keys lie there: chmod 700 ${dir}`);
}

function permissionCheck(dir: string, files: readonly string[]): Finding {
  const owner = statSync(dir).uid;
  const strange = files.filter((file) => statSync(file, { throwIfNoEntry: false })?.uid !== owner);
  if (strange.length > 0) {
    const advice = `the hub's user cannot write them: sudo chown -R --reference=${dir} ${dir}`;
    return failed(`${shortList(dir, strange)} belong to another user`, advice);
  }
  const open = files.filter((file) => ((statSync(file, { throwIfNoEntry: false })?.mode ?? 0) & 0o077) !== 0);
  // If others cannot open the directory, its files are protected whatever their modes are.
  const isClosed = (statSync(dir).mode & 0o077) === 0;
  if (open.length === 0 || isClosed) return ok(`${files.length}, for their user alone`);
  return failed(`others can read ${shortList(dir, open)}`, `chmod -R go= ${dir}`);
}

/** Reports damaged files that the hub renamed at an earlier start. They stay on the disk until a person deletes them. */
function setAsideCheck(dir: string, files: readonly string[]): Finding {
  const aside = files.filter((file) => SET_ASIDE.test(file.slice(dir.length + 1)));
  if (aside.length === 0) return ok('none were set aside');
  const advice = 'the log of that start says what was lost; delete them when nothing is missing, and think of another card or disk';
  return warning(`${shortList(dir, aside)} set aside`, advice);
}

function spaceCheck(dir: string): Finding {
  const { bavail, bsize } = statfsSync(dir);
  const found = `${Math.round((bavail * bsize) / MIB)} MiB`;
  if (bavail * bsize >= LEAST_FREE_BYTES) return ok(found);
  return failed(found, `free some space on the disk of ${dir}`);
}

function writeCheck(dir: string): Finding {
  if (!canAccess(dir, constants.W_OK)) return warning('not writable for this user', "run as the hub's user to be sure");
  const file = join(dir, `.doctor-${process.pid}`);
  try {
    const tookMs = timeToWrite(file);
    const found = `1 MiB on the disk in ${Math.round(tookMs)} ms`;
    if (tookMs < SLOWEST_WRITE_MS) return ok(found);
    return warning(found, 'the card or disk is slow or worn out: replace it while it still can be read');
  } catch (error) {
    return failed(String(error), `see whether the disk of ${dir} is full or read-only (mount, dmesg)`);
  } finally {
    rmSync(file, { force: true });
  }
}

function timeToWrite(file: string): number {
  const startMs = performance.now();
  const descriptor = openSync(file, 'wx', 0o600);
  try {
    writeAll({ path: file, descriptor, bytes: Buffer.alloc(MIB) });
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
  return performance.now() - startMs;
}

async function databaseCheck(dir: string, files: readonly string[]): Promise<Finding> {
  const databases = files.filter((file) => DATABASE.test(file));
  const checked = databases.filter((file) => (statSync(file, { throwIfNoEntry: false })?.size ?? 0) <= LARGEST_CHECKED_BYTES);
  const problems = await runAsOwnerOf(dir, () => Promise.all(checked.map(async (file) => ({ file, problem: await quickCheck(file) }))));
  const broken = problems.filter(({ problem }) => problem !== undefined);
  if (broken.length > 0) {
    const found = broken.map(({ file, problem }) => `${file.slice(dir.length + 1)}: ${problem}`).join('; ');
    return failed(found, 'stop the hub, keep a copy of the directory; at its start it takes its last good snapshot');
  }
  const skipped = databases.length - checked.length;
  return ok(`${checked.length} whole${skipped > 0 ? `, ${skipped} too large to look at here` : ''}`);
}

/** Returns the first problem that SQLite finds (PRAGMA quick_check). Returns undefined if it finds none, or if the file is locked. */
async function quickCheck(file: string): Promise<string | undefined> {
  const { DatabaseSync } = await import('node:sqlite');
  try {
    using database = new DatabaseSync(file, { readOnly: true, timeout: 1_000 });
    const verdict = database.prepare('PRAGMA quick_check(1)').get()?.quick_check;
    return verdict === 'ok' ? undefined : String(verdict);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return message.includes('locked') ? undefined : message;
  }
}

function entriesIn(dir: string): readonly string[] {
  const entries = readdirSync(dir, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return files.slice(0, MOST_ENTRIES);
}

function shortList(dir: string, files: readonly string[]): string {
  const names = files.map((file) => file.slice(dir.length + 1));
  return names.length > 3 ? `${names.slice(0, 3).join(', ')} and ${names.length - 3} more` : names.join(', ');
}

function canAccess(path: string, mode: number): boolean {
  try {
    accessSync(path, mode);
    return true;
  } catch {
    return false;
  }
}

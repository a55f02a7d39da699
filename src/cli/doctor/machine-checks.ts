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
import { toAtmoError } from '../../core/errors.ts';
import { writeAll } from '../../core/files/file-system.ts';
import type { CliIo } from '../cli-io.ts';
import { findCredential, ownerTokenFile, stateDirs } from '../identity/credential.ts';
import type { CheckResult } from './check-result.ts';

const OLDEST_NODE = 24;
/** No hub of this version ran before this time: an earlier clock is wrong (a board without a battery starts in 1970). */
const EARLIEST_TIME_MS = Date.UTC(2026, 0, 1);
/** systemd-timesyncd makes it at its first answer after each boot. */
const SYNCHRONISED_FILE = '/run/systemd/timesync/synchronized';
const ASK_MS = 2_000;
/** The smallest Debian has nothing that asks the network for the time, and timedatectl refuses to switch it on. */
const KEEP_TIME = 'sudo timedatectl set-ntp true; where it says that NTP is not supported, first sudo apt install systemd-timesyncd';

/** Node's own version against the oldest that runs the hub. */
export function nodeCheck(version: string): CheckResult {
  const isNew = Number(version.split('.')[0]) >= OLDEST_NODE;
  return isNew
    ? { check: 'node', state: 'ok', found: version }
    : { check: 'node', state: 'failed', found: version, advice: `run scripts/atmo, which brings Node ${OLDEST_NODE}` };
}

/** The machine's clock against the earliest possible time. */
export function clockCheck(nowMs: number): CheckResult {
  const found = new Date(nowMs).toISOString();
  if (nowMs >= EARLIEST_TIME_MS) return { check: 'clock', state: 'ok', found };
  return { check: 'clock', state: 'failed', found, advice: `set the time: ${KEEP_TIME}` };
}

/** Whether the network keeps the clock; `ask` answers what timedatectl says, undefined where there is none. */
export async function networkTimeCheck(ask: () => Promise<string | undefined> = askTimedatectl): Promise<CheckResult> {
  const check = 'network time';
  if (existsSync(SYNCHRONISED_FILE)) return { check, state: 'ok', found: 'synchronised' };
  const answer = await ask();
  if (answer === undefined) return { check, state: 'ok', found: 'not known here: no timedatectl (the hub says below what it believes)' };
  if (answer.trim() === 'yes') return { check, state: 'ok', found: 'synchronised' };
  return { check, state: 'warning', found: 'not synchronised', advice: `${KEEP_TIME}; it needs a way to the internet` };
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
 * Whether the kernel holds services to bounds of memory (cgroups(7)): the firmware of a Raspberry Pi switches that off, and systemd
 * says nothing. The folder is where control groups are mounted.
 */
export function memoryBoundCheck(folder = '/sys/fs/cgroup'): CheckResult {
  const check = 'bounds of memory';
  const file = join(folder, 'cgroup.controllers');
  if (!existsSync(file)) return { check, state: 'ok', found: 'not known here: no control groups of version 2' };
  if (readFileSync(file, 'utf8').split(/\s+/).includes('memory')) return { check, state: 'ok', found: 'kept by the kernel' };
  const advice =
    'MemoryMax= of the service holds nothing: put cgroup_enable=memory at the end of the one line of /boot/firmware/cmdline.txt, and restart the board';
  return { check, state: 'warning', found: 'not kept by this kernel', advice };
}

/** The credential that this user would call with. */
export function tokenCheck(env: CliIo['env']): CheckResult {
  const check = 'token';
  if (env.ATMO_TOKEN) return { check, state: 'ok', found: 'ATMO_TOKEN' };
  try {
    const login = findCredential(env)?.login;
    if (login !== undefined) return { check, state: 'ok', found: `your login in ${login.file}` };
  } catch (error) {
    return { check, state: 'failed', found: toAtmoError(error).message, advice: 'without a token little can be asked' };
  }
  const file = ownerTokenFile(env);
  if (file === undefined) {
    const places = stateDirs(env).map((dir) => join(dir, 'owner.token'));
    return { check, state: 'failed', found: `no ${places.join(' or ')}`, advice: 'start a hub once (atmo serve), or set ATMO_TOKEN' };
  }
  const mode = statSync(file).mode & 0o777;
  if ((mode & 0o077) === 0) return { check, state: 'ok', found: file };
  return { check, state: 'failed', found: `${file} has mode ${mode.toString(8)}`, advice: `others can read it: chmod 600 ${file}` };
}

const MIB = 1024 * 1024;
const LEAST_FREE_BYTES = 100 * MIB;
/** A card that takes longer for a mebibyte on the disk makes everything late. */
const SLOWEST_WRITE_MS = 2_000;
/** Larger databases take minutes on a board. */
const LARGEST_CHECKED_BYTES = 256 * MIB;
const MOST_ENTRIES = 5_000;
const DATABASE = /\.(db|sqlite)$/;
const SET_ASIDE = /\.(corrupt|damaged)-|^matter\/quarantine\//;

/** The state directory: whom it belongs to, who can read it, and whether the disk below it is well. */
export async function stateChecks(env: CliIo['env']): Promise<readonly CheckResult[]> {
  const dir = stateDirs(env).find((candidate) => existsSync(candidate));
  if (dir === undefined) {
    const found = `none of ${stateDirs(env).join(', ')}`;
    return [{ check: 'state directory', state: 'failed', found, advice: 'start a hub once (atmo serve), or set ATMO_STATE_DIR' }];
  }
  const directory = directoryCheck(dir);
  if (!canAccess(dir, constants.R_OK | constants.X_OK)) return [directory, notOurs(dir)];
  const files = entriesIn(dir);
  return [
    directory,
    permissionCheck(dir, files),
    setAsideCheck(dir, files),
    spaceCheck(dir),
    writeCheck(dir),
    await databaseCheck(dir, files),
  ];
}

function directoryCheck(dir: string): CheckResult {
  const mode = statSync(dir).mode & 0o777;
  const check = 'state directory';
  if ((mode & 0o077) === 0) return { check, state: 'ok', found: dir };
  return { check, state: 'failed', found: `${dir} has mode ${mode.toString(8)}`, advice: `keys lie there: chmod 700 ${dir}` };
}

function notOurs(dir: string): CheckResult {
  return { check: 'state files', state: 'warning', found: 'not readable for this user', advice: `sudo atmo doctor looks into ${dir}` };
}

function permissionCheck(dir: string, files: readonly string[]): CheckResult {
  const check = 'state files';
  const owner = statSync(dir).uid;
  const strange = files.filter((file) => statSync(file, { throwIfNoEntry: false })?.uid !== owner);
  if (strange.length > 0) {
    const advice = `the hub's user cannot write them: sudo chown -R --reference=${dir} ${dir}`;
    return { check, state: 'failed', found: `${shortList(dir, strange)} belong to another user`, advice };
  }
  const open = files.filter((file) => ((statSync(file, { throwIfNoEntry: false })?.mode ?? 0) & 0o077) !== 0);
  // Who may not enter the directory reads nothing in it, whatever the modes of a file that somebody copied there.
  const isClosed = (statSync(dir).mode & 0o077) === 0;
  if (open.length === 0 || isClosed) return { check, state: 'ok', found: `${files.length}, for their user alone` };
  return { check, state: 'failed', found: `others can read ${shortList(dir, open)}`, advice: `chmod -R go= ${dir}` };
}

/** What a start found damaged stays beside its copy until somebody has looked at it. */
function setAsideCheck(dir: string, files: readonly string[]): CheckResult {
  const check = 'damaged files';
  const aside = files.filter((file) => SET_ASIDE.test(file.slice(dir.length + 1)));
  if (aside.length === 0) return { check, state: 'ok', found: 'none were set aside' };
  const advice = 'the log of that start says what was lost; delete them when nothing is missing, and think of another card or disk';
  return { check, state: 'warning', found: `${shortList(dir, aside)} set aside`, advice };
}

function spaceCheck(dir: string): CheckResult {
  const { bavail, bsize } = statfsSync(dir);
  const found = `${Math.round((bavail * bsize) / MIB)} MiB`;
  if (bavail * bsize >= LEAST_FREE_BYTES) return { check: 'free space', state: 'ok', found };
  return { check: 'free space', state: 'failed', found, advice: `free some space on the disk of ${dir}` };
}

/** A mebibyte on the disk and gone again. */
function writeCheck(dir: string): CheckResult {
  const check = 'writing';
  if (!canAccess(dir, constants.W_OK))
    return { check, state: 'warning', found: 'not writable for this user', advice: "run as the hub's user to be sure" };
  const file = join(dir, `.doctor-${process.pid}`);
  try {
    const tookMs = timeToWrite(file);
    const found = `1 MiB on the disk in ${Math.round(tookMs)} ms`;
    if (tookMs < SLOWEST_WRITE_MS) return { check, state: 'ok', found };
    return { check, state: 'warning', found, advice: 'the card or disk is slow or worn out: replace it while it still can be read' };
  } catch (error) {
    return { check, state: 'failed', found: String(error), advice: `see whether the disk of ${dir} is full or read-only (mount, dmesg)` };
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

async function databaseCheck(dir: string, files: readonly string[]): Promise<CheckResult> {
  const check = 'databases';
  const databases = files.filter((file) => DATABASE.test(file));
  const checked = databases.filter((file) => (statSync(file, { throwIfNoEntry: false })?.size ?? 0) <= LARGEST_CHECKED_BYTES);
  const problems = await Promise.all(checked.map(async (file) => ({ file, problem: await quickCheck(file) })));
  const broken = problems.filter(({ problem }) => problem !== undefined);
  if (broken.length > 0) {
    const found = broken.map(({ file, problem }) => `${file.slice(dir.length + 1)}: ${problem}`).join('; ');
    return {
      check,
      state: 'failed',
      found,
      advice: 'stop the hub, keep a copy of the directory; at its start it takes its last good snapshot',
    };
  }
  const skipped = databases.length - checked.length;
  return { check, state: 'ok', found: `${checked.length} whole${skipped > 0 ? `, ${skipped} too large to look at here` : ''}` };
}

/** What SQLite finds wrong (PRAGMA quick_check); undefined when nothing is, or while the hub works on it alone. */
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

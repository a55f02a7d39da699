import { accessSync, closeSync, constants, existsSync, fsyncSync, openSync, readdirSync, rmSync, statfsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { writeAll } from '../../core/storage/durable-file.ts';
import type { CliIo } from '../cli-io.ts';
import { stateDirs } from '../state-dir.ts';
import type { CheckResult } from './check-result.ts';

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
  if (!canUse(dir, constants.R_OK | constants.X_OK)) return [directory, notOurs(dir)];
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
  if (!canUse(dir, constants.W_OK))
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

function canUse(path: string, mode: number): boolean {
  try {
    accessSync(path, mode);
    return true;
  } catch {
    return false;
  }
}

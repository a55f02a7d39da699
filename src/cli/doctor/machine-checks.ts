import { execFile } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { toAtmoError } from '../../core/errors.ts';
import type { CliIo } from '../cli-io.ts';
import { findCredential, ownerTokenFile, stateDirs } from '../state-dir.ts';
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

import { accessSync, constants, existsSync, readFileSync, statfsSync, statSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { toAtmoError } from '../core/errors.ts';
import type { CliIo } from './cli-io.ts';
import { findCredential, ownerTokenFile, stateDirs } from './state-dir.ts';

/** One finding of the doctor. `advice` says what to do unless the check is ok. */
export interface CheckResult {
  readonly check: string;
  readonly state: 'ok' | 'warning' | 'failed';
  readonly found: string;
  readonly advice?: string;
}

const OLDEST_NODE = 24;
const LEAST_FREE_BYTES = 100 * 1024 * 1024;
/** No hub of this version ran before this time: an earlier clock is wrong (a board without a battery starts in 1970). */
const EARLIEST_TIME_MS = Date.UTC(2026, 0, 1);

type Environment = CliIo['env'];

/** What can be checked on this machine without a hub. */
export function machineChecks(env: Environment): readonly CheckResult[] {
  const dir = stateDirs(env).find((candidate) => existsSync(candidate));
  return [nodeCheck(process.versions.node), clockCheck(Date.now()), ...networkChecks(), ...stateChecks(dir, env), tokenCheck(env)];
}

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
  return { check: 'clock', state: 'failed', found, advice: 'set the time: sudo timedatectl set-ntp true' };
}

function networkChecks(): readonly CheckResult[] {
  const names = Object.entries(networkInterfaces()).flatMap(([name, addresses]) =>
    addresses?.some((address) => address.family === 'IPv6' && address.address.startsWith('fe80:')) ? [name] : [],
  );
  const able = names.filter(isMulticast);
  const ipv6: CheckResult =
    names.length > 0
      ? { check: 'ipv6', state: 'ok', found: names.join(', ') }
      : {
          check: 'ipv6',
          state: 'failed',
          found: 'no link-local address',
          advice: 'Matter needs IPv6: sysctl net.ipv6.conf.all.disable_ipv6=0',
        };
  const multicast: CheckResult =
    able.length > 0
      ? { check: 'multicast', state: 'ok', found: able.join(', ') }
      : {
          check: 'multicast',
          state: 'failed',
          found: 'no interface',
          advice: 'devices are found by multicast: ip link set DEV multicast on',
        };
  return [ipv6, multicast];
}

const IFF_MULTICAST = 0x1000;

function isMulticast(name: string): boolean {
  const file = `/sys/class/net/${name}/flags`;
  return existsSync(file) && (Number(readFileSync(file, 'utf8')) & IFF_MULTICAST) !== 0;
}

function stateChecks(dir: string | undefined, env: Environment): readonly CheckResult[] {
  if (dir === undefined) {
    const found = `none of ${stateDirs(env).join(', ')}`;
    return [{ check: 'state directory', state: 'failed', found, advice: 'start a hub once (atmo serve), or set ATMO_STATE_DIR' }];
  }
  const mode = statSync(dir).mode & 0o777;
  const isPrivate = (mode & 0o077) === 0;
  return [
    isPrivate
      ? { check: 'state directory', state: 'ok', found: dir }
      : {
          check: 'state directory',
          state: 'failed',
          found: `${dir} has mode ${mode.toString(8)}`,
          advice: `keys lie there: chmod 700 ${dir}`,
        },
    storageCheck(dir),
  ];
}

function storageCheck(dir: string): CheckResult {
  const { bavail, bsize } = statfsSync(dir);
  const found = `${Math.round((bavail * bsize) / 1024 / 1024)} MiB free`;
  if (bavail * bsize < LEAST_FREE_BYTES)
    return { check: 'storage', state: 'failed', found, advice: `free some space on the disk of ${dir}` };
  try {
    accessSync(dir, constants.W_OK);
    return { check: 'storage', state: 'ok', found };
  } catch {
    return {
      check: 'storage',
      state: 'warning',
      found: `${found}, not writable for this user`,
      advice: "run as the hub's user to be sure",
    };
  }
}

function tokenCheck(env: Environment): CheckResult {
  if (env.ATMO_TOKEN) return { check: 'token', state: 'ok', found: 'ATMO_TOKEN' };
  try {
    const login = findCredential(env)?.login;
    if (login !== undefined) return { check: 'token', state: 'ok', found: `your login in ${login.file}` };
  } catch (error) {
    return { check: 'token', state: 'failed', found: toAtmoError(error).message, advice: 'without a token little can be asked' };
  }
  const file = ownerTokenFile(env);
  if (file === undefined) {
    const places = stateDirs(env).map((dir) => join(dir, 'owner.token'));
    return { check: 'token', state: 'failed', found: `no ${places.join(' or ')}`, advice: 'start a hub once, or set ATMO_TOKEN' };
  }
  const mode = statSync(file).mode & 0o777;
  if ((mode & 0o077) === 0) return { check: 'token', state: 'ok', found: file };
  return {
    check: 'token',
    state: 'failed',
    found: `${file} has mode ${mode.toString(8)}`,
    advice: `others can read it: chmod 600 ${file}`,
  };
}

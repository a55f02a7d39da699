import { closeSync, constants, existsSync, fstatSync, openSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { systemCode } from '../core/errors.ts';
import { attemptWrite, readTextIfExists, replaceFile, syncPath } from '../core/files/file-system.ts';
import { isJsonObject, type JsonObject, objectOf, present, tryParseJson } from '../core/json.ts';

/** Folder in which the package, and root alone, notes how an upgrade went. The hub reads it. */
export const UPGRADE_DIRECTORY = '/var/lib/atmosphere-edge-upgrade';

/**
 * How far an upgrade of the package is. Whoever writes a step while the watch may run stops the watch first, so that one process writes at a
 * time.
 *
 * | step           | meaning                                         | written by                     | followed by                            |
 * | -------------- | ----------------------------------------------- | ------------------------------ | -------------------------------------- |
 * | `installing`   | dpkg is at work                                 | prerm, preinst                 | `watching`, `rolling-back`, `stayed`, or the record before it |
 * | `watching`     | the new version has to come up                  | the watch                      | `settled`, `rolling-back`, `stayed`    |
 * | `rolling-back` | the version before runs and is to be installed  | the watch, the owner's command, preinst of that version | `rolled-back`, `stayed` |
 * | `settled`      | the new version came up                         | the watch                      | `rolling-back` if the owner wants it   |
 * | `rolled-back`  | the version before is installed                 | the watch                      |                                        |
 * | `stayed`       | the new version did not come up, no way back    | the watch                      | `rolling-back` if the owner wants it   |
 *
 * From each of them the installation of another version leads to `installing`.
 */
const OPEN_STEPS = ['installing', 'watching', 'rolling-back'] as const;
const CLOSED_STEPS = ['settled', 'rolled-back', 'stayed'] as const;
const STEPS = [...OPEN_STEPS, ...CLOSED_STEPS];
export type OpenStep = (typeof OPEN_STEPS)[number];
type UpgradeStep = (typeof STEPS)[number];

/**
 * Why an upgrade was not kept. `ended`: the hub ended again and again. `no_answer`: its health page did not answer in time.
 * `not_installed`: dpkg was interrupted and could not go on. `owner`: the owner asked for the version before.
 */
export const UPGRADE_REASONS = ['ended', 'no_answer', 'not_installed', 'owner'] as const;
export type UpgradeReason = (typeof UPGRADE_REASONS)[number];

/** Why there is no way back. `minimum`: the version before has a known security hole. `nothing_kept`: no files of it are there. */
const OBSTACLES = ['minimum', 'nothing_kept'] as const;
export type UpgradeObstacle = (typeof OBSTACLES)[number];

/** Returns a semantic version as the package has it: a pre-release comes before its release (deb-version(7)). */
export function debianVersion(version: string): string {
  return version.replace(/^([^-+]+)-/, '$1~');
}

/** The last upgrade of the package, with versions of the package. */
export interface UpgradeRecord {
  readonly step: UpgradeStep;
  /** Version before the upgrade. */
  readonly from: string;
  readonly to: string;
  /** Time of the decision about the upgrade, milliseconds since 1970; absent before it. */
  readonly atMs?: number;
  readonly reason?: UpgradeReason;
  readonly obstacle?: UpgradeObstacle;
}

/** A record with something left to do. The unit of the watch has the same list (systemd/atmosphere-edge-upgrade.service). */
export type OpenUpgrade = UpgradeRecord & { readonly step: OpenStep };

/** Returns whether something is left to do. */
export function isOpen(record: UpgradeRecord | undefined): record is OpenUpgrade {
  return OPEN_STEPS.some((step) => step === record?.step);
}

/** Reads the record in a folder; undefined if there is none or it says nothing that this version understands. */
export function readUpgradeRecord(directory: string): UpgradeRecord | undefined {
  return recordIn(recordFile(directory));
}

/** Reads the record that was set aside in a folder; undefined if there is none. */
export function readRecordBefore(directory: string): UpgradeRecord | undefined {
  return recordIn(fileBefore(directory));
}

/** Replaces the record. After a power cut the folder has either the old or the new one. */
export function writeUpgradeRecord(directory: string, { atMs, ...record }: UpgradeRecord): void {
  replaceFile(recordFile(directory), JSON.stringify({ ...record, ...present({ at_ms: atMs }) }), { mode: 0o644 });
}

/** Puts back the record that the package's scripts have set aside, because the upgrade did not take place; none if there was none. */
export function restoreUpgradeRecord(directory: string): void {
  const before = fileBefore(directory);
  if (existsSync(before)) renameSync(before, recordFile(directory));
  else rmSync(recordFile(directory), { force: true });
  syncPath(directory);
}

/** Returns the place of the record in its folder; the package's scripts write the first one. */
export function recordFile(directory: string): string {
  return join(directory, 'record.json');
}

function fileBefore(directory: string): string {
  return join(directory, 'before.json');
}

function recordIn(file: string): UpgradeRecord | undefined {
  const document = tryParseJson(readTextIfExists(file) ?? '');
  return isJsonObject(document) ? recordOf(document) : undefined;
}

function recordOf({ step, from, to, reason, obstacle, at_ms: atMs }: JsonObject): UpgradeRecord | undefined {
  const known = STEPS.find((one) => one === step);
  if (known === undefined || typeof from !== 'string' || typeof to !== 'string') return undefined;
  return {
    step: known,
    from,
    to,
    ...present({
      atMs: typeof atMs === 'number' ? atMs : undefined,
      reason: UPGRADE_REASONS.find((one) => one === reason),
      obstacle: OBSTACLES.find((one) => one === obstacle),
    }),
  };
}

const STARTS_FILE = 'starts.json';
const KEPT_STARTS = 8;
const MOST_BYTES = 4_096;

/** What earlier starts of the hub tell to whom waits for the next one. */
export interface StartFacts {
  /** Origin at which the hub answers programs of this machine, such as `http://127.0.0.1:8081`; absent before the first start. */
  readonly localUrl?: string;
  /** How long the last starts took, in milliseconds, the newest last. */
  readonly tookMs: readonly number[];
}

/** Notes that a hub has come up. A failed write is ignored: it only makes the next upgrade wait for as long as by default. */
export function noteStart(stateDir: string, start: { readonly localUrl: string; readonly tookMs: number }): void {
  const tookMs = [...readStarts(stateDir).tookMs, Math.round(start.tookMs)].slice(-KEPT_STARTS);
  attemptWrite(() => replaceFile(join(stateDir, STARTS_FILE), JSON.stringify({ local_url: start.localUrl, took_ms: tookMs })));
}

/**
 * Reads what earlier starts left. Root reads it from a folder of the hub's user, so that only an address of this machine counts, and what
 * is no file is not read: it is reported.
 */
export function readStarts(stateDir: string, onProblem: (problem: string) => void = () => undefined): StartFacts {
  const { local_url: url, took_ms: took } = objectOf(tryParseJson(startsText(join(stateDir, STARTS_FILE), onProblem)));
  const tookMs = Array.isArray(took) ? took.filter((one) => typeof one === 'number' && Number.isFinite(one)) : [];
  const origin = typeof url === 'string' ? URL.parse(url) : null;
  const isLocal = origin?.protocol === 'http:' && /^(127\.\d+\.\d+\.\d+|\[::1\]|localhost)$/.test(origin.hostname);
  return { tookMs: tookMs as readonly number[], ...(origin && isLocal && { localUrl: origin.origin }) };
}

/** Opens the file without following a link and without waiting for the other end of a pipe. */
function startsText(path: string, onProblem: (problem: string) => void): string {
  try {
    const descriptor = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      const found = fstatSync(descriptor);
      if (found.isFile() && found.size <= MOST_BYTES) return readFileSync(descriptor, 'utf8');
    } finally {
      closeSync(descriptor);
    }
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return '';
  }
  onProblem(`${path} is no file that the hub wrote, so that it is not read. Remove it: the next start of the hub writes a new one`);
  return '';
}

import { existsSync, mkdirSync, readlinkSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { systemClock } from '../../core/clock.ts';
import { AtmoError } from '../../core/errors.ts';
import { isWithin, readTextIfExists, realPath, replaceFile, syncPath } from '../../core/files/file-system.ts';
import { SYSTEM_STATE_DIRECTORY } from '../../storage/state-directory.ts';
import { answersHttp } from '../systemd.ts';
import {
  readRecordBefore,
  readStarts,
  readUpgradeRecord,
  restoreUpgradeRecord,
  UPGRADE_DIRECTORY,
  type UpgradeRecord,
  writeUpgradeRecord,
} from '../upgrade-record.ts';
import { KeptPackage } from './kept-package.ts';
import { MachineCommands } from './machine-commands.ts';
import { goBack, type WatchService } from './upgrade-back.ts';
import { type Installation, type ServiceLook, type UpgradeMachine, UpgradeWatch } from './upgrade-watch.ts';

const PACKAGE = 'atmosphere-edge';
const SERVICE = 'atmosphere-edge.service';
const WATCH = 'atmosphere-edge-upgrade.service';
/** Where the package's preinst keeps the version before. */
const KEPT = '/usr/lib/atmosphere-edge-previous';
/** A unit here has precedence over that of the package (systemd.unit(5)). */
const KEPT_UNIT = `/etc/systemd/system/${SERVICE}`;
const UNIT_MARK = '# Runs the version before an upgrade that was not kept, until it is installed again (docs/updates.md).';
/** A file of its own: the owner may have preferences for the package. */
const PREFERENCES = '/etc/apt/preferences.d/atmosphere-edge-avoided';
/** The package's prerm says here that it has stopped a hub that ran. Without it, a hub that does not run was stopped by its owner. */
const STOPPED_BY_DPKG = '/run/atmosphere-edge-stopped-by-dpkg';
/** Nobody answers questions of dpkg: settings stay as the owner has them (dpkg(1)). */
const KEEP_SETTINGS = ['--force-confdef', '--force-confold'];
const HEALTH_LIMIT_MS = 2_000;

const report = (line: string) => process.stderr.write(`${line}\n`);

/** Runs what is left to do after an upgrade of the package. Throws PERMISSION_DENIED if this is not root. */
export async function watchUpgrade(): Promise<UpgradeRecord | undefined> {
  return withMachine((machine) => new UpgradeWatch({ machine, clock: systemClock, report }).run());
}

/** Goes back to the version before the last upgrade. Throws PERMISSION_DENIED if this is not root, CONFLICT if there is no way back. */
export async function goBackHere(): Promise<UpgradeRecord | undefined> {
  return withMachine((machine) => goBack({ machine, watch: machine.watchUnit(), clock: systemClock, report }));
}

/** Runs `work` while something keeps the process alive, since the timers of a hub do not. */
async function withMachine<Result>(work: (machine: DebianUpgrade) => Promise<Result>): Promise<Result> {
  if (process.geteuid?.() !== 0) throw new AtmoError('PERMISSION_DENIED', 'Only root installs packages: use sudo');
  // Files of packages are for everybody to read.
  process.umask(0o022);
  const alive = setInterval(() => undefined, 60_000);
  try {
    return await work(new DebianUpgrade({ root: '/', env: process.env }));
  } finally {
    clearInterval(alive);
  }
}

interface DebianSystem {
  /** Folder below which the system lies. */
  readonly root: string;
  /** Environment of the programs that run. */
  readonly env: NodeJS.ProcessEnv;
}

/** A Debian with systemd, on which the hub is installed as a package. */
export class DebianUpgrade implements UpgradeMachine {
  readonly #root: string;
  readonly #notes: string;
  readonly #kept: KeptPackage;
  readonly #commands: MachineCommands;
  #packed: string | undefined;

  constructor({ root, env }: DebianSystem) {
    this.#root = root;
    this.#notes = this.#at(UPGRADE_DIRECTORY);
    this.#commands = new MachineCommands(env, join(this.#notes, 'dpkg-complaints'));
    this.#kept = new KeptPackage(this.#at(KEPT), this.#commands);
  }

  record(): UpgradeRecord | undefined {
    return readUpgradeRecord(this.#notes);
  }

  note(record: UpgradeRecord): void {
    writeUpgradeRecord(this.#notes, record);
  }

  recordBefore(): UpgradeRecord | undefined {
    return readRecordBefore(this.#notes);
  }

  restoreRecord(): void {
    restoreUpgradeRecord(this.#notes);
  }

  watchUnit(): WatchService {
    return new WatchUnit(this.#commands);
  }

  startsMs(): readonly number[] {
    return readStarts(this.#at(SYSTEM_STATE_DIRECTORY), report).tookMs;
  }

  async look(): Promise<ServiceLook> {
    const unit = await this.#commands.unit(SERVICE);
    return { ...unit, answers: unit.state === 'running' && (await this.#answers()) };
  }

  async installed(): Promise<Installation> {
    const [state = '', version = ''] = (await this.#said('db:Status-Status', 'Version')).split(' ');
    return { version, phase: PHASES[state] ?? 'incomplete' };
  }

  async configure(): Promise<'done' | 'busy'> {
    return (await this.#commands.dpkg([...KEEP_SETTINGS, '--configure', PACKAGE])) === 'busy' ? 'busy' : 'done';
  }

  async isBelowMinimum(version: string): Promise<boolean> {
    const minimum = this.#minimum();
    return minimum !== '' && this.#commands.succeeds('dpkg', ['--compare-versions', version, 'lt', minimum]);
  }

  async raiseMinimum(): Promise<void> {
    const named = await this.#said('Security-Minimum');
    if (named === '' || !(await this.#commands.succeeds('dpkg', ['--compare-versions', named, 'gt', this.#minimum()]))) return;
    replaceFile(join(this.#notes, 'security-minimum'), `${named}\n`, { mode: 0o644 });
  }

  hasKept(version: string): boolean {
    return this.#kept.version() === version;
  }

  async runKept(): Promise<void> {
    if (this.#hasOwnersUnit()) return;
    const wanted = `${UNIT_MARK}\n${this.#kept.unit()}`;
    if (readTextIfExists(this.#at(KEPT_UNIT)) !== wanted) replaceFile(this.#at(KEPT_UNIT), wanted, { mode: 0o644 });
    await this.#runFrom('kept');
  }

  async installKept(): Promise<'done' | 'busy' | 'failed'> {
    // Packing takes a board a minute: it is done once, however long another program has the lock of dpkg.
    this.#packed ??= await this.#kept.pack();
    const outcome = await this.#commands.dpkg(['--force-downgrade', ...KEEP_SETTINGS, '--install', this.#packed]);
    if (outcome === 'failed') this.#packed = undefined;
    return outcome;
  }

  avoid(version: string): void {
    this.#setAvoided((avoided) => [...new Set([...avoided, version])]);
  }

  allow(version: string): void {
    this.#setAvoided((avoided) => avoided.filter((one) => one !== version));
  }

  async runInstalled(): Promise<void> {
    if (this.#hasOwnersUnit()) return;
    const path = this.#at(KEPT_UNIT);
    if (existsSync(path)) {
      rmSync(path);
      syncPath(dirname(path));
    }
    await this.#runFrom('installed');
  }

  async isKeptInUse(): Promise<boolean> {
    return this.#filesOf((await this.#commands.unit(SERVICE)).pid) === 'kept';
  }

  discardKept(): void {
    this.#kept.discard();
  }

  #at(path: string): string {
    return join(this.#root, path);
  }

  /** What dpkg says of the installed package, field by field (dpkg-query(1)). */
  async #said(...fields: readonly string[]): Promise<string> {
    const format = fields.map((field) => `\${${field}}`).join(' ');
    return (await this.#commands.run('dpkg-query', ['--show', `--showformat=${format}`, PACKAGE])).trim();
  }

  #minimum(): string {
    return readTextIfExists(join(this.#notes, 'security-minimum'))?.trim() ?? '';
  }

  #setAvoided(change: (avoided: readonly string[]) => readonly string[]): void {
    const path = this.#at(PREFERENCES);
    const before = avoidedVersions(readTextIfExists(path) ?? '');
    const after = change(before);
    if (after.length === before.length) return;
    mkdirSync(dirname(path), { recursive: true });
    if (after.length === 0) rmSync(path);
    else replaceFile(path, preferencesFor(after), { mode: 0o644 });
  }

  async #answers(): Promise<boolean> {
    const { localUrl } = readStarts(this.#at(SYSTEM_STATE_DIRECTORY));
    // The unit is active only after the hub has said that it answers.
    if (localUrl === undefined) return true;
    return answersHttp(`${localUrl}/healthz`, HEALTH_LIMIT_MS)().catch(() => false);
  }

  /** A unit of the owner in the place of ours stays. The hub then runs again when its package is installed. */
  #hasOwnersUnit(): boolean {
    return readTextIfExists(this.#at(KEPT_UNIT))?.startsWith(UNIT_MARK) === false;
  }

  /** Which files a process of the hub runs; undefined if there is no process. */
  #filesOf(pid: number): 'kept' | 'installed' | undefined {
    try {
      const program = readlinkSync(this.#at(`/proc/${pid}/exe`));
      return isWithin(program, realPath(this.#at(KEPT))) ? 'kept' : 'installed';
    } catch {
      return undefined;
    }
  }

  /** Restarts the hub with its unit as it is now, unless it runs from these files. One that its owner stopped stays so. */
  async #runFrom(files: 'kept' | 'installed'): Promise<void> {
    await this.#commands.run('systemctl', ['daemon-reload']);
    const { state, pid } = await this.#commands.unit(SERVICE);
    if (this.#filesOf(pid) === files) return;
    if (state === 'stopped' && !existsSync(this.#at(STOPPED_BY_DPKG))) return;
    // A hub that had failed too often may be started again.
    await this.#commands.succeeds('systemctl', ['reset-failed', SERVICE]);
    await this.#commands.run('systemctl', ['restart', '--no-block', SERVICE]);
    rmSync(this.#at(STOPPED_BY_DPKG), { force: true });
  }
}

/** The unit of systemd that watches an upgrade. */
class WatchUnit implements WatchService {
  readonly #commands: MachineCommands;

  constructor(commands: MachineCommands) {
    this.#commands = commands;
  }

  async start(): Promise<void> {
    await this.#commands.run('systemctl', ['start', WATCH]);
  }

  async stop(): Promise<void> {
    await this.#commands.run('systemctl', ['stop', WATCH]);
  }

  async isRunning(): Promise<boolean> {
    const { state } = await this.#commands.unit(WATCH);
    return state !== 'stopped' && state !== 'failed';
  }
}

/** Where the postinst has ended, dpkg may still wait for triggers of other packages (dpkg(1), "Package states"). */
const PHASES: Readonly<Record<string, Installation['phase']>> = {
  installed: 'complete',
  'triggers-awaited': 'complete',
  'triggers-pending': 'complete',
  'half-configured': 'configuring',
};

/** Returns preferences of apt (apt_preferences(5)) with which it does not install these versions by itself. */
export function preferencesFor(versions: readonly string[]): string {
  const entries = versions.map((version) =>
    [
      'Explanation: this version did not come up on this machine, or its owner went back. Remove the file to try once more.',
      `Package: ${PACKAGE}`,
      `Pin: version ${version}`,
      'Pin-Priority: -1',
    ].join('\n'),
  );
  return `${entries.join('\n\n')}\n`;
}

function avoidedVersions(text: string): readonly string[] {
  return [...text.matchAll(/^Pin: version (\S+)$/gm)].map(([, version = '']) => version);
}

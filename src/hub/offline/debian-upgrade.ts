import { execFile } from 'node:child_process';
import { chmodSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { systemClock } from '../../core/clock.ts';
import { AtmoError } from '../../core/errors.ts';
import { readTextIfExists, replaceFile, syncPath } from '../../core/files/file-system.ts';
import { SYSTEM_STATE_DIRECTORY } from '../../storage/state-directory.ts';
import { answersHttp } from '../systemd.ts';
import { readStarts, readUpgradeRecord, recordFile, UPGRADE_DIRECTORY, type UpgradeRecord, writeUpgradeRecord } from '../upgrade-record.ts';
import { type ServiceLook, type UpgradeMachine, UpgradeWatch } from './upgrade-watch.ts';

const execute = promisify(execFile);
const PACKAGE = 'atmosphere-edge';
const SERVICE = 'atmosphere-edge.service';
const PROGRAM = '/usr/lib/atmosphere-edge';
/** Where the package's preinst keeps the version before: `files`, and `control` with what dpkg knows of it. */
const KEPT = '/usr/lib/atmosphere-edge-previous';
/** A unit here has precedence over that of the package (systemd.unit(5)). */
const KEPT_UNIT = `/etc/systemd/system/${SERVICE}`;
const UNIT_MARK = '# Runs the version before an upgrade that was not kept, until it is installed again (docs/updates.md).';
const PREFERENCES = '/etc/apt/preferences.d/atmosphere-edge';
const HEALTH_LIMIT_MS = 2_000;
const COMMAND_LIMIT_MS = 600_000;

/** Runs what is left to do after an upgrade of the package. Throws PERMISSION_DENIED if this is not root. */
export async function watchUpgrade(): Promise<UpgradeRecord | undefined> {
  return withMachine((watch) => watch.run());
}

/** Goes back to the version before the last upgrade. Throws PERMISSION_DENIED if this is not root. */
export async function undoUpgrade(): Promise<UpgradeRecord | undefined> {
  return withMachine((watch) => watch.goBack());
}

/** Runs `work` while something keeps the process alive, since the timers of a hub do not. */
async function withMachine<Result>(work: (watch: UpgradeWatch) => Promise<Result>): Promise<Result> {
  const watch = debianWatch();
  const alive = setInterval(() => undefined, 60_000);
  try {
    return await work(watch);
  } finally {
    clearInterval(alive);
  }
}

function debianWatch(): UpgradeWatch {
  if (process.geteuid?.() !== 0) throw new AtmoError('PERMISSION_DENIED', 'Only root installs packages: use sudo');
  // Files of packages are for everybody to read.
  process.umask(0o022);
  const report = (line: string) => process.stderr.write(`${line}\n`);
  return new UpgradeWatch({ machine: new DebianUpgrade(), clock: systemClock, report });
}

/** A Debian with systemd, on which the hub is installed as a package. */
class DebianUpgrade implements UpgradeMachine {
  record(): UpgradeRecord | undefined {
    return readUpgradeRecord(UPGRADE_DIRECTORY);
  }

  note(record: UpgradeRecord): void {
    writeUpgradeRecord(UPGRADE_DIRECTORY, record);
  }

  forget(): void {
    rmSync(recordFile(UPGRADE_DIRECTORY), { force: true });
    this.finish();
  }

  finish(): void {
    rmSync(join(UPGRADE_DIRECTORY, 'pending'), { force: true });
  }

  startsMs(): readonly number[] {
    return readStarts(SYSTEM_STATE_DIRECTORY).tookMs;
  }

  async look(): Promise<ServiceLook> {
    const { stdout } = await execute('systemctl', ['show', SERVICE, '--property=ActiveState,MainPID,NRestarts']);
    const facts = new Map(stdout.split('\n').map((line) => line.split('=', 2) as [string, string]));
    const state = STATES[facts.get('ActiveState') ?? ''] ?? 'starting';
    const answers = state === 'running' && (await this.#answers());
    return { state, answers, pid: Number(facts.get('MainPID')), restarts: Number(facts.get('NRestarts')) };
  }

  async installedVersion(): Promise<string | undefined> {
    const { stdout } = await execute('dpkg-query', ['--status', PACKAGE]);
    return /^Status: .* installed$/m.test(stdout) ? /^Version: (\S+)$/m.exec(stdout)?.[1] : undefined;
  }

  async configure(): Promise<'done' | 'busy'> {
    return (await dpkg(['--configure', PACKAGE])) === 'busy' ? 'busy' : 'done';
  }

  async isBelowMinimum(version: string): Promise<boolean> {
    const minimum = readTextIfExists(join(UPGRADE_DIRECTORY, 'security-minimum'))?.trim();
    if (minimum === undefined || minimum === '') return false;
    return execute('dpkg', ['--compare-versions', version, 'lt', minimum]).then(
      () => true,
      () => false,
    );
  }

  hasKept(): boolean {
    return existsSync(join(KEPT, 'control/status')) && existsSync(join(KEPT, 'files', PROGRAM, 'bin/node'));
  }

  async runKept(): Promise<void> {
    const own = readTextIfExists(KEPT_UNIT);
    // A unit of the owner in this place stays. The hub then runs again when its package is installed.
    if (own !== undefined && !own.startsWith(UNIT_MARK)) return;
    const unit = readFileSync(join(KEPT, 'files/usr/lib/systemd/system', SERVICE), 'utf8');
    replaceFile(KEPT_UNIT, `${UNIT_MARK}\n${unit.replaceAll(`${PROGRAM}/`, `${KEPT}/files${PROGRAM}/`)}`);
    await restart();
  }

  async installKept(): Promise<'done' | 'busy' | 'failed'> {
    const file = join(KEPT, 'previous.deb');
    await this.#pack(file);
    return dpkg(['--force-downgrade', '--force-confdef', '--force-confold', '--install', file]);
  }

  avoid(version: string): void {
    mkdirSync(dirname(PREFERENCES), { recursive: true });
    replaceFile(PREFERENCES, preferencesWith(version, readTextIfExists(PREFERENCES) ?? ''));
    chmodSync(PREFERENCES, 0o644);
  }

  async runInstalled(): Promise<void> {
    if (!readTextIfExists(KEPT_UNIT)?.startsWith(UNIT_MARK)) return;
    rmSync(KEPT_UNIT);
    syncPath(dirname(KEPT_UNIT));
    await restart();
  }

  discardKept(): void {
    rmSync(KEPT, { recursive: true, force: true });
  }

  async #answers(): Promise<boolean> {
    const { localUrl } = readStarts(SYSTEM_STATE_DIRECTORY);
    // The unit is active only after the hub has said that it answers.
    if (localUrl === undefined) return true;
    return answersHttp(`${localUrl}/healthz`, HEALTH_LIMIT_MS)().catch(() => false);
  }

  /** Packs the kept files as the package that they were. */
  async #pack(file: string): Promise<void> {
    const tree = join(KEPT, 'tree');
    rmSync(tree, { recursive: true, force: true });
    await execute('cp', ['--archive', '--link', join(KEPT, 'files'), tree]);
    const control = join(tree, 'DEBIAN');
    mkdirSync(control, { mode: 0o755 });
    for (const name of CONTROL_FILES.filter((one) => existsSync(join(KEPT, 'control', one)))) {
      cpSync(join(KEPT, 'control', name), join(control, name));
    }
    writeFileSync(join(control, 'control'), controlOf(readFileSync(join(KEPT, 'control/status'), 'utf8')));
    restoreSettings(tree, control);
    await execute('dpkg-deb', ['--root-owner-group', '-Zzstd', '-z1', '--build', tree, file], { timeout: COMMAND_LIMIT_MS });
    rmSync(tree, { recursive: true, force: true });
  }
}

const STATES: Readonly<Record<string, ServiceLook['state']>> = { active: 'running', inactive: 'stopped', failed: 'failed' };
const CONTROL_FILES = ['preinst', 'postinst', 'prerm', 'postrm', 'md5sums'];

/** Returns preferences of apt (apt_preferences(5)) with which it does not install a version by itself, beside those that `text` has. */
export function preferencesWith(version: string, text: string): string {
  const known = [...text.matchAll(/^Pin: version (\S+)$/gm)].map(([, pinned = '']) => pinned);
  const entries = [...new Set([...known, version])].map((pinned) =>
    [
      'Explanation: this version did not come up on this machine, or its owner went back. Remove the file to try once more.',
      `Package: ${PACKAGE}`,
      `Pin: version ${pinned}`,
      'Pin-Priority: -1',
    ].join('\n'),
  );
  return `${entries.join('\n\n')}\n`;
}

/** Returns the control file of an installed package, from what `dpkg-query --status` says of it. */
export function controlOf(status: string): string {
  const fields = status.trimEnd().split(/\n(?! )/);
  return `${fields.filter((field) => !/^(Status|Conffiles|Config-Version):/.test(field)).join('\n')}\n`;
}

/**
 * Puts the settings into the package as they were delivered. What the owner made of them must not pass for what was delivered: dpkg would
 * replace it at the next upgrade.
 */
function restoreSettings(tree: string, control: string): void {
  const delivered = join(tree, PROGRAM, 'conffiles');
  if (!existsSync(delivered)) return;
  cpSync(delivered, tree, { recursive: true });
  const files = readdirSync(delivered, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const paths = files.map(({ parentPath, name }) => join(parentPath, name).slice(delivered.length));
  writeFileSync(join(control, 'conffiles'), paths.map((path) => `${path}\n`).join(''));
  chmodSync(join(control, 'conffiles'), 0o644);
}

async function restart(): Promise<void> {
  await execute('systemctl', ['daemon-reload']);
  // A hub that had failed too often may be started again.
  await execute('systemctl', ['reset-failed', SERVICE]).catch(() => undefined);
  await execute('systemctl', ['restart', '--no-block', SERVICE]);
}

async function dpkg(args: readonly string[]): Promise<'done' | 'busy' | 'failed'> {
  try {
    const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
    await execute('dpkg', [...args], { env, timeout: COMMAND_LIMIT_MS, maxBuffer: 16 * 1024 * 1024 });
    return 'done';
  } catch (error) {
    const { stderr = '' } = error as { stderr?: string };
    if (/\block(ed)?\b/.test(stderr)) return 'busy';
    process.stderr.write(stderr);
    return 'failed';
  }
}

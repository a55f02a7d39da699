/**
 * A small Debian in a folder, with systemd, into which tests install the package: `node scripts/package/debian-system.ts` makes it
 * in `.run/debian-system` from the mirror that this machine uses. Needs root: it has files of several users.
 */
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { AtmoError } from '../../src/core/errors.ts';
import { ROOT } from '../bundle.ts';
import { findDebianTool } from '../network-lab/debian-tool.ts';

const execute = promisify(execFile);
const FOLDER = join(ROOT, '.run/debian-system');
const LIMIT_MS = 600_000;
/** Beside the smallest Debian: an init, what people type, and what the package recommends. */
const INCLUDED = ['systemd', 'systemd-sysv', 'dbus', 'libpam-systemd', 'udev', 'sudo', 'curl', 'iproute2', 'bubblewrap', 'ca-certificates'];

/** What tests say that miss it. */
export const DEBIAN_SYSTEM_HINT = 'there is no Debian to install into: node scripts/package/debian-system.ts, as root';

/** Folder with the system; undefined where nobody made it. It is for reading: copy it, or lay something over it. */
export function debianSystem(): string | undefined {
  return existsSync(FOLDER) ? FOLDER : undefined;
}

async function makeDebianSystem(): Promise<void> {
  if (debianSystem() !== undefined) return;
  if (process.getuid?.() !== 0) throw new AtmoError('PERMISSION_DENIED', 'A Debian in a folder has files of several users: run as root');
  const tool = findDebianTool('debootstrap');
  if (tool === undefined) throw new AtmoError('NOT_FOUND', 'debootstrap is not here: run scripts/netlab tools, or apt install debootstrap');
  const staged = `${FOLDER}.${process.pid}`;
  // Unpacked elsewhere, it does not find its own functions.
  const functions = join(dirname(dirname(tool.path)), 'share/debootstrap');
  const env = { ...process.env, DEBOOTSTRAP_DIR: functions };
  const [mirror, suite] = await mirrorOfThisMachine();
  mkdirSync(dirname(staged), { recursive: true });
  try {
    const args = ['--variant=minbase', `--include=${INCLUDED.join(',')}`, suite, staged, mirror];
    await execute(tool.path, args, { env, timeout: LIMIT_MS, maxBuffer: 16 * 1024 * 1024 });
    await execute('chroot', [staged, 'apt-get', 'clean']);
    if (debianSystem() === undefined) renameSync(staged, FOLDER);
  } finally {
    rmSync(staged, { recursive: true, force: true });
  }
}

/** Address and release from which this machine installs. */
async function mirrorOfThisMachine(): Promise<readonly [string, string]> {
  const format = '$(LABEL) $(COMPONENT) $(REPO_URI) $(CODENAME)';
  const { stdout } = await execute('apt-get', ['indextargets', '--format', format, 'Created-By: Packages']);
  const [, address, suite] = /^Debian main (\S+) (\w+)$/m.exec(stdout) ?? [];
  if (address === undefined || suite === undefined) throw new AtmoError('NOT_FOUND', 'apt on this machine knows no mirror of Debian');
  return [address, suite];
}

if (import.meta.main) {
  await makeDebianSystem().catch((error: unknown) => {
    console.error(`debian-system: ${error instanceof Error ? error.message : error}`);
    process.exitCode = 1;
  });
}

/** A folder becomes a .deb: the same bytes from the same files, whoever builds it, wherever and when. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, lstatSync, lutimesSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { debianVersion } from '../../src/hub/upgrade-record.ts';
import { ROOT } from '../bundle.ts';

const execute = promisify(execFile);

const SCRIPTS = join(ROOT, 'scripts/package/debian');
const MAINTAINER_SCRIPTS = ['preinst', 'postinst', 'prerm', 'postrm'];
const BUILD_LIMIT_MS = 600_000;

/**
 * How the package is written: `zstd` for others, `none` for a machine that installs it at once, `quick` for tests with several of them. dpkg
 * 1.21.18 (Debian 12) and later read zstd. For 142 MB, zstd takes 6.7 s of the processor at level 9 and gives 42 MB, 0.5 s at level 1 and gives
 * 47 MB; xz at its default takes 108 s on two cores and gives 33 MB.
 */
export type DebCompression = 'zstd' | 'quick' | 'none';

const COMPRESSION_OPTIONS: Readonly<Record<DebCompression, readonly string[]>> = {
  zstd: ['-Zzstd', '-z9'],
  quick: ['-Zzstd', '-z1'],
  none: ['-Znone'],
};

/** The lowest version without a known security hole. No machine that had this package goes back below it. */
export const SECURITY_MINIMUM = '0.1.0';

/** What dpkg is told of the package. */
export interface DebianArchive {
  /** Folder with the files as they are to be installed; it gets `DEBIAN` and the modes and times of the package. */
  readonly root: string;
  /** Semantic version. */
  readonly version: string;
  /** Lowest version to which a machine that had this package may go back. */
  readonly securityMinimum: string;
  /** Debian's name of the machine. */
  readonly architecture: string;
  /** The only time in the archive. */
  readonly time: Date;
  readonly compression: DebCompression;
}

/** Writes the package into `file`. Needs dpkg-deb, which every Debian has. */
export async function writeDebianArchive(archive: DebianArchive, file: string): Promise<void> {
  const { root, compression } = archive;
  writeControl(archive);
  settle(root, archive.time);
  mkdirSync(dirname(file), { recursive: true });
  // dpkg-deb takes the times inside the archive from the files, and the archive's own from this variable.
  const env = { ...process.env, SOURCE_DATE_EPOCH: String(archive.time.getTime() / 1000) };
  const args = ['--root-owner-group', ...COMPRESSION_OPTIONS[compression], '--build', root, file];
  await execute('dpkg-deb', args, { env, timeout: BUILD_LIMIT_MS });
}

function writeControl({ root, version, architecture, securityMinimum }: DebianArchive): void {
  const folder = join(root, 'DEBIAN');
  rmSync(folder, { recursive: true, force: true });
  const files = filesBelow(root);
  mkdirSync(folder);
  const versions = { version: debianVersion(version), securityMinimum: debianVersion(securityMinimum) };
  const values = { ...versions, architecture, sizeKb: String(sizeKbOf(root, files)) };
  for (const name of ['control', ...MAINTAINER_SCRIPTS]) writeFilled(name, folder, values);
  const etc = files.filter((path) => path.startsWith('etc/'));
  writeFileSync(join(folder, 'conffiles'), etc.map((path) => `/${path}\n`).join(''));
  const sums = files.filter((path) => !path.startsWith('etc/') && lstatSync(join(root, path)).isFile());
  writeFileSync(join(folder, 'md5sums'), sums.map((path) => `${md5(join(root, path))}  ${path}\n`).join(''));
}

function sizeKbOf(root: string, files: readonly string[]): number {
  return Math.ceil(files.reduce((sum, path) => sum + lstatSync(join(root, path)).size, 0) / 1024);
}

/** Writes a file of the package's control part, with the values in the place of their names in braces. */
function writeFilled(name: string, folder: string, values: Readonly<Record<string, string>>): void {
  const text = readFileSync(join(SCRIPTS, name), 'utf8');
  const filled = text.replaceAll(/(?<!\$)\{(\w+)\}/g, (mark, key: string) => values[key] ?? mark);
  writeFileSync(join(folder, name), filled, { mode: name === 'control' ? 0o644 : 0o755 });
}

/** Relative paths of all that is no folder, in the order of their bytes. */
function filesBelow(root: string): readonly string[] {
  const entries = readdirSync(root, { recursive: true, encoding: 'utf8' });
  return entries.filter((path) => !lstatSync(join(root, path)).isDirectory()).sort();
}

/** Modes and times do not depend on who builds: the umask, the checkout's modes and the clock are gone afterwards. */
function settle(root: string, time: Date): void {
  const paths = [...readdirSync(root, { recursive: true, encoding: 'utf8' }), '.'];
  for (const path of paths.map((entry) => join(root, entry))) {
    const stat = lstatSync(path);
    if (!stat.isSymbolicLink()) chmodSync(path, stat.isDirectory() || (stat.mode & 0o100) !== 0 ? 0o755 : 0o644);
    lutimesSync(path, time, time);
  }
}

/** What `dpkg --verify` compares; no protection against anybody. */
function md5(path: string): string {
  return createHash('md5').update(readFileSync(path)).digest('hex');
}

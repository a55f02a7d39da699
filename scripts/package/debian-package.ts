import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../bundle.ts';
import { type DebianArchitecture, debianArchitecture } from './debian-architecture.ts';
import { type DebCompression, SECURITY_MINIMUM, writeDebianArchive } from './debian-archive.ts';
import { layOutPackage } from './debian-tree.ts';

const WORK = join(ROOT, '.run/deb');

/** What a package of this checkout is called and how it is written. */
export interface PackageOptions {
  readonly version: string;
  readonly time: Date;
  readonly compression: DebCompression;
  /** Folder for the packages. */
  readonly outdir: string;
}

/** Returns the version that package.json names. */
export function versionOfCheckout(): string {
  return JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).version;
}

/** Returns the place of the package of one kind of machine. */
export function packageFile({ outdir, version }: Pick<PackageOptions, 'outdir' | 'version'>, architecture: string): string {
  return join(outdir, `atmosphere-edge_${version}_${architecture}.deb`);
}

/** Builds the Debian package of this checkout for one kind of machine. Returns its place. The same commit gives the same bytes. */
export async function buildDebianPackage(name: string, options: PackageOptions): Promise<string> {
  const architecture = debianArchitecture(name);
  mkdirSync(WORK, { recursive: true });
  const root = mkdtempSync(join(WORK, `${architecture.name}-`));
  try {
    return await packTree(root, architecture, options);
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

async function packTree(root: string, architecture: DebianArchitecture, options: PackageOptions): Promise<string> {
  const { version, time, compression } = options;
  const file = packageFile(options, architecture.name);
  await layOutPackage(root, architecture, time);
  const { name } = architecture;
  await writeDebianArchive({ root, version, securityMinimum: SECURITY_MINIMUM, architecture: name, time, compression }, file);
  return file;
}

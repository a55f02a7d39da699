/** A folder with packages becomes a repository that apt reads (https://wiki.debian.org/DebianRepository/Format). */
import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { sha256Hex } from '../../src/codec/hashes.ts';
import { AtmoError } from '../../src/core/errors.ts';
import type { SigningKey } from './signing-key.ts';

const SUITE = 'stable';
const COMPONENT = 'main';
const POOL = 'pool/main/a/atmosphere-edge';
/** Public key of the repository, as `Signed-By` names it. */
export const REPOSITORY_KEY = 'atmosphere-edge.asc';

/** What a repository is made of. */
export interface RepositoryParts {
  /** Folder of the repository. Packages of earlier releases in it stay installable if the index that the key signed last names them. */
  readonly folder: string;
  /** Packages that are added. */
  readonly packages: readonly string[];
  readonly architectures: readonly string[];
  /** Date of the repository. apt refuses one that is older than what it saw last. */
  readonly time: Date;
  readonly key: SigningKey;
}

/**
 * Adds packages to the repository, writes its indexes anew and signs them. Throws CONFLICT if the pool has a package that is neither one of
 * these nor as the index that was signed last says: whoever could write into the folder would have it signed.
 */
export function writeAptRepository({ folder, packages, architectures, time, key }: RepositoryParts): void {
  mkdirSync(join(folder, POOL), { recursive: true });
  requireVouched({ folder, packages, key });
  for (const file of packages) copyFileSync(file, join(folder, POOL, basename(file)));
  const dist = join(folder, 'dists', SUITE);
  // Made beside the present index, which vouches for the earlier packages until the new one is whole.
  const made = `${dist}.new`;
  rmSync(made, { recursive: true, force: true });
  const indexes = architectures.flatMap((architecture) => writeIndexes(folder, made, architecture));
  const release = releaseText(made, { indexes, architectures, time });
  writeFileSync(join(made, 'Release'), release);
  writeFileSync(join(made, 'InRelease'), key.clearSign(release));
  writeFileSync(join(made, 'Release.gpg'), key.sign(release));
  rmSync(dist, { recursive: true, force: true });
  renameSync(made, dist);
  writeFileSync(join(folder, REPOSITORY_KEY), key.publicKey());
}

function requireVouched({ folder, packages, key }: Pick<RepositoryParts, 'folder' | 'packages' | 'key'>): void {
  const added = new Set(packages.map((file) => basename(file)));
  const earlier = readdirSync(join(folder, POOL)).filter((file) => !added.has(file));
  const vouched = earlier.length === 0 ? new Map() : vouchedHashes(folder, key);
  const strange = earlier.find((file) => vouched.get(join(POOL, file)) !== sha256Hex(readFileSync(join(folder, POOL, file))));
  if (strange === undefined) return;
  const advice = 'delete it, or put the package and the index of the last release there';
  throw new AtmoError('CONFLICT', `${join(folder, POOL, strange)} is not the package that the last signed index names; ${advice}`);
}

/** Returns the hash of each package that the index names which the key signed last, by its path in the repository. */
function vouchedHashes(folder: string, key: SigningKey): ReadonlyMap<string, string> {
  const dist = join(folder, 'dists', SUITE);
  if (!existsSync(join(dist, 'InRelease'))) return new Map();
  const release = key.verified(readFileSync(join(dist, 'InRelease'), 'utf8'));
  const hashes = new Map<string, string>();
  for (const [, hash, path = ''] of release.matchAll(/^ ([0-9a-f]{64}) \d+ (\S+\/Packages)$/gm)) {
    const bytes = readFileSync(join(dist, path));
    if (sha256Hex(bytes) !== hash) throw new AtmoError('CONFLICT', `${join(dist, path)} was changed since it was signed`);
    for (const [, file = '', sum = ''] of bytes.toString().matchAll(/^Filename: (.*)\nSize: .*\nSHA256: (.*)$/gm)) hashes.set(file, sum);
  }
  return hashes;
}

/** Writes the index of one kind of machine. Returns the paths of its forms, relative to `dist`. */
function writeIndexes(folder: string, dist: string, architecture: string): readonly string[] {
  const name = join(COMPONENT, `binary-${architecture}`);
  mkdirSync(join(dist, name), { recursive: true });
  const files = readdirSync(join(folder, POOL)).filter((file) => file.endsWith(`_${architecture}.deb`));
  const text = files
    .sort()
    .map((file) => entryOf(folder, join(POOL, file)))
    .join('\n');
  const paths = [join(name, 'Packages'), join(name, 'Packages.gz')] as const;
  writeFileSync(join(dist, paths[0]), text);
  writeFileSync(join(dist, paths[1]), gzipSync(text, { level: 9 }));
  return paths;
}

/** The control fields of a package, and where apt finds it. */
function entryOf(folder: string, path: string): string {
  const control = execFileSync('dpkg-deb', ['--field', join(folder, path)], { encoding: 'utf8' });
  const bytes = readFileSync(join(folder, path));
  return `${control}Filename: ${path}\nSize: ${bytes.length}\nSHA256: ${sha256Hex(bytes)}\n`;
}

interface ReleaseFacts extends Pick<RepositoryParts, 'architectures' | 'time'> {
  readonly indexes: readonly string[];
}

function releaseText(dist: string, { indexes, architectures, time }: ReleaseFacts): string {
  const sums = indexes.map((path) => {
    const bytes = readFileSync(join(dist, path));
    return ` ${sha256Hex(bytes)} ${bytes.length} ${path}`;
  });
  // There is no Valid-Until: a hub would get no update after it, also no later one that closes a hole, until the owner signs again.
  const fields = [
    'Origin: atmosphere-edge',
    'Label: atmosphere-edge',
    `Suite: ${SUITE}`,
    `Codename: ${SUITE}`,
    `Date: ${time.toUTCString().replace('GMT', '+0000')}`,
    `Architectures: ${architectures.join(' ')}`,
    `Components: ${COMPONENT}`,
    'Description: hub that turns Matter devices and sensors into tools',
    'SHA256:',
  ];
  return `${[...fields, ...sums].join('\n')}\n`;
}

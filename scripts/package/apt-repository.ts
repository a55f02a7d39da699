/** A folder with packages becomes a repository that apt reads (https://wiki.debian.org/DebianRepository/Format). */
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { sha256Hex } from '../../src/codec/hashes.ts';
import type { SigningKey } from './signing-key.ts';

const SUITE = 'stable';
const COMPONENT = 'main';
const POOL = 'pool/main/a/atmosphere-edge';
/** Public key of the repository, as `Signed-By` names it. */
export const REPOSITORY_KEY = 'atmosphere-edge.asc';

/** What a repository is made of. */
export interface RepositoryParts {
  /** Folder of the repository. Packages of earlier releases in it stay installable. */
  readonly folder: string;
  /** Packages that are added. */
  readonly packages: readonly string[];
  readonly architectures: readonly string[];
  /** Date of the repository. apt refuses one that is older than what it saw last. */
  readonly time: Date;
  readonly key: SigningKey;
}

/** Adds packages to the repository, writes its indexes anew and signs them. */
export function writeAptRepository({ folder, packages, architectures, time, key }: RepositoryParts): void {
  mkdirSync(join(folder, POOL), { recursive: true });
  for (const file of packages) copyFileSync(file, join(folder, POOL, basename(file)));
  const dist = join(folder, 'dists', SUITE);
  rmSync(dist, { recursive: true, force: true });
  const indexes = architectures.flatMap((architecture) => writeIndexes(folder, dist, architecture));
  const release = releaseText(dist, { indexes, architectures, time });
  writeFileSync(join(dist, 'Release'), release);
  writeFileSync(join(dist, 'InRelease'), key.clearSign(release));
  writeFileSync(join(dist, 'Release.gpg'), key.sign(release));
  writeFileSync(join(folder, REPOSITORY_KEY), key.publicKey());
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

/**
 * The Debian that a container image needs below the hub: a C library, a shell and what the commands of the docs use. Run as a program,
 * this file downloads its packages for both kinds of machine into `.run/container-base`, where tests find them; a release takes newer ones.
 */

import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { AtmoError } from '../../src/core/errors.ts';
import { ROOT } from '../bundle.ts';
import { ARCHITECTURES } from './debian-architecture.ts';

const CACHE = join(ROOT, '.run/container-base');
/** Packages with all that they depend on. Node has certificates of authorities and time zones of its own. */
const PACKAGES = [
  'base-files',
  'bash',
  'coreutils',
  'dash',
  'debianutils',
  'gcc-12-base',
  'libacl1',
  'libattr1',
  'libc6',
  'libgcc-s1',
  'libgmp10',
  'libpcre2-8-0',
  'libselinux1',
  'libstdc++6',
  'libtinfo6',
];
/** Debian has these as links (usrmerge); its installer makes them, no package does. */
const MERGED = ['bin', 'sbin', 'lib', 'lib64'];
/** Users by number: an image has no sysusers, and hosts see numbers alone. */
export const HUB_USER = 990;
const LIMIT_MS = 300_000;

/** Returns the names and versions of the Debian packages in the base, such as `bash_5.2.15-2+b13_amd64.deb`; undefined where they are not here. */
export function basePackages(architecture: string): readonly string[] | undefined {
  const folder = join(CACHE, architecture);
  return existsSync(folder) ? readdirSync(folder).sort() : undefined;
}

/** Unpacks the base into `root`. Throws NOT_FOUND if its packages were not downloaded. */
export function layOutBase(root: string, architecture: string): void {
  const files = basePackages(architecture);
  if (!files) throw new AtmoError('NOT_FOUND', 'The base of the container image is not here: node scripts/package/container-base.ts');
  for (const name of MERGED) {
    mkdirSync(join(root, 'usr', name), { recursive: true });
    symlinkSync(`usr/${name}`, join(root, name));
  }
  for (const file of files) execFileSync('dpkg-deb', ['--extract', join(CACHE, architecture, file), root]);
  for (const unread of ['man', 'locale', 'info', 'lintian']) rmSync(join(root, 'usr/share', unread), { recursive: true, force: true });
  writeFileSync(join(root, 'etc/passwd'), `root:x:0:0:root:/root:/bin/sh\n${userLine(':/var/lib/atmosphere-edge:/usr/sbin/nologin')}`);
  writeFileSync(join(root, 'etc/group'), `root:x:0:\natmosphere-edge:x:${HUB_USER}:\n`);
}

/**
 * Downloads the packages of the base as they are today, with the security updates of Debian, in the place of those that are here. Needs the
 * network and apt; changes nothing of the system's apt. Throws NOT_FOUND if apt has no security updates.
 */
export function renewBase(architecture: string, cache = CACHE): void {
  const work = join(cache, `${architecture}.${randomUUID()}`);
  for (const name of ['state/lists/partial', 'cache/archives/partial', 'files']) mkdirSync(join(work, name), { recursive: true });
  const settings = {
    'Dir::State': join(work, 'state'),
    'Dir::Cache': join(work, 'cache'),
    'APT::Architecture': architecture,
    'APT::Architectures': architecture,
    'APT::Sandbox::User': 'root',
  };
  const options = Object.entries(settings).flatMap(([key, value]) => ['-o', `${key}=${value}`]);
  const apt = (...args: string[]) =>
    execFileSync('apt-get', ['-q', ...options, ...args], { cwd: join(work, 'files'), timeout: LIMIT_MS, stdio: 'pipe', encoding: 'utf8' });
  try {
    apt('update');
    requireSecurityUpdates(apt('indextargets', '--format', '$(LABEL)', 'Created-By: Packages'));
    apt('download', ...PACKAGES);
    rmSync(join(cache, architecture), { recursive: true, force: true });
    renameSync(join(work, 'files'), join(cache, architecture));
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** `labels` are those of the indexes that apt has downloaded: it ends well, too, where it could not get some of them. */
function requireSecurityUpdates(labels: string): void {
  if (labels.split('\n').includes('Debian-Security')) return;
  throw new AtmoError(
    'NOT_FOUND',
    'apt has no security updates of Debian: its sources have to name bookworm-security, and the mirror has to answer',
  );
}

function userLine(rest: string): string {
  return `atmosphere-edge:x:${HUB_USER}:${HUB_USER}:atmosphere-edge hub${rest}\n`;
}

if (import.meta.main) {
  try {
    for (const architecture of ARCHITECTURES) if (!basePackages(architecture)) renewBase(architecture);
  } catch (error) {
    console.error(`container-base: ${error instanceof Error ? error.message : error}`);
    process.exitCode = 1;
  }
}

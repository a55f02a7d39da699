import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { writeAptRepository } from '../../scripts/package/apt-repository.ts';
import { writeDebianArchive } from '../../scripts/package/debian-archive.ts';
import { SigningKey } from '../../scripts/package/signing-key.ts';

const TIME = new Date('2026-03-01T12:00:00Z');
const dir = mkdtempSync(join(tmpdir(), 'atmo-apt-'));
const folder = join(dir, 'apt');
const dist = join(folder, 'dists/stable');
const read = (path: string): string => readFileSync(join(folder, path), 'utf8');

async function packageOf(version: string): Promise<string> {
  const root = join(dir, version);
  mkdirSync(join(root, 'usr/lib/hub'), { recursive: true });
  writeFileSync(join(root, 'usr/lib/hub/main.mjs'), `${version};\n`);
  const file = join(dir, `atmosphere-edge_${version}_arm64.deb`);
  await writeDebianArchive({ root, version, securityMinimum: '0.1.0', architecture: 'arm64', time: TIME, compression: 'none' }, file);
  return file;
}

/** Writes a key that signs and that nobody keeps. */
function keyFile(): string {
  const home = mkdtempSync(join(tmpdir(), 'atmo-key-'));
  const gpg = (...args: string[]) => execFileSync('gpg', ['--homedir', home, '--batch', '--quiet', ...args], { stdio: 'pipe' });
  gpg('--passphrase', '', '--quick-gen-key', 'Owner <owner@example.org>', 'ed25519', 'sign', 'never');
  writeFileSync(join(dir, 'secret.asc'), gpg('--armor', '--export-secret-keys'));
  execFileSync('gpgconf', ['--homedir', home, '--kill', 'all']);
  rmSync(home, { recursive: true });
  return join(dir, 'secret.asc');
}

/** Verifies as apt does: with the published key alone. */
function verify(...files: string[]): string {
  const ring = join(dir, 'ring.gpg');
  execFileSync('gpg', ['--batch', '--yes', '--dearmor', '--output', ring, join(folder, 'atmosphere-edge.asc')]);
  return execFileSync('gpgv', ['--keyring', ring, ...files.map((file) => join(dist, file))], { encoding: 'utf8', stdio: 'pipe' });
}

beforeAll(async () => {
  using key = SigningKey.open(keyFile());
  for (const version of ['0.1.0', '0.2.0']) {
    writeAptRepository({ folder, packages: [await packageOf(version)], architectures: ['amd64', 'arm64'], time: TIME, key });
  }
});
afterAll(() => rmSync(dir, { recursive: true }));

test('the published key verifies both signatures, and not a changed index', () => {
  verify('InRelease');
  verify('Release.gpg', 'Release');
  const text = read('dists/stable/Release');
  writeFileSync(join(dist, 'Release'), text.replace('main', 'evil'));
  expect(() => verify('Release.gpg', 'Release')).toThrow('BAD signature');
  writeFileSync(join(dist, 'Release'), text);
});

test('the index names each release with its place, size and hash, the earlier one as well', () => {
  const index = read('dists/stable/main/binary-arm64/Packages');
  const entries = index
    .split('\n\n')
    .map((entry) => /Version: (.*)\n[\s\S]*Filename: (.*)\nSize: (.*)\nSHA256: (.*)/.exec(entry)?.slice(1));
  expect(entries.map((entry) => entry?.[0])).toEqual(['0.1.0', '0.2.0']);
  for (const [, path = '', size, hash] of entries as string[][]) {
    const bytes = readFileSync(join(folder, path));
    expect([String(bytes.length), createHash('sha256').update(bytes).digest('hex')]).toEqual([size, hash]);
  }
  expect(read('dists/stable/main/binary-amd64/Packages')).toBe('');
});

test('the signed text has the hash of every index, and the date of the commit', () => {
  const release = read('dists/stable/Release');
  expect(release).toContain('Date: Sun, 01 Mar 2026 12:00:00 +0000\nArchitectures: amd64 arm64\n');
  const sums = [...release.matchAll(/^ ([0-9a-f]{64}) (\d+) (\S+)$/gm)];
  expect(sums).toHaveLength(4);
  for (const [, hash, size, path = ''] of sums) {
    const bytes = readFileSync(join(dist, path));
    expect([createHash('sha256').update(bytes).digest('hex'), String(bytes.length)]).toEqual([hash, size]);
  }
  const packed = readFileSync(join(dist, 'main/binary-arm64/Packages.gz'));
  expect(gunzipSync(packed).toString()).toBe(read('dists/stable/main/binary-arm64/Packages'));
});

test('a file without a secret key is refused', () => {
  expect(() => SigningKey.open(join(folder, 'atmosphere-edge.asc'))).toThrow('has no secret key');
});

import { execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { appendFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { ROOT } from '../../scripts/bundle.ts';
import { writeAptRepository } from '../../scripts/package/apt-repository.ts';
import { writeDebianArchive } from '../../scripts/package/debian-archive.ts';
import { SigningKey } from '../../scripts/package/signing-key.ts';
import { writeKeyFile } from './key-file.ts';

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

const keyFile = (name: string): string => writeKeyFile(join(dir, `${name}.asc`));

/** Verifies as apt does: with the published key alone. */
function verify(...files: string[]): string {
  const ring = join(dir, 'ring.gpg');
  execFileSync('gpg', ['--batch', '--yes', '--dearmor', '--output', ring, join(folder, 'atmosphere-edge.asc')]);
  return execFileSync('gpgv', ['--keyring', ring, ...files.map((file) => join(dist, file))], { encoding: 'utf8', stdio: 'pipe' });
}

beforeAll(async () => {
  using key = SigningKey.open(keyFile('secret'));
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

describe('an earlier package in the pool', () => {
  const pool = 'pool/main/a/atmosphere-edge';
  const add = async (key: SigningKey) =>
    writeAptRepository({ folder, packages: [await packageOf('0.3.0')], architectures: ['amd64', 'arm64'], time: TIME, key });
  const index = 'dists/stable/main/binary-arm64/Packages';

  test.each([
    ['that was changed since', `${pool}/atmosphere-edge_0.1.0_arm64.deb`],
    ['that no index names', `${pool}/atmosphere-edge_0.0.9_arm64.deb`],
    ['that an index names which was changed since it was signed', index],
  ])('%s is not signed, and the index of before stays', async (_what, path) => {
    using key = SigningKey.open(join(dir, 'secret.asc'));
    const before = {
      release: read('dists/stable/InRelease'),
      bytes: existsSync(join(folder, path)) ? readFileSync(join(folder, path)) : undefined,
    };
    appendFileSync(join(folder, path), 'x');
    await expect(add(key)).rejects.toMatchObject({ code: 'CONFLICT', message: expect.stringContaining(basename(path)) });
    expect(read('dists/stable/InRelease')).toBe(before.release);
    if (before.bytes === undefined) rmSync(join(folder, path));
    else writeFileSync(join(folder, path), before.bytes);
  });

  test('is not signed by a key that did not sign the index of before, nor where that has no signature', async () => {
    using stranger = SigningKey.open(keyFile('stranger'));
    await expect(add(stranger)).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
    using key = SigningKey.open(join(dir, 'secret.asc'));
    const signed = read('dists/stable/InRelease');
    for (const forged of [signed.replace('Suite: stable', 'Suite: stable2'), read('dists/stable/Release')]) {
      writeFileSync(join(dist, 'InRelease'), forged);
      await expect(add(key)).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
    }
    rmSync(join(dist, 'InRelease'));
    await expect(add(key)).rejects.toMatchObject({ code: 'CONFLICT' });
    writeFileSync(join(dist, 'InRelease'), signed);
  });
});

describe('the key from a file', () => {
  const OPENED = `
    import { SigningKey } from ${JSON.stringify(join(ROOT, 'scripts/package/signing-key.ts'))};
    SigningKey.open(process.argv[1]);
    console.log('open');
    setInterval(() => {}, 1000);
  `;

  test.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)(
    'lies in the memory of the session, and is gone when %s ends the program',
    async (signal) => {
      const memory = mkdtempSync(join(dir, 'm-'));
      const env = { ...process.env, XDG_RUNTIME_DIR: memory };
      const child = spawn(process.execPath, ['--input-type=module', '--eval', OPENED, join(dir, 'secret.asc')], { env, stdio: 'pipe' });
      await once(child.stdout, 'data');
      const [home = ''] = readdirSync(memory).filter((name) => name.startsWith('atmo-gpg-'));
      expect(statSync(join(memory, home)).mode & 0o777).toBe(0o700);
      child.kill(signal);
      expect((await once(child, 'exit'))[1]).toBe(signal);
      expect(readdirSync(memory).filter((name) => name.startsWith('atmo-gpg-'))).toEqual([]);
    },
  );

  test('is gone after use, and so are the listeners for signals', async () => {
    const before = process.listenerCount('SIGTERM');
    const memory = mkdtempSync(join(dir, 'm-'));
    vi.stubEnv('XDG_RUNTIME_DIR', memory);
    SigningKey.open(join(dir, 'secret.asc'))[Symbol.dispose]();
    expect(() => SigningKey.open(join(folder, 'atmosphere-edge.asc'))).toThrow('has no secret key');
    vi.unstubAllEnvs();
    expect(readdirSync(memory)).toEqual([]);
    await new Promise((resolve) => setImmediate(resolve));
    expect(process.listenerCount('SIGTERM')).toBe(before);
  });
});

test('a file without a secret key is refused', () => {
  expect(() => SigningKey.open(join(folder, 'atmosphere-edge.asc'))).toThrow('has no secret key');
});

import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { type DebianArchive, writeDebianArchive } from '../../scripts/package/debian-archive.ts';
import { debianVersion } from '../../src/hub/upgrade-record.ts';

const dir = mkdtempSync(join(tmpdir(), 'atmo-deb-'));
afterAll(() => rmSync(dir, { recursive: true }));

const FILES = { 'usr/lib/hub/main.mjs': '1;\n', 'usr/lib/hub/run': '#!/bin/sh\n', 'etc/hub/config.yaml': '# nothing\n' } as const;

/** The same files as somebody else would have them: in another order, with other modes, at another time. */
function treeOf(name: string, { mode, at }: { readonly mode: number; readonly at: Date }): string {
  const root = join(dir, name);
  const paths = Object.entries(FILES).sort(([one], [other]) => (mode === 0o600 ? one.localeCompare(other) : other.localeCompare(one)));
  for (const [path, text] of paths) {
    mkdirSync(dirname(join(root, path)), { recursive: true, mode: mode | 0o100 });
    writeFileSync(join(root, path), text);
    chmodSync(join(root, path), path.endsWith('run') ? mode | 0o100 : mode);
    utimesSync(join(root, path), at, at);
  }
  mkdirSync(join(root, 'usr/bin'), { recursive: true });
  symlinkSync('../lib/hub/run', join(root, 'usr/bin/hub'));
  return root;
}

async function archiveOf(root: string, version = '1.2.3'): Promise<string> {
  const file = `${root}.deb`;
  const archive: DebianArchive = {
    root,
    version,
    securityMinimum: '1.0.0',
    architecture: 'arm64',
    time: new Date('2026-03-01T00:00:00Z'),
    compression: 'zstd',
  };
  await writeDebianArchive(archive, file);
  return file;
}

test('the same files give the same bytes, whoever builds with whatever umask and clock', async () => {
  const mine = await archiveOf(treeOf('mine', { mode: 0o600, at: new Date('2020-01-01T00:00:00Z') }));
  const yours = await archiveOf(treeOf('yours', { mode: 0o664, at: new Date('2031-01-01T00:00:00Z') }));
  expect(readFileSync(mine).equals(readFileSync(yours))).toBe(true);
  writeFileSync(join(dir, 'yours/usr/lib/hub/main.mjs'), '2;\n');
  expect(readFileSync(mine).equals(readFileSync(await archiveOf(join(dir, 'yours'))))).toBe(false);
});

test('the package belongs to root, keeps the settings of its owner and names what it needs', async () => {
  const file = await archiveOf(treeOf('facts', { mode: 0o600, at: new Date() }));
  const ask = (...args: string[]): string => execFileSync('dpkg-deb', [...args], { encoding: 'utf8' });
  expect(ask('--field', file, 'Package', 'Version', 'Architecture')).toBe(
    'Package: atmosphere-edge\nVersion: 1.2.3\nArchitecture: arm64\n',
  );
  expect(ask('--field', file, 'Security-Minimum')).toBe('1.0.0\n');
  expect(ask('--field', file, 'Depends')).toContain('systemd');
  expect(ask('--info', file, 'conffiles')).toBe('/etc/hub/config.yaml\n');
  expect(ask('--info', file, 'md5sums').trimEnd().split('\n')).toHaveLength(2);
  const contents = ask('--contents', file);
  expect(contents).toMatch(/^-rw-r--r-- root\/root .* \.\/usr\/lib\/hub\/main\.mjs$/m);
  expect(contents).toMatch(/^-rwxr-xr-x root\/root .* \.\/usr\/lib\/hub\/run$/m);
  expect(contents).toMatch(/^lrwxrwxrwx root\/root .* \.\/usr\/bin\/hub -> \.\.\/lib\/hub\/run$/m);
});

test('dpkg takes a pre-release for older than its release', async () => {
  const file = await archiveOf(treeOf('candidate', { mode: 0o600, at: new Date() }), '1.2.3-rc.1');
  const version = execFileSync('dpkg-deb', ['--field', file, 'Version'], { encoding: 'utf8' }).trim();
  execFileSync('dpkg', ['--compare-versions', version, 'lt', '1.2.3']);
  execFileSync('dpkg', ['--compare-versions', version, 'gt', '1.2.2']);
  expect(['1.2.3', '1.2.3+b-4', '1.2.3-a-b'].map(debianVersion)).toEqual(['1.2.3', '1.2.3+b-4', '1.2.3~a-b']);
});

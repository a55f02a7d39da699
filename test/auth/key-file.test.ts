import { generateKeyPairSync } from 'node:crypto';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openKeyFile } from '../../src/auth/secret-file.ts';
import { rawPublicKey } from '../../src/codec/public-key.ts';
import { backupCopyPath } from '../../src/core/files/recoverable-file.ts';

let directory: string;
let path: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'atmo-key-'));
  path = join(directory, 'test.key');
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const open = () => openKeyFile({ path, endsWithIt: 'every token', onRepaired: () => {} });

test('the first opening makes a key that only its user can read, and leaves nothing else behind', () => {
  const key = open();
  expect(key.asymmetricKeyType).toBe('ed25519');
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(readFileSync(path, 'utf8')).toMatch(/^-----BEGIN PRIVATE KEY-----\n/);
  expect(readdirSync(directory)).toEqual(['snapshots', 'test.key']);
});

test('later openings give the same key, another file another one', () => {
  const first = rawPublicKey(open());
  expect(rawPublicKey(open())).toBe(first);
  for (const lost of [path, backupCopyPath(path)]) rmSync(lost);
  expect(rawPublicKey(open())).not.toBe(first);
});

test.each([0o640, 0o604, 0o620])('a file of mode %o is refused with the command that mends it', (mode) => {
  open();
  chmodSync(path, mode);
  expect(open).toThrow(expect.objectContaining({ code: 'STORAGE_FAILED', message: expect.stringContaining(`chmod 600 ${path}`) }));
});

test.each([0o640, 0o604])('a copy of mode %o is refused as the file is, since it holds the same key', (mode) => {
  open();
  chmodSync(backupCopyPath(path), mode);
  const command = `chmod 600 ${backupCopyPath(path)}`;
  expect(open).toThrow(expect.objectContaining({ code: 'STORAGE_FAILED', message: expect.stringContaining(command) }));
  rmSync(path);
  expect(open).toThrow(expect.objectContaining({ message: expect.stringContaining(command) }));
});

test.each([
  ['nothing', () => ''],
  ['half a key', () => readFileSync(path, 'utf8').slice(0, 60)],
  ['a text', () => 'secret-looking text'],
  ['a key of another kind', () => String(generateKeyPairSync('x25519').privateKey.export({ type: 'pkcs8', format: 'pem' }))],
  ['a public key', () => String(generateKeyPairSync('ed25519').publicKey.export({ type: 'spki', format: 'pem' }))],
])('a file without a copy that holds %s is refused with what to do, left alone and not quoted', (_name, text) => {
  open();
  const content = text();
  writeFileSync(path, content);
  rmSync(backupCopyPath(path));
  expect(open).toThrow(
    expect.objectContaining({ code: 'STORAGE_FAILED', message: expect.stringMatching(/Restore it from a backup; .* every token ends/) }),
  );
  expect(readFileSync(path, 'utf8')).toBe(content);
  expect(open).not.toThrow(/secret-looking/);
});

test('what a crash left of an unfinished key does not hinder the next start', () => {
  writeFileSync(`${path}.partial`, '-----BEGIN');
  expect(open().type).toBe('private');
  expect(readdirSync(directory)).toEqual(['snapshots', 'test.key']);
});

test('a link at the place of the unfinished file is not followed', () => {
  const victim = join(directory, 'victim');
  writeFileSync(victim, 'untouched');
  symlinkSync(victim, `${path}.partial`);
  open();
  expect(readFileSync(victim, 'utf8')).toBe('untouched');
});

test('a directory that is not there is told as a storage failure', () => {
  expect(() => openKeyFile({ path: join(directory, 'absent', 'test.key'), endsWithIt: 'nothing', onRepaired: () => {} })).toThrow(
    expect.objectContaining({ code: 'STORAGE_FAILED' }),
  );
});

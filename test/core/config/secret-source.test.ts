import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { readSecret, SECRET_SOURCE } from '../../../src/core/config/config-section.ts';

const folder = mkdtempSync(join(tmpdir(), 'secret-'));
afterAll(() => rmSync(folder, { recursive: true }));

function file(name: string, mode: number, text = 'sesame\n'): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  chmodSync(path, mode);
  return path;
}

test('a secret comes from the environment, from a private file or from systemd', () => {
  expect(readSecret('env:KEY', { KEY: ' sesame ' })).toBe('sesame');
  expect(readSecret(`file:${file('own', 0o600)}`, {})).toBe('sesame');
  file('credential', 0o440);
  expect(readSecret('credential:credential', { CREDENTIALS_DIRECTORY: folder })).toBe('sesame');
});

test.each([
  ['env:KEY', 'env:KEY holds no secret'],
  ['credential:key', 'LoadCredential=key'],
  ['file:/nowhere/at/all', '/nowhere/at/all cannot be read'],
])('%s that is not there is told', (source, told) => {
  expect(() => readSecret(source, {})).toThrow(told);
});

test('a file that others can read is refused, and its text is not told', () => {
  const path = file('open', 0o644);
  expect(() => readSecret(`file:${path}`, {})).toThrow(/chmod 600/);
  expect(() => readSecret(`file:${path}`, {})).not.toThrow(/sesame/);
});

test('an empty file holds no secret', () => {
  expect(() => readSecret(`file:${file('empty', 0o600, '\n')}`, {})).toThrow('holds no secret');
});

test('the schema refuses a secret that stands in the file of settings itself', () => {
  const pattern = new RegExp(SECRET_SOURCE.pattern);
  expect(['env:A', 'file:/etc/key', 'credential:smtp.password'].every((text) => pattern.test(text))).toBe(true);
  expect(['sesame', 'file:relative', 'env:1A', 'credential:a/b'].some((text) => pattern.test(text))).toBe(false);
});

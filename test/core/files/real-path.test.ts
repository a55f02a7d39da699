import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { realPath } from '../../../src/core/files/file-system.ts';

let dir: string;

beforeAll(() => {
  dir = realpathSync(mkdtempSync(join(tmpdir(), 'real-path-')));
  mkdirSync(join(dir, 'there'));
  symlinkSync('there', join(dir, 'link'));
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

test('links are followed', () => {
  expect(realPath(join(dir, 'link'))).toBe(join(dir, 'there'));
});

test('what is not there is taken by its name, made absolute', () => {
  expect(realPath(join(dir, 'there', '..', 'gone'))).toBe(join(dir, 'gone'));
  expect(realPath('gone/../away')).toBe(join(process.cwd(), 'away'));
});

import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { loadConfig } from '../../../src/hub/config/config.ts';
import { requireProtectedFiles } from '../../../src/hub/config/config-check.ts';

const MANIFEST = `
tools:
  - name: own
    source: file:../code/own.mjs
`;

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'own-files-'));
  for (const folder of ['state', 'settings', 'code', 'notes']) mkdirSync(join(home, folder), { mode: 0o700 });
  writeFileSync(join(home, 'settings/tools.yaml'), MANIFEST);
  writeFileSync(join(home, 'code/own.mjs'), '');
});
afterEach(() => rmSync(home, { recursive: true }));

function check(connectors: object): void {
  const file = join(home, 'settings/config.yaml');
  writeFileSync(file, JSON.stringify({ tools: { manifest: join(home, 'settings/tools.yaml') }, connectors }), { mode: 0o600 });
  const env = { ATMO_CONFIG: file };
  requireProtectedFiles(loadConfig(env, join(home, 'state')), env);
}
const root = (path: string, writable = false) => ({ files: { roots: { place: { path: join(home, path), writable } } } });
const power = (access: 'read' | 'write', path: string) => ({ sandbox: { powers: { place: { [access]: [join(home, path)] } } } });
const refused = (setting: string) => expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringContaining(setting) });

test('agents get no folder with the settings of the hub in it, by whatever way', () => {
  symlinkSync(join(home, 'settings'), join(home, 'link'));
  for (const path of ['settings', 'link', '.']) {
    expect(() => check(root(path))).toThrow(refused('connectors.files.roots.place'));
    expect(() => check(power('read', path))).toThrow(refused('connectors.sandbox.powers.place'));
  }
  expect(() => check(power('write', 'settings/tools.yaml'))).toThrow(refused('connectors.sandbox.powers.place'));
});

test('agents read the code of tools, and never write it', () => {
  expect(() => check(root('code'))).not.toThrow();
  expect(() => check(root('code', true))).toThrow(refused('connectors.files.roots.place'));
  expect(() => check(power('read', 'code'))).not.toThrow();
  expect(() => check(power('write', 'code'))).toThrow(refused('own.mjs'));
});

test('any other folder is for agents', () => {
  expect(() => check({ ...root('notes', true), ...power('write', 'notes') })).not.toThrow();
  expect(() => check({})).not.toThrow();
});

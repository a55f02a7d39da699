import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');
const directory = mkdtempSync(join(tmpdir(), 'atmo-profiles-'));
afterAll(() => rmSync(directory, { recursive: true }));

const check = (...files: string[]) => spawnSync(process.execPath, [join(ROOT, 'scripts/profile-check.ts'), ...files], { encoding: 'utf8' });

describe('profile-check', () => {
  test('knows a capability that lies outside the folders by its content', () => {
    const file = join(directory, 'on-off.json');
    const text = readFileSync(join(ROOT, 'device-profiles/capabilities/on-off.json'), 'utf8');
    writeFileSync(file, text);
    expect(check(file)).toMatchObject({ status: 0, stdout: 'all profiles are right\n' });
    writeFileSync(file, text.replace('"title"', '"titel"'));
    const { status, stdout } = check(file);
    expect(status).toBe(1);
    expect(stdout).toContain('"titel"');
    expect(stdout).not.toContain('"cluster"');
  });

  test('says which file is no JSON, without a stack', () => {
    const file = join(directory, 'broken.json');
    writeFileSync(file, '{');
    const { status, stderr } = check(file);
    expect(status).toBe(1);
    expect(stderr).toMatch(/^\S+broken\.json cannot be read as JSON: [^\n]+\n$/);
  });
});

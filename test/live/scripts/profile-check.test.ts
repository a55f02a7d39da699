import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '../../..');
const directory = mkdtempSync(join(tmpdir(), 'atmo-profiles-'));
afterAll(() => rmSync(directory, { recursive: true }));

const check = (...files: string[]) => spawnSync(process.execPath, [join(ROOT, 'scripts/profile-check.ts'), ...files], { encoding: 'utf8' });

describe('profile-check', () => {
  test('knows capabilities that lie outside the folders by their content, and tells what is wrong in one of them alone', () => {
    const right = join(directory, 'on-off.json');
    const wrong = join(directory, 'air-quality.json');
    const text = (name: string) => readFileSync(join(ROOT, 'device-profiles/capabilities', name), 'utf8');
    writeFileSync(right, text('on-off.json'));
    writeFileSync(wrong, text('air-quality.json').replace('"title"', '"titel"'));
    const { status, stdout } = check(right, wrong);
    expect(status).toBe(1);
    expect(stdout).toContain('"titel"');
    expect(stdout).not.toContain('"cluster"');
    expect(stdout).not.toContain('on-off.json');
  });

  test('says which file is no JSON, without a stack', () => {
    const file = join(directory, 'broken.json');
    writeFileSync(file, '{');
    const { status, stderr } = check(file);
    expect(status).toBe(1);
    expect(stderr).toMatch(/^\S+broken\.json cannot be read as JSON: [^\n]+\n$/);
  });
});

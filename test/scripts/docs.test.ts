import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { cliPage } from '../../scripts/cli-page.ts';
import { errorTable } from '../../scripts/error-table.ts';

const ROOT = join(import.meta.dirname, '../..');
const read = (file: string) => readFileSync(join(ROOT, file), 'utf8');
const pages = ['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', 'SECURITY.md'].concat(
  readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.md'))
    .map((file) => `docs/${file}`),
);

describe('documents', () => {
  test('docs/errors.md is what the error table says (npm run docs writes it)', () => {
    expect(read('docs/errors.md')).toBe(errorTable());
  });

  test('docs/cli.md is what the table of commands says (npm run docs writes it)', () => {
    expect(read('docs/cli.md')).toBe(cliPage());
  });

  test('README.md names each runtime dependency with its reason, and no other', () => {
    const { dependencies, optionalDependencies, peerDependencies } = JSON.parse(read('package.json'));
    const table = read('README.md').split('## Dependencies')[1] ?? '';
    const named = [...table.matchAll(/^\| (.+?) \|/gm)].flatMap((row) => [...(row[1] ?? '').matchAll(/`([^`]+)`/g)].map((name) => name[1]));
    expect(named.sort()).toEqual(Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies }).sort());
  });

  test('docs/README.md leads to every page', () => {
    const index = read('docs/README.md');
    const listed = pages.filter((page) => /^docs\/[^/]+$/.test(page) && page !== 'docs/README.md');
    expect(listed.length).toBeGreaterThan(30);
    expect(listed.filter((page) => !index.includes(`(${page.slice('docs/'.length)})`))).toEqual([]);
  });

  test.each(pages)('%s links only to files that exist', (page) => {
    const targets = [...read(page).matchAll(/\]\((?!https?:|#)([^)#]+)/g)].map((match) => match[1] ?? '');
    expect(targets.filter((target) => !existsSync(join(ROOT, dirname(page), target)))).toEqual([]);
  });
});

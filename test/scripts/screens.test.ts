import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');
const SCREENS = join(ROOT, 'docs/screens');
const MOST_PICTURES = 12;
const MOST_BYTES = 1_000_000;

test('the pictures of the documents are few and small, and each is shown', () => {
  const pictures = readdirSync(SCREENS).toSorted();
  const bytes = pictures.reduce((sum, name) => sum + statSync(join(SCREENS, name)).size, 0);
  expect(pictures.length).toBeLessThanOrEqual(MOST_PICTURES);
  expect(bytes).toBeLessThanOrEqual(MOST_BYTES);
  const pages = ['README.md', ...readdirSync(join(ROOT, 'docs')).flatMap((name) => (name.endsWith('.md') ? [`docs/${name}`] : []))];
  const text = pages.map((name) => readFileSync(join(ROOT, name), 'utf8')).join('\n');
  const shown = [...new Set([...text.matchAll(/screens\/([\w-]+\.webp)/g)].map(([, name]) => name ?? ''))];
  expect(shown.toSorted()).toEqual(pictures);
});

import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { bundle, ROOT } from '../../scripts/bundle.ts';

const release = mkdtempSync(join(tmpdir(), 'atmo-release-'));
const sources = join(ROOT, '.run', `bundle-${process.pid}`);
afterAll(() => {
  rmSync(release, { recursive: true });
  rmSync(sources, { recursive: true });
});

const ENTRY = `
import { readFileSync } from 'node:fs';
class Named {}
const { load } = await import('koffi');
const text = readFileSync(new URL('data.json', import.meta.url), 'utf8');
console.log(JSON.stringify({ text, className: Named.name, native: typeof load }));
`;

test('a bundle runs in another place, finds its data and native module there and keeps class names', async () => {
  mkdirSync(sources, { recursive: true });
  writeFileSync(join(sources, 'entry.ts'), ENTRY);
  await bundle({ entry: join(sources, 'entry.ts'), outDir: join(release, 'dist'), name: 'program' });
  const dataDir = join(release, relative(ROOT, sources));
  mkdirSync(dataDir, { recursive: true });
  writeFileSync(join(dataDir, 'data.json'), 'found');
  for (const name of ['koffi', '@koromix'])
    cpSync(join(ROOT, 'node_modules', name), join(release, 'node_modules', name), { recursive: true });

  const output = execFileSync(process.execPath, [join(release, 'dist/program.mjs')], { encoding: 'utf8' });
  expect(JSON.parse(output)).toEqual({ text: 'found', className: 'Named', native: 'function' });
});

import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
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

/** As the package has it beside the bundle. */
function placeNativeModule(): void {
  for (const name of ['koffi', '@koromix'])
    cpSync(join(ROOT, 'node_modules', name), join(release, 'node_modules', name), { recursive: true });
}

/** Loads files one after the other and prints why those did not load that did not. */
const LOADER = `
const failures = [];
for (const file of process.argv.slice(1)) await import(file).catch((error) => failures.push(file + ': ' + error.message));
process.stdout.write(JSON.stringify(failures), () => process.exit());
`;

const ENTRY = `
import { readFileSync } from 'node:fs';
class Named {}
const { load } = await import('koffi');
const text = readFileSync(new URL('data.json', import.meta.url), 'utf8');
const signs = [/^[’–]+$/.test('’'), new RegExp(String.raw\`^[’–]+$\`).test('–'), '°C', \`\${1} µm\`, '💡'];
console.log(JSON.stringify({ text, className: Named.name, native: typeof load, signs }));
`;

test('a bundle runs in another place, finds its data and native module there, and keeps class names and every sign in one byte', async () => {
  mkdirSync(sources, { recursive: true });
  writeFileSync(join(sources, 'entry.ts'), ENTRY);
  await bundle({ entry: join(sources, 'entry.ts'), outDir: join(release, 'dist'), name: 'program' });
  const dataDir = join(release, relative(ROOT, sources));
  mkdirSync(dataDir, { recursive: true });
  writeFileSync(join(dataDir, 'data.json'), 'found');
  placeNativeModule();

  const program = join(release, 'dist/program.mjs');
  expect(readFileSync(program, 'utf8')).toMatch(/^\p{ASCII}*$/u);
  const output = execFileSync(process.execPath, [program], { encoding: 'utf8' });
  const signs = [true, true, '°C', '1 µm', '\u{1f4a1}'];
  expect(JSON.parse(output)).toEqual({ text: 'found', className: 'Named', native: 'function', signs });
});

test('every part of the hub that is loaded on demand loads in another place, with what is beside the bundle alone', {
  timeout: 120_000,
}, async () => {
  await bundle({ entry: 'src/main.ts', outDir: join(release, 'dist'), name: 'atmo' });
  placeNativeModule();
  const chunks = readdirSync(join(release, 'dist')).filter((file) => file.startsWith('chunk-') && file.endsWith('.mjs'));
  expect(chunks.length).toBeGreaterThan(20);
  const paths = chunks.map((file) => join(release, 'dist', file));
  const failures = execFileSync(process.execPath, ['--input-type=module', '--eval', LOADER, ...paths], { encoding: 'utf8', cwd: release });
  expect(JSON.parse(failures)).toEqual([]);
});

/** Bundles the hub to dist/atmo.mjs, or to `--outdir DIR`, and beside it the monitor page; with `--if-stale` only when a source is newer. */
import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { buildPage } from './build-page.ts';
import { bundle, ROOT } from './bundle.ts';
import { isOlderThan, placeBundle } from './bundle-folder.ts';

// The folder of scripts too: it has the patch of matter.js and what makes the bundle.
const SOURCES = ['src', 'scripts', 'package.json', 'package-lock.json'].map((path) => join(ROOT, path));

const { values } = parseArgs({
  options: { outdir: { type: 'string', default: join(ROOT, 'dist') }, 'if-stale': { type: 'boolean', default: false } },
});
const outDir = resolve(values.outdir);
const program = join(outDir, 'atmo.mjs');
if (!values['if-stale'] || isOlderThan(program, SOURCES)) {
  const staged = join(outDir, `.build-${randomUUID()}`);
  try {
    await bundle({ entry: 'src/main.ts', outDir: staged, name: 'atmo' });
    // Before the program, whose age says that all was built.
    await buildPage(join(outDir, 'page'));
    placeBundle(staged, outDir, 'atmo');
  } finally {
    rmSync(staged, { recursive: true, force: true });
  }
  console.error(`built ${program}`);
}

/** Bundles the hub to dist/atmo.mjs, or to `--outdir DIR`, and beside it the monitor page. */
import { rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { buildPage } from './build-page.ts';
import { bundle, ROOT } from './bundle.ts';

const { values } = parseArgs({ options: { outdir: { type: 'string', default: join(ROOT, 'dist') } } });
const outDir = resolve(values.outdir);
rmSync(outDir, { recursive: true, force: true });
await bundle({ entry: 'src/main.ts', outDir, name: 'atmo' });
await buildPage(join(outDir, 'page'));
console.error(`built ${join(outDir, 'atmo.mjs')}`);

/** Bundles the hub to dist/atmo.mjs, or to `--outdir DIR`. */
import { rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { bundle, ROOT } from './bundle.ts';

const { values } = parseArgs({ options: { outdir: { type: 'string', default: join(ROOT, 'dist') } } });
const outDir = resolve(values.outdir);
rmSync(outDir, { recursive: true, force: true });
await bundle({ entry: 'src/main.ts', outDir, name: 'atmo' });
console.error(`built ${join(outDir, 'atmo.mjs')}`);

/** Builds the client package of this checkout: `node scripts/client.ts [--outdir DIR] [--version VERSION]`. Prints the paths. */
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { ROOT } from './bundle.ts';
import { buildClientPackage, hubVersion } from './package/client-package.ts';

const { values } = parseArgs({
  options: { outdir: { type: 'string', default: join(ROOT, 'dist') }, version: { type: 'string', default: hubVersion() } },
});
console.log(await buildClientPackage(resolve(values.outdir), { version: values.version }));

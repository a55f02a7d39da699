/**
 * Builds the client package of this checkout and the bundle for hosts of agents: `npm run client -- [--outdir DIR] [--version VERSION]`.
 * With `--server-name NAME --bundle-url URL` also `server.json` for a registry of MCP. Prints the paths.
 */
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { AtmoError } from '../src/core/errors.ts';
import { ROOT } from './bundle.ts';
import { buildClientBundle, writeServerDocument } from './package/client-bundle.ts';
import { buildClientPackage } from './package/client-package.ts';
import { versionOfCheckout } from './package/debian-package.ts';

const { values } = parseArgs({
  options: {
    outdir: { type: 'string', default: join(ROOT, 'dist') },
    version: { type: 'string', default: versionOfCheckout() },
    'server-name': { type: 'string' },
    'bundle-url': { type: 'string' },
  },
});
try {
  const { version, 'server-name': name, 'bundle-url': url } = values;
  if ((name === undefined) !== (url === undefined))
    throw new AtmoError('VALIDATION_ERROR', 'server.json needs both --server-name and --bundle-url');
  const outdir = resolve(values.outdir);
  console.log(await buildClientPackage(outdir, { version }));
  const bundle = await buildClientBundle(outdir, { version });
  console.log(bundle);
  if (name !== undefined && url !== undefined) console.log(writeServerDocument(outdir, bundle, { name, url }));
} catch (error) {
  console.error(`client: ${error instanceof Error ? error.message : error}`);
  process.exitCode = 1;
}

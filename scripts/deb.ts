/**
 * Builds Debian packages of this checkout: `node scripts/deb.ts [--arch amd64|arm64] [--outdir DIR]`. The same commit gives the
 * same bytes. `--compress none` is for packages that are installed at once; `--version` is for packages between releases. Prints the paths.
 */
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { AtmoError } from '../src/core/errors.ts';
import { ROOT } from './bundle.ts';
import { debianArchitecture, THIS_ARCHITECTURE } from './package/debian-architecture.ts';
import type { DebCompression } from './package/debian-archive.ts';
import { buildDebianPackage, versionOfCheckout } from './package/debian-package.ts';
import { sourceTime } from './package/source-time.ts';

function compressionOf(word: string): DebCompression {
  if (word === 'zstd' || word === 'none') return word;
  throw new AtmoError('VALIDATION_ERROR', `--compress ${word} is unknown; allowed: zstd, none`);
}

const { values } = parseArgs({
  options: {
    arch: { type: 'string', multiple: true, default: [THIS_ARCHITECTURE] },
    outdir: { type: 'string', default: join(ROOT, 'dist') },
    version: { type: 'string', default: versionOfCheckout() },
    compress: { type: 'string', default: 'zstd' },
  },
});
const options = {
  version: values.version,
  time: sourceTime(),
  compression: compressionOf(values.compress),
  outdir: resolve(values.outdir),
};
for (const { name } of values.arch.map(debianArchitecture)) console.log(await buildDebianPackage(name, options));

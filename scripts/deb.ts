/**
 * Builds Debian packages of this checkout: `node scripts/deb.ts [--arch amd64|arm64] [--outdir DIR]`. The same commit gives the
 * same bytes. `--compress none` is fast, `xz` small; `--version` is for packages between releases. Prints the paths.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { AtmoError } from '../src/core/errors.ts';
import { ROOT } from './bundle.ts';
import { debianArchitecture, THIS_ARCHITECTURE } from './package/debian-architecture.ts';
import { writeDebianArchive } from './package/debian-archive.ts';
import { layOutPackage } from './package/debian-tree.ts';

const WORK = join(ROOT, '.run/deb');

/** SOURCE_DATE_EPOCH, else when the commit was made. */
function sourceTime(): Date {
  const { SOURCE_DATE_EPOCH: wanted } = process.env;
  const epochSeconds = wanted ?? execFileSync('git', ['-C', ROOT, 'log', '-1', '--format=%ct'], { encoding: 'utf8' });
  // The clock that the bundle starts from comes from the same place.
  process.env.SOURCE_DATE_EPOCH = epochSeconds.trim();
  return new Date(Number(epochSeconds) * 1000);
}

function compressionOf(word: string): 'xz' | 'none' {
  if (word === 'xz' || word === 'none') return word;
  throw new AtmoError('VALIDATION_ERROR', `--compress ${word} is unknown; allowed: xz, none`);
}

const { values } = parseArgs({
  options: {
    arch: { type: 'string', multiple: true, default: [THIS_ARCHITECTURE] },
    outdir: { type: 'string', default: join(ROOT, 'dist') },
    version: { type: 'string', default: JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).version },
    compress: { type: 'string', default: 'xz' },
  },
});
const time = sourceTime();
mkdirSync(WORK, { recursive: true });
for (const architecture of values.arch.map(debianArchitecture)) {
  const root = mkdtempSync(join(WORK, `${architecture.name}-`));
  try {
    const file = join(resolve(values.outdir), `atmosphere-edge_${values.version}_${architecture.name}.deb`);
    await layOutPackage(root, architecture, time);
    const compression = compressionOf(values.compress);
    await writeDebianArchive({ root, version: values.version, architecture: architecture.name, time, compression }, file);
    console.log(file);
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

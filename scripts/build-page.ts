/** Builds the monitor page into dist/page, or into `--outdir DIR`; with `--if-stale` only when a source is newer. */
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { build, type Metafile } from 'esbuild';
import { AtmoError } from '../src/core/errors.ts';
import { ROOT } from './bundle.ts';
import { isOlderThan } from './bundle-folder.ts';

const SOURCE = 'src/web';
const ENTRIES = { main: `${SOURCE}/main.ts`, style: `${SOURCE}/style/main.css`, icon: `${SOURCE}/icon.svg` };
const TEMPLATE = `${SOURCE}/index.html`;
/** What decides about the result beside the sources that the bundler names. */
const OTHER_INPUTS = [TEMPLATE, 'package-lock.json', 'scripts/build-page.ts'];
/** All files of the page together, as gzip: a phone on a weak network gets it within a second. */
const MAX_GZIP_BYTES = 100_000;

/** How large the page is on the wire, all its files together. */
export interface PageSize {
  readonly gzipBytes: number;
  readonly brotliBytes: number;
}

/** Bundles, hashes and compresses the page. A page beyond 100 kB gzipped is refused. */
export async function buildPage(outDir: string): Promise<PageSize> {
  // Beside the place, and moved there when it is whole: a hub may be serving what was there.
  const staged = `${outDir}.${process.pid}`;
  try {
    const size = await buildInto(staged);
    rmSync(outDir, { recursive: true, force: true });
    renameSync(staged, outDir);
    return size;
  } finally {
    rmSync(staged, { recursive: true, force: true });
  }
}

async function buildInto(outDir: string): Promise<PageSize> {
  mkdirSync(join(outDir, 'assets'), { recursive: true });
  const { metafile } = await build({
    absWorkingDir: ROOT,
    entryPoints: ENTRIES,
    outdir: join(outDir, 'assets'),
    entryNames: '[name]-[hash]',
    chunkNames: 'part-[hash]',
    loader: { '.svg': 'copy' },
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'browser',
    target: 'es2022',
    // Lit without the warnings for its developers.
    conditions: ['browser', 'production'],
    minify: true,
    legalComments: 'none',
    metafile: true,
    logLevel: 'warning',
  });
  const outputs = Object.keys(metafile.outputs).map((path) => resolve(ROOT, path));
  const shell = join(outDir, 'index.html');
  writeFileSync(shell, shellOf(metafile));
  const size = [shell, ...outputs].map(compress).reduce(
    (sum, file) => ({
      gzipBytes: sum.gzipBytes + file.gzipBytes,
      brotliBytes: sum.brotliBytes + file.brotliBytes,
    }),
    { gzipBytes: 0, brotliBytes: 0 },
  );
  if (size.gzipBytes > MAX_GZIP_BYTES) {
    throw new AtmoError(
      'RESOURCE_EXCEEDED',
      `The page has ${size.gzipBytes} B gzipped, at most ${MAX_GZIP_BYTES} are allowed; make a part of it smaller`,
    );
  }
  const inputs = [...Object.keys(metafile.inputs).filter((path) => !path.startsWith('node_modules/')), ...OTHER_INPUTS];
  writeFileSync(join(outDir, 'inputs.json'), JSON.stringify(inputs));
  return size;
}

/** The page with the names of the files that were made for it. */
function shellOf({ outputs }: Metafile): string {
  const nameOf = (entry: string): string => {
    const made = Object.entries(outputs).find(
      ([path, { entryPoint, inputs }]) => entryPoint === entry || (path.endsWith('.svg') && entry in inputs),
    );
    if (made) return basename(made[0]);
    throw new AtmoError('INTERNAL_ERROR', `The bundler made nothing from ${entry}`);
  };
  const names: Readonly<Record<string, string>> = Object.fromEntries(Object.entries(ENTRIES).map(([key, entry]) => [key, nameOf(entry)]));
  const template = readFileSync(join(ROOT, TEMPLATE), 'utf8');
  return template.replaceAll(/\{\{(\w+)\}\}/g, (_mark, key: string) => `/assets/${names[key] ?? ''}`);
}

/** Puts a .gz and a .br beside a file. */
function compress(path: string): PageSize {
  const bytes = readFileSync(path);
  const gzip = gzipSync(bytes, { level: 9 });
  const brotli = brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length } });
  writeFileSync(`${path}.gz`, gzip);
  writeFileSync(`${path}.br`, brotli);
  return { gzipBytes: gzip.length, brotliBytes: brotli.length };
}

/** True when the page is missing, or older than something that it was made from. */
function isStale(outDir: string): boolean {
  const list = join(outDir, 'inputs.json');
  if (!existsSync(list)) return true;
  const inputs = JSON.parse(readFileSync(list, 'utf8')) as readonly string[];
  return isOlderThan(
    list,
    inputs.map((path) => join(ROOT, path)),
  );
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: { outdir: { type: 'string', default: join(ROOT, 'dist/page') }, 'if-stale': { type: 'boolean', default: false } },
  });
  const outDir = resolve(values.outdir);
  if (!values['if-stale'] || isStale(outDir)) {
    const { gzipBytes, brotliBytes } = await buildPage(outDir);
    console.error(`built ${outDir}: ${gzipBytes} B as gzip, ${brotliBytes} B as brotli`);
  }
}

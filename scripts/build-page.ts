/** Builds the monitor page into dist/page, or into `--outdir DIR`; with `--if-stale` only when a source is newer. */
import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { build, type Metafile } from 'esbuild';
import { AtmoError } from '../src/core/errors.ts';
import { ROOT } from './bundle.ts';
import { isOlderThan } from './bundle-folder.ts';
import { writeIcons, writeManifest, writeServiceWorker } from './page/app-files.ts';

const SOURCE = 'src/web';
const ENTRIES = { main: `${SOURCE}/main.ts`, style: `${SOURCE}/style/main.css`, icon: `${SOURCE}/icon.svg` };
const TEMPLATE = `${SOURCE}/index.html`;
/** What decides about the result beside the sources that the bundler names. */
const OTHER_INPUTS = [TEMPLATE, 'package-lock.json', 'scripts/build-page.ts', 'scripts/page/app-files.ts', 'scripts/page/icon-png.ts'];
/** What a browser loads before it shows the first page, as gzip: a phone on a weak network has it within a second. */
const MAX_FIRST_GZIP_BYTES = 120_000;
/** The parts that every opening of the page needs, beside the frame: the page that is opened first. */
const FIRST_PAGE = `${SOURCE}/pages/home-page.ts`;

/** How large files of the page are on the wire. */
export interface FileSize {
  readonly gzipBytes: number;
  readonly brotliBytes: number;
}

/** How large the page is on the wire. */
export interface PageSize {
  /** The frame, the style and the first page, in English. */
  readonly first: FileSize;
  /** All files together. */
  readonly all: FileSize;
}

/** Bundles, hashes and compresses the page. A page whose first load is beyond 120 kB gzipped is refused. */
export async function buildPage(outDir: string): Promise<PageSize> {
  // Beside the place, and moved there when it is whole: a hub may be serving what was there. Two builds in network namespaces may have the
  // same process id.
  const staged = `${outDir}.${randomUUID()}`;
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
  const icons = writeIcons(join(outDir, 'assets'));
  const shell = join(outDir, 'index.html');
  writeFileSync(shell, shellOf(metafile, icons[0]?.file ?? ''));
  const manifest = writeManifest(outDir, icons, outputOf(metafile, ENTRIES.icon));
  const workerInputs = await writeServiceWorker(outDir, [...outputs, ...icons.map(({ file }) => file)]);
  const files = [shell, manifest, join(outDir, 'service-worker.js'), ...outputs];
  const sizes = new Map(files.map((path) => [path, compress(path)]));
  const firstFiles = new Set([shell, ...firstOutputs(metafile).map((path) => resolve(ROOT, path))]);
  const size: PageSize = {
    first: sumOf([...sizes].flatMap(([path, file]) => (firstFiles.has(path) ? [file] : []))),
    all: sumOf([...sizes.values()]),
  };
  if (size.first.gzipBytes > MAX_FIRST_GZIP_BYTES) {
    throw new AtmoError(
      'RESOURCE_EXCEEDED',
      `The first load of the page has ${size.first.gzipBytes} B gzipped, at most ${MAX_FIRST_GZIP_BYTES} are allowed; load a part of it later`,
    );
  }
  // A defined constant counts as an input too, such as `<define:NAME>`. It is no file, so that the page would always be stale.
  const isSource = (path: string) => !path.startsWith('node_modules/') && !path.startsWith('<');
  const inputs = [...new Set([...Object.keys(metafile.inputs), ...workerInputs])].filter(isSource);
  writeFileSync(join(outDir, 'inputs.json'), JSON.stringify([...inputs, ...OTHER_INPUTS]));
  return size;
}

function sumOf(sizes: readonly FileSize[]): FileSize {
  const total = (key: keyof FileSize): number => sizes.reduce((sum, size) => sum + size[key], 0);
  return { gzipBytes: total('gzipBytes'), brotliBytes: total('brotliBytes') };
}

/** The files that a browser loads for the first page: those of the entries and of the first page, with what they import at once. */
function firstOutputs({ outputs }: Metafile): readonly string[] {
  const begin = Object.entries(outputs).filter(([path, { entryPoint }]) => isFirst(entryPoint) || path.endsWith('.svg'));
  const first = new Set(begin.map(([path]) => path));
  for (const path of first) {
    for (const { path: imported, kind } of outputs[path]?.imports ?? []) if (kind === 'import-statement') first.add(imported);
  }
  return [...first];
}

function isFirst(entryPoint: string | undefined): boolean {
  return entryPoint === FIRST_PAGE || Object.values(ENTRIES).some((entry) => entry === entryPoint);
}

/** The page with the names of the files that were made for it. */
function shellOf(metafile: Metafile, touchIcon: string): string {
  const made = Object.entries(ENTRIES).map(([key, entry]) => [key, outputOf(metafile, entry)]);
  const names: Readonly<Record<string, string>> = { ...Object.fromEntries(made), touch: touchIcon };
  const template = readFileSync(join(ROOT, TEMPLATE), 'utf8');
  return template.replaceAll(/\{\{(\w+)\}\}/g, (_mark, key: string) => `/assets/${names[key] ?? ''}`);
}

/** The name of the file that was made from an entry. */
function outputOf({ outputs }: Metafile, entry: string): string {
  const made = Object.entries(outputs).find(
    ([path, { entryPoint, inputs }]) => entryPoint === entry || (path.endsWith('.svg') && entry in inputs),
  );
  if (made) return basename(made[0]);
  throw new AtmoError('INTERNAL_ERROR', `The bundler made nothing from ${entry}`);
}

/** Puts a .gz and a .br beside a file. */
function compress(path: string): FileSize {
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
    const { first, all } = await buildPage(outDir);
    console.error(
      `built ${outDir}: first load ${first.gzipBytes} B as gzip, ${first.brotliBytes} B as brotli; all ${all.gzipBytes} B as gzip`,
    );
  }
}

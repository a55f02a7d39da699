import { readFile, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { build, type Plugin } from 'esbuild';
import { withoutNeedlessNames } from './bundle-names.ts';
import { patchedMatter } from './matter-patches.ts';

export const ROOT = new URL('..', import.meta.url).pathname;

/**
 * What stays a package: koffi is native and comes with the release; the others are the owner's to add (docs/install.md), and
 * pg looks for a native driver that nobody needs.
 */
const BESIDE_THE_BUNDLE = ['koffi', 'onoff', 'serialport', 'pg-native'];

interface BundleOptions {
  /** Source file that runs. */
  readonly entry: string;
  /** Folder for the bundle; modules find their data from it. */
  readonly outDir: string;
  /** Name of the bundle without `.mjs`. */
  readonly name: string;
  /** From there to the root of the release, unless that is one level above. */
  readonly wayToRoot?: string;
  /** False for a program that is measured with matter.js as it is. */
  readonly isMatterPatched?: boolean;
}

/**
 * Our modules find data files relative to themselves: in the bundle they get the place where they would stand. What is not
 * ASCII is written as escapes: esbuild does so for texts only, and one such character in a regular expression makes V8 keep
 * the source of a whole chunk in two bytes a character. `String.raw` may hold it where it becomes a regular expression.
 */
const ourModules = (wayToRoot: string): Plugin => ({
  name: 'our-modules',
  setup(context) {
    context.onLoad({ filter: /\.ts$/, namespace: 'file' }, async ({ path }) => {
      if (path.includes('/node_modules/')) return undefined;
      const text = await readFile(path, 'utf8');
      const place = (file: string) => `new URL(${JSON.stringify(join(wayToRoot, relative(ROOT, file)))}, import.meta.url)`;
      const contents = text
        .replaceAll(/import\.meta\.url\b/g, `${place(path)}.href`)
        .replaceAll(/import\.meta\.dirname\b/g, `${place(dirname(path))}.pathname`)
        .replaceAll(/[\u0080-\uffff]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
      return { contents, loader: 'ts' };
    });
  },
});

/** Bun's SQLite, which matter.js knows beside Node's. */
const withoutBun: Plugin = {
  name: 'without-bun',
  setup(context) {
    context.onResolve({ filter: /^bun:sqlite$/ }, () => ({ path: 'bun:sqlite', namespace: 'empty' }));
    context.onLoad({ filter: /.*/, namespace: 'empty' }, () => ({ contents: 'module.exports = {};' }));
  },
};

/** Bundles a program for the pinned Node; what is imported on demand becomes a chunk of its own. */
export async function bundle({ entry, outDir, name, wayToRoot = '..', isMatterPatched = true }: BundleOptions): Promise<void> {
  const { metafile } = await build({
    absWorkingDir: ROOT,
    entryPoints: [{ in: entry, out: name }],
    outdir: outDir,
    outExtension: { '.js': '.mjs' },
    chunkNames: 'chunk-[hash]',
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: `node${process.versions.node}`,
    // A floor for the hub's clock; SOURCE_DATE_EPOCH keeps builds reproducible.
    define: { ATMO_BUILD_TIME_MS: String(buildTimeMs()) },
    // matter.js asks its classes for their names.
    keepNames: true,
    minifyWhitespace: true,
    minifySyntax: true,
    external: [...BESIDE_THE_BUNDLE],
    banner: { js: "import { createRequire as atmoCreateRequire } from 'node:module'; const require = atmoCreateRequire(import.meta.url);" },
    plugins: [ourModules(wayToRoot), withoutBun, ...(isMatterPatched ? [patchedMatter] : [])],
    metafile: true,
    logLevel: 'warning',
  });
  for (const output of Object.keys(metafile.outputs)) {
    const file = join(ROOT, output);
    await writeFile(file, withoutNeedlessNames(file, await readFile(file, 'utf8')));
  }
}

function buildTimeMs(): number {
  const { SOURCE_DATE_EPOCH: epochSeconds } = process.env;
  return epochSeconds === undefined ? Date.now() : Number(epochSeconds) * 1000;
}

import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { build } from 'esbuild';
import { ROOT } from '../bundle.ts';
import { iconPng } from './icon-png.ts';

const WORKER = 'src/web/worker/service-worker.ts';
const ICONS = [
  { name: 'icon-small', size: 192, isMaskable: false },
  { name: 'icon-large', size: 512, isMaskable: false },
  { name: 'icon-mask-small', size: 192, isMaskable: true },
  { name: 'icon-mask-large', size: 512, isMaskable: true },
] as const;

/** An icon of the app, with the name that its content gave it. */
export interface AppIcon {
  readonly file: string;
  readonly size: number;
  readonly isMaskable: boolean;
}

/** Draws the icons of the app into the assets of the page. */
export function writeIcons(assetsDir: string): readonly AppIcon[] {
  return ICONS.map(({ name, size, isMaskable }) => {
    const png = iconPng(size, { isMaskable });
    const file = `${name}-${contentName(png)}.png`;
    writeFileSync(join(assetsDir, file), png);
    return { file, size, isMaskable };
  });
}

/** Writes the manifest, by which a phone takes the page as an app. */
export function writeManifest(outDir: string, icons: readonly AppIcon[], svg: string): string {
  const manifest = {
    id: '/',
    name: 'Atmosphere',
    short_name: 'Atmosphere',
    description: 'The devices of this home, what they do, and what asks for a person',
    start_url: '/',
    scope: '/',
    display: 'standalone',
    background_color: '#f8f3ec',
    theme_color: '#a8452a',
    categories: ['utilities', 'lifestyle'],
    icons: [
      ...icons.map(({ file, size, isMaskable }) => ({
        src: `/assets/${file}`,
        sizes: `${size}x${size}`,
        type: 'image/png',
        purpose: isMaskable ? 'maskable' : 'any',
      })),
      { src: `/assets/${svg}`, sizes: 'any', type: 'image/svg+xml', purpose: 'any' },
    ],
  };
  const path = join(outDir, 'manifest.webmanifest');
  writeFileSync(path, JSON.stringify(manifest));
  return path;
}

/** Bundles the service worker. It knows the names of all files of this build, so a new build is a new worker. Returns its sources. */
export async function writeServiceWorker(outDir: string, assets: readonly string[]): Promise<readonly string[]> {
  const files = assets.map((path) => `/assets/${basename(path)}`).toSorted();
  const { metafile } = await build({
    absWorkingDir: ROOT,
    entryPoints: [WORKER],
    outfile: join(outDir, 'service-worker.js'),
    bundle: true,
    format: 'iife',
    platform: 'browser',
    target: 'es2022',
    minify: true,
    legalComments: 'none',
    define: { BUILT_FILES: JSON.stringify(files), BUILD_NAME: JSON.stringify(contentName(files.join('\n'))) },
    metafile: true,
    logLevel: 'warning',
  });
  return Object.keys(metafile.inputs);
}

/** Returns eight letters and digits that stand for a content, as the bundler names its files. */
function contentName(content: string | Buffer): string {
  return createHash('sha256').update(content).digest('hex').slice(0, 8).toUpperCase();
}

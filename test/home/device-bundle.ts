import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { build, type Plugin } from 'esbuild';

const HOME = import.meta.dirname;
const ROOT = join(HOME, '../..');
const CACHE = join(ROOT, '.run/virtual-home');

/** matter.js imports Bun's database statically; under Node it must resolve to something that is never called. */
const withoutBun: Plugin = {
  name: 'without-bun',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^bun:/ }, ({ path }) => ({ path, namespace: 'absent' }));
    onLoad({ filter: /./, namespace: 'absent' }, () => ({ contents: 'export const Database = undefined, constants = undefined;' }));
  },
};

/** Path of the device program as one file, which starts in half the time; built again only when its sources changed. */
export async function deviceProgram(): Promise<string> {
  const outfile = join(CACHE, `device-${sourceHash()}.mjs`);
  if (existsSync(outfile)) return outfile;
  await mkdir(CACHE, { recursive: true });
  const unfinished = `${outfile}.${process.pid}`;
  await build({
    entryPoints: [join(HOME, 'device-program.ts')],
    outfile: unfinished,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node24',
    keepNames: true,
    plugins: [withoutBun],
    banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
    logLevel: 'error',
  });
  await rename(unfinished, outfile);
  return outfile;
}

function sourceHash(): string {
  const hash = createHash('sha256').update(readFileSync(join(ROOT, 'package-lock.json')));
  const sources = readdirSync(HOME, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));
  for (const file of sources.sort()) hash.update(file).update(readFileSync(join(HOME, file)));
  return hash.digest('hex').slice(0, 16);
}

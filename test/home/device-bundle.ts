import { createHash, randomUUID } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { build, type Plugin } from 'esbuild';

const HOME = import.meta.dirname;
const ROOT = join(HOME, '../..');
/** Sources of the program that do not lie beside it. */
const ELSEWHERE = [
  '../matter/virtual-peripheral.ts',
  '../matter/radio-frames.ts',
  '../../src/core/errors.ts',
  '../../src/matter/storage/matter-database.ts',
];
const CACHE = join(ROOT, '.run/virtual-home');

/** matter.js imports Bun's database statically; under Node it must resolve to something that is never called. */
const withoutBun: Plugin = {
  name: 'without-bun',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^bun:/ }, ({ path }) => ({ path, namespace: 'absent' }));
    onLoad({ filter: /./, namespace: 'absent' }, () => ({ contents: 'export const Database = undefined, constants = undefined;' }));
  },
};

/** Path of the bundled device program, which starts in half the time; built again only when its sources changed. */
export async function deviceProgram(): Promise<string> {
  const directory = join(CACHE, sourceHash());
  const program = join(directory, 'device-program.js');
  if (existsSync(program)) return program;
  // Process ids repeat between private networks.
  const unfinished = `${directory}.${randomUUID()}`;
  await build({
    entryPoints: [join(HOME, 'device-program.ts')],
    outdir: unfinished,
    bundle: true,
    splitting: true,
    platform: 'node',
    format: 'esm',
    target: 'node24',
    plugins: [withoutBun],
    banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
    logLevel: 'silent',
  });
  // Another process may have been faster; both built the same.
  await rename(unfinished, directory).catch(() => rm(unfinished, { recursive: true }));
  return program;
}

function sourceHash(): string {
  const hash = createHash('sha256').update(readFileSync(join(ROOT, 'package-lock.json')));
  const sources = readdirSync(HOME, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));
  for (const file of [...sources.sort(), ...ELSEWHERE]) hash.update(file).update(readFileSync(join(HOME, file)));
  return hash.digest('hex').slice(0, 16);
}

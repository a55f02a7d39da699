/**
 * Compiles the package that `npm pack` makes: the library and the program as modules in lib/, with the types of the library.
 * Nothing is bundled, since matter.js takes its settings from the module that is loaded before it. lib/ is as deep as src/, so
 * modules find device profiles, page and package.json from there as they do in a checkout.
 */

import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { globSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { ROOT } from './bundle.ts';

const RELATIVE_IMPORT = /((?:from|import\()\s*['"])(\.{1,2}\/[^'"]+)\.ts(?=['"])/g;

const library = join(ROOT, 'lib');
const staged = join(ROOT, `.run/lib-${randomUUID()}`);
try {
  mkdirSync(staged, { recursive: true });
  execFileSync(join(ROOT, 'node_modules/.bin/tsc'), ['-p', join(ROOT, 'scripts/tsconfig.lib.json'), '--outDir', staged], {
    stdio: 'inherit',
  });
  const modules = join(staged, 'src');
  keepReachableTypes(modules, join(modules, 'index.d.ts'));
  rmSync(library, { recursive: true, force: true });
  renameSync(modules, library);
} finally {
  rmSync(staged, { recursive: true, force: true });
}

/** Removes the declarations that the library's own do not name. TypeScript leaves `.ts` in the imports of declarations. */
function keepReachableTypes(folder: string, entry: string): void {
  const reachable = new Set([entry]);
  for (const file of reachable) {
    const text = readFileSync(file, 'utf8');
    for (const [, , path = ''] of text.matchAll(RELATIVE_IMPORT)) reachable.add(resolve(dirname(file), `${path}.d.ts`));
    writeFileSync(file, text.replaceAll(RELATIVE_IMPORT, '$1$2.js'));
  }
  for (const file of globSync('**/*.d.ts', { cwd: folder })) {
    if (!reachable.has(join(folder, file))) rmSync(join(folder, file));
  }
}

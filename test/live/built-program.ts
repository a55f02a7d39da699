import { basename, join } from 'node:path';
import { bundle } from '../../scripts/bundle.ts';
import { builtFolder } from './built-folder.ts';

const ofThisProcess = new Map<string, Promise<string>>();

/** Path of a program, `src/main.ts` for one, as a release has it: in a bundle, which starts with a third of the work that its sources take. */
export function builtProgram(entry: string): Promise<string> {
  const known = ofThisProcess.get(entry) ?? build(entry);
  ofThisProcess.set(entry, known);
  return known;
}

async function build(entry: string): Promise<string> {
  const name = basename(entry, '.ts');
  const folder = await builtFolder({
    name,
    sources: ['{src,scripts,test}/**/*.{ts,json,patch}'],
    exclude: ['src/web/**', '**/*.test.ts', '**/node_modules/**'],
    build: (outDir) => bundle({ entry, outDir, name, wayToRoot: '../../..' }),
  });
  return join(folder, `${name}.mjs`);
}

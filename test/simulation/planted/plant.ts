import { registerHooks } from 'node:module';
import { mutated } from '../../../scripts/mutation.ts';
import { bugNamed } from './planted-bugs.ts';

/** Has this process load one source with a mistake. It must run before the source is loaded. Throws if there is no mistake of this name. */
export function plant(name: string): void {
  const bug = bugNamed(name);
  const url = new URL(`../../../${bug.file}`, import.meta.url).href;
  registerHooks({
    load: (given, context, next) => {
      const loaded = next(given, context);
      return given === url ? { ...loaded, source: mutated(bug, String(loaded.source)) } : loaded;
    },
  });
}

import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';

/**
 * Loaded with `--import` by the process of the tests and by those that it starts: gives them the sources with mutants, and the
 * function that says which one is active.
 */
const sources: Readonly<Record<string, string>> = JSON.parse(readFileSync(process.env.ATMO_MUTATED_SOURCES ?? '', 'utf8'));

registerHooks({
  load: (url, context, next) => {
    const source = sources[url];
    return source === undefined ? next(url, context) : { format: 'module-typescript', source, shortCircuit: true };
  },
});

globalThis.__mutants = { active: process.env.ATMO_MUTANT, reached: process.env.ATMO_MUTANT === undefined ? new Set() : undefined };
globalThis.__isMutant = (id) => {
  __mutants.reached?.add(id);
  return id === __mutants.active;
};

declare global {
  /** The active mutant, and those that were asked for, where no mutant was active at the start. */
  var __mutants: { active: string | undefined; readonly reached: Set<string> | undefined };
  var __isMutant: (id: string) => boolean;
}

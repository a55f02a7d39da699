import './load-switched.ts';
import { afterEach, beforeAll, beforeEach, inject } from 'vitest';

/** Runs before the tests of each file: makes the wanted mutant the active one, or notes for each test which mutants it reached. */
declare module 'vitest' {
  interface ProvidedContext {
    /** Id of the mutant that is to be active; an empty text for none. */
    mutant: string;
  }
  interface TaskMeta {
    /** Mutants that were reached in the test. */
    reached?: readonly string[];
    /** Mutants that were reached before, while the modules were loaded. */
    loaded?: readonly string[];
    /** Mutants that were reached before, in what the tests of a file share. */
    shared?: readonly string[];
  }
}

const { reached } = __mutants;
__mutants.active = inject('mutant');
// Processes and threads that a test starts have the same mutant.
process.env.ATMO_MUTANT = __mutants.active;

if (reached) {
  const taken = () => {
    const ids = [...reached];
    reached.clear();
    return ids;
  };
  let loaded: readonly string[] = [];
  beforeAll(() => {
    loaded = taken();
  });
  beforeEach(({ task }) => {
    task.meta.loaded = loaded;
    task.meta.shared = taken();
    loaded = [];
  });
  afterEach(({ task }) => {
    task.meta.reached = taken();
  });
}

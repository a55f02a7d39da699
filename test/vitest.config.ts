import { defineConfig } from 'vitest/config';
import { LongFirst } from './long-first.ts';

const root = new URL('..', import.meta.url).pathname;
/**
 * Tests and what is made before them may start processes, and machines of continuous integration may be many times slower than a
 * desk. What is waited for with `expect.poll` comes, and may take its time; vitest would wait for a second.
 */
const patience = { testTimeout: 120_000, hookTimeout: 120_000, expect: { poll: { timeout: 20_000 } } };

/** Node reads TypeScript itself, which takes less time than vite's transformation. It needs no loader, as no test replaces a module. */
const native = { viteModuleRunner: false, nodeLoader: false };

/** `unit` touches no socket; `live` talks real Matter and HTTP inside network namespaces made by scripts/in-netns. */
export default defineConfig({
  test: {
    root,
    sequence: { sequencer: LongFirst },
    projects: [
      {
        test: {
          name: 'unit',
          root,
          include: ['test/**/*.test.ts'],
          exclude: ['test/live/**', '**/node_modules/**'],
          ...patience,
          // Files share a process: loading matter.js for each of a hundred took longer than all the tests.
          isolate: false,
          experimental: native,
          // Vitest would leave a core idle, which is half of a small machine.
          maxWorkers: '100%',
        },
      },
      {
        test: {
          name: 'live',
          root,
          include: ['test/live/**/*.test.ts'],
          setupFiles: [`${root}test/live/failure-logs.ts`],
          pool: 'forks',
          fileParallelism: false,
          experimental: native,
          ...patience,
        },
      },
    ],
  },
});

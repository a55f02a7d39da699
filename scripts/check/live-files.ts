import { globSync, statSync } from 'node:fs';

/** Starting vitest and a network takes longer than many a file: small ones share both, one after the other. */
const FILES_A_RUN = 6;

/** Those that take a minute or more begin first, whatever their size: one that begins last would run on alone. */
const LONG: readonly string[] = [
  'package/upgrade',
  'matter-bridge-many',
  'every-tool',
  'every-tool-undo',
  'automation-stories',
  'hub-process',
  'package/debian-package',
  'device-updates',
  'reachability',
  'commission-crash',
  'pages',
  'page/looks',
  'administration',
  'package/npm-package',
  'mesh-discovery',
  'http-hostile',
  'faults',
  'storage/state-sweep',
  'virtual-home',
].map((name) => `test/live/${name}.test.ts`);

/**
 * All files of live tests, in runs that take the longer the earlier they begin: the long files, each alone, then those that share a run,
 * large and small ones in each, so that all such runs take about the same time.
 */
export function liveRuns(): readonly (readonly string[])[] {
  const files = globSync('test/live/**/*.test.ts').sort((a, b) => statSync(b).size - statSync(a).size);
  const others = files.filter((file) => !LONG.includes(file));
  return [...LONG.map((file) => [file]), ...dealOut(others, Math.ceil(others.length / FILES_A_RUN))];
}

function dealOut<Item>(items: readonly Item[], hands: number): readonly (readonly Item[])[] {
  return Array.from({ length: hands }, (_, hand) => items.filter((_, index) => index % hands === hand));
}

import { globSync, statSync } from 'node:fs';

/** Half cores: boards and the machines of continuous integration have two. */
export const LIVE_PLACES = 4;
const USUAL_PLACES = 2;

/** A file of live tests and how much of a machine it keeps busy. */
interface LiveFile {
  readonly file: string;
  readonly places: number;
}

/** Those that use less than half a core on the whole and have no narrow limits of time: they take one place. */
export const WAITING: readonly string[] = [
  'test/live/hub-process.test.ts',
  'test/live/administration.test.ts',
  'test/live/device-abandoned.test.ts',
];

/** All files of live tests, the largest first: the order by the times that they take ends no sooner. */
export function liveFiles(): readonly LiveFile[] {
  const files = globSync('test/live/**/*.test.ts').sort((a, b) => statSync(b).size - statSync(a).size);
  return files.map((file) => ({ file, places: WAITING.includes(file) ? 1 : USUAL_PLACES }));
}

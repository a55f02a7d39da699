import { globSync } from 'node:fs';
import { expect, test } from 'vitest';
import { ROOT } from '../../scripts/bundle.ts';
import { BUSY, LIVE_PLACES, liveFiles, WAITING } from '../../scripts/check/live-files.ts';

test('every file of live tests is run once, and fits on the machine', () => {
  const files = liveFiles();
  expect(files.map(({ file }) => file).sort()).toEqual(globSync('test/live/**/*.test.ts', { cwd: ROOT }).sort());
  expect(files.filter(({ places }) => places === 4)).toHaveLength(BUSY.length);
  expect(files.filter(({ places }) => places === 1)).toHaveLength(WAITING.length);
  for (const { places } of files) expect(places).toBeLessThanOrEqual(LIVE_PLACES);
});

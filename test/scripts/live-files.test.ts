import { globSync } from 'node:fs';
import { expect, test } from 'vitest';
import { ROOT } from '../../scripts/bundle.ts';
import { BUSY, LIVE_PLACES, liveRuns, WAITING } from '../../scripts/check/live-files.ts';

test('every file of live tests is run once, and every run fits on the machine', () => {
  const runs = liveRuns();
  expect(runs.flatMap(({ files }) => files).sort()).toEqual(globSync('test/live/**/*.test.ts', { cwd: ROOT }).sort());
  expect(filesOf(4)).toHaveLength(BUSY.length);
  expect(filesOf(1)).toHaveLength(WAITING.length);
  for (const { places } of runs) expect(places).toBeLessThanOrEqual(LIVE_PLACES);

  function filesOf(wanted: number): readonly string[] {
    return runs.filter(({ places }) => places === wanted).flatMap(({ files }) => files);
  }
});

import { globSync } from 'node:fs';
import { expect, test } from 'vitest';
import { ROOT } from '../../scripts/bundle.ts';
import { liveRuns } from '../../scripts/check/live-files.ts';

test('every file of live tests is run once', () => {
  expect(liveRuns().flat().sort()).toEqual(globSync('test/live/**/*.test.ts', { cwd: ROOT }).sort());
});

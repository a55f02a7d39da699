import { join } from 'node:path';
import { bundle, ROOT } from '../../../scripts/bundle.ts';

const NAME = 'lab-hub';

/** test/live/children/lab-hub.ts in one file, as a hub is installed: twenty start in the time of five. Answers what to run. */
export async function bundledLabHub(): Promise<readonly string[]> {
  const outDir = join(ROOT, 'dist');
  await bundle({ entry: 'test/live/children/lab-hub.ts', outDir, name: NAME });
  return [join(outDir, `${NAME}.mjs`)];
}

import { join } from 'node:path';
import manifest from '../../package.json' with { type: 'json' };

/** Folder of the product's device profiles, JSON files. */
export const PROFILES_DIR = join(import.meta.dirname, '../../device-profiles');
/** Folder of the page that scripts/build-page.ts builds. */
export const PAGE_DIR = join(import.meta.dirname, '../../dist/page');

/** Returns the version of the product, from its package.json. */
export function packageVersion(): string {
  return manifest.version;
}

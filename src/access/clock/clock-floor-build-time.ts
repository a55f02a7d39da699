import { statSync } from 'node:fs';

// The bundler puts the time of the build here; run from its sources, the hub has none.
declare const ATMO_BUILD_TIME_MS: number | undefined;

/** When this program was made, milliseconds since 1970: no clock that runs it can be right before. */
export function buildTimeMs(): number {
  return typeof ATMO_BUILD_TIME_MS === 'number' ? ATMO_BUILD_TIME_MS : Math.floor(statSync(import.meta.filename).mtimeMs);
}

/** Installs Debian's Chromium, with which the page is tested, where root may. Exit 1 with the reason otherwise. */
import { installChromium } from './browser/chromium.ts';

await installChromium().then(
  (path) => console.log(path),
  (error: unknown) => {
    console.error(`chromium: ${error instanceof Error ? error.message : error}`);
    process.exitCode = 1;
  },
);

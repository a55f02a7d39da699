import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { AtmoError } from '../../src/core/errors.ts';
import { installedProgram } from '../installed-program.ts';

const execute = promisify(execFile);
/** Debian's name, and what other distributions call it. */
const NAMES = ['chromium', 'chromium-browser'] as const;
const INSTALL_LIMIT_MS = 600_000;

/** What tests of the page say when they cannot run. */
export const CHROMIUM_HINT = 'Chromium is not installed: apt install chromium, or as root node scripts/chromium.ts';

/** Path of the Chromium that the system has; undefined where there is none. */
export function findChromium(): string | undefined {
  return installedProgram(NAMES, ['/usr/bin']);
}

/** Installs Debian's Chromium where there is none. Needs root, apt and the network; AtmoError with the reason where that is not so. */
export async function installChromium(): Promise<string> {
  const known = findChromium();
  if (known !== undefined) return known;
  if (process.getuid?.() !== 0) throw new AtmoError('NOT_SUPPORTED', `${CHROMIUM_HINT}; only root can install it`);
  const options = { env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }, timeout: INSTALL_LIMIT_MS, maxBuffer: 16 * 1024 * 1024 };
  const install = () => execute('apt-get', ['install', '-q', '-y', '--no-install-recommends', 'chromium'], options);
  // The lists of packages are old or missing in images of containers.
  await install().catch(async () => {
    await execute('apt-get', ['update', '-q'], options);
    await install();
  });
  const path = findChromium();
  if (path === undefined) throw new AtmoError('NOT_SUPPORTED', 'apt-get installed the package chromium, which brings no program chromium');
  return path;
}

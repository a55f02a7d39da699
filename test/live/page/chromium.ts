import { type Browser, chromium } from 'playwright-core';
import { findChromium } from '../../../scripts/browser/chromium.ts';
import { AtmoError } from '../../../src/core/errors.ts';

/** Whether this machine can run the tests of the page. */
export const HAS_CHROMIUM = findChromium() !== undefined;

/** A browser is the heaviest of all programs here, and what a machine that others load starts last. */
const START_LIMIT_MS = 100_000;

interface BrowserOptions {
  /** File of frames (`.mjpeg`, `.y4m`) that the camera of the browser shows; without it there is a test picture. */
  readonly cameraFile?: string;
  /** Names that the browser knows, with their addresses. */
  readonly names?: Readonly<Record<string, string>>;
}

/** Debian's Chromium without a window. It reaches what its network namespace reaches, here the hub's loopback. */
export async function startChromium({ cameraFile, names = {} }: BrowserOptions = {}): Promise<Browser> {
  const executablePath = findChromium();
  if (executablePath === undefined) throw new AtmoError('NOT_SUPPORTED', 'Chromium is not installed; skip the tests without HAS_CHROMIUM');
  const more = ['--use-fake-ui-for-media-stream', '--use-fake-device-for-media-stream'];
  if (cameraFile !== undefined) more.push(`--use-file-for-fake-video-capture=${cameraFile}`);
  const rules = Object.entries(names).map(([name, address]) => `MAP ${name} ${address}`);
  if (rules.length > 0) more.push(`--host-resolver-rules=${rules.join(', ')}`);
  return chromium.launch({
    executablePath,
    timeout: START_LIMIT_MS,
    // Root cannot have the sandbox, and containers have a small /dev/shm.
    args: [...(process.getuid?.() === 0 ? ['--no-sandbox'] : []), '--disable-dev-shm-usage', '--disable-gpu', ...more],
    // Proxies of the machine are not there in the private network.
    env: { ...withoutProxies(), LANG: 'en_GB.UTF-8' },
  });
}

function withoutProxies(): Record<string, string> {
  const kept = Object.entries(process.env).filter(([name]) => !/_proxy$/i.test(name));
  return Object.fromEntries(kept.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));
}

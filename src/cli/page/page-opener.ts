import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CliIo } from '../cli-io.ts';

/** As long as a browser may take to read the file. */
const KEPT_MS = 10_000;

/**
 * Lets a browser go to a link that holds a secret. Every user of the machine can read the arguments of a program: the browser
 * is given a file instead, for this user alone, that sends it on and is gone soon after.
 */
export async function openPrivately(link: string, open: (file: string) => Promise<void>, { env, sleep }: Pick<CliIo, 'env' | 'sleep'>) {
  const directory = mkdtempSync(join(env.XDG_RUNTIME_DIR ?? tmpdir(), 'atmo-monitor-'));
  try {
    const file = join(directory, 'open.html');
    writeFileSync(file, forwardingPage(link), { mode: 0o600, flag: 'wx' });
    await open(file);
    await (sleep ?? (await import('node:timers/promises')).setTimeout)(KEPT_MS);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function forwardingPage(link: string): string {
  const text = JSON.stringify(link).replaceAll('<', '\\u003c');
  return `<!doctype html><meta charset="utf-8"><meta name="referrer" content="no-referrer"><title>atmo monitor</title><script>location.replace(${text})</script>\n`;
}

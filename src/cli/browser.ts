import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { AtmoError } from '../core/errors.ts';

const OPENER = 'xdg-open';

/** Opens a file in the person's default browser with xdg-open. Rejects with NOT_SUPPORTED if xdg-open cannot be started. */
export async function openInBrowser(file: string): Promise<void> {
  const child = spawn(OPENER, [file], { stdio: 'ignore', detached: true });
  try {
    await once(child, 'spawn');
  } catch (cause) {
    const message = `${OPENER} cannot be started (apt install xdg-utils); run "atmo monitor" and open the link that it shows`;
    throw new AtmoError('NOT_SUPPORTED', message, {}, { cause });
  }
  child.unref();
}

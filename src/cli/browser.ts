import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { win32 } from 'node:path';
import { AtmoError } from '../core/errors.ts';
import type { CliIo } from './cli-io.ts';
import type { ProgramRun } from './identity/user-files.ts';

type Environment = CliIo['env'];

/**
 * Returns the program that opens a file in the default browser of each system. On Windows it is rundll32 and not `cmd /c start`, because
 * cmd would interpret characters such as `&` and `%` in the path.
 */
export function opener(file: string, env: Environment, platform: NodeJS.Platform = process.platform): ProgramRun {
  if (platform === 'darwin') return ['/usr/bin/open', [file]];
  if (platform !== 'win32') return ['xdg-open', [file]];
  const rundll32 = win32.join(env.SystemRoot || 'C:\\Windows', 'System32', 'rundll32.exe');
  return [rundll32, ['url.dll,FileProtocolHandler', file]];
}

/** Returns whether this session has a screen. macOS and Windows always have one; elsewhere X11 or Wayland must be there. */
export function hasScreen(env: Environment, platform: NodeJS.Platform = process.platform): boolean {
  return platform === 'darwin' || platform === 'win32' || Boolean(env.DISPLAY || env.WAYLAND_DISPLAY);
}

/** Returns the environment for the browser: without the settings of `atmo`, since ATMO_TOKEN and others are secrets that no page needs. */
export function browserEnvironment(env: Environment): Environment {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !/^atmo_/i.test(name)));
}

/** Opens a file in the person's default browser. Rejects with NOT_SUPPORTED if the program for it cannot be started. */
export async function openInBrowser(file: string, env: Environment): Promise<void> {
  const [program, args] = opener(file, env);
  const child = spawn(program, args, { env: browserEnvironment(env), stdio: 'ignore', detached: true, windowsHide: true });
  try {
    await once(child, 'spawn');
  } catch (cause) {
    const install = program === 'xdg-open' ? ' (apt install xdg-utils)' : '';
    const message = `${program} cannot be started${install}; run "atmo monitor" and open the link that it shows`;
    throw new AtmoError('NOT_SUPPORTED', message, {}, { cause });
  }
  child.unref();
}

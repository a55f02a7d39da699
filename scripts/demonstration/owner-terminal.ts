import { execFile } from 'node:child_process';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { AtmoError } from '../../src/core/errors.ts';
import { ROOT } from '../bundle.ts';
import type { DemoTerminal } from './demo-world.ts';

const run = promisify(execFile);

/** `./scripts/atmo` as the user who has the state directory, without the logins and keys of whoever runs the demo. */
export class OwnerTerminal implements DemoTerminal {
  readonly #env: NodeJS.ProcessEnv;

  constructor(url: string, stateDir: string) {
    this.#env = { PATH: process.env.PATH, HOME: dirname(stateDir), ATMO_URL: url, ATMO_STATE_DIR: stateDir };
  }

  atmo(...args: readonly string[]): Promise<string> {
    return this.answering('', ...args);
  }

  async answering(input: string, ...args: readonly string[]): Promise<string> {
    try {
      const running = run(join(ROOT, 'scripts/atmo'), args, { env: this.#env });
      running.child.stdin?.end(input);
      const { stdout } = await running;
      return stdout.trim();
    } catch (failure) {
      const said = failure instanceof Error && 'stderr' in failure ? String(failure.stderr).trim() : String(failure);
      throw new AtmoError('INTERNAL_ERROR', `atmo ${args.join(' ')} failed: ${said}`, {}, { cause: failure });
    }
  }
}

import { execFile } from 'node:child_process';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { AtmoError } from '../../src/core/errors.ts';
import { ROOT } from '../bundle.ts';
import type { DemoTerminal } from './demo-world.ts';
import { McpAgent } from './mcp-agent.ts';

const ATMO = join(ROOT, 'scripts/atmo');
const run = promisify(execFile);
/** Seals the root key of a mesh that lives for a minute. */
const PASSPHRASE = 'only for this demo';

/** `./scripts/atmo` as the user who has the state directory, without the logins and keys of whoever runs the demo. */
export class OwnerTerminal implements DemoTerminal {
  readonly #env: Record<string, string>;

  constructor(url: string, stateDir: string) {
    const hub = { ATMO_URL: url, ATMO_STATE_DIR: stateDir };
    this.#env = { PATH: process.env.PATH ?? '', HOME: dirname(stateDir), ATMO_PASSPHRASE: PASSPHRASE, ...hub };
  }

  agent(name: string): Promise<McpAgent> {
    return McpAgent.connect([ATMO, 'mcp', '--agent', name], this.#env);
  }

  async atmo(...args: readonly string[]): Promise<string> {
    try {
      const { stdout } = await run(ATMO, args, { env: this.#env });
      return stdout.trim();
    } catch (failure) {
      const said = failure instanceof Error && 'stderr' in failure ? String(failure.stderr).trim() : String(failure);
      throw new AtmoError('INTERNAL_ERROR', `atmo ${args.join(' ')} failed: ${said}`, {}, { cause: failure });
    }
  }
}

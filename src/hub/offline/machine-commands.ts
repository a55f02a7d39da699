import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync, rmSync } from 'node:fs';
import { promisify } from 'node:util';
import type { ServiceLook } from './upgrade-watch.ts';

const execute = promisify(execFile);
const COMMAND_LIMIT_MS = 600_000;

/** Programs of a Debian. Whoever reads what they say reads it in English: LC_ALL is C. */
export class MachineCommands {
  readonly #env: NodeJS.ProcessEnv;
  readonly #complaints: string;

  /** `complaints` is a file of root for what dpkg says on its stderr. */
  constructor(env: NodeJS.ProcessEnv, complaints: string) {
    this.#env = { ...env, LC_ALL: 'C', DEBIAN_FRONTEND: 'noninteractive' };
    this.#complaints = complaints;
  }

  /** Runs a program. Returns what it said on its stdout; rejects with the error of execFile if it fails. */
  async run(program: string, args: readonly string[]): Promise<string> {
    const { stdout } = await execute(program, [...args], { env: this.#env, timeout: COMMAND_LIMIT_MS, maxBuffer: 16 * 1024 * 1024 });
    return stdout;
  }

  /** Runs a program. Returns whether it succeeded. */
  async succeeds(program: string, args: readonly string[]): Promise<boolean> {
    return this.run(program, args).then(
      () => true,
      () => false,
    );
  }

  /**
   * Runs dpkg. `busy`: another program has its lock. Its stdout is that of this process, and its stderr a file: a dpkg that outlives this
   * process would be ended by a pipe that nobody reads.
   */
  async dpkg(args: readonly string[]): Promise<'done' | 'busy' | 'failed'> {
    const complaints = openSync(this.#complaints, 'w', 0o600);
    try {
      const child = spawn('dpkg', [...args], { env: this.#env, stdio: ['ignore', 'inherit', complaints], timeout: COMMAND_LIMIT_MS });
      const [code] = await once(child, 'exit');
      return this.#outcomeOf(code);
    } finally {
      closeSync(complaints);
      rmSync(this.#complaints, { force: true });
    }
  }

  /** Returns what systemd says of a unit (systemctl(1), "show"). */
  async unit(name: string): Promise<Omit<ServiceLook, 'answers'>> {
    const text = await this.run('systemctl', ['show', name, '--property=ActiveState,Job,MainPID,NRestarts']);
    const facts = new Map(text.split('\n').map((line) => line.split('=', 2) as [string, string]));
    const state = STATES[facts.get('ActiveState') ?? ''] ?? 'starting';
    // At boot a service waits for others before it starts: it is inactive and has a job.
    const isQueued = state === 'stopped' && Number(facts.get('Job') ?? 0) > 0;
    return { state: isQueued ? 'queued' : state, pid: Number(facts.get('MainPID')), restarts: Number(facts.get('NRestarts')) };
  }

  #outcomeOf(code: unknown): 'done' | 'busy' | 'failed' {
    const text = readFileSync(this.#complaints, 'utf8');
    if (code !== 0 && /\block(ed)?\b/.test(text)) return 'busy';
    process.stderr.write(text);
    return code === 0 ? 'done' : 'failed';
  }
}

const STATES: Readonly<Record<string, ServiceLook['state']>> = { active: 'running', inactive: 'stopped', failed: 'failed' };

import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type DebianTool, findDebianTool } from '../../../scripts/network-lab/debian-tool.ts';
import { DEBIAN_SYSTEM_HINT, debianSystem } from '../../../scripts/package/debian-system.ts';
import { AtmoError } from '../../../src/core/errors.ts';
import { until } from '../../matter/device-hub.ts';

const execute = promisify(execFile);
const HOST_NAME = 'board';
const COMMAND_LIMIT_MS = 120_000;
const BOOT_LIMIT_MS = 120_000;
/** Pause between two looks at a machine: each look starts three programs. */
export const LOOK_MS = 250;
const NSPAWN_HINT = 'systemd-nspawn is not here: scripts/netlab tools';
const NSPAWN_OPTIONS = ['--register=no', '--keep-unit', '--quiet'];

/** What a command in the machine ended with. */
export interface Ended {
  readonly status: number;
  readonly output: string;
  readonly complaint: string;
}

/** Why no machine can be had here; undefined where one can: a program ran in one that was not booted. */
export async function missingForMachine(): Promise<string | undefined> {
  if (process.getuid?.() !== 0) return 'a machine with systemd needs root';
  const system = debianSystem();
  if (system === undefined) return DEBIAN_SYSTEM_HINT;
  const tool = findDebianTool('systemd-nspawn');
  if (!tool) return NSPAWN_HINT;
  try {
    await execute(tool.path, [...NSPAWN_OPTIONS, '--read-only', '--directory', system, '/bin/true'], nspawnSettings(tool));
    return undefined;
  } catch (error) {
    return `systemd-nspawn is not allowed here: ${error instanceof Error ? error.message : error}`;
  }
}

function nspawnSettings({ env }: DebianTool): { readonly env: NodeJS.ProcessEnv; readonly timeout: number } {
  return { env: { ...env, SYSTEMD_NSPAWN_UNIFIED_HIERARCHY: '1' }, timeout: COMMAND_LIMIT_MS };
}

/** A Debian that runs with systemd as its process 1, in a folder laid over the one that was fetched, in this network namespace. */
export class DebianMachine {
  /** Its file system, as the host sees it. */
  readonly root: string;
  readonly #dir: string;
  #process: ChildProcess | undefined;

  private constructor(dir: string) {
    this.#dir = dir;
    this.root = join(dir, 'root');
  }

  /** Lays it out; `boot` runs it. */
  static create(): DebianMachine {
    const machine = new DebianMachine(mkdtempSync(join(tmpdir(), 'atmo-machine-')));
    for (const name of ['upper', 'work', 'root']) mkdirSync(join(machine.#dir, name));
    const layers = `lowerdir=${debianSystem()},upperdir=${machine.#dir}/upper,workdir=${machine.#dir}/work`;
    execFileSync('mount', ['-t', 'overlay', 'overlay', '-o', layers, machine.root]);
    // sudo asks for the name of its own host.
    machine.write('/etc/hosts', `127.0.0.1 localhost ${HOST_NAME}\n`);
    machine.write('/etc/hostname', `${HOST_NAME}\n`);
    // What is thrown away need not reach the disk.
    machine.write('/etc/dpkg/dpkg.cfg.d/unsafe-io', 'force-unsafe-io\n');
    return machine;
  }

  /** Puts a file of the host there. */
  copyIn(from: string, to: string): void {
    cpSync(from, join(this.root, to));
  }

  /** Writes a file there, as root. */
  write(path: string, text: string): void {
    mkdirSync(join(this.root, path, '..'), { recursive: true });
    writeFileSync(join(this.root, path), text);
  }

  /** Switches it on; resolves when systemd has started what it starts. */
  async boot(): Promise<void> {
    const tool = findDebianTool('systemd-nspawn');
    if (!tool) throw new AtmoError('NOT_FOUND', NSPAWN_HINT);
    const args = [...NSPAWN_OPTIONS, '--boot', `--hostname=${HOST_NAME}`, '--directory', this.root, 'systemd.unit=multi-user.target'];
    this.#process = spawn(tool.path, args, { env: nspawnSettings(tool).env, stdio: 'ignore' });
    await until(async () => /running|degraded/.test((await this.run('systemctl is-system-running')).output), BOOT_LIMIT_MS, LOOK_MS);
    // systemd-nspawn closes what is open on a board; bubblewrap writes there for its own namespace.
    await this.must('mount -o remount,bind,rw /proc/sys');
  }

  /** Runs a line of a shell as root inside. */
  async run(command: string): Promise<Ended> {
    const leader = this.#leader();
    if (leader === undefined) return { status: -1, output: '', complaint: 'the machine does not run' };
    const args = ['--target', leader, '--all', '--', 'env', '-i', 'PATH=/usr/sbin:/usr/bin:/sbin:/bin', 'HOME=/root', 'sh', '-c', command];
    try {
      const { stdout, stderr } = await execute('nsenter', args, { timeout: COMMAND_LIMIT_MS });
      return { status: 0, output: stdout, complaint: stderr };
    } catch (error) {
      const { code = -1, stdout = '', stderr = '' } = error as { code?: number; stdout?: string; stderr?: string };
      return { status: Number(code), output: stdout, complaint: stderr };
    }
  }

  /** What the command said on its stdout; throws with all when it failed, and with what the hub said last. */
  async must(command: string): Promise<string> {
    const { status, output, complaint } = await this.run(command);
    if (status === 0) return output.trim();
    const { output: journal } = await this.run('journalctl -u atmosphere-edge --no-pager --lines 20');
    throw new AtmoError('INTERNAL_ERROR', `${command} ended with ${status}: ${output}${complaint}${journal}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const running = this.#process;
    if (running?.exitCode === null) {
      const ended = new Promise((resolve) => running.once('exit', resolve));
      running.kill('SIGKILL');
      await ended;
    }
    execFileSync('umount', ['--lazy', this.root]);
    rmSync(this.#dir, { recursive: true, force: true });
  }

  /** Process 1 of the machine as the host counts. */
  #leader(): string | undefined {
    const { pid } = this.#process ?? {};
    if (pid === undefined) return undefined;
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ')[0] || undefined;
  }
}

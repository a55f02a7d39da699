import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { chmodSync, chownSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { installedProgram } from '../../../scripts/installed-program.ts';

const FOLDERS = ['/usr/lib/postgresql/17/bin', '/usr/lib/postgresql/16/bin', '/usr/lib/postgresql/15/bin'];
const NOBODY = 65_534;

/** True where PostgreSQL is installed. */
export const hasPostgres = program('postgres') !== undefined && program('initdb') !== undefined;

/** A real PostgreSQL on 127.0.0.1 with the superuser `boss`, as `nobody` where the test is root, which it refuses to be. */
export class PostgresServer implements AsyncDisposable {
  readonly folder: string;
  readonly #process: ChildProcess;

  private constructor(folder: string, process: ChildProcess) {
    this.folder = folder;
    this.#process = process;
  }

  static async start(port: number): Promise<PostgresServer> {
    const folder = mkdtempSync(join(tmpdir(), 'postgres-'));
    const identity = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};
    if (identity.uid !== undefined) chownSync(folder, NOBODY, NOBODY);
    chmodSync(folder, 0o700);
    const data = join(folder, 'data');
    const options = { ...identity, cwd: folder, env: { ...process.env, TZ: 'UTC', LC_ALL: 'C' } };
    const initialized = ['-D', data, '-U', 'boss', '--auth=trust', '--no-sync', '-E', 'UTF8'];
    // What fails says why: the error of a command holds what it wrote to its stderr.
    execFileSync(program('initdb') ?? '', initialized, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
    const settings = ['listen_addresses=127.0.0.1', `unix_socket_directories=${folder}`, 'fsync=off', 'shared_buffers=4MB'];
    const flags = settings.flatMap((setting) => ['-c', setting]);
    const child = spawn(program('postgres') ?? '', ['-D', data, '-p', String(port), ...flags], {
      ...options,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    await new Promise<void>((resolve, reject) => {
      let log = '';
      child.stderr?.on('data', (text: Buffer) => {
        log += text;
        if (log.includes('ready to accept connections')) resolve();
      });
      child.once('exit', () => reject(new Error(`PostgreSQL ended: ${log}`)));
    });
    return new PostgresServer(folder, child);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = new Promise((resolve) => this.#process.once('exit', resolve));
    this.#process.kill('SIGQUIT');
    await ended;
    rmSync(this.folder, { recursive: true });
  }
}

function program(name: string): string | undefined {
  return installedProgram([name], FOLDERS);
}

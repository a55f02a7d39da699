/** The Matter server that the hub is compared with: one that runs already, or one that the comparison starts and ends. */
import { type ChildProcess, spawn } from 'node:child_process';
import { createWriteStream, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { AtmoError } from '../../../src/core/errors.ts';
import { endChild } from '../measured-program.ts';
import { MatterServerClient } from './matter-server.ts';

const CONNECT_LIMIT_MS = 180_000;

/** Where the server is. */
export interface ServerOptions {
  /** WebSocket address, `ws://127.0.0.1:5580/ws` for one. */
  readonly url: string;
  /** Command for a shell that starts it, in which `{dir}` is a folder for its state; undefined where it runs already. */
  readonly command: string | undefined;
  /** Process id of a server that runs already; without it, its processor and memory are not measured. */
  readonly pid: number | undefined;
}

/** The server, and the light of it that is switched: the last one that it commissioned. */
export class MeasuredServer implements AsyncDisposable {
  readonly #options: ServerOptions;
  readonly #dir: string;
  #child: ChildProcess | undefined;
  #client: MatterServerClient | undefined;
  #node = 0;
  #startedMs = 0;

  /** `dir` is for its state and its log. */
  constructor(options: ServerOptions, dir: string) {
    this.#options = options;
    this.#dir = dir;
  }

  /** Starts it, with the state that it has, if there is a command for that; connects. */
  async start(): Promise<void> {
    const { command, url } = this.#options;
    this.#startedMs = performance.now();
    if (command !== undefined) this.#child = this.#spawn(command);
    this.#client = await MatterServerClient.connect(url, CONNECT_LIMIT_MS);
  }

  async commission(code: string): Promise<void> {
    this.#node = await this.#connected.commission(code);
  }

  switchLight(isOn: boolean): Promise<void> {
    return this.#connected.switchLight(this.#node, isOn);
  }

  readLight(): Promise<boolean> {
    return this.#connected.readLight(this.#node);
  }

  get pid(): number | undefined {
    return this.#child?.pid ?? this.#options.pid;
  }

  /** `performance.now()` at its last start. */
  get startedMs(): number {
    return this.#startedMs;
  }

  /** Closes the connection, and ends the server if `start` started it. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#client?.[Symbol.dispose]();
    if (this.#child) await endChild(this.#child);
  }

  /** The shell becomes the server, so that the id of the process is the server's. */
  #spawn(command: string): ChildProcess {
    const state = join(this.#dir, 'server');
    mkdirSync(state, { recursive: true });
    const child = spawn('sh', ['-c', `exec ${command.replaceAll('{dir}', state)}`], { stdio: ['ignore', 'pipe', 'pipe'] });
    const log = createWriteStream(join(this.#dir, 'server.log'), { flags: 'a' });
    child.stdout.pipe(log, { end: false });
    child.stderr.pipe(log, { end: false });
    return child;
  }

  get #connected(): MatterServerClient {
    if (!this.#client) throw new AtmoError('INTERNAL_ERROR', 'The Matter server has not been started');
    return this.#client;
  }
}

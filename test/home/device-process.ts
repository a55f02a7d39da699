import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync, readFileSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { LabHost } from '../../scripts/network-lab/lab-host.ts';
import { AtmoError } from '../../src/core/errors.ts';
import type { Json } from '../../src/core/json.ts';
import type { ProcessSpec, Ready, Reply, Request } from './device-protocol.ts';

const START_TIMEOUT_MS = 110_000;
const LAST_LINES = 20;

interface Pending {
  resolve(result: Json): void;
  reject(error: AtmoError): void;
}

/** A process with devices on its own host, seen from the test's side. It can be killed and started again. */
export class DeviceProcess {
  readonly #program: string;
  readonly #host: LabHost;
  readonly #logFile: string;
  readonly #pending = new Map<number, Pending>();
  readonly #killed = new WeakSet<ChildProcess>();
  #child: ChildProcess | undefined;
  #lastId = 0;

  constructor(collaborators: { readonly program: string; readonly host: LabHost; readonly logFile: string }) {
    this.#program = collaborators.program;
    this.#host = collaborators.host;
    this.#logFile = collaborators.logFile;
  }

  get isRunning(): boolean {
    return this.#child !== undefined;
  }

  /** Answers when all devices can be commissioned; fails after 110 s. */
  async start(spec: ProcessSpec): Promise<void> {
    await removeLocks(spec.storagePath);
    const [command, ...args] = this.#host.command([process.execPath, this.#program, JSON.stringify(spec)]);
    const log = openSync(this.#logFile, 'a');
    const env = { ...process.env, MATTER_STORAGE_DRIVER: 'sqlite', NODE_COMPILE_CACHE: join(this.#program, '../compile-cache') };
    const child = spawn(command, args, { stdio: ['pipe', 'pipe', log], env });
    this.#child = child;
    child.once('exit', (code, signal) => this.#ended(child, `ended by ${signal ?? code}`));
    child.stdin?.on('error', (error) => this.#ended(child, `takes nothing more (${error.message})`));
    await this.#ready(child);
  }

  async request(request: Omit<Request, 'id'>): Promise<Json> {
    const stdin = this.#child?.stdin;
    if (!stdin) throw new AtmoError('DEVICE_UNREACHABLE', `${request.device} has no power; call powerOn() first`);
    this.#lastId += 1;
    const id = this.#lastId;
    const { promise, resolve, reject } = Promise.withResolvers<Json>();
    this.#pending.set(id, { resolve, reject });
    stdin.write(`${JSON.stringify({ ...request, id })}\n`);
    return promise;
  }

  /** SIGKILL, and waits until the process is gone. */
  async kill(): Promise<void> {
    const child = this.#child;
    if (!child) return;
    const exited = once(child, 'exit');
    this.#killed.add(child);
    child.kill('SIGKILL');
    await exited;
  }

  async #ready(child: ChildProcess): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const failed = (): void =>
      reject(new AtmoError('TIMEOUT', `The device process has not started within 110 s, or has ended; its log ${this.#logEnd()}`));
    const timer = setTimeout(failed, START_TIMEOUT_MS);
    child.once('exit', failed);
    createInterface({ input: child.stdout ?? process.stdin }).on('line', (line) => {
      const message = JSON.parse(line) as Ready | Reply;
      if ('ready' in message) resolve();
      else this.#settle(message);
    });
    await promise.finally(() => clearTimeout(timer));
  }

  #settle(reply: Reply): void {
    const pending = this.#pending.get(reply.id);
    this.#pending.delete(reply.id);
    if ('error' in reply) pending?.reject(new AtmoError('CONFLICT', reply.error));
    else pending?.resolve(reply.result);
  }

  #ended(child: ChildProcess, how: string): void {
    if (this.#child !== child) return;
    this.#child = undefined;
    const message = this.#killed.has(child)
      ? 'The device lost power'
      : `The process of the device ${how} by itself; its log ${this.#logEnd()}`;
    for (const { reject } of this.#pending.values()) reject(new AtmoError('DEVICE_UNREACHABLE', message));
    this.#pending.clear();
  }

  #logEnd(): string {
    const text = readFileSync(this.#logFile, 'utf8').trimEnd();
    return text === '' ? 'is empty' : `ends with\n${text.split('\n').slice(-LAST_LINES).join('\n')}`;
  }
}

/** matter.js takes a lock file of a killed process for a living one when its process id is in use again. */
async function removeLocks(storagePath: string): Promise<void> {
  const files = await readdir(storagePath, { recursive: true }).catch(() => []);
  const locks = files.filter((file) => /(^|\/)matter\.(pid|lock)$/.test(file));
  await Promise.all(locks.map((file) => rm(join(storagePath, file), { force: true })));
}

import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { LabHost } from '../../../scripts/network-lab/lab-host.ts';
import type { ServiceInstance } from '../../../src/mesh/discovery/discovery.ts';

const run = promisify(execFile);
const PROGRAM = join(import.meta.dirname, 'discovery-program.ts');

/** Each with `atMs`, milliseconds since 1970: all hosts share one clock. */
type Line = { readonly atMs: number } & (
  | { readonly found: ServiceInstance }
  | { readonly lost: string }
  | { readonly ready: string }
  | { readonly started: string }
  | { readonly drops: Record<string, number> }
);

/** A machine of the private network on which hubs announce themselves and listen to each other. */
export class DiscoveryHost implements AsyncDisposable {
  readonly name: string;
  /** Present instances of other hosts. */
  readonly present = new Map<string, ServiceInstance>();
  /** When each was first and last heard of, milliseconds since 1970. */
  readonly firstHeardMs = new Map<string, number>();
  readonly heardMs = new Map<string, number>();
  /** When its program began to open sockets. */
  startedMs = 0;
  /** How long the program itself took to load, which tells how slow the machine is. */
  loadedInMs = 0;
  drops: Record<string, number> = {};
  readonly #network: LabHost;
  #program: ChildProcess | undefined;

  constructor(name: string, number: number) {
    this.name = name;
    this.#network = new LabHost(name, number);
  }

  async start(): Promise<void> {
    await this.#network.start();
  }

  /** `ip` on this host. */
  async ip(command: string): Promise<void> {
    await this.#network.ip(command);
  }

  /** A second interface, on a segment of its own that all hosts with one share. */
  async addInterface(addresses: readonly string[]): Promise<void> {
    await run('ip', ['-n', 'lan', 'link', 'add', 'br1', 'type', 'bridge', 'mcast_snooping', '0']).catch(() => undefined);
    await run('ip', ['-n', 'lan', 'link', 'set', 'br1', 'up']);
    const port = `w-${this.name}`;
    await run('ip', ['-n', 'lan', 'link', 'add', port, 'type', 'veth', 'peer', 'name', 'eth1', 'netns', this.name]);
    await this.ip('link set eth1 addrgenmode none');
    await run('ip', ['-n', 'lan', 'link', 'set', port, 'master', 'br1', 'up']);
    await this.ip('link set eth1 up');
    for (const address of addresses) await this.ip(`addr add ${address} dev eth1${address.includes(':') ? ' nodad' : ''}`);
  }

  /** Begins to announce; resolves when the program is ready. */
  async announce(): Promise<void> {
    const [command, ...args] = this.command([process.execPath, PROGRAM, this.name]);
    const spawnedMs = Date.now();
    const program = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    const { promise, resolve } = Promise.withResolvers<void>();
    createInterface({ input: program.stdout }).on('line', (line) => {
      const news = JSON.parse(line) as Line;
      if ('ready' in news) resolve();
      this.#hear(news);
    });
    this.#program = program;
    await promise;
    this.loadedInMs = this.startedMs - spawnedMs;
  }

  /** Ends the program: with a goodbye, or as if power was cut. */
  async end(signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<void> {
    const program = this.#program;
    this.#program = undefined;
    if (program === undefined) return;
    const ended = once(program, 'close');
    program.kill(signal);
    await ended;
  }

  command(command: readonly string[]): readonly [string, ...string[]] {
    return this.#network.command(command);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end();
    await this.#network[Symbol.asyncDispose]();
  }

  #hear(news: Line): void {
    if ('drops' in news) this.drops = news.drops;
    if ('lost' in news) this.present.delete(news.lost);
    if ('started' in news) this.startedMs = news.atMs;
    if (!('found' in news) || news.found.name === this.name) return;
    this.present.set(news.found.name, news.found);
    this.heardMs.set(news.found.name, news.atMs);
    if (!this.firstHeardMs.has(news.found.name)) this.firstHeardMs.set(news.found.name, news.atMs);
  }
}

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { findDebianTool } from '../../../scripts/network-lab/debian-tool.ts';
import { socketOnHost } from '../../../scripts/network-lab/host-socket.ts';
import type { LabHost } from '../../../scripts/network-lab/lab-host.ts';
import { lastLinesOf } from '../hub-child.ts';
import { until } from './until.ts';

const RPC_PORT = 7373;
const START_LIMIT_MS = 20_000;

/** Serf, the gossip that the mesh is compared with: an agent on a host, spoken to over its own RPC. */
export class SerfAgent implements AsyncDisposable {
  readonly host: LabHost;
  readonly #join: readonly string[];
  #child: ChildProcess | undefined;
  #rpc: Socket | undefined;
  #said = '';
  #listener: ((text: string) => void) | undefined;

  /** `join` is the address of an agent that runs already. */
  constructor(host: LabHost, join?: string) {
    this.host = host;
    this.#join = join === undefined ? [] : [`-join=${join}`];
  }

  /** False where serf is not to be had. */
  static get isAvailable(): boolean {
    return findDebianTool('serf') !== undefined;
  }

  async start(): Promise<void> {
    const serf = findDebianTool('serf');
    if (!serf) throw new Error('serf is missing: scripts/netlab tools gets it');
    const line = [serf.path, 'agent', `-node=${this.host.name}`, `-bind=${this.host.address()}`, '-log-level=err', ...this.#join];
    const [command, ...args] = this.host.command(line);
    this.#child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], env: serf.env });
    const lastLines = lastLinesOf(this.#child);
    this.#rpc = await until(START_LIMIT_MS, async () => this.#connect(), `serf on ${this.host.name} to answer`).catch((cause: unknown) => {
      throw new Error(`serf ${lastLines()}`, { cause });
    });
    this.#rpc.on('data', (bytes: Buffer) => this.#hear(bytes.toString('latin1')));
    this.#rpc.on('error', () => undefined);
    this.#send({ Command: 'handshake', Seq: 0 }, { Version: 1 });
    this.#send({ Command: 'stream', Seq: 1 }, { Type: 'user' });
  }

  get pid(): number {
    return this.#child?.pid ?? 0;
  }

  /** Sends a user event to everybody. */
  fire(name: string): void {
    this.#send({ Command: 'event', Seq: 2 }, { Name: name, Payload: 'x', Coalesce: false });
  }

  /** `performance.now()` when the event of this name is here. */
  heard(name: string): Promise<number> {
    const { promise, resolve } = Promise.withResolvers<number>();
    this.#listener = (text) => {
      if (text.includes(name)) resolve(performance.now());
    };
    return promise;
  }

  #connect(): Socket | undefined {
    try {
      return socketOnHost(this.host.name, RPC_PORT);
    } catch {
      return undefined;
    }
  }

  /** A name may be cut in two by the stream, so what was said last is kept. */
  #hear(text: string): void {
    this.#said = (this.#said + text).slice(-2_000);
    this.#listener?.(this.#said);
  }

  #send(header: Readonly<Record<string, string | number | boolean>>, body: Readonly<Record<string, string | number | boolean>>): void {
    this.#rpc?.write(Buffer.concat([messagePack(header), messagePack(body)]));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#rpc?.destroy();
    if (!this.#child || this.#child.exitCode !== null) return;
    const ended = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await ended;
  }
}

/** A map in MessagePack of short texts, booleans and numbers below 128, which is all that is asked of serf. */
function messagePack(record: Readonly<Record<string, string | number | boolean>>): Buffer {
  const entries = Object.entries(record).flatMap((entry) => entry.map(messagePackValue));
  return Buffer.concat([Buffer.from([0x80 | Object.keys(record).length]), ...entries]);
}

function messagePackValue(value: string | number | boolean): Buffer {
  if (typeof value === 'string') return Buffer.concat([Buffer.from([0xa0 | value.length]), Buffer.from(value)]);
  if (typeof value === 'boolean') return Buffer.from([value ? 0xc3 : 0xc2]);
  return Buffer.from([value]);
}

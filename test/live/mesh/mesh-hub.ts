import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { LabHost } from '../../../scripts/network-lab/lab-host.ts';
import type { CallAnswer } from '../../../src/calls/request-and-answer.ts';
import { ownerDecision } from '../../../src/cli/identity/approver-key.ts';
import type { Json, JsonObject } from '../../../src/core/json.ts';
import { endProcess, hasEnded, untilReady, writeConfig } from '../hub-child.ts';
import { MAIN } from '../main-program.ts';
import { HostDoor } from './host-door.ts';
import { writeLabTools } from './lab-tools.ts';

const NODE_FLAGS = ['--disable-warning=ExperimentalWarning', '--max-semi-space-size=2'];
export const MESH_PORT = 8082;

export interface MeshHubOptions {
  readonly host: LabHost;
  /** Folder of its state and of its configuration. */
  readonly dir: string;
  /** Section `mesh` of its configuration beside the name, which is the host's. */
  readonly mesh?: JsonObject;
  /** Further sections. */
  readonly config?: JsonObject;
  readonly env?: Readonly<Record<string, string>>;
  /** Program and arguments after which the hub's own command follows. They have to end in exec(2). */
  readonly launcher?: readonly string[];
  /** Node.js to run instead of that of this process. */
  readonly node?: string;
  /** Program to run instead of `atmo serve`, with its arguments. */
  readonly program?: readonly string[];
}

/** A peer as `GET /api/v1/mesh` tells it. */
export interface SeenPeer {
  readonly id: string;
  readonly name: string;
  readonly state: string;
  readonly isReachable: boolean;
  readonly hops: number;
  readonly tools: number;
  readonly missingTools: number;
}

/** A hub in a process of its own on a host of the lab, without Matter, and its owner at its door. */
export class MeshHub implements AsyncDisposable {
  readonly host: LabHost;
  readonly stateDir: string;
  /** Everything it logged. */
  readonly log: string[] = [];
  #options: MeshHubOptions;
  #process: ChildProcess | undefined;
  #door: HostDoor | undefined;
  #id = '';

  constructor(options: MeshHubOptions) {
    this.#options = options;
    this.host = options.host;
    this.stateDir = join(options.dir, options.host.name);
  }

  get name(): string {
    return this.host.name;
  }

  /** Its id, once it has started. */
  get id(): string {
    return this.#id;
  }

  get pid(): number {
    return this.#process?.pid ?? 0;
  }

  get isRunning(): boolean {
    return this.#process !== undefined && !hasEnded(this.#process);
  }

  /** `host:port` under which members reach it. */
  get meshAddress(): string {
    return `${this.host.address()}:${MESH_PORT}`;
  }

  /** Starts it, or starts it again with the state that it has; resolves when its door answers. `env` is for this start only. */
  async start(env: Readonly<Record<string, string>> = {}): Promise<this> {
    this.#configure();
    const settings = { ATMO_STATE_DIR: this.stateDir, ATMO_HTTP_PORT: '0', ...this.#options.env, ...env };
    const { launcher = [], node = process.execPath, program = [MAIN, 'serve'] } = this.#options;
    const [command, ...args] = this.host.command([...launcher, node, ...NODE_FLAGS, ...program]);
    const child = spawn(command, args, { env: { ...process.env, ...settings }, stdio: ['ignore', 'pipe', 'pipe'] });
    this.#process = child;
    const url = await untilReady(child, this.log, `hub ${this.name}`);
    this.#door?.[Symbol.dispose]();
    this.#door = new HostDoor(this.host, Number(url.port), () => readFileSync(join(this.stateDir, 'owner.token'), 'utf8').trim());
    const { node_id } = (await this.get('/healthz')) as JsonObject;
    this.#id = String(node_id);
    return this;
  }

  /** Starts it with another program, on the state that it has: undefined means that of now. */
  async startAs(program: readonly string[] | undefined): Promise<this> {
    const { program: _before, ...rest } = this.#options;
    this.#options = { ...rest, ...(program && { program }) };
    return this.start();
  }

  /** What its door answers to a GET. */
  async get(path: string): Promise<Json> {
    return (await this.door.send(path)).body;
  }

  get door(): HostDoor {
    if (!this.#door) throw new Error(`Hub ${this.name} has not started`);
    return this.#door;
  }

  /** Calls a tool; the answer as the door gave it, errors included. The owner agrees to dangerous calls. */
  async call(tool: string, params: JsonObject = {}, query = ''): Promise<CallAnswer> {
    const path = `/api/v1/tools/${encodeURIComponent(tool)}/invoke${query}`;
    return this.#agreeing(async () => (await this.door.send(path, params)).body as unknown as CallAnswer);
  }

  /** The result of a call that has to succeed. */
  async result(tool: string, params: JsonObject = {}, query = ''): Promise<JsonObject> {
    const answer = await this.call(tool, params, query);
    if (answer.status !== 'success') throw new Error(`${this.name}: ${tool} ${JSON.stringify(params)}: ${JSON.stringify(answer)}`);
    return answer.result as JsonObject;
  }

  /** Everybody else that it knows of. */
  async peers(): Promise<readonly SeenPeer[]> {
    const { peers } = (await this.get('/api/v1/mesh')) as { readonly peers?: readonly JsonObject[] };
    return (peers ?? []).map((peer) => ({
      id: String(peer.hub_id ?? peer.id),
      name: String(peer.name),
      state: String(peer.state),
      isReachable: peer.reachable === true,
      hops: Number(peer.hops),
      tools: Number(peer.tools),
      missingTools: Number(peer.missing_tools ?? 0),
    }));
  }

  async peer(hub: MeshHub): Promise<SeenPeer | undefined> {
    return (await this.peers()).find((peer) => peer.id === hub.id);
  }

  /** Whether it knows the hub, reaches it and has the definitions of its tools, of which `lab:count_NAME` is one. */
  async knows(hub: MeshHub): Promise<boolean> {
    const peer = await this.peer(hub);
    if (!peer?.isReachable || peer.state !== 'fresh' || peer.tools === 0 || peer.missingTools > 0) return false;
    return (await this.door.send(`/api/v1/tools/lab:count_${hub.name}`)).status === 200;
  }

  /** Stops it as systemd does; answers the exit code. */
  async stop(): Promise<number | null> {
    return this.#end('SIGTERM');
  }

  /** As a power cut: no goodbye. */
  async kill(): Promise<void> {
    await this.#end('SIGKILL');
  }

  /** Stops its processes where they are, as a board that has run out of memory. */
  pause(): void {
    this.#process?.kill('SIGSTOP');
  }

  resume(): void {
    this.#process?.kill('SIGCONT');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.resume();
    await this.stop();
    this.#door?.[Symbol.dispose]();
  }

  #configure(): void {
    const mesh = { name: this.name, port: MESH_PORT, ...this.#options.mesh };
    writeConfig(this.stateDir, { matter: { enabled: false }, clock: { trust: 'always' }, ...this.#options.config, mesh });
    writeLabTools(this.stateDir);
  }

  async #end(signal: NodeJS.Signals): Promise<number | null> {
    return this.#process ? endProcess(this.#process, signal) : null;
  }

  async #agreeing(send: () => Promise<CallAnswer>): Promise<CallAnswer> {
    const answer = await send();
    if (answer.status !== 'error' || answer.error.code !== 'APPROVAL_REQUIRED') return answer;
    const path = `/api/v1/approvals/${answer.error.details.approval_id}`;
    const decision = ownerDecision((await this.get(path)) as JsonObject, this.stateDir);
    if (!decision) throw new Error(`the owner cannot approve at ${path}`);
    await this.door.send(path, decision);
    return send();
  }
}

import { chmodSync, copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { crc32 } from 'node:zlib';
import type { Logger } from '../../src/core/logger.ts';
import type { HttpApp } from '../../src/http/server/http-app.ts';
import type { HubConfig } from '../../src/hub/config/config.ts';
import { liveConfig } from '../../src/hub/config/live-config.ts';
import { Hub } from '../../src/hub/hub.ts';
import type { OpenMatter } from '../../src/hub/infrastructure.ts';
import type { RegisteredTool } from '../../src/tools/definition/tool-definition.ts';
import { MemoryEngine } from '../mesh/memory-engine.ts';
import { BrokenInvariant } from './broken-invariant.ts';
import { forbiddenTool } from './device-kinds.ts';
import type { DiskState } from './disk-state.ts';
import { Draw } from './draw.ts';
import type { EventQueue } from './event-queue.ts';
import { type NotificationProvider, recipientsOf } from './notification-provider.ts';
import type { SimulatedNetwork } from './simulated-network.ts';
import { SimulatedProcess } from './simulated-process.ts';
import { closeDatabases, openDatabases } from './simulated-sqlite.ts';
import { UnsyncedWrites } from './unsynced-writes.ts';

const PORT = 8081;
const HOST = `127.0.0.1:${PORT}`;
/** Where the kernel of the machine would show sensors, beside the state directory, and its folders for them. There are no sensors. */
const SYSFS = '../sys';
const SENSOR_FOLDERS = ['bus/iio/devices', 'bus/w1/devices', 'class/hwmon', 'class/thermal'];

export interface MachineParts {
  readonly queue: EventQueue;
  readonly network: SimulatedNetwork;
  readonly logger: (machine: string) => Logger;
  /** Tools that the hub of this machine has beside its own. */
  readonly tools: readonly RegisteredTool[];
  /** Tells people what the hub of this machine sends them. */
  readonly provider: NotificationProvider;
  /** Stands for Matter in the hub of a process. */
  readonly openMatter: (process: SimulatedProcess) => OpenMatter;
}

export interface MachinePlan {
  readonly name: string;
  readonly seed: number;
  /** Folder for everything that the machine ever has on its disk. */
  readonly folder: string;
  /** The owner's rules. */
  readonly rules: string;
}

/** A request to a hub. */
export interface SimulatedRequest {
  readonly path: string;
  readonly token: string;
  readonly body?: object;
  /** Without it, what has a body is posted, and the rest is read. */
  readonly method?: 'DELETE';
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

export interface SimulatedAnswer {
  readonly status: number;
  /** The JSON of the body. */
  readonly body: ReturnType<typeof JSON.parse>;
}

/** A machine with a disk, on which a whole hub runs, is killed, and starts again. */
export class SimulatedMachine {
  readonly name: string;
  /** When its power was cut, and since when its disk refused syncs then, milliseconds of the world. */
  readonly powerCuts: { readonly atMs: number; readonly refusedMs: number }[] = [];
  /** When a file was damaged last that has rows of the journal, or a file with the state of the hub. Milliseconds of the world. */
  lostRowsMs = Number.NEGATIVE_INFINITY;
  lostStateMs = Number.NEGATIVE_INFINITY;
  /** Since when no fault has come to it, infinite while one lasts. Milliseconds of the world. */
  calmSinceMs = 0;
  /** Until when it was an older member, which knows no optional features of the protocol. Milliseconds of the world. */
  olderUntilMs = Number.NEGATIVE_INFINITY;
  /** Milliseconds by which its clock is ahead of the world's when it boots. */
  bootClockErrorMs = 0;
  readonly #parts: MachineParts;
  readonly #plan: MachinePlan;
  /** Number of processes that have run so far. */
  #starts = 0;
  #boots = 0;
  #diskState: DiskState = 'well';
  #refusedMs = Number.POSITIVE_INFINITY;
  #process: SimulatedProcess | undefined;
  #hub: Hub | undefined;
  #app: HttpApp | undefined;
  #hubId = '';
  #copied: { readonly process: SimulatedProcess; readonly token: string } | undefined;

  constructor(parts: MachineParts, plan: MachinePlan) {
    this.name = plan.name;
    this.#parts = parts;
    this.#plan = plan;
    mkdirSync(this.stateDir, { recursive: true, mode: 0o700 });
    for (const folder of SENSOR_FOLDERS) mkdirSync(join(this.stateDir, SYSFS, folder), { recursive: true });
    this.edit('rules.yaml', plan.rules);
    this.edit('config.yaml', JSON.stringify(this.#settings()));
  }

  /** The state directory of the hub. Each process has one of its own, which begins as a copy of what the one before left. */
  get stateDir(): string {
    return join(this.#plan.folder, this.name, `state-${this.#starts}`);
  }

  get process(): SimulatedProcess {
    if (this.#process) return this.#process;
    throw new Error(`${this.name} has not started`);
  }

  get isRunning(): boolean {
    return this.#app !== undefined && this.#process?.isAlive === true;
  }

  /** What the disk refuses from now on, to this process and to the next ones. */
  set diskState(state: DiskState) {
    this.#diskState = state;
    this.#refusedMs = state === 'well' ? Number.POSITIVE_INFINITY : this.#parts.queue.nowMs;
    this.process.diskState = state;
  }

  /** The id of its hub, also while that is down. */
  get hubId(): string {
    return this.#hubId;
  }

  /** The token that the owner has copied from the running hub, or that is on the disk. */
  get ownerToken(): string {
    if (this.#copied && this.isRunning && this.#copied.process === this.#process) return this.#copied.token;
    const token = readFileSync(join(this.stateDir, 'owner.token'), 'utf8').trim();
    if (this.isRunning) this.#copied = { process: this.process, token };
    return token;
  }

  get ownerKeyFile(): string {
    return join(this.stateDir, 'owner.key');
  }

  /** Starts the hub on what is on the disk. Rejects if the hub cannot start. */
  async start(): Promise<void> {
    const seed = this.#plan.seed * 1_000 + this.#starts;
    const process = new SimulatedProcess(this.#parts.queue, {
      name: this.name,
      seed,
      bootId: crc32(`${this.name} ${this.#boots}`).toString(16).padStart(8, '0'),
    });
    process.disk = new UnsyncedWrites(this.stateDir);
    process.service = this.#parts.provider.take;
    process.diskState = this.#diskState;
    process.clockErrorMs = this.bootClockErrorMs;
    process.isOlder = this.olderUntilMs > this.#parts.queue.nowMs;
    this.#process = process;
    this.#parts.network.attach(this.name, process);
    await process.run(() => this.#open(process));
  }

  /** Ends the hub as SIGKILL does. The disk stays as it is. */
  kill(): void {
    this.#end({ isDark: false });
  }

  /** Ends the hub as a power cut does: some writes that were not synced are lost, nobody closes its connections, and the machine boots anew. */
  cutPower(): void {
    const { disk, random } = this.process;
    disk?.lose(this.stateDir, openDatabases(this.process), new Draw(random));
    const atMs = this.#parts.queue.nowMs;
    this.powerCuts.push({ atMs, refusedMs: Math.min(atMs, this.#refusedMs) });
    this.#end({ isDark: true });
    this.#boots += 1;
  }

  /** Writes a file of the state directory as its owner, whose editor syncs what it writes. */
  edit(file: string, content: string | Uint8Array): void {
    const path = join(this.stateDir, file);
    writeFileSync(path, content, { mode: 0o600 });
    this.#process?.disk?.synced(path);
  }

  /** Stops the hub as SIGTERM does. */
  async stop(): Promise<void> {
    await this.process.run(async () => this.#hub?.[Symbol.asyncDispose]());
    this.kill();
  }

  /** Answers as the hub does over HTTP, in its process. */
  async ask(request: SimulatedRequest): Promise<SimulatedAnswer> {
    const { process } = this;
    const response = await this.open(request);
    return await process.run(async () => ({ status: response.status, body: JSON.parse((await response.text()) || '{}') }));
  }

  /** Answers as the hub does over HTTP, in its process. The body of the answer can be read as it comes. */
  async open({ path, token, body, method, headers = {}, signal }: SimulatedRequest): Promise<Response> {
    const app = this.#app;
    if (!app) throw new Error(`${this.name} has not started`);
    const init: RequestInit = {
      method: method ?? (body ? 'POST' : 'GET'),
      headers: { host: HOST, authorization: `Bearer ${token}`, ...(body && { 'content-type': 'application/json' }), ...headers },
      ...(body && { body: JSON.stringify(body) }),
      ...(signal && { signal }),
    };
    return await this.process.run(() => app.request(`http://${HOST}${path}`, init));
  }

  /** The answer to a call of a tool by the owner. Throws if the call failed. */
  async asOwner(tool: string, params: object = {}): Promise<ReturnType<typeof JSON.parse>> {
    const { body } = await this.ask({ path: `/api/v1/tools/${tool}/invoke`, token: this.ownerToken, body: params });
    if (body.status !== 'success') throw new Error(`${tool} failed on ${this.name}: ${JSON.stringify(body)}`);
    return body.result;
  }

  async #open(process: SimulatedProcess): Promise<void> {
    const { network, logger, tools, openMatter } = this.#parts;
    const config = liveConfig({}, this.stateDir);
    this.#requireSettings(config);
    const hub = new Hub(
      { clock: process.clock, logger: logger(this.name) },
      {
        config,
        version: '1.0.0',
        tools,
        network: {
          openListener: (app) => ({
            listen: async () => {
              this.#app = app;
              return PORT;
            },
            [Symbol.asyncDispose]: async () => {
              this.#app = undefined;
            },
          }),
          openEngine: async ({ hubId: id, publicKey }, gate, role) =>
            new MemoryEngine({ network, address: `${this.name}:${role === 'member' ? 1 : 2}`, self: { id, publicKey }, gate }),
          openMatter: openMatter(process),
        },
      },
    );
    this.#hub = hub;
    await hub.start();
    config.keep();
    this.#hubId = hub.orchestrator.orchestratorId;
  }

  #end(how: { readonly isDark: boolean }): void {
    this.#process?.kill();
    this.#parts.network.detach(this.name, how);
    this.#app = undefined;
    this.#hub = undefined;
    const before = this.stateDir;
    this.#starts += 1;
    copyFolder(before, this.stateDir);
    if (this.#process) closeDatabases(this.#process);
    rmSync(before, { recursive: true });
  }

  /** A hub starts with the settings of its owner, or not at all. Throws BrokenInvariant. */
  #requireSettings({ tools, clockTrust, mesh }: HubConfig): void {
    const wanted = this.#settings();
    const isSame = isDeepStrictEqual(
      [tools.disabled, clockTrust, mesh.name],
      [wanted.tools.disabled, wanted.clock.trust, wanted.mesh.name],
    );
    if (!isSame) throw new BrokenInvariant('settings hold', `${this.name} starts with ${JSON.stringify(tools)}`, [this.name]);
  }

  #settings() {
    return {
      mesh: { discovery: false, name: this.name },
      sensors: { sysfs: join(this.stateDir, SYSFS) },
      tools: { dynamic_registration: true, allowed_permissions: ['*'], disabled: [forbiddenTool(this.name)] },
      clock: { trust: 'always' },
      connectors: { notify: { recipients: recipientsOf(this.name) } },
    };
  }
}

/** Copies a folder with the modes of all files, in the order of their names. */
function copyFolder(from: string, to: string): void {
  mkdirSync(to, { recursive: true });
  for (const entry of readdirSync(from, { withFileTypes: true }).toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isDirectory()) copyFolder(source, target);
    else copyFileSync(source, target);
    chmodSync(target, statSync(source).mode);
  }
  chmodSync(to, statSync(from).mode);
}

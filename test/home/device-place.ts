import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { LabHost } from '../../scripts/network-lab/lab-host.ts';
import { AtmoError } from '../../src/core/errors.ts';
import type { Json } from '../../src/core/json.ts';
import { DeviceProcess } from './device-process.ts';
import type { Request } from './device-protocol.ts';
import type { DeviceSpec } from './home-spec.ts';

interface Collaborators {
  readonly devices: readonly DeviceSpec[];
  readonly host: LabHost;
  readonly program: string;
  readonly dir: string;
}

/** Where devices live: one host on the network with one process. Power and link belong to the place, not to a device. */
export class DevicePlace implements AsyncDisposable {
  readonly devices: readonly DeviceSpec[];
  readonly #host: LabHost;
  readonly #dir: string;
  readonly #process: DeviceProcess;
  #ports: ReadonlyMap<string, number>;
  #hasHost = false;

  constructor({ devices, host, program, dir }: Collaborators) {
    this.devices = devices;
    this.#host = host;
    this.#dir = dir;
    this.#process = new DeviceProcess({ program, host, logFile: join(dir, 'log') });
    this.#ports = new Map(devices.map(({ name, port }) => [name, port]));
  }

  get address(): string {
    return this.#host.address6();
  }

  async start(): Promise<void> {
    await mkdir(this.#dir, { recursive: true });
    await this.#host.start();
    this.#hasHost = true;
    await this.#startProcess();
  }

  port(device: string): number | undefined {
    return this.#ports.get(device);
  }

  request(request: Omit<Request, 'id'>): Promise<Json> {
    return this.#process.request(request);
  }

  async memoryBytes(): Promise<number> {
    const device = this.devices[0]?.name ?? '';
    return Number(await this.request({ device, op: 'memory', params: {} }));
  }

  /** The process is killed and the host no longer answers anything, not even that a port is closed. */
  async powerOff(): Promise<void> {
    this.#assertAlone();
    await this.#host.unplug();
    await this.#process.kill();
  }

  /** Starts the process again from its storage, on another port if one is given. */
  async powerOn(port?: number): Promise<void> {
    this.#assertAlone();
    if (this.#process.isRunning) throw new AtmoError('CONFLICT', `${this.devices[0]?.name} has power already`);
    if (port !== undefined) this.#ports = new Map(this.devices.map(({ name }) => [name, port]));
    await this.#host.plug();
    await this.#startProcess();
  }

  async linkDown(): Promise<void> {
    this.#assertAlone();
    await this.#host.unplug();
  }

  async linkUp(): Promise<void> {
    this.#assertAlone();
    await this.#host.plug();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#process.kill();
    if (this.#hasHost) await this.#host[Symbol.asyncDispose]();
    this.#hasHost = false;
  }

  async #startProcess(): Promise<void> {
    const devices = this.devices.map((spec) => ({ ...spec, port: this.#ports.get(spec.name) ?? spec.port }));
    await this.#process.start({ storagePath: join(this.#dir, 'storage'), interfaceName: 'eth0', devices });
  }

  #assertAlone(): void {
    if (this.devices.length === 1) return;
    const names = this.devices.map(({ name }) => name).join(', ');
    throw new AtmoError('CONFLICT', `${names} share power and link; give the one to cut a process of its own: remove its "group"`);
  }
}

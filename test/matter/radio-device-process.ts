import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, vi } from 'vitest';
import { LabHost } from '../../scripts/network-lab/lab-host.ts';

/** As for other devices: a start from source takes seconds of processor time. */
const START_LIMIT_MS = 110_000;

export interface RadioDeviceOptions {
  /** Unix socket that is its radio. */
  readonly socket: string;
  readonly dir: string;
  readonly medium: 'thread' | 'wifi';
  readonly hostNumber: number;
  /** The only Wi-Fi password it takes. */
  readonly password?: string;
}

/** A device on the virtual radio in its own process and on its own host, as a test sees it. */
export class RadioDevice implements AsyncDisposable {
  /** Everything that it printed. */
  readonly lines: Record<string, unknown>[] = [];
  readonly #child: ChildProcess;
  readonly #host: LabHost;
  #qrCode = '';

  private constructor(host: LabHost, options: RadioDeviceOptions) {
    const args = [options.socket, options.dir, options.medium, String(5700 + options.hostNumber), options.password ?? ''];
    const [command, ...rest] = host.command([process.execPath, join(import.meta.dirname, 'radio-device.ts'), ...args]);
    this.#host = host;
    this.#child = spawn(command, rest, { stdio: ['pipe', 'pipe', 'inherit'] });
    createInterface({ input: this.#child.stdout ?? process.stdin }).on('line', (line) => this.lines.push(JSON.parse(line)));
  }

  static async start(options: RadioDeviceOptions): Promise<RadioDevice> {
    const host = new LabHost(options.medium, options.hostNumber);
    await host.start();
    const device = new RadioDevice(host, options);
    device.#qrCode = ((await device.told('ready', START_LIMIT_MS)) as { qrPairingCode: string }).qrPairingCode;
    return device;
  }

  get qrCode(): string {
    return this.#qrCode;
  }

  /** Waits until it printed `key`; returns the first value. */
  async told(key: string, limitMs = 20_000): Promise<unknown> {
    await vi.waitFor(() => expect(this.lines.some((line) => key in line)).toBe(true), { timeout: limitMs });
    return this.lines.find((line) => key in line)?.[key];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const exited = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await exited;
    await this.#host[Symbol.asyncDispose]();
  }
}

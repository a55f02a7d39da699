import { AtmoError } from '../../../src/core/errors.ts';
import type { OpenSerialPort, PortListener } from '../../../src/sensors/serial/serial-port.ts';

/** Serial ports that exist in a test alone: what it writes arrives, and it may pull them. */
export class ScriptedPorts {
  readonly opened: string[] = [];
  readonly #listeners = new Map<string, PortListener>();
  readonly #missing = new Set<string>();

  readonly open: OpenSerialPort = async ({ path }, listener) => {
    this.opened.push(path);
    if (this.#missing.has(path)) throw new AtmoError('DEVICE_UNREACHABLE', `${path} cannot be opened: no such file`);
    this.#listeners.set(path, listener);
    return {
      [Symbol.asyncDispose]: async () => {
        this.#listeners.delete(path);
      },
    };
  };

  isOpen(path: string): boolean {
    return this.#listeners.has(path);
  }

  write(path: string, text: string): void {
    this.#listeners.get(path)?.data(Buffer.from(text));
  }

  pull(path: string): void {
    this.#missing.add(path);
    this.#listeners.get(path)?.closed('the device was pulled');
  }

  plugIn(path: string): void {
    this.#missing.delete(path);
  }
}

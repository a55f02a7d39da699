import { networkInterfaces } from 'node:os';
import type { Logger } from '../../../core/logger.ts';
import type { Service } from '../../../core/service.ts';
import type { Clock } from '../../../core/time/clock.ts';
import { interfacesOf, type NetworkInterface } from './network-interface.ts';

const POLL_MS = 1_000;

/** What the watch needs. */
export interface InterfaceWatchParts {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Interfaces to look at; all when empty. */
  readonly names: readonly string[];
  /** Reads the machine's interfaces; tests give their own. */
  readonly list?: typeof networkInterfaces;
}

/** Notices interfaces that come and go and addresses that change, within a second. Looking costs about 0.1 ms. */
export class InterfaceWatch implements Service {
  readonly #parts: InterfaceWatchParts;
  readonly #listeners = new Set<() => void>();
  #interfaces: readonly NetworkInterface[] = [];
  #cancel: (() => void) | undefined;

  constructor(parts: InterfaceWatchParts) {
    this.#parts = parts;
  }

  /** As they are now; empty before the start. */
  get interfaces(): readonly NetworkInterface[] {
    return this.#interfaces;
  }

  /** Told after each change. The answer stops it. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async start(): Promise<void> {
    this.#interfaces = this.#read();
    this.#wait();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#cancel?.();
    this.#cancel = undefined;
    this.#listeners.clear();
  }

  #wait(): void {
    this.#cancel = this.#parts.clock.after(POLL_MS, () => {
      this.#wait();
      this.#look();
    });
  }

  #look(): void {
    const interfaces = this.#read();
    if (JSON.stringify(interfaces) === JSON.stringify(this.#interfaces)) return;
    this.#interfaces = interfaces;
    this.#parts.logger.info('discovery.interfaces_changed', { interfaces: interfaces.map(({ name }) => name) });
    for (const listener of this.#listeners) listener();
  }

  #read(): readonly NetworkInterface[] {
    try {
      return interfacesOf((this.#parts.list ?? networkInterfaces)(), this.#parts.names);
    } catch {
      // The kernel refuses for a moment when it is out of memory or descriptors; the next look tells.
      return this.#interfaces;
    }
  }
}

import type { Logger } from '../logger.ts';
import type { Service } from '../service.ts';
import type { Clock } from '../time/clock.ts';
import type { ServiceManager } from './service-manager.ts';

interface WatchdogParts {
  readonly manager: ServiceManager;
  /** True when the hub really answers; a rejection or no answer within the interval counts as no. */
  readonly isAlive: () => Promise<boolean>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Feeds systemd's watchdog, but only after a liveness check said yes. A hub that hangs stops feeding, and systemd
 * restarts it. Does nothing when systemd does not watch this process.
 */
export class Watchdog implements Service {
  readonly #parts: WatchdogParts;
  #cancelTimer: () => void = () => {};
  #isStopped = false;

  constructor(parts: WatchdogParts) {
    this.#parts = parts;
  }

  async start(): Promise<void> {
    const { watchdogMs } = this.#parts.manager;
    // sd_watchdog_enabled(3): notify every half of the time.
    if (watchdogMs !== undefined) this.#schedule(watchdogMs / 2);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isStopped = true;
    this.#cancelTimer();
  }

  #schedule(intervalMs: number): void {
    this.#cancelTimer = this.#parts.clock.after(intervalMs, () => {
      void this.#check(intervalMs).finally(() => {
        if (!this.#isStopped) this.#schedule(intervalMs);
      });
    });
  }

  async #check(intervalMs: number): Promise<void> {
    const { manager, logger } = this.#parts;
    const isAlive = await this.#answersWithin(intervalMs / 2);
    if (this.#isStopped) return;
    if (isAlive) await manager.alive();
    else logger.error('watchdog.not_alive', { intervalMs });
  }

  async #answersWithin(limitMs: number): Promise<boolean> {
    const { promise: timeout, resolve } = Promise.withResolvers<boolean>();
    const cancel = this.#parts.clock.after(limitMs, () => resolve(false));
    const answer = this.#parts.isAlive().catch(() => false);
    try {
      return await Promise.race([answer, timeout]);
    } finally {
      cancel();
    }
  }
}

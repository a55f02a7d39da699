import type { HubContext } from '../core/context.ts';
import type { Service } from '../core/lifecycle.ts';
import type { Logger } from '../core/logger.ts';

/** Sends one datagram to a unix socket. Throws an error if the system refuses it. */
export type DatagramSender = (socketName: string, payload: Buffer) => void;

interface NotifyEnvironment {
  readonly NOTIFY_SOCKET?: string | undefined;
  readonly WATCHDOG_USEC?: string | undefined;
  readonly WATCHDOG_PID?: string | undefined;
}

/** Reports the hub's state to systemd (sd_notify(3)). Does nothing without NOTIFY_SOCKET. Never throws: failures are logged. */
export class ServiceManager {
  readonly #environment: NotifyEnvironment;
  readonly #logger: Logger;
  #send: DatagramSender | undefined;

  /** `send` sends the messages. Default: the native sender, which is loaded for the first message. */
  constructor(environment: NotifyEnvironment, logger: Logger, send?: DatagramSender) {
    this.#environment = environment;
    this.#logger = logger;
    this.#send = send;
  }

  /** Milliseconds within which systemd expects the next message; undefined if its watchdog is off. */
  get watchdogMs(): number | undefined {
    const { WATCHDOG_USEC, WATCHDOG_PID } = this.#environment;
    if (WATCHDOG_PID !== undefined && WATCHDOG_PID !== String(process.pid)) return undefined;
    const microseconds = Number(WATCHDOG_USEC);
    return Number.isSafeInteger(microseconds) && microseconds > 0 ? microseconds / 1000 : undefined;
  }

  /** Reports that the hub responds to calls. */
  ready(status: string): Promise<void> {
    return this.#notify(`READY=1\nSTATUS=${oneLine(status)}`);
  }

  /** Reports that the hub has begun to stop. */
  stopping(): Promise<void> {
    return this.#notify('STOPPING=1');
  }

  /** Sets the line that `systemctl status` shows. */
  status(text: string): Promise<void> {
    return this.#notify(`STATUS=${oneLine(text)}`);
  }

  /** Tells systemd's watchdog that the hub is alive. Must be called at least every `watchdogMs`. */
  alive(): Promise<void> {
    return this.#notify('WATCHDOG=1');
  }

  async #notify(state: string): Promise<void> {
    const socketName = this.#environment.NOTIFY_SOCKET;
    if (!socketName) return;
    try {
      this.#send ??= (await import('./unix-datagram.ts')).sendUnixDatagram;
      this.#send(socketName, Buffer.from(state));
    } catch (error) {
      this.#logger.warn('systemd.notification_failed', { reason: error instanceof Error ? error.message : String(error) });
    }
  }
}

/** Returns a text without newlines, which would begin another assignment of the sd_notify protocol. */
function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}

interface WatchdogParts extends Pick<HubContext, 'clock' | 'logger'> {
  readonly manager: ServiceManager;
  /** Resolves to whether the hub responds. If it rejects or takes longer than a quarter of `watchdogMs`, the hub counts as hanging. */
  readonly isAlive: () => Promise<boolean>;
}

/** Checks that the hub responds, and notifies systemd's watchdog after each success. If the hub hangs, systemd restarts it. */
export class Watchdog implements Service {
  readonly #parts: WatchdogParts;
  #cancelTimer: () => void = () => {};
  #isStopped = false;

  constructor(parts: WatchdogParts) {
    this.#parts = parts;
  }

  async start(): Promise<void> {
    const { watchdogMs } = this.#parts.manager;
    // sd_watchdog_enabled(3) recommends a notification after half of the watchdog's time limit.
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
    else logger.error('watchdog.check_failed', { intervalMs });
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

/** Returns a liveness check that requests the hub's health page over HTTP. */
export function answersHttp(url: string, timeoutMs: number): () => Promise<boolean> {
  return async () => {
    const response = await fetch(url, { signal: AbortSignal.timeout(timeoutMs) });
    await response.body?.cancel();
    return response.ok;
  };
}

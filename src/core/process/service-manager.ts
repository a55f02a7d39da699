import type { Logger } from '../logger.ts';

/** Sends one datagram to a unix socket; throws when that fails. */
export type DatagramSender = (socketName: string, payload: Buffer) => void;

interface NotifyEnvironment {
  readonly NOTIFY_SOCKET?: string | undefined;
  readonly WATCHDOG_USEC?: string | undefined;
  readonly WATCHDOG_PID?: string | undefined;
}

/** Tells systemd how the hub is (sd_notify(3)). Does nothing where no NOTIFY_SOCKET is set; a failure is logged, never thrown. */
export class ServiceManager {
  readonly #environment: NotifyEnvironment;
  readonly #logger: Logger;
  #send: DatagramSender | undefined;

  /** Without `send` the native sender is loaded when the first message goes out. */
  constructor(environment: NotifyEnvironment, logger: Logger, send?: DatagramSender) {
    this.#environment = environment;
    this.#logger = logger;
    this.#send = send;
  }

  /** Milliseconds within which systemd wants to hear from this process; undefined when it does not watch it. */
  get watchdogMs(): number | undefined {
    const { WATCHDOG_USEC, WATCHDOG_PID } = this.#environment;
    if (WATCHDOG_PID !== undefined && WATCHDOG_PID !== String(process.pid)) return undefined;
    const microseconds = Number(WATCHDOG_USEC);
    return Number.isSafeInteger(microseconds) && microseconds > 0 ? microseconds / 1000 : undefined;
  }

  /** The hub answers calls. */
  ready(status: string): Promise<void> {
    return this.#notify(`READY=1\nSTATUS=${oneLine(status)}`);
  }

  /** The hub has begun to stop. */
  stopping(): Promise<void> {
    return this.#notify('STOPPING=1');
  }

  /** One line that `systemctl status` shows. */
  status(text: string): Promise<void> {
    return this.#notify(`STATUS=${oneLine(text)}`);
  }

  /** Proof of life, wanted at least every `watchdogMs`. */
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
      this.#logger.warn('service_manager.notify_failed', { reason: error instanceof Error ? error.message : String(error) });
    }
  }
}

/** A newline would begin another assignment. */
function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}

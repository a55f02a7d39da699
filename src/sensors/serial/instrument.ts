import { toAtmoError } from '../../core/errors.ts';
import type { Service } from '../../core/service.ts';
import type { Clock } from '../../core/time/clock.ts';
import { pause } from '../../core/time/pause.ts';
import { LineSplitter } from './line-splitter.ts';
import type { SerialPortConfig } from './serial-config.ts';
import type { OpenSerialPort } from './serial-port.ts';

interface InstrumentPorts {
  readonly clock: Clock;
  readonly open: OpenSerialPort;
  readonly hear: (line: string) => void;
}

const FIRST_RETRY_MS = 1000;
const LAST_RETRY_MS = 60_000;

/** Keeps one serial port open: an instrument that is pulled is heard again after it was plugged in. */
export class Instrument implements Service {
  readonly #ports: InstrumentPorts;
  readonly #config: SerialPortConfig;
  readonly #stop = new AbortController();
  #problem: string | undefined = 'has not been opened yet';
  #running: Promise<void> = Promise.resolve();

  constructor(ports: InstrumentPorts, config: SerialPortConfig) {
    this.#ports = ports;
    this.#config = config;
  }

  /** Why nothing can be heard now; undefined while the port is open. */
  get problem(): string | undefined {
    return this.#problem;
  }

  async start(): Promise<void> {
    this.#running = this.#run(this.#stop.signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async #run(stop: AbortSignal): Promise<void> {
    let retryMs = FIRST_RETRY_MS;
    while (!stop.aborted) {
      const wasOpen = await this.#listen(stop);
      retryMs = wasOpen ? FIRST_RETRY_MS : Math.min(LAST_RETRY_MS, retryMs * 2);
      await pause(this.#ports.clock, retryMs, stop);
    }
  }

  /** Until the port closes or the hub stops; false where it could not be opened. */
  async #listen(stop: AbortSignal): Promise<boolean> {
    const closed = Promise.withResolvers<string>();
    const lines = new LineSplitter(this.#ports.hear);
    const end = () => closed.resolve('the hub stops');
    stop.addEventListener('abort', end);
    try {
      await using _port = await this.#ports.open(this.#config, { data: (chunk) => lines.add(chunk), closed: closed.resolve });
      this.#problem = undefined;
      if (!stop.aborted) this.#problem = await closed.promise;
      return true;
    } catch (error) {
      this.#problem = toAtmoError(error).message;
      return false;
    } finally {
      stop.removeEventListener('abort', end);
    }
  }
}

import { type Clock, pause } from '../../core/clock.ts';
import { AtmoError, toAtmoError } from '../../core/errors.ts';
import type { Service } from '../../core/lifecycle.ts';
import type { SerialPortConfig } from '../sensor-config.ts';

/** Events of an open port. */
export interface PortListener {
  data(chunk: Buffer): void;
  /** Is called once when the port closes, is unplugged or fails. */
  closed(reason: string): void;
}

/** Port: opens a serial port for reading. Rejects with DEVICE_UNREACHABLE (opening failed) or NOT_CONFIGURED (package missing). */
export type OpenSerialPort = (
  settings: Pick<SerialPortConfig, 'path' | 'baud' | 'parity' | 'dataBits' | 'stopBits'>,
  listener: PortListener,
) => Promise<AsyncDisposable>;

/** The exports of the package `serialport` that the hub uses. */
interface SerialModule {
  readonly SerialPort: new (options: object, opened: (error: Error | null) => void) => SerialStream;
}

interface SerialStream {
  readonly isOpen: boolean;
  on(event: 'data', listener: (chunk: Buffer) => void): unknown;
  on(event: 'error', listener: (error: Error) => void): unknown;
  on(event: 'close', listener: (error?: Error) => void): unknown;
  close(closed: () => void): void;
}

const PACKAGE = 'serialport';

/** Returns a function that opens ports with the package `serialport`. The owner installs it, since most hubs have no serial port. */
export function serialPorts(load: () => Promise<unknown> = () => import(PACKAGE)): OpenSerialPort {
  return async ({ path, baud, parity, dataBits, stopBits }, listener) => {
    const { SerialPort } = await loadModule(load);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const port = new SerialPort({ path, baudRate: baud, parity, dataBits, stopBits, lock: true }, (error) => {
      if (error) reject(new AtmoError('DEVICE_UNREACHABLE', `${path} cannot be opened: ${error.message}`));
      else resolve();
    });
    port.on('data', (chunk) => listener.data(chunk));
    port.on('error', () => {});
    port.on('close', (error) => listener.closed(error?.message ?? 'closed'));
    await promise;
    return {
      async [Symbol.asyncDispose]() {
        if (port.isOpen) await new Promise<void>((done) => port.close(done));
      },
    };
  };
}

async function loadModule(load: () => Promise<unknown>): Promise<SerialModule> {
  try {
    return (await load()) as SerialModule;
  } catch (error) {
    const message =
      'Serial ports need the package serialport; run npm install --ignore-scripts serialport@13 where the hub finds it (docs/install.md)';
    throw new AtmoError('NOT_CONFIGURED', message, {}, { cause: error });
  }
}

interface SerialConnectionCollaborators {
  readonly clock: Clock;
  readonly open: OpenSerialPort;
  readonly onLine: (line: string) => void;
}

const FIRST_RETRY_MS = 1000;
const LAST_RETRY_MS = 60_000;

/** Keeps a serial port open. If the port closes or cannot be opened, tries again. The pauses grow as long as attempts fail. */
export class SerialConnection implements Service {
  readonly #parts: SerialConnectionCollaborators;
  readonly #config: SerialPortConfig;
  readonly #stop = new AbortController();
  #problem: string | undefined = 'has not been opened yet';
  #running: Promise<void> = Promise.resolve();

  constructor(parts: SerialConnectionCollaborators, config: SerialPortConfig) {
    this.#parts = parts;
    this.#config = config;
  }

  /** Returns why the port is closed; undefined while it is open. */
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
      await pause(this.#parts.clock, retryMs, stop);
    }
  }

  /** Reads until the port closes or the hub stops. Returns false if the port could not be opened. */
  async #listen(stop: AbortSignal): Promise<boolean> {
    const closed = Promise.withResolvers<string>();
    const lines = new LineSplitter(this.#parts.onLine);
    const end = () => closed.resolve('the hub stops');
    stop.addEventListener('abort', end);
    try {
      await using _port = await this.#parts.open(this.#config, { data: (chunk) => lines.add(chunk), closed: closed.resolve });
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

/** Longest line in characters. The limit keeps noise without line ends from filling the memory. */
const MAX_LINE = 1024;

/** Splits chunks into lines, and drops lines that are too long. */
class LineSplitter {
  readonly #onLine: (line: string) => void;
  #begun = '';
  #isDropping = false;

  constructor(onLine: (line: string) => void) {
    this.#onLine = onLine;
  }

  add(chunk: Buffer): void {
    const parts = chunk.toString('latin1').split(/\r\n|\n|\r/);
    const rest = parts.pop() ?? '';
    for (const part of parts) this.#end(part);
    this.#begun += rest;
    if (this.#begun.length <= MAX_LINE) return;
    this.#begun = '';
    this.#isDropping = true;
  }

  #end(part: string): void {
    const line = Buffer.from(this.#begun + part, 'latin1')
      .toString('utf8')
      .trim();
    const isWhole = !this.#isDropping && line !== '' && line.length <= MAX_LINE;
    this.#begun = '';
    this.#isDropping = false;
    if (isWhole) this.#onLine(line);
  }
}

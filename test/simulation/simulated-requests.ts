import { EventEmitter } from 'node:events';
import http, { type IncomingMessage, type RequestOptions } from 'node:http';
import { Readable } from 'node:stream';
import { currentProcess, type SimulatedProcess } from './simulated-process.ts';

/** A request of a hub to a service in the network, as the service has it. */
export interface ServiceRequest {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly sender: SimulatedProcess;
  /** Returns whether the sender has ended, or waits no longer. */
  readonly isClosed: () => boolean;
  /** Gives the sender the answer now. A sender that has ended or given up gets nothing. Returns whether it got the answer. */
  readonly answer: (status: number, body: string) => boolean;
}

/** A service in the network. It is called at once, and delays things itself. What it returns is called if the sender gives up waiting. */
export type NetworkService = (request: ServiceRequest) => (reason: unknown) => void;

/** Replaces requests over HTTP to other machines by those to the services of the simulated world. */
export function installRequests(): void {
  const real = http.request;
  const request = (url: URL, options: RequestOptions) => {
    const sender = currentProcess();
    return sender ? new SimulatedClientRequest(url, options, sender) : real(url, options);
  };
  Object.assign(http, { request });
}

/** What `http.request` returns, as far as the hub uses it. */
class SimulatedClientRequest extends EventEmitter {
  readonly #url: URL;
  readonly #options: RequestOptions;
  readonly #sender: SimulatedProcess;
  #isOver = false;

  constructor(url: URL, options: RequestOptions, sender: SimulatedProcess) {
    super();
    this.#url = url;
    this.#options = options;
    this.#sender = sender;
  }

  end(body?: Uint8Array): void {
    const { signal, headers } = this.#options;
    const sender = this.#sender;
    if (!sender.service) throw new Error(`${sender.name} has no service to ask at ${this.#url}`);
    const giveUp = sender.service({
      url: this.#url,
      headers: headers as Readonly<Record<string, string>>,
      body: Buffer.from(body ?? []).toString(),
      sender,
      isClosed: () => this.#isOver || !sender.isAlive,
      answer: (status, content) => this.#answer(status, content),
    });
    signal?.addEventListener('abort', () => this.#breakOff(() => giveUp(signal.reason)), { once: true });
  }

  #answer(statusCode: number, content: string): boolean {
    if (this.#isOver || !this.#sender.isAlive) return false;
    this.#isOver = true;
    const body = Buffer.from(content);
    const parts = { statusCode, headers: { 'content-length': String(body.length) }, headersDistinct: {}, socket: new EventEmitter() };
    const response = Object.assign(Readable.from([body], { objectMode: false }), parts) as unknown as IncomingMessage;
    this.#sender.run(() => this.emit('response', response));
    return true;
  }

  #breakOff(giveUp: () => void): void {
    if (this.#isOver || !this.#sender.isAlive) return;
    this.#isOver = true;
    giveUp();
    this.emit('error', Object.assign(new Error('The request was aborted'), { code: 'ABORT_ERR' }));
  }
}

import { Agent, request } from 'node:http';
import type { Duplex } from 'node:stream';
import { socketOnHost } from '../../../scripts/network-lab/host-socket.ts';
import type { LabHost } from '../../../scripts/network-lab/lab-host.ts';
import type { Json } from '../../../src/core/json.ts';

const LIMIT_MS = 60_000;
/** Less than the door keeps an idle connection: one that it closes just then would fail the next request. */
const IDLE_MS = 2_000;

/** What a door answered. */
export interface DoorAnswer {
  readonly status: number;
  readonly body: Json;
}

/** What is different from a request of the owner. */
export interface RequestWish {
  readonly method?: string;
  readonly token?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** HTTP at the loopback of a host of the lab, as somebody who sits in front of it. */
export class HostDoor implements Disposable {
  readonly #agent: HostAgent;
  readonly #port: number;
  readonly #token: () => string;

  constructor(host: LabHost, port: number, token: () => string) {
    this.#agent = new HostAgent(host, port);
    this.#port = port;
    this.#token = token;
  }

  /** GET without a body, POST with one; answers what came, errors included. */
  async send(path: string, body?: Json, options: RequestWish = {}): Promise<DoorAnswer> {
    const { status, bytes } = await this.fetch(path, body, options);
    return { status, body: parse(bytes.toString()) };
  }

  /** As `send`, but answers the bytes of the body as they came. */
  async fetch(path: string, body?: Json, options: RequestWish = {}): Promise<{ readonly status: number; readonly bytes: Buffer }> {
    const { promise, resolve, reject } = Promise.withResolvers<{ readonly status: number; readonly bytes: Buffer }>();
    const text = body === undefined ? undefined : JSON.stringify(body);
    const headers = {
      authorization: `Bearer ${options.token ?? this.#token()}`,
      host: `127.0.0.1:${this.#port}`,
      ...(text !== undefined && { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(text)) }),
      ...options.headers,
    };
    const method = options.method ?? (text === undefined ? 'GET' : 'POST');
    const sent = request({ agent: this.#agent, path, method, headers, timeout: LIMIT_MS }, (response) => {
      response.toArray().then((chunks) => resolve({ status: response.statusCode ?? 0, bytes: Buffer.concat(chunks) }), reject);
    });
    sent.on('timeout', () => sent.destroy(new Error(`${path} did not answer within ${LIMIT_MS} ms`)));
    sent.on('error', reject);
    sent.end(text);
    return promise;
  }

  /** Hears that something happened at the hub, of the given types of events, until the signal aborts. Resolves once it listens. */
  async listen(types: string, heard: (bytes: Buffer) => void, signal: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const headers = { authorization: `Bearer ${this.#token()}`, host: `127.0.0.1:${this.#port}` };
    const sent = request({ agent: this.#agent, path: `/api/v1/events?types=${types}`, headers, signal }, (response) => {
      response.on('data', heard);
      response.on('error', () => undefined);
      resolve();
    });
    sent.on('error', reject);
    sent.end();
    return promise;
  }

  /** Opens the event stream and never reads of it, as a phone that lost its network, until the signal aborts. Resolves when it ends. */
  async listenWithoutReading(signal: AbortSignal): Promise<void> {
    const socket = this.#agent.createConnection();
    socket.pause();
    const headers = `Host: 127.0.0.1:${this.#port}\r\nAuthorization: Bearer ${this.#token()}`;
    socket.write(`GET /api/v1/events HTTP/1.1\r\n${headers}\r\n\r\n`);
    const { promise, resolve } = Promise.withResolvers<void>();
    socket.on('error', () => undefined);
    socket.on('close', () => resolve());
    signal.addEventListener('abort', () => socket.destroy(), { once: true });
    return promise;
  }

  [Symbol.dispose](): void {
    this.#agent.destroy();
  }
}

class HostAgent extends Agent {
  readonly #host: LabHost;
  readonly #port: number;

  constructor(host: LabHost, port: number) {
    super({ keepAlive: true, timeout: IDLE_MS });
    this.#host = host;
    this.#port = port;
  }

  override createConnection(): Duplex {
    return socketOnHost(this.#host.name, this.#port);
  }
}

function parse(text: string): Json {
  return text === '' ? null : JSON.parse(text);
}

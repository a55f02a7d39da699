import { randomBytes } from 'node:crypto';
import { type IncomingMessage, request as openRequest } from 'node:http';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { isJsonObject, type Json, type JsonObject } from '../../../src/core/json.ts';
import type { Arms } from './arms.ts';

/** One request and everything that came back. */
export interface Exchange {
  readonly said: string;
  readonly status: number;
  /** Status, headers and body, as text. */
  readonly heard: string;
  readonly body: string;
}

/** What to send. `path` goes out as it is written. */
export interface Shot {
  readonly method?: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: string;
  /** Another credential than the attacker's own; empty for none. */
  readonly token?: string;
  /** Reads a stream for this long, then hangs up. */
  readonly listenMs?: number;
}

const TIMEOUT_MS = 10_000;
const TOO_FAST_MS = 500;
const TOO_FAST = /"detail":"This account reads more than/;

/** An agent that tries everything over HTTP, and the record of all that it was ever told. */
export class Attacker {
  readonly token: string;
  readonly arms: Arms;
  readonly exchanges: Exchange[] = [];
  readonly #url: string;
  readonly #port: number;

  constructor({ url, token, arms }: { readonly url: string; readonly token: string; readonly arms: Arms }) {
    this.#url = url;
    this.#port = Number(new URL(url).port);
    this.token = token;
    this.arms = arms;
  }

  /** The same agent with nothing recorded. */
  again(): Attacker {
    return this.as(this.token);
  }

  /** Somebody with another token, at the same door. */
  as(token: string): Attacker {
    return new Attacker({ url: this.#url, token, arms: this.arms });
  }

  /** Host and port, as the Host header names them. */
  get host(): string {
    return `127.0.0.1:${this.#port}`;
  }

  /** A name that nobody has. */
  unique(stem: string): string {
    return `${stem}-${randomBytes(8).toString('hex')}`;
  }

  get(path: string, headers: Shot['headers'] = {}): Promise<Exchange> {
    return this.send({ path, headers });
  }

  post(path: string, body: Json, headers: Shot['headers'] = {}): Promise<Exchange> {
    return this.send({ method: 'POST', path, body: JSON.stringify(body), headers });
  }

  /** Calls a tool by whatever text. */
  invoke(tool: string, params: Json = {}, { query = '', ...shot }: Partial<Shot> & { readonly query?: string } = {}): Promise<Exchange> {
    const path = `/api/v1/tools/${encodeURIComponent(tool)}/invoke${query}`;
    return this.send({ method: 'POST', path, body: JSON.stringify(params), ...shot });
  }

  send(shot: Shot): Promise<Exchange> {
    const { method = 'GET', path, body, token = this.token } = shot;
    const headers = {
      ...(token !== '' && { authorization: `Bearer ${token}` }),
      ...(body !== undefined && { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(body)) }),
      ...shot.headers,
    };
    const said = `${method} ${path}\n${JSON.stringify({ ...headers, authorization: undefined })}\n${body ?? ''}`;
    return new Promise((resolve, reject) => {
      const request = openRequest({ host: '127.0.0.1', port: this.#port, method, path, headers, timeout: TIMEOUT_MS }, (answer) => {
        // Reading has a pace, which other tests hold: here it would hide the answers.
        const again = () => sleep(TOO_FAST_MS).then(() => this.send(shot));
        const read = textOf(answer, shot.listenMs);
        read.then((text) => resolve(TOO_FAST.test(text) ? again() : this.#keep(said, { answer, text })), reject);
      });
      request.on('timeout', () => request.destroy());
      request.on('error', (error: NodeJS.ErrnoException) => resolve(this.#keepBroken(said, error)));
      request.end(body);
    });
  }

  /** Bytes of its own on a bare socket. */
  speak(text: string): Promise<Exchange> {
    return new Promise((resolve) => {
      let heard = '';
      const socket = connect(this.#port, '127.0.0.1');
      const done = () => {
        const exchange = { said: text, status: Number(/^HTTP\/1\.1 (\d+)/.exec(heard)?.[1] ?? 0), heard, body: heard };
        this.exchanges.push(exchange);
        resolve(exchange);
      };
      socket.setTimeout(TIMEOUT_MS, () => socket.destroy());
      socket.on('data', (chunk) => {
        heard += chunk;
      });
      socket.on('error', () => socket.destroy());
      socket.on('close', done);
      socket.write(text);
    });
  }

  #keep(said: string, { answer, text }: { readonly answer: IncomingMessage; readonly text: string }): Exchange {
    const status = answer.statusCode ?? 0;
    const exchange = { said, status, heard: `${status}\n${headerText(answer)}\n\n${text}`, body: text };
    this.exchanges.push(exchange);
    return exchange;
  }

  #keepBroken(said: string, error: NodeJS.ErrnoException): Exchange {
    const exchange = { said, status: 0, heard: `broken: ${error.code}`, body: '' };
    this.exchanges.push(exchange);
    return exchange;
  }
}

/** The JSON object of an answer; empty when there is none. */
export function objectOf({ body }: Exchange): JsonObject {
  try {
    const value = JSON.parse(body) as Json;
    return isJsonObject(value) ? value : {};
  } catch {
    return {};
  }
}

/** What a successful call answered. */
export function resultOf(exchange: Exchange): JsonObject {
  const { result } = objectOf(exchange);
  return isJsonObject(result) ? result : {};
}

/** True when the answer says that nothing was done: an HTTP error, approval wanted, or a model's error result. */
export function isRefusal({ status, body }: Exchange): boolean {
  return status === 0 || status >= 400 || body.includes('"code":"APPROVAL_REQUIRED"') || body.includes('"is_error":true');
}

function headerText(answer: IncomingMessage): string {
  const lines: string[] = [];
  for (let index = 0; index < answer.rawHeaders.length; index += 2) {
    lines.push(`${answer.rawHeaders[index]}: ${answer.rawHeaders[index + 1]}`);
  }
  return lines.join('\n');
}

async function textOf(answer: IncomingMessage, listenMs: number | undefined): Promise<string> {
  let text = '';
  const hangUp = listenMs === undefined ? undefined : setTimeout(() => answer.destroy(), listenMs);
  try {
    for await (const chunk of answer.setEncoding('utf8')) text += chunk;
  } catch {
    // Hung up on purpose, or cut by the hub: what came counts.
  } finally {
    clearTimeout(hangUp);
  }
  return text;
}

/**
 * A client of matterjs-server, for as much of its WebSocket interface as a comparison needs: `commission_with_code`, `device_command` and
 * `read_attribute`, as docs/websockets_api.md of github.com/matter-js/matterjs-server describes them (schema version 13). The Python Matter
 * server has the same commands.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { AtmoError } from '../../../src/core/errors.ts';
import { isJsonObject, type Json, type JsonObject } from '../../../src/core/json.ts';

const LIGHT = 1;
const ON_OFF_CLUSTER = 6;
const ON_OFF_PATH = `${LIGHT}/${ON_OFF_CLUSTER}/0`;
const RETRY_MS = 10;

interface PendingCommand {
  readonly resolve: (result: Json) => void;
  readonly reject: (error: AtmoError) => void;
}

/** One connection. It listens to no events, so that none are sent. */
export class MatterServerClient implements Disposable {
  readonly #socket: WebSocket;
  readonly #pending = new Map<string, PendingCommand>();
  #nextId = 1;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.addEventListener('close', () => this.#failAll());
    socket.addEventListener('message', ({ data }) => this.#onMessage(String(data)));
  }

  /** Resolves once the server has greeted. Tries again for `limitMs` while nothing listens there. */
  static async connect(url: string, limitMs: number): Promise<MatterServerClient> {
    const endMs = performance.now() + limitMs;
    for (;;) {
      const socket = await greeted(url);
      if (socket) return new MatterServerClient(socket);
      if (performance.now() > endMs) throw new AtmoError('TIMEOUT', `No Matter server greets at ${url} within ${limitMs / 1_000} s`);
      await sleep(RETRY_MS);
    }
  }

  /** Commissions a device of the network by its pairing code; returns the id of the node. */
  async commission(code: string): Promise<number> {
    const node = await this.#send('commission_with_code', { code, network_only: true });
    if (isJsonObject(node) && typeof node.node_id === 'number') return node.node_id;
    throw new AtmoError('INTERNAL_ERROR', `commission_with_code answered ${JSON.stringify(node)}`);
  }

  /** Switches a light at endpoint 1. */
  async switchLight(node: number, isOn: boolean): Promise<void> {
    const command = { node_id: node, endpoint_id: LIGHT, cluster_id: ON_OFF_CLUSTER, command_name: isOn ? 'on' : 'off', payload: {} };
    await this.#send('device_command', command);
  }

  /** Reads from the device whether a light is on. */
  async readLight(node: number): Promise<boolean> {
    const values = await this.#send('read_attribute', { node_id: node, attribute_path: ON_OFF_PATH });
    if (isJsonObject(values) && typeof values[ON_OFF_PATH] === 'boolean') return values[ON_OFF_PATH];
    throw new AtmoError('INTERNAL_ERROR', `read_attribute answered ${JSON.stringify(values)}`);
  }

  #send(command: string, args: JsonObject): Promise<Json> {
    const id = String(this.#nextId++);
    const { promise, resolve, reject } = Promise.withResolvers<Json>();
    this.#pending.set(id, { resolve, reject });
    this.#socket.send(JSON.stringify({ message_id: id, command, args }));
    return promise;
  }

  #onMessage(text: string): void {
    const message: unknown = JSON.parse(text);
    if (!isJsonObject(message) || typeof message.message_id !== 'string') return;
    const pending = this.#pending.get(message.message_id);
    this.#pending.delete(message.message_id);
    if (message.error_code === undefined) pending?.resolve(message.result ?? null);
    else pending?.reject(new AtmoError('INTERNAL_ERROR', `The Matter server answered error ${message.error_code}: ${message.details}`));
  }

  #failAll(): void {
    for (const { reject } of this.#pending.values()) reject(new AtmoError('INTERNAL_ERROR', 'The Matter server closed the connection'));
    this.#pending.clear();
  }

  [Symbol.dispose](): void {
    this.#socket.close();
  }
}

/** An open connection whose first message has come; undefined where nothing listens. */
function greeted(url: string): Promise<WebSocket | undefined> {
  const { promise, resolve } = Promise.withResolvers<WebSocket | undefined>();
  const socket = new WebSocket(url);
  socket.addEventListener('error', () => resolve(undefined), { once: true });
  socket.addEventListener('message', () => resolve(socket), { once: true });
  return promise;
}

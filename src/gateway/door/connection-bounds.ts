import type { Socket } from 'node:net';
import { sourceOf } from './source-address.ts';

/** One connection and what runs on it. */
interface Connection {
  readonly socket: Pick<Socket, 'destroy'>;
  readonly source: string;
  running: number;
  /** Bytes that waited for the reader at the last look. */
  unread: number;
}

interface Limits {
  readonly connections: number;
  /** Of one other machine. */
  readonly perSource: number;
  /** Requests that run at once on one connection: one, unless a client sends the next before the answer. */
  readonly running: number;
}

const LIMITS: Limits = { connections: 1_024, perSource: 128, running: 16 };

/**
 * Bounds how many connections there are in all and from one source. When all places are taken, the one on which nothing
 * has run for longest has to go: who opens sockets and says nothing pushes out his own, not an honest client.
 */
export class ConnectionBounds {
  readonly #limits: Limits;
  /** The one that was silent for longest is first. */
  readonly #connections = new Map<object, Connection>();

  constructor(limits: Limits = LIMITS) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#connections.size;
  }

  /** False when there is no place for it. */
  admit(socket: Pick<Socket, 'destroy' | 'remoteAddress'>): boolean {
    const source = sourceOf(socket.remoteAddress);
    if (!this.#makeRoom(source)) return false;
    this.#connections.set(socket, { socket, source, running: 0, unread: 0 });
    return true;
  }

  /** The same connection goes on under another socket, such as after the handshake of TLS. */
  replace(socket: object, by: object): void {
    const connection = this.#connections.get(socket);
    if (connection === undefined) return;
    this.#connections.delete(socket);
    this.#connections.set(by, connection);
  }

  release(socket: object): void {
    this.#connections.delete(socket);
  }

  /** False when too much runs on this connection already. */
  begin(socket: object): boolean {
    const connection = this.#connections.get(socket);
    if (connection === undefined) return true;
    if (connection.running >= this.#limits.running) return false;
    connection.running++;
    return true;
  }

  end(socket: object): void {
    const connection = this.#connections.get(socket);
    if (connection === undefined) return;
    connection.running--;
    this.#connections.delete(socket);
    this.#connections.set(socket, connection);
  }

  /** Cuts those whose reader has taken nothing since the last look, although something waited. */
  cutStalled(): void {
    for (const [key, connection] of this.#connections) {
      const unread = 'writableLength' in key && typeof key.writableLength === 'number' ? key.writableLength : 0;
      if (unread > 0 && unread === connection.unread) connection.socket.destroy();
      connection.unread = unread;
    }
  }

  #makeRoom(source: string): boolean {
    if (source !== 'local') {
      const own = this.#connections.values().filter((connection) => connection.source === source);
      if (own.reduce((count) => count + 1, 0) >= this.#limits.perSource && !this.#cut((one) => one.source === source)) return false;
    }
    return this.#connections.size < this.#limits.connections || this.#cut(() => true);
  }

  #cut(isMeant: (connection: Connection) => boolean): boolean {
    for (const [key, connection] of this.#connections) {
      if (connection.running > 0 || !isMeant(connection)) continue;
      this.#connections.delete(key);
      connection.socket.destroy();
      return true;
    }
    return false;
  }
}

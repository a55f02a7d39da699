import { networkInterfaces } from 'node:os';
import { type Clock, repeat } from '../../core/clock.ts';
import { unmappedAddress } from './mesh-engine.ts';

const CHECK_MS = 1_000;
const LOOPBACK = /^(?:127\.|::1$)/;

interface LostAddressWatchOptions<Connection> {
  readonly clock: Clock;
  readonly connections: () => readonly Connection[];
  readonly drop: (connection: Connection) => void;
  /** Returns the network interfaces of the machine; tests replace it. */
  readonly list?: typeof networkInterfaces;
}

/**
 * Closes connections whose local address this machine has lost. The kernel would report their end only after minutes. An address that
 * returns within a second does not count as lost; this happens when a lease is renewed.
 */
export class LostAddressWatch<Connection extends { readonly localHost: string | undefined }> implements Disposable {
  readonly #options: LostAddressWatchOptions<Connection>;
  #lost = new Set<Connection>();
  #stop = () => {};

  constructor(options: LostAddressWatchOptions<Connection>) {
    this.#options = options;
  }

  start(): void {
    this.#stop = repeat(this.#options.clock, CHECK_MS, () => this.#check());
  }

  [Symbol.dispose](): void {
    this.#stop();
  }

  #check(): void {
    const own = this.#ownHosts();
    const before = this.#lost;
    const isLost = ({ localHost }: Connection) =>
      localHost !== undefined && !LOOPBACK.test(normalizedHost(localHost)) && !own?.has(normalizedHost(localHost));
    this.#lost = new Set(own ? this.#options.connections().filter(isLost) : []);
    for (const connection of this.#lost) if (before.has(connection)) this.#options.drop(connection);
  }

  /** Returns this machine's addresses. Returns undefined if the kernel cannot list them, for example when memory is short. */
  #ownHosts(): ReadonlySet<string> | undefined {
    try {
      const entries = Object.values((this.#options.list ?? networkInterfaces)()).flatMap((addresses) => addresses ?? []);
      return new Set(entries.map(({ address }) => normalizedHost(address)));
    } catch {
      return undefined;
    }
  }
}

/** Returns the address without its zone. An IPv4-mapped IPv6 address becomes an IPv4 address. */
function normalizedHost(host: string): string {
  const [address = host] = host.split('%');
  return unmappedAddress(address);
}

/** Interval of the checks in milliseconds. On a new connection, gossipsub agrees on the topic in a shorter time. */
const SETTLED_MS = 15_000;

interface WatchedConnections<Connection> {
  connections(): readonly Connection[];
  receivesGossip(connection: Connection): boolean;
  drop(connection: Connection): void;
}

/** Closes connections without gossip, so that the hubs dial again. gossipsub itself does not reopen a broken stream. */
export class SilentGossipWatch<Connection extends object> implements Disposable {
  readonly #clock: Clock;
  readonly #watched: WatchedConnections<Connection>;
  #silent = new Set<Connection>();
  #stop = () => {};

  constructor(clock: Clock, watched: WatchedConnections<Connection>) {
    this.#clock = clock;
    this.#watched = watched;
  }

  start(): void {
    this.#stop = repeat(this.#clock, SETTLED_MS, () => this.#check());
  }

  [Symbol.dispose](): void {
    this.#stop();
  }

  /** Closes connections that had no gossip at the last check either. */
  #check(): void {
    const silent = new Set(this.#watched.connections().filter((connection) => !this.#watched.receivesGossip(connection)));
    for (const connection of silent) if (this.#silent.has(connection)) this.#watched.drop(connection);
    this.#silent = silent;
  }
}

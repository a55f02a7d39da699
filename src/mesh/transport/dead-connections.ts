import { networkInterfaces } from 'node:os';
import type { Clock } from '../../core/clock.ts';
import { unmappedAddress } from './host-port.ts';

const LOOK_MS = 1_000;
const LOOPBACK = /^(?:127\.|::1$)/;

/** A connection, and the address of this machine that it uses. */
export interface BoundConnection {
  readonly localHost: string | undefined;
}

/** What the watch looks at. */
export interface LostAddressWatchCollaborators<Connection> {
  readonly clock: Clock;
  readonly connections: () => readonly Connection[];
  readonly drop: (connection: Connection) => void;
  /** Reads the machine's interfaces; tests give their own. */
  readonly list?: typeof networkInterfaces;
}

/**
 * Ends connections whose address this machine has no more: nothing comes over them, and the kernel says so only after minutes.
 * An address that is back within a second, as at the renewal of a lease, was not away.
 */
export class LostAddressWatch<Connection extends BoundConnection> implements Disposable {
  readonly #parts: LostAddressWatchCollaborators<Connection>;
  #stranded = new Set<Connection>();
  #cancel: (() => void) | undefined;

  constructor(parts: LostAddressWatchCollaborators<Connection>) {
    this.#parts = parts;
  }

  start(): void {
    this.#cancel = this.#parts.clock.after(LOOK_MS, () => {
      this.start();
      this.#look();
    });
  }

  [Symbol.dispose](): void {
    this.#cancel?.();
  }

  #look(): void {
    const own = this.#ownHosts();
    const before = this.#stranded;
    const isStranded = ({ localHost }: Connection) =>
      localHost !== undefined && !LOOPBACK.test(normalizedHost(localHost)) && !own?.has(normalizedHost(localHost));
    this.#stranded = new Set(own ? this.#parts.connections().filter(isStranded) : []);
    for (const connection of this.#stranded) if (before.has(connection)) this.#parts.drop(connection);
  }

  /** Undefined when the kernel refuses to tell, as it does for a moment without memory. */
  #ownHosts(): ReadonlySet<string> | undefined {
    try {
      const entries = Object.values((this.#parts.list ?? networkInterfaces)()).flatMap((addresses) => addresses ?? []);
      return new Set(entries.map(({ address }) => normalizedHost(address)));
    } catch {
      return undefined;
    }
  }
}

/** Without the zone, and as IPv4 where it is that. */
function normalizedHost(host: string): string {
  const [address = host] = host.split('%');
  return unmappedAddress(address);
}

/** gossipsub has agreed on the topic long before; a connection that is younger is left alone. */
const SETTLED_MS = 15_000;

/** What the watch looks at. */
export interface WatchedConnections<Connection> {
  connections(): readonly Connection[];
  /** Whether gossip flows over it. */
  receivesGossip(connection: Connection): boolean;
  drop(connection: Connection): void;
}

/**
 * gossipsub gives a peer up for good when its stream breaks, while the connection stays: no news would come over it ever
 * again. Such a connection is ended, so that it can be dialled anew.
 */
export class SilentGossipWatch<Connection extends object> implements Disposable {
  readonly #clock: Clock;
  readonly #watched: WatchedConnections<Connection>;
  #deaf = new Set<Connection>();
  #cancel: (() => void) | undefined;

  constructor(clock: Clock, watched: WatchedConnections<Connection>) {
    this.#clock = clock;
    this.#watched = watched;
  }

  start(): void {
    this.#cancel = this.#clock.after(SETTLED_MS, () => this.#look());
  }

  [Symbol.dispose](): void {
    this.#cancel?.();
  }

  /** What was deaf at the last look already is ended. */
  #look(): void {
    const deaf = new Set(this.#watched.connections().filter((connection) => !this.#watched.receivesGossip(connection)));
    for (const connection of deaf) if (this.#deaf.has(connection)) this.#watched.drop(connection);
    this.#deaf = deaf;
    this.start();
  }
}

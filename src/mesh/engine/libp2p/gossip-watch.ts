import type { Clock } from '../../../core/time/clock.ts';

/** gossipsub has agreed on the topic long before; a connection that is younger is left alone. */
const SETTLED_MS = 15_000;

/** What the watch looks at. */
export interface WatchedConnections<Connection> {
  connections(): readonly Connection[];
  /** Whether gossip flows over it. */
  hears(connection: Connection): boolean;
  drop(connection: Connection): void;
}

/**
 * gossipsub gives a peer up for good when its stream breaks, while the connection stays: no news would come over it ever
 * again. Such a connection is ended, so that it can be dialled anew.
 */
export class GossipWatch<Connection extends object> implements Disposable {
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
    const deaf = new Set(this.#watched.connections().filter((connection) => !this.#watched.hears(connection)));
    for (const connection of deaf) if (this.#deaf.has(connection)) this.#watched.drop(connection);
    this.#deaf = deaf;
    this.start();
  }
}

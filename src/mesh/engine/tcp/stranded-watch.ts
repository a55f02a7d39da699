import { networkInterfaces } from 'node:os';
import type { Clock } from '../../../core/time/clock.ts';
import { withoutMapping } from '../host-port.ts';

const LOOK_MS = 1_000;
const LOOPBACK = /^(?:127\.|::1$)/;

/** A connection, and the address of this machine that it uses. */
export interface AnchoredConnection {
  readonly localHost: string | undefined;
}

/** What the watch looks at. */
export interface StrandedWatchParts<Connection> {
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
export class StrandedWatch<Connection extends AnchoredConnection> implements Disposable {
  readonly #parts: StrandedWatchParts<Connection>;
  #stranded = new Set<Connection>();
  #cancel: (() => void) | undefined;

  constructor(parts: StrandedWatchParts<Connection>) {
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
      localHost !== undefined && !LOOPBACK.test(bare(localHost)) && !own?.has(bare(localHost));
    this.#stranded = new Set(own ? this.#parts.connections().filter(isStranded) : []);
    for (const connection of this.#stranded) if (before.has(connection)) this.#parts.drop(connection);
  }

  /** Undefined when the kernel refuses to tell, as it does for a moment without memory. */
  #ownHosts(): ReadonlySet<string> | undefined {
    try {
      const entries = Object.values((this.#parts.list ?? networkInterfaces)()).flatMap((addresses) => addresses ?? []);
      return new Set(entries.map(({ address }) => bare(address)));
    } catch {
      return undefined;
    }
  }
}

/** Without the zone, and as IPv4 where it is that. */
function bare(host: string): string {
  const [address = host] = host.split('%');
  return withoutMapping(address);
}

import type { Logger } from '../../../core/logger.ts';
import type { Service } from '../../../core/service.ts';
import type { Clock } from '../../../core/time/clock.ts';
import type { DnsMessage } from '../dns/dns-message.ts';
import type { DiscoveryDrops } from './discovery-drops.ts';
import { DnsLink } from './dns-link.ts';
import type { InterfaceWatch } from './interface-watch.ts';
import type { MessageSource, OpenMulticastSocket } from './multicast-socket.ts';
import type { InterfaceAddress, NetworkInterface } from './network-interface.ts';

/** What is done with links. */
export interface LinkUser {
  /** A link can be used, for the first time or again. */
  linkUp(link: DnsLink): void;
  /** The interface has other addresses than before. */
  linkMoved(link: DnsLink, before: NetworkInterface): void;
  linkDown(link: DnsLink): void;
  heard(link: DnsLink, message: DnsMessage, from: MessageSource): void;
}

/** What the links need. */
export interface DnsLinksParts {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly watch: InterfaceWatch;
  readonly open: OpenMulticastSocket;
  readonly drops: DiscoveryDrops;
}

const FAMILIES = ['ipv4', 'ipv6'] as const;

/** A link for each family of each interface, as interfaces come and go. */
export class DnsLinks implements Service {
  readonly #parts: DnsLinksParts;
  readonly #users = new Set<LinkUser>();
  readonly #links = new Map<string, DnsLink>();
  #stopWatching: (() => void) | undefined;

  constructor(parts: DnsLinksParts) {
    this.#parts = parts;
  }

  all(): readonly DnsLink[] {
    return [...this.#links.values()];
  }

  /** Links that are up already are told by `all`. The answer ends it. */
  use(user: LinkUser): () => void {
    this.#users.add(user);
    return () => this.#users.delete(user);
  }

  async start(): Promise<void> {
    this.#stopWatching = this.#parts.watch.onChange(() => void this.#follow());
    await this.#follow();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopWatching?.();
    for (const link of this.all()) link.close();
    this.#links.clear();
  }

  async #follow(): Promise<void> {
    const wanted = new Map(this.#parts.watch.interfaces.flatMap(placesOf));
    for (const [key, link] of this.#links) {
      if (wanted.has(key)) continue;
      this.#links.delete(key);
      link.close();
      this.#tell((user) => user.linkDown(link));
    }
    await Promise.all([...wanted].map(([key, [place, family]]) => this.#keep(key, place, family)));
  }

  async #keep(key: string, place: NetworkInterface, family: InterfaceAddress['family']): Promise<void> {
    const known = this.#links.get(key);
    if (known === undefined) {
      const { clock, logger, open, drops } = this.#parts;
      const link = new DnsLink(place, family, {
        clock,
        logger,
        open,
        drops,
        opened: (opened) => this.#tell((user) => user.linkUp(opened)),
        message: (heard, message, from) => this.#tell((user) => user.heard(heard, message, from)),
      });
      this.#links.set(key, link);
      return link.open();
    }
    const before = known.place;
    if (JSON.stringify(before) === JSON.stringify(place)) return;
    known.move(place);
    this.#tell((user) => user.linkMoved(known, before));
  }

  #tell(news: (user: LinkUser) => void): void {
    for (const user of this.#users) news(user);
  }
}

// A socket of IPv4 is bound to the address that it had when it was opened, one of IPv6 to the interface.
function placesOf(place: NetworkInterface): [string, [NetworkInterface, InterfaceAddress['family']]][] {
  return FAMILIES.flatMap((family) => {
    const address = place.addresses.find((candidate) => candidate.family === family);
    if (address === undefined) return [];
    return [[`${place.name} ${place.index} ${family === 'ipv4' ? address.host : family}`, [place, family]]];
  });
}

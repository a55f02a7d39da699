import type { Clock } from '../../core/clock.ts';
import { systemCode } from '../../core/errors.ts';
import type { Service } from '../../core/lifecycle.ts';
import type { Logger } from '../../core/logger.ts';
import { type BucketRate, TokenBucket } from '../rate-limit.ts';
import { type DnsMessage, decodeDnsMessage } from './dns-message.ts';
import type { MessageSource, MulticastSocket, OpenMulticastSocket } from './multicast-socket.ts';
import { type InterfaceAddress, type InterfaceWatch, type NetworkInterface, neighboursOf } from './network-interfaces.ts';

/** What is done with links. */
export interface LinkObserver {
  /** A link can be used, for the first time or again. */
  onLinkUp(link: MulticastLink): void;
  /** The interface has other addresses than before. */
  onLinkMoved(link: MulticastLink, before: NetworkInterface): void;
  onLinkDown(link: MulticastLink): void;
  onMessage(link: MulticastLink, message: DnsMessage, from: MessageSource): void;
}

/** What the links need. */
export interface MulticastLinksCollaborators {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly watch: InterfaceWatch;
  readonly open: OpenMulticastSocket;
  readonly drops: DiscoveryDrops;
}

const FAMILIES = ['ipv4', 'ipv6'] as const;

/** A link for each family of each interface, as interfaces come and go. */
export class MulticastLinks implements Service {
  readonly #parts: MulticastLinksCollaborators;
  readonly #users = new Set<LinkObserver>();
  readonly #links = new Map<string, MulticastLink>();
  #stopWatching: (() => void) | undefined;

  constructor(parts: MulticastLinksCollaborators) {
    this.#parts = parts;
  }

  all(): readonly MulticastLink[] {
    return [...this.#links.values()];
  }

  /** Links that are up already are told by `all`. The answer ends it. */
  use(user: LinkObserver): () => void {
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
    const wanted = new Map(this.#parts.watch.interfaces.flatMap(linkTargets));
    for (const [key, link] of this.#links) {
      if (wanted.has(key)) continue;
      this.#links.delete(key);
      link.close();
      this.#tell((user) => user.onLinkDown(link));
    }
    await Promise.all([...wanted].map(([key, [place, family]]) => this.#keep(key, place, family)));
  }

  async #keep(key: string, place: NetworkInterface, family: InterfaceAddress['family']): Promise<void> {
    const known = this.#links.get(key);
    if (known === undefined) {
      const { clock, logger, open, drops } = this.#parts;
      const link = new MulticastLink(place, family, {
        clock,
        logger,
        open,
        drops,
        opened: (opened) => this.#tell((user) => user.onLinkUp(opened)),
        message: (heard, message, from) => this.#tell((user) => user.onMessage(heard, message, from)),
      });
      this.#links.set(key, link);
      return link.open();
    }
    const before = known.place;
    if (JSON.stringify(before) === JSON.stringify(place)) return;
    known.move(place);
    this.#tell((user) => user.onLinkMoved(known, before));
  }

  #tell(news: (user: LinkObserver) => void): void {
    for (const user of this.#users) news(user);
  }
}

// A socket of IPv4 is bound to the address that it had when it was opened, one of IPv6 to the interface.
function linkTargets(place: NetworkInterface): [string, [NetworkInterface, InterfaceAddress['family']]][] {
  return FAMILIES.flatMap((family) => {
    const address = place.addresses.find((candidate) => candidate.family === family);
    if (address === undefined) return [];
    return [[`${place.name} ${place.index} ${family === 'ipv4' ? address.host : family}`, [place, family]]];
  });
}

const REOPEN_MS = 5_000;

/** What a link needs. */
export interface MulticastLinkCollaborators {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly open: OpenMulticastSocket;
  readonly drops: DiscoveryDrops;
  /** The link can be used, for the first time or again. */
  readonly opened: (link: MulticastLink) => void;
  readonly message: (link: MulticastLink, message: DnsMessage, from: MessageSource) => void;
}

/** Multicast DNS on one family of one interface. What fails here is logged once, tried again, and disturbs no other link. */
export class MulticastLink {
  readonly family: InterfaceAddress['family'];
  readonly #parts: MulticastLinkCollaborators;
  readonly #gate: MessageRateLimit;
  readonly #complaints = new Set<string>();
  #place: NetworkInterface;
  #isNeighbour: (host: string) => boolean;
  #socket: MulticastSocket | undefined;
  #cancelReopen: (() => void) | undefined;
  #isClosed = false;

  constructor(place: NetworkInterface, family: InterfaceAddress['family'], parts: MulticastLinkCollaborators) {
    this.family = family;
    this.#parts = parts;
    this.#place = place;
    this.#isNeighbour = neighboursOf(place);
    this.#gate = new MessageRateLimit(parts.clock);
  }

  get place(): NetworkInterface {
    return this.#place;
  }

  /** It can be used now. */
  get isOpen(): boolean {
    return this.#socket !== undefined;
  }

  /** True for addresses within one of the interface's networks. */
  isNeighbour(host: string): boolean {
    return this.#isNeighbour(host);
  }

  /** Takes over new addresses of the interface. */
  move(place: NetworkInterface): void {
    this.#place = place;
    this.#isNeighbour = neighboursOf(place);
  }

  async open(): Promise<void> {
    if (this.#isClosed) return;
    const host = this.#place.addresses.find(({ family }) => family === this.family)?.host ?? '';
    try {
      const socket = await this.#parts.open(
        { interfaceName: this.#place.name, family: this.family, host },
        { message: (bytes, from) => this.#hear(bytes, from), failed: (error) => this.#lose(error) },
      );
      if (this.#isClosed) return socket.close();
      this.#socket = socket;
      this.#parts.opened(this);
    } catch (error) {
      this.#lose(error);
    }
  }

  /** To all neighbours, or to one; false when the network did not take it. */
  async send(bytes: Uint8Array, to?: MessageSource): Promise<boolean> {
    if (this.#socket === undefined) return false;
    try {
      await this.#socket.send(bytes, to);
      return true;
    } catch (error) {
      this.#complain('discovery.send_failed', error);
      return false;
    }
  }

  close(): void {
    this.#isClosed = true;
    this.#cancelReopen?.();
    this.#socket?.close();
    this.#socket = undefined;
  }

  #hear(bytes: Buffer, from: MessageSource): void {
    // IPv4 hears what comes in by any interface; what comes from elsewhere is for another link, or for none (RFC 6762 11).
    const refusal = this.#isNeighbour(from.host) ? this.#gate.refusal(from.host) : 'stranger';
    const message = refusal === undefined ? decodeDnsMessage(bytes) : undefined;
    if (message === undefined) this.#parts.drops.count(refusal ?? 'malformed');
    else this.#parts.message(this, message, from);
  }

  #lose(error: unknown): void {
    this.#complain('discovery.link_failed', error);
    this.#socket?.close();
    this.#socket = undefined;
    this.#cancelReopen?.();
    if (!this.#isClosed) this.#cancelReopen = this.#parts.clock.after(REOPEN_MS, () => void this.open());
  }

  #complain(event: string, error: unknown): void {
    const reason = systemCode(error);
    if (this.#isClosed || this.#complaints.has(reason)) return;
    this.#complaints.add(reason);
    this.#parts.logger.warn(event, { interface: this.#place.name, family: this.family, reason });
  }
}

const LINK_RATE: BucketRate = { burst: 2_000, perSecond: 500 };
const SOURCE_RATE: BucketRate = { burst: 400, perSecond: 100 };
const MAX_SOURCES = 512;

/** Bounds how many messages of a link are read at all, in sum and from each neighbour. */
class MessageRateLimit {
  readonly #clock: Clock;
  readonly #link: TokenBucket;
  readonly #sources = new Map<string, TokenBucket>();

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#link = new TokenBucket(clock, LINK_RATE);
  }

  /** Why a message of the neighbour is not to be read; undefined when it is. */
  refusal(host: string): DiscoveryDrop | undefined {
    if (this.#bucket(host).take() > 0) return 'source_rate';
    return this.#link.take() > 0 ? 'link_rate' : undefined;
  }

  #bucket(host: string): TokenBucket {
    const bucket = this.#sources.get(host) ?? new TokenBucket(this.#clock, SOURCE_RATE);
    this.#sources.delete(host);
    this.#sources.set(host, bucket);
    const [oldest] = this.#sources.keys();
    if (this.#sources.size > MAX_SOURCES && oldest !== undefined) this.#sources.delete(oldest);
    return bucket;
  }
}

/** Why messages of the local network were not heeded. */
export const DISCOVERY_DROPS = ['link_rate', 'source_rate', 'malformed', 'stranger', 'too_many_instances', 'answer_rate'] as const;
/** A reason of the list. */
export type DiscoveryDrop = (typeof DISCOVERY_DROPS)[number];

/** Counts them since the start. */
export class DiscoveryDrops {
  readonly #counts = new Map<DiscoveryDrop, number>();

  count(reason: DiscoveryDrop): void {
    this.#counts.set(reason, (this.#counts.get(reason) ?? 0) + 1);
  }

  /** Reasons that never occurred are 0. */
  counts(): Readonly<Record<DiscoveryDrop, number>> {
    return Object.fromEntries(DISCOVERY_DROPS.map((reason) => [reason, this.#counts.get(reason) ?? 0])) as Record<DiscoveryDrop, number>;
  }
}

import { createSocket, type RemoteInfo, type Socket } from 'node:dgram';
import { once } from 'node:events';
import type { HubContext } from '../../core/context.ts';
import { systemCode } from '../../core/errors.ts';
import type { Service } from '../../core/lifecycle.ts';
import { KeyedRateLimit, TokenBucket } from '../rate-limit.ts';
import { ReasonCounter } from '../reason-counter.ts';
import { type DnsMessage, decodeDnsMessage } from './dns-message.ts';
import { type InterfaceAddress, type InterfaceWatch, type NetworkInterface, neighboursOf } from './network-interfaces.ts';

/** Receives the events of links. */
export interface LinkObserver {
  /** Called when a link can be used, for the first time or again. */
  onLinkUp(link: MulticastLink): void;
  /** Called when the addresses of the interface have changed. */
  onLinkMoved(link: MulticastLink, before: NetworkInterface): void;
  onLinkDown(link: MulticastLink): void;
  onMessage(link: MulticastLink, message: DnsMessage, from: MessageSource): void;
}

interface MulticastLinksCollaborators extends Pick<HubContext, 'clock' | 'logger'> {
  readonly watch: InterfaceWatch;
  readonly open: OpenMulticastSocket;
  readonly drops: DiscoveryDrops;
}

const FAMILIES = ['ipv4', 'ipv6'] as const;

/** Keeps a link for each family of each interface, as interfaces come and go. */
export class MulticastLinks implements Service {
  readonly #collaborators: MulticastLinksCollaborators;
  readonly #observers = new Set<LinkObserver>();
  readonly #links = new Map<string, MulticastLink>();
  #stopWatching: (() => void) | undefined;

  constructor(collaborators: MulticastLinksCollaborators) {
    this.#collaborators = collaborators;
  }

  all(): readonly MulticastLink[] {
    return [...this.#links.values()];
  }

  /** Reports later events of links; `all` returns the present ones. Returns the function that ends it. */
  subscribe(observer: LinkObserver): () => void {
    this.#observers.add(observer);
    return () => this.#observers.delete(observer);
  }

  async start(): Promise<void> {
    this.#stopWatching = this.#collaborators.watch.onChange(() => void this.#update());
    await this.#update();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopWatching?.();
    for (const link of this.all()) link.close();
    this.#links.clear();
  }

  async #update(): Promise<void> {
    const wanted = new Map(this.#collaborators.watch.interfaces.flatMap(linkTargets));
    for (const [key, link] of this.#links) {
      if (wanted.has(key)) continue;
      this.#links.delete(key);
      link.close();
      this.#notify((observer) => observer.onLinkDown(link));
    }
    await Promise.all([...wanted].map(([key, [place, family]]) => this.#openOrMove(key, place, family)));
  }

  async #openOrMove(key: string, place: NetworkInterface, family: InterfaceAddress['family']): Promise<void> {
    const known = this.#links.get(key);
    if (known === undefined) {
      const { clock, logger, open, drops } = this.#collaborators;
      const link = new MulticastLink(place, family, {
        clock,
        logger,
        open,
        drops,
        opened: (opened) => this.#notify((observer) => observer.onLinkUp(opened)),
        message: (link, message, from) => this.#notify((observer) => observer.onMessage(link, message, from)),
      });
      this.#links.set(key, link);
      return link.open();
    }
    const before = known.place;
    if (JSON.stringify(before) === JSON.stringify(place)) return;
    known.move(place);
    this.#notify((observer) => observer.onLinkMoved(known, before));
  }

  #notify(call: (observer: LinkObserver) => void): void {
    for (const observer of this.#observers) call(observer);
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
/** Limits of the messages that a link decodes, in sum and from each neighbour. */
const LINK_RATE = { burst: 2_000, perSecond: 500 };
const SOURCE_RATE = { burst: 400, perSecond: 100 };
const MAX_SOURCES = 512;

interface MulticastLinkCollaborators extends Pick<HubContext, 'clock' | 'logger'> {
  readonly open: OpenMulticastSocket;
  readonly drops: DiscoveryDrops;
  /** Called when the link can be used, for the first time or again. */
  readonly opened: (link: MulticastLink) => void;
  readonly message: (link: MulticastLink, message: DnsMessage, from: MessageSource) => void;
}

/** Multicast DNS on one family of one interface. A failure is logged once and retried; it disturbs no other link. */
export class MulticastLink {
  readonly family: InterfaceAddress['family'];
  readonly #collaborators: MulticastLinkCollaborators;
  readonly #linkRate: TokenBucket;
  readonly #sourceRates: KeyedRateLimit;
  readonly #loggedReasons = new Set<string>();
  #place: NetworkInterface;
  #isNeighbour: (host: string) => boolean;
  #socket: MulticastSocket | undefined;
  #cancelReopen: (() => void) | undefined;
  #isClosed = false;

  constructor(place: NetworkInterface, family: InterfaceAddress['family'], collaborators: MulticastLinkCollaborators) {
    this.family = family;
    this.#collaborators = collaborators;
    this.#place = place;
    this.#isNeighbour = neighboursOf(place);
    this.#linkRate = new TokenBucket(collaborators.clock, LINK_RATE);
    this.#sourceRates = new KeyedRateLimit(collaborators.clock, SOURCE_RATE, MAX_SOURCES);
  }

  get place(): NetworkInterface {
    return this.#place;
  }

  /** The link can be used now. */
  get isOpen(): boolean {
    return this.#socket !== undefined;
  }

  /** Returns whether an address lies within one of the interface's networks. */
  isNeighbour(host: string): boolean {
    return this.#isNeighbour(host);
  }

  /** Sets new addresses of the interface. */
  move(place: NetworkInterface): void {
    this.#place = place;
    this.#isNeighbour = neighboursOf(place);
  }

  async open(): Promise<void> {
    if (this.#isClosed) return;
    const host = this.#place.addresses.find(({ family }) => family === this.family)?.host ?? '';
    try {
      const socket = await this.#collaborators.open(
        { interfaceName: this.#place.name, family: this.family, host },
        { message: (bytes, from) => this.#receive(bytes, from), failed: (error) => this.#fail(error) },
      );
      if (this.#isClosed) return socket.close();
      this.#socket = socket;
      this.#collaborators.opened(this);
    } catch (error) {
      this.#fail(error);
    }
  }

  /** Sends to all neighbours or to one; resolves with false when the network did not accept the message. */
  async send(bytes: Uint8Array, to?: MessageSource): Promise<boolean> {
    if (this.#socket === undefined) return false;
    try {
      await this.#socket.send(bytes, to);
      return true;
    } catch (error) {
      this.#warnOnce('discovery.send_failed', error);
      return false;
    }
  }

  close(): void {
    this.#isClosed = true;
    this.#cancelReopen?.();
    this.#socket?.close();
    this.#socket = undefined;
  }

  #receive(bytes: Buffer, from: MessageSource): void {
    const refusal = this.#refusal(from.host);
    const message = refusal === undefined ? decodeDnsMessage(bytes) : undefined;
    if (message === undefined) this.#collaborators.drops.count(refusal ?? 'malformed');
    else this.#collaborators.message(this, message, from);
  }

  #refusal(host: string): DiscoveryDrop | undefined {
    // An IPv4 socket receives messages of every interface; those of strangers are for another link or for none (RFC 6762 11).
    if (!this.#isNeighbour(host)) return 'stranger';
    if (!this.#sourceRates.tryTake(host)) return 'source_rate';
    return this.#linkRate.take() > 0 ? 'link_rate' : undefined;
  }

  #fail(error: unknown): void {
    this.#warnOnce('discovery.link_failed', error);
    this.#socket?.close();
    this.#socket = undefined;
    this.#cancelReopen?.();
    if (!this.#isClosed) this.#cancelReopen = this.#collaborators.clock.after(REOPEN_MS, () => void this.open());
  }

  #warnOnce(event: string, error: unknown): void {
    const reason = systemCode(error);
    if (this.#isClosed || this.#loggedReasons.has(reason)) return;
    this.#loggedReasons.add(reason);
    this.#collaborators.logger.warn(event, { interface: this.#place.name, family: this.family, reason });
  }
}

/** Reasons to drop messages of the local network. */
const DISCOVERY_DROPS = ['link_rate', 'source_rate', 'malformed', 'stranger', 'too_many_instances', 'answer_rate'] as const;
/** A reason to drop a message. */
type DiscoveryDrop = (typeof DISCOVERY_DROPS)[number];

/** Counts dropped messages since the start; reasons that never occurred are 0. */
export class DiscoveryDrops extends ReasonCounter<DiscoveryDrop> {
  constructor() {
    super(DISCOVERY_DROPS);
  }
}

/** Port of multicast DNS. */
export const MDNS_PORT = 5_353;
const GROUPS = { ipv4: '224.0.0.251', ipv6: 'ff02::fb' } as const;
const HOP_LIMIT = 255; // RFC 6762 11

/** One family on one interface. */
export interface SocketTarget {
  readonly interfaceName: string;
  readonly family: InterfaceAddress['family'];
  /** An address of this machine there. */
  readonly host: string;
}

/** The sender of a message. */
export interface MessageSource {
  /** With zone when it is link-local. */
  readonly host: string;
  readonly port: number;
}

/** Receives the events of a socket. */
export interface SocketListener {
  message(bytes: Buffer, from: MessageSource): void;
  /** Called when the socket cannot be used any more. */
  failed(error: Error): void;
}

/** Port: multicast DNS on one family of one interface. */
interface MulticastSocket {
  /** Sends to all neighbours or to one. Rejects when the network does not accept the message. */
  send(bytes: Uint8Array, to?: MessageSource): Promise<void>;
  close(): void;
}

/** Opens a socket; rejects when the interface cannot multicast. */
export type OpenMulticastSocket = (place: SocketTarget, listener: SocketListener) => Promise<MulticastSocket>;

/**
 * Opens a socket bound to the address of the group and not to all addresses: port 5353 is shared, and the kernel gives a
 * unicast message to only one of several sockets that are bound to all addresses. So this socket never takes answers for avahi
 * or matter.js, and an IPv6 socket receives from its own interface only.
 */
export const openMulticastSocket: OpenMulticastSocket = async (place, listener) => {
  const zone = place.family === 'ipv6' ? `%${place.interfaceName}` : '';
  const group = `${GROUPS[place.family]}${zone}`;
  const socket = createSocket({ type: place.family === 'ipv4' ? 'udp4' : 'udp6', reuseAddr: true });
  try {
    const listening = once(socket, 'listening');
    socket.bind({ port: MDNS_PORT, address: group, exclusive: true });
    await listening;
    join(socket, place);
  } catch (error) {
    socket.close();
    throw error;
  }
  socket.on('error', (error) => listener.failed(error));
  socket.on('message', (bytes, { address, port }: RemoteInfo) => listener.message(bytes, { host: address, port }));
  return {
    send: (bytes, to = { host: group, port: MDNS_PORT }) =>
      new Promise((resolve, reject) => {
        socket.send(bytes, to.port, to.host, (error) => (error ? reject(error) : resolve()));
      }),
    close: () => socket.close(),
  };
};

function join(socket: Socket, place: SocketTarget): void {
  const own = place.family === 'ipv4' ? place.host : `::%${place.interfaceName}`;
  socket.addMembership(GROUPS[place.family], own);
  socket.setMulticastInterface(own);
  socket.setMulticastTTL(HOP_LIMIT);
  socket.setTTL(HOP_LIMIT);
  // Other programs of this machine receive the messages only that way.
  socket.setMulticastLoopback(true);
}

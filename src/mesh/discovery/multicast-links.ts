import { createSocket, type RemoteInfo, type Socket } from 'node:dgram';
import { once } from 'node:events';
import type { HubContext } from '../../core/context.ts';
import { systemCode } from '../../core/errors.ts';
import type { Service } from '../../core/lifecycle.ts';
import { KeyedRateLimit, TokenBucket } from '../rate-limit.ts';
import { ReasonCounter } from '../reason-counter.ts';
import { type DnsMessage, decodeDnsMessage } from './dns-message.ts';
import { type InterfaceAddress, type InterfaceWatch, type NetworkInterface, neighboursOf } from './network-interfaces.ts';

/** Observer of the events of all multicast links. */
export interface LinkObserver {
  /** Called when a link becomes usable. */
  onLinkUp(link: MulticastLink): void;
  /** Called when the addresses of the link's interface have changed. */
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

/** Keeps a multicast link for each address family of each network interface, and follows changes of the interfaces. */
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

  /** Reports later events of all links to the observer, but not the links that exist now. Returns a function that ends the reports. */
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

// Returns the links of an interface by key. The key for IPv4 has the address, because an IPv4 socket is bound to the address.
function linkTargets(place: NetworkInterface): [string, [NetworkInterface, InterfaceAddress['family']]][] {
  return FAMILIES.flatMap((family) => {
    const address = place.addresses.find((candidate) => candidate.family === family);
    if (address === undefined) return [];
    return [[`${place.name} ${place.index} ${family === 'ipv4' ? address.host : family}`, [place, family]]];
  });
}

const REOPEN_MS = 5_000;
/** Rate limits for received messages: `LINK_RATE` for a whole link, `SOURCE_RATE` for each sender. */
const LINK_RATE = { burst: 2_000, perSecond: 500 };
const SOURCE_RATE = { burst: 400, perSecond: 100 };
const MAX_SOURCES = 512;

interface MulticastLinkCollaborators extends Omit<MulticastLinksCollaborators, 'watch'> {
  readonly opened: (link: MulticastLink) => void;
  readonly message: (link: MulticastLink, message: DnsMessage, from: MessageSource) => void;
}

/** Multicast DNS on one address family of one interface. After a failure, the link opens again; each cause is logged once. */
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

  get isOpen(): boolean {
    return this.#socket !== undefined;
  }

  /** Returns whether an address is in one of the interface's networks. */
  isNeighbour(host: string): boolean {
    return this.#isNeighbour(host);
  }

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

  /** Sends a message to one neighbour, or to all if `to` is absent. Resolves with false if the network did not accept the message. */
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
    // An IPv4 socket also receives messages from other interfaces. These are dropped (RFC 6762 11).
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

const DISCOVERY_DROPS = ['link_rate', 'source_rate', 'malformed', 'stranger', 'too_many_instances', 'answer_rate'] as const;
type DiscoveryDrop = (typeof DISCOVERY_DROPS)[number];

/** Counts dropped multicast DNS messages since the start. A reason that has not occurred has the count 0. */
export class DiscoveryDrops extends ReasonCounter<DiscoveryDrop> {
  constructor() {
    super(DISCOVERY_DROPS);
  }
}

/** Port of multicast DNS. */
export const MDNS_PORT = 5_353;
const GROUPS = { ipv4: '224.0.0.251', ipv6: 'ff02::fb' } as const;
const HOP_LIMIT = 255; // RFC 6762 11

/** Address family and interface of a multicast socket. */
export interface SocketTarget {
  readonly interfaceName: string;
  readonly family: InterfaceAddress['family'];
  /** Address of this machine on the interface. */
  readonly host: string;
}

/** Sender of a multicast DNS message. */
export interface MessageSource {
  /** IP address, with a zone if it is link-local. */
  readonly host: string;
  readonly port: number;
}

/** Listener for the events of a multicast socket. */
export interface SocketListener {
  message(bytes: Buffer, from: MessageSource): void;
  /** Called when the socket can no longer be used. */
  failed(error: Error): void;
}

/** A multicast DNS socket for one address family of one interface. */
interface MulticastSocket {
  /** Sends a message to one neighbour, or to all if `to` is absent. Rejects if the network does not accept the message. */
  send(bytes: Uint8Array, to?: MessageSource): Promise<void>;
  close(): void;
}

/** Opens a multicast socket; rejects if the interface does not support multicast. */
export type OpenMulticastSocket = (place: SocketTarget, listener: SocketListener) => Promise<MulticastSocket>;

/**
 * Opens a multicast socket. Other programs, such as avahi and matter.js, share port 5353. If several sockets are bound to all addresses,
 * only one of them receives a unicast message. This socket is bound to the group address instead, so that it takes no unicast message from
 * another program. An IPv6 socket receives only messages of its own interface.
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
  // Without this, other programs on this machine would not receive the messages.
  socket.setMulticastLoopback(true);
}

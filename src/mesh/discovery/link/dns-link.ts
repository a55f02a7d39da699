import type { Logger } from '../../../core/logger.ts';
import { systemCode } from '../../../core/process/system-code.ts';
import type { Clock } from '../../../core/time/clock.ts';
import { type DnsMessage, decodeDnsMessage } from '../dns/dns-message.ts';
import type { DiscoveryDrops } from './discovery-drops.ts';
import { MessageGate } from './message-gate.ts';
import type { MessageSource, MulticastSocket, OpenMulticastSocket } from './multicast-socket.ts';
import { type InterfaceAddress, type NetworkInterface, neighboursOf } from './network-interface.ts';

const REOPEN_MS = 5_000;

/** What a link needs. */
export interface DnsLinkParts {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly open: OpenMulticastSocket;
  readonly drops: DiscoveryDrops;
  /** The link can be used, for the first time or again. */
  readonly opened: (link: DnsLink) => void;
  readonly message: (link: DnsLink, message: DnsMessage, from: MessageSource) => void;
}

/** Multicast DNS on one family of one interface. What fails here is logged once, tried again, and disturbs no other link. */
export class DnsLink {
  readonly family: InterfaceAddress['family'];
  readonly #parts: DnsLinkParts;
  readonly #gate: MessageGate;
  readonly #complaints = new Set<string>();
  #place: NetworkInterface;
  #isNeighbour: (host: string) => boolean;
  #socket: MulticastSocket | undefined;
  #cancelReopen: (() => void) | undefined;
  #isClosed = false;

  constructor(place: NetworkInterface, family: InterfaceAddress['family'], parts: DnsLinkParts) {
    this.family = family;
    this.#parts = parts;
    this.#place = place;
    this.#isNeighbour = neighboursOf(place);
    this.#gate = new MessageGate(parts.clock);
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

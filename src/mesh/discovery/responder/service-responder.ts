import type { Logger } from '../../../core/logger.ts';
import type { Clock } from '../../../core/time/clock.ts';
import type { DnsMessage } from '../dns/dns-message.ts';
import { type DnsRecord, isSameName, recordKey } from '../dns/dns-record.ts';
import { announcedRecords, type LocalService, type ServiceRecords, serviceRecords } from '../dns/service-records.ts';
import type { DiscoveryDrops } from '../link/discovery-drops.ts';
import type { DnsLink } from '../link/dns-link.ts';
import type { LinkUser } from '../link/dns-links.ts';
import { MDNS_PORT, type MessageSource } from '../link/multicast-socket.ts';
import type { NetworkInterface } from '../link/network-interface.ts';
import { LinkAnswerer } from './link-answerer.ts';
import { LinkVoice } from './link-voice.ts';

const DEFEND_EVERY_MS = 10_000;

/** What a responder needs. */
export interface ServiceResponderParts {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly drops: DiscoveryDrops;
  /** 0 to below 1. */
  readonly random: () => number;
}

interface Place {
  readonly voice: LinkVoice;
  readonly answerer: LinkAnswerer;
}

/**
 * Announces a service and answers for it on every link (RFC 6762, RFC 6763). It does not probe: its names are made of the
 * hub's key, so nobody else has them; who takes them nevertheless is contradicted.
 */
export class ServiceResponder implements LinkUser, AsyncDisposable {
  readonly #service: LocalService;
  readonly #parts: ServiceResponderParts;
  readonly #places = new Map<DnsLink, Place>();
  #defendedMs = Number.NEGATIVE_INFINITY;
  #hasComplained = false;

  constructor(service: LocalService, parts: ServiceResponderParts) {
    this.#service = service;
    this.#parts = parts;
  }

  linkUp(link: DnsLink): void {
    this.#stop(link);
    const voice = new LinkVoice(link, this.#parts.clock);
    const answerer = new LinkAnswerer({
      clock: this.#parts.clock,
      drops: this.#parts.drops,
      random: this.#parts.random,
      voice,
      records: () => this.#records(link),
    });
    this.#places.set(link, { voice, answerer });
    this.#announce(link);
  }

  linkMoved(link: DnsLink, before: NetworkInterface): void {
    const has = new Set(this.#records(link).addresses.map(recordKey));
    const gone = recordsAt(this.#service, before).addresses.filter((record) => !has.has(recordKey(record)));
    if (gone.length > 0) void this.#places.get(link)?.voice.say(gone.map(withdrawn));
    this.#announce(link);
  }

  linkDown(link: DnsLink): void {
    this.#stop(link);
    this.#places.delete(link);
  }

  heard(link: DnsLink, message: DnsMessage, from: MessageSource): void {
    if (message.kind === 'query') this.#places.get(link)?.answerer.answer(message, from);
    else if (from.port === MDNS_PORT) this.#defend(link, message, from);
  }

  /** Says goodbye. */
  async [Symbol.asyncDispose](): Promise<void> {
    const places = [...this.#places];
    for (const [link] of places) this.#stop(link);
    this.#places.clear();
    await Promise.all(places.map(([link, { voice }]) => voice.say(announcedRecords(this.#records(link)).map(withdrawn))));
  }

  #announce(link: DnsLink): void {
    this.#places.get(link)?.voice.announce(() => announcedRecords(this.#records(link)));
  }

  // Somebody else says where this service is, or that it is gone: a copy of the hub, or its own predecessor that says goodbye late.
  #defend(link: DnsLink, message: DnsMessage, from: MessageSource): void {
    const { location } = this.#records(link);
    const claim = message.answers.find((record) => record.type === 'SRV' && isSameName(record.name, location.name));
    if (claim === undefined || (claim.ttlSeconds > 0 && recordKey(claim) === recordKey(location))) return;
    if (claim.ttlSeconds > 0 && !this.#hasComplained) {
      this.#hasComplained = true;
      const advice =
        'another machine announces itself under the id of this hub: was the state directory copied? Give one of them a new one';
      this.#parts.logger.warn('discovery.name_conflict', { name: this.#service.name, address: from.host, advice });
    }
    const nowMs = this.#parts.clock.monotonic();
    if (nowMs - this.#defendedMs < DEFEND_EVERY_MS) return;
    this.#defendedMs = nowMs;
    this.#announce(link);
  }

  #records(link: DnsLink): ServiceRecords {
    return recordsAt(this.#service, link.place);
  }

  #stop(link: DnsLink): void {
    this.#places.get(link)?.voice.hush();
    this.#places.get(link)?.answerer.stop();
  }
}

function recordsAt(service: LocalService, place: NetworkInterface): ServiceRecords {
  return serviceRecords(
    service,
    place.addresses.map(({ host }) => host),
  );
}

function withdrawn(record: DnsRecord): DnsRecord {
  return { ...record, ttlSeconds: 0 };
}

import type { Clock } from '../../core/clock.ts';
import type { Logger } from '../../core/logger.ts';
import { TokenBucket } from '../rate-limit.ts';
import { type DnsMessage, type DnsQuestion, type DnsRecord, encodeDnsMessage, isSameName, recordKey } from './dns-message.ts';
import type { DiscoveryDrops, LinkObserver, MulticastLink } from './multicast-links.ts';
import { MDNS_PORT, type MessageSource } from './multicast-socket.ts';
import type { NetworkInterface } from './network-interfaces.ts';
import { announcedRecords, answerTo, type LocalService, type ServiceRecords, serviceRecords } from './service-records.ts';

const DEFEND_EVERY_MS = 10_000;

/** What a responder needs. */
export interface ServiceResponderCollaborators {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly drops: DiscoveryDrops;
  /** 0 to below 1. */
  readonly random: () => number;
}

interface LinkPresence {
  readonly voice: LinkAnnouncer;
  readonly answerer: LinkResponder;
}

/**
 * Announces a service and answers for it on every link (RFC 6762, RFC 6763). It does not probe: its names are made of the
 * hub's key, so nobody else has them; who takes them nevertheless is contradicted.
 */
export class ServiceResponder implements LinkObserver, AsyncDisposable {
  readonly #service: LocalService;
  readonly #parts: ServiceResponderCollaborators;
  readonly #places = new Map<MulticastLink, LinkPresence>();
  #defendedMs = Number.NEGATIVE_INFINITY;
  #hasComplained = false;

  constructor(service: LocalService, parts: ServiceResponderCollaborators) {
    this.#service = service;
    this.#parts = parts;
  }

  onLinkUp(link: MulticastLink): void {
    this.#stop(link);
    const voice = new LinkAnnouncer(link, this.#parts.clock);
    const answerer = new LinkResponder({
      clock: this.#parts.clock,
      drops: this.#parts.drops,
      random: this.#parts.random,
      voice,
      records: () => this.#records(link),
    });
    this.#places.set(link, { voice, answerer });
    this.#announce(link);
  }

  onLinkMoved(link: MulticastLink, before: NetworkInterface): void {
    const has = new Set(this.#records(link).addresses.map(recordKey));
    const gone = recordsAt(this.#service, before).addresses.filter((record) => !has.has(recordKey(record)));
    if (gone.length > 0) void this.#places.get(link)?.voice.multicast(gone.map(withdrawn));
    this.#announce(link);
  }

  onLinkDown(link: MulticastLink): void {
    this.#stop(link);
    this.#places.delete(link);
  }

  onMessage(link: MulticastLink, message: DnsMessage, from: MessageSource): void {
    if (message.kind === 'query') this.#places.get(link)?.answerer.answer(message, from);
    else if (from.port === MDNS_PORT) this.#defend(link, message, from);
  }

  /** Says goodbye. */
  async [Symbol.asyncDispose](): Promise<void> {
    const places = [...this.#places];
    for (const [link] of places) this.#stop(link);
    this.#places.clear();
    await Promise.all(places.map(([link, { voice }]) => voice.multicast(announcedRecords(this.#records(link)).map(withdrawn))));
  }

  #announce(link: MulticastLink): void {
    this.#places.get(link)?.voice.announce(() => announcedRecords(this.#records(link)));
  }

  // Somebody else says where this service is, or that it is gone: a copy of the hub, or its own predecessor that says goodbye late.
  #defend(link: MulticastLink, message: DnsMessage, from: MessageSource): void {
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

  #records(link: MulticastLink): ServiceRecords {
    return recordsAt(this.#service, link.place);
  }

  #stop(link: MulticastLink): void {
    this.#places.get(link)?.voice.stop();
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

const LEGACY_TTL_SECONDS = 10;
const LEAST_REPEAT_MS = 1_000;
const LEAST_REPEAT_TO_PROBE_MS = 250;
const MAX_PENDING = 128;
const UNICAST_RATE = { burst: 50, perSecond: 20 };

/** What answering on a link needs. */
export interface LinkResponderCollaborators {
  readonly clock: Clock;
  readonly voice: LinkAnnouncer;
  readonly drops: DiscoveryDrops;
  /** 0 to below 1. */
  readonly random: () => number;
  readonly records: () => ServiceRecords;
}

/** Answers the questions of one link: who is answered alone, who with all, when, and what is not said again (RFC 6762 6). */
class LinkResponder {
  readonly #parts: LinkResponderCollaborators;
  readonly #unicast: TokenBucket;
  readonly #pending = new Map<string, { asked: PendingQuestions; cancel: () => void }>();

  constructor(parts: LinkResponderCollaborators) {
    this.#parts = parts;
    this.#unicast = new TokenBucket(parts.clock, UNICAST_RATE);
  }

  answer(message: DnsMessage, from: MessageSource): void {
    if (from.port !== MDNS_PORT) {
      this.#answerResolver(message, from);
      return;
    }
    const waiting = this.#pending.get(from.host);
    if (waiting === undefined && message.questions.length === 0) return;
    const asked = withMessage(waiting?.asked, message, this.#parts.clock.monotonic());
    const { answers } = answerTo(asked.questions, message.isTruncated ? [] : asked.known, this.#parts.records());
    if (answers.length === 0) {
      this.#forget(from.host);
      return;
    }
    if (waiting === undefined && this.#pending.size >= MAX_PENDING) {
      this.#parts.drops.count('answer_rate');
      return;
    }
    this.#wait(from, asked, this.#delayMs(message, answers));
  }

  stop(): void {
    for (const { cancel } of this.#pending.values()) cancel();
    this.#pending.clear();
  }

  /** Plain resolvers ask from a port of their own and understand plain answers only (RFC 6762 6.7). */
  #answerResolver(message: DnsMessage, from: MessageSource): void {
    const { answers, additionals } = answerTo(message.questions, message.answers, this.#parts.records());
    if (answers.length > 0) this.#tellOne(from, { id: message.id, questions: message.questions }, [answers, additionals].map(plain));
  }

  #delayMs(message: DnsMessage, answers: readonly DnsRecord[]): number {
    if (message.isTruncated) return 400 + 100 * this.#parts.random();
    // Others may answer the same question; who owns the name alone need not wait for them.
    return answers.every(({ isUnique }) => isUnique) ? 0 : 20 + 100 * this.#parts.random();
  }

  #wait(from: MessageSource, asked: PendingQuestions, delayMs: number): void {
    this.#forget(from.host);
    if (delayMs <= 0) {
      this.#reply(from, asked);
      return;
    }
    const cancel = this.#parts.clock.after(delayMs, () => {
      this.#pending.delete(from.host);
      this.#reply(from, asked);
    });
    this.#pending.set(from.host, { asked, cancel });
  }

  #forget(host: string): void {
    this.#pending.get(host)?.cancel();
    this.#pending.delete(host);
  }

  #reply(from: MessageSource, asked: PendingQuestions): void {
    const { voice, clock, records } = this.#parts;
    const { answers, additionals } = answerTo(asked.questions, asked.known, records());
    if (answers.length === 0) return;
    const nowMs = clock.monotonic();
    const wasSaidLately = answers.every((record) => nowMs - voice.lastMulticastMs(record) < (record.ttlSeconds * 1_000) / 4);
    if (wasSaidLately && asked.questions.every(({ wantsUnicast }) => wantsUnicast)) {
      this.#tellOne(from, {}, [answers, additionals]);
      return;
    }
    // What everybody heard after the question was asked has answered it.
    const missing = answers.filter((record) => voice.lastMulticastMs(record) < asked.askedMs);
    if (missing.length === 0) return;
    const repeatMs = asked.isProbe ? LEAST_REPEAT_TO_PROBE_MS : LEAST_REPEAT_MS;
    const waitMs = Math.max(...missing.map((record) => voice.lastMulticastMs(record) + repeatMs - nowMs));
    if (waitMs > 0) {
      this.#wait(from, asked, waitMs);
      return;
    }
    void voice.multicast(missing, additionals);
  }

  #tellOne(to: MessageSource, head: Partial<DnsMessage>, [answers, additionals]: readonly (readonly DnsRecord[])[]): void {
    if (this.#unicast.take() > 0) {
      this.#parts.drops.count('answer_rate');
      return;
    }
    void this.#parts.voice.link.send(
      encodeDnsMessage({ ...head, kind: 'response', answers: answers ?? [], additionals: additionals ?? [] }),
      to,
    );
  }
}

function plain(records: readonly DnsRecord[]): readonly DnsRecord[] {
  return records.map((record) => ({ ...record, isUnique: false, ttlSeconds: Math.min(record.ttlSeconds, LEGACY_TTL_SECONDS) }));
}

const ANNOUNCEMENTS = 2;
const ANNOUNCE_EVERY_MS = 1_000;
const RETRY_MS = 500;
const MAX_TRIES = 20;

/** What one service says to everybody on one link, and when it said it last. */
class LinkAnnouncer {
  readonly link: MulticastLink;
  readonly #clock: Clock;
  readonly #saidMs = new Map<string, number>();
  #cancel: (() => void) | undefined;

  constructor(link: MulticastLink, clock: Clock) {
    this.link = link;
    this.#clock = clock;
  }

  /** When a record was last multicast, by the monotonic clock. */
  lastMulticastMs(record: DnsRecord): number {
    return this.#saidMs.get(recordKey(record)) ?? Number.NEGATIVE_INFINITY;
  }

  async multicast(answers: readonly DnsRecord[], additionals: readonly DnsRecord[] = []): Promise<boolean> {
    for (const record of answers) this.#saidMs.set(recordKey(record), this.#clock.monotonic());
    return this.link.send(encodeDnsMessage({ kind: 'response', answers, additionals }));
  }

  /** Says twice, a second apart (RFC 6762 8.3), what `records` has by then. */
  announce(records: () => readonly DnsRecord[]): void {
    this.#cancel?.();
    let said = 0;
    const round = async (tries: number): Promise<void> => {
      let isHushed = false;
      this.#cancel = () => {
        isHushed = true;
      };
      // An address of IPv6 cannot send before the kernel has made sure that nobody else has it: about two seconds.
      if (await this.multicast(records())) said += 1;
      if (isHushed || said >= ANNOUNCEMENTS || tries >= MAX_TRIES) return;
      this.#cancel = this.#clock.after(said > 0 ? ANNOUNCE_EVERY_MS : RETRY_MS, () => void round(tries + 1));
    };
    void round(1);
  }

  stop(): void {
    this.#cancel?.();
  }
}

/** Questions of one neighbour that wait for their answer. */
interface PendingQuestions {
  readonly questions: readonly DnsQuestion[];
  readonly known: readonly DnsRecord[];
  /** Claims the name for itself: it must hear soon that it is taken (RFC 6762 8.1). */
  readonly isProbe: boolean;
  readonly askedMs: number;
}

const MAX_KNOWN = 512;

/** A message added to what the neighbour asked before: known answers may fill several messages (RFC 6762 7.2). */
function withMessage(pending: PendingQuestions | undefined, message: DnsMessage, nowMs: number): PendingQuestions {
  return {
    questions: [...(pending?.questions ?? []), ...message.questions].slice(0, MAX_KNOWN),
    known: [...(pending?.known ?? []), ...message.answers].slice(0, MAX_KNOWN),
    isProbe: pending?.isProbe === true || message.authorities.length > 0,
    askedMs: pending?.askedMs ?? nowMs,
  };
}

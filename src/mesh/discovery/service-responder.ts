import type { Clock } from '../../core/clock.ts';
import type { HubContext } from '../../core/context.ts';
import { TokenBucket } from '../rate-limit.ts';
import {
  announcedRecords,
  answerTo,
  type DnsMessage,
  type DnsQuestion,
  type DnsRecord,
  encodeDnsMessage,
  isSameName,
  type LocalService,
  recordKey,
  type ServiceRecords,
  serviceRecords,
} from './dns-message.ts';
import { type DiscoveryDrops, type LinkObserver, MDNS_PORT, type MessageSource, type MulticastLink } from './multicast-links.ts';
import type { NetworkInterface } from './network-interfaces.ts';

const DEFEND_EVERY_MS = 10_000;

interface ServiceResponderCollaborators extends Pick<HubContext, 'clock' | 'logger'> {
  readonly drops: DiscoveryDrops;
  readonly random: () => number;
}

/**
 * Announces a service and answers queries for it on every link (RFC 6762, RFC 6763). Sends no probes, because the service is named after
 * the hub id, which is unique. If another machine sends conflicting records, announces its own records again.
 */
export class ServiceResponder implements LinkObserver, AsyncDisposable {
  readonly #service: LocalService;
  readonly #collaborators: ServiceResponderCollaborators;
  readonly #presences = new Map<MulticastLink, { readonly announcer: LinkAnnouncer; readonly responder: LinkResponder }>();
  #defendedMs = Number.NEGATIVE_INFINITY;
  #hasWarned = false;

  constructor(service: LocalService, collaborators: ServiceResponderCollaborators) {
    this.#service = service;
    this.#collaborators = collaborators;
  }

  onLinkUp(link: MulticastLink): void {
    this.#stop(link);
    const { clock, drops, random } = this.#collaborators;
    const announcer = new LinkAnnouncer(link, clock);
    const responder = new LinkResponder({ clock, drops, random, announcer, records: () => this.#records(link) });
    this.#presences.set(link, { announcer, responder });
    this.#announce(link);
  }

  onLinkMoved(link: MulticastLink, before: NetworkInterface): void {
    const has = new Set(this.#records(link).addresses.map(recordKey));
    const gone = recordsAt(this.#service, before).addresses.filter((record) => !has.has(recordKey(record)));
    if (gone.length > 0) void this.#presences.get(link)?.announcer.multicast(gone.map(withdrawn));
    this.#announce(link);
  }

  onLinkDown(link: MulticastLink): void {
    this.#stop(link);
    this.#presences.delete(link);
  }

  onMessage(link: MulticastLink, message: DnsMessage, from: MessageSource): void {
    if (message.kind === 'query') this.#presences.get(link)?.responder.answer(message, from);
    else if (from.port === MDNS_PORT) this.#defend(link, message, from);
  }

  /** Withdraws the service on every link with goodbyes. */
  async [Symbol.asyncDispose](): Promise<void> {
    const presences = [...this.#presences];
    for (const [link] of presences) this.#stop(link);
    this.#presences.clear();
    await Promise.all(presences.map(([link, { announcer }]) => announcer.multicast(announcedRecords(this.#records(link)).map(withdrawn))));
  }

  #announce(link: MulticastLink): void {
    this.#presences.get(link)?.announcer.announce(() => announcedRecords(this.#records(link)));
  }

  // Announces the service again after a conflicting SRV record or a goodbye. Both come from a copy of this hub or from its previous run.
  #defend(link: MulticastLink, message: DnsMessage, from: MessageSource): void {
    const { location } = this.#records(link);
    const claim = message.answers.find((record) => record.type === 'SRV' && isSameName(record.name, location.name));
    if (claim === undefined || (claim.ttlSeconds > 0 && recordKey(claim) === recordKey(location))) return;
    if (claim.ttlSeconds > 0 && !this.#hasWarned) {
      this.#hasWarned = true;
      const advice =
        'another machine announces itself under the id of this hub: was the state directory copied? Give one of them a new one';
      this.#collaborators.logger.warn('discovery.name_taken', { name: this.#service.name, address: from.host, advice });
    }
    const nowMs = this.#collaborators.clock.monotonic();
    if (nowMs - this.#defendedMs < DEFEND_EVERY_MS) return;
    this.#defendedMs = nowMs;
    this.#announce(link);
  }

  #records(link: MulticastLink): ServiceRecords {
    return recordsAt(this.#service, link.place);
  }

  #stop(link: MulticastLink): void {
    this.#presences.get(link)?.announcer.stop();
    this.#presences.get(link)?.responder.stop();
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

interface LinkResponderCollaborators extends Pick<ServiceResponderCollaborators, 'clock' | 'drops' | 'random'> {
  readonly announcer: LinkAnnouncer;
  readonly records: () => ServiceRecords;
}

/** Answers the queries on one link, by unicast or multicast. Keeps to the delays of RFC 6762 6 and does not repeat answers. */
class LinkResponder {
  readonly #collaborators: LinkResponderCollaborators;
  readonly #unicast: TokenBucket;
  readonly #pending = new Map<string, { asked: PendingQuestions; cancel: () => void }>();

  constructor(collaborators: LinkResponderCollaborators) {
    this.#collaborators = collaborators;
    this.#unicast = new TokenBucket(collaborators.clock, UNICAST_RATE);
  }

  answer(message: DnsMessage, from: MessageSource): void {
    if (from.port !== MDNS_PORT) {
      this.#answerResolver(message, from);
      return;
    }
    const waiting = this.#pending.get(from.host);
    if (waiting === undefined && message.questions.length === 0) return;
    const asked = withMessage(waiting?.asked, message, this.#collaborators.clock.monotonic());
    const { answers } = answerTo(asked.questions, message.isTruncated ? [] : asked.known, this.#collaborators.records());
    if (answers.length === 0) {
      this.#forget(from.host);
      return;
    }
    if (waiting === undefined && this.#pending.size >= MAX_PENDING) {
      this.#collaborators.drops.count('answer_rate');
      return;
    }
    this.#wait(from, asked, this.#delayMs(message, answers));
  }

  stop(): void {
    for (const { cancel } of this.#pending.values()) cancel();
    this.#pending.clear();
  }

  /** Answers a unicast resolver. Such a resolver sends from a port other than 5353 and understands only unicast DNS (RFC 6762 6.7). */
  #answerResolver(message: DnsMessage, from: MessageSource): void {
    const { answers, additionals } = answerTo(message.questions, message.answers, this.#collaborators.records());
    if (answers.length > 0) this.#sendUnicast(from, { id: message.id, questions: message.questions }, [answers, additionals].map(plain));
  }

  #delayMs(message: DnsMessage, answers: readonly DnsRecord[]): number {
    if (message.isTruncated) return 400 + 100 * this.#collaborators.random();
    // Unique records are sent at once. Other records are delayed, because several hosts may answer the same question.
    return answers.every(({ isUnique }) => isUnique) ? 0 : 20 + 100 * this.#collaborators.random();
  }

  #wait(from: MessageSource, asked: PendingQuestions, delayMs: number): void {
    this.#forget(from.host);
    if (delayMs <= 0) {
      this.#reply(from, asked);
      return;
    }
    const cancel = this.#collaborators.clock.after(delayMs, () => {
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
    const { announcer, clock, records } = this.#collaborators;
    const { answers, additionals } = answerTo(asked.questions, asked.known, records());
    if (answers.length === 0) return;
    const nowMs = clock.monotonic();
    const wasSentRecently = answers.every((record) => nowMs - announcer.lastMulticastMs(record) < (record.ttlSeconds * 1_000) / 4);
    if (wasSentRecently && asked.questions.every(({ wantsUnicast }) => wantsUnicast)) {
      this.#sendUnicast(from, {}, [answers, additionals]);
      return;
    }
    // Leaves out answers that were multicast after the question arrived, because the querier has received them.
    const missing = answers.filter((record) => announcer.lastMulticastMs(record) < asked.askedMs);
    if (missing.length === 0) return;
    const repeatMs = asked.isProbe ? LEAST_REPEAT_TO_PROBE_MS : LEAST_REPEAT_MS;
    const waitMs = Math.max(...missing.map((record) => announcer.lastMulticastMs(record) + repeatMs - nowMs));
    if (waitMs > 0) {
      this.#wait(from, asked, waitMs);
      return;
    }
    void announcer.multicast(missing, additionals);
  }

  #sendUnicast(to: MessageSource, head: Partial<DnsMessage>, [answers, additionals]: readonly (readonly DnsRecord[])[]): void {
    if (this.#unicast.take() > 0) {
      this.#collaborators.drops.count('answer_rate');
      return;
    }
    void this.#collaborators.announcer.link.send(
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

/** Multicasts the records of one service on one link, and remembers when each record was sent. */
class LinkAnnouncer {
  readonly link: MulticastLink;
  readonly #clock: Clock;
  readonly #sentMs = new Map<string, number>();
  #cancel: (() => void) | undefined;

  constructor(link: MulticastLink, clock: Clock) {
    this.link = link;
    this.#clock = clock;
  }

  /** Returns the monotonic time at which a record was last multicast; -Infinity if it never was. */
  lastMulticastMs(record: DnsRecord): number {
    return this.#sentMs.get(recordKey(record)) ?? Number.NEGATIVE_INFINITY;
  }

  async multicast(answers: readonly DnsRecord[], additionals: readonly DnsRecord[] = []): Promise<boolean> {
    for (const record of answers) this.#sentMs.set(recordKey(record), this.#clock.monotonic());
    return this.link.send(encodeDnsMessage({ kind: 'response', answers, additionals }));
  }

  /** Multicasts the current records twice, a second apart (RFC 6762 8.3). */
  announce(records: () => readonly DnsRecord[]): void {
    this.#cancel?.();
    let sent = 0;
    const round = async (tries: number): Promise<void> => {
      let isCancelled = false;
      this.#cancel = () => {
        isCancelled = true;
      };
      // Sending from a new IPv6 address fails during duplicate address detection, which takes about two seconds.
      if (await this.multicast(records())) sent += 1;
      if (isCancelled || sent >= ANNOUNCEMENTS || tries >= MAX_TRIES) return;
      this.#cancel = this.#clock.after(sent > 0 ? ANNOUNCE_EVERY_MS : RETRY_MS, () => void round(tries + 1));
    };
    void round(1);
  }

  stop(): void {
    this.#cancel?.();
  }
}

interface PendingQuestions {
  readonly questions: readonly DnsQuestion[];
  readonly known: readonly DnsRecord[];
  /** Whether the querier probes for the name. It must soon learn that the name is taken (RFC 6762 8.1). */
  readonly isProbe: boolean;
  readonly askedMs: number;
}

const MAX_KNOWN = 512;

/** Adds a message to the pending questions of its querier. Known answers may span several messages (RFC 6762 7.2). */
function withMessage(pending: PendingQuestions | undefined, message: DnsMessage, nowMs: number): PendingQuestions {
  return {
    questions: [...(pending?.questions ?? []), ...message.questions].slice(0, MAX_KNOWN),
    known: [...(pending?.known ?? []), ...message.answers].slice(0, MAX_KNOWN),
    isProbe: pending?.isProbe === true || message.authorities.length > 0,
    askedMs: pending?.askedMs ?? nowMs,
  };
}

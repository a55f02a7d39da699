import type { Clock } from '../../../core/time/clock.ts';
import { TokenBucket } from '../../link/token-bucket.ts';
import { answerTo } from '../dns/answer.ts';
import { type DnsMessage, encodeDnsMessage } from '../dns/dns-message.ts';
import type { DnsRecord } from '../dns/dns-record.ts';
import type { ServiceRecords } from '../dns/service-records.ts';
import type { DiscoveryDrops } from '../link/discovery-drops.ts';
import { MDNS_PORT, type MessageSource } from '../link/multicast-socket.ts';
import type { LinkVoice } from './link-voice.ts';
import { type PendingQuestions, withMessage } from './pending-questions.ts';

const LEGACY_TTL_SECONDS = 10;
const LEAST_REPEAT_MS = 1_000;
const LEAST_REPEAT_TO_PROBE_MS = 250;
const MAX_PENDING = 128;
const UNICAST_RATE = { burst: 50, perSecond: 20 };

/** What answering on a link needs. */
export interface LinkAnswererParts {
  readonly clock: Clock;
  readonly voice: LinkVoice;
  readonly drops: DiscoveryDrops;
  /** 0 to below 1. */
  readonly random: () => number;
  readonly records: () => ServiceRecords;
}

/** Answers the questions of one link: who is answered alone, who with all, when, and what is not said again (RFC 6762 6). */
export class LinkAnswerer {
  readonly #parts: LinkAnswererParts;
  readonly #unicast: TokenBucket;
  readonly #pending = new Map<string, { asked: PendingQuestions; cancel: () => void }>();

  constructor(parts: LinkAnswererParts) {
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
    const wasSaidLately = answers.every((record) => nowMs - voice.saidMs(record) < (record.ttlSeconds * 1_000) / 4);
    if (wasSaidLately && asked.questions.every(({ wantsUnicast }) => wantsUnicast)) {
      this.#tellOne(from, {}, [answers, additionals]);
      return;
    }
    // What everybody heard after the question was asked has answered it.
    const missing = answers.filter((record) => voice.saidMs(record) < asked.askedMs);
    if (missing.length === 0) return;
    const repeatMs = asked.isProbe ? LEAST_REPEAT_TO_PROBE_MS : LEAST_REPEAT_MS;
    const waitMs = Math.max(...missing.map((record) => voice.saidMs(record) + repeatMs - nowMs));
    if (waitMs > 0) {
      this.#wait(from, asked, waitMs);
      return;
    }
    void voice.say(missing, additionals);
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

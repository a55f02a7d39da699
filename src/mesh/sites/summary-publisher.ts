import type { KeyObject } from 'node:crypto';
import type { CertificateChain } from '../../codec/messages/membership.ts';
import { type SiteSummary, siteSummaryCodec, type WordFilter } from '../../codec/messages/site.ts';
import type { Clock } from '../../core/clock.ts';
import type { HubId } from '../../core/ids.ts';
import type { KnownAddresses } from '../discovery/peer-addresses.ts';
import { CoalescingTimer } from '../gossip/timers.ts';
import { TokenBucket } from '../rate-limit.ts';
import { makeFilter } from './site-words.ts';

/** Facts about the site that its summary states. */
export interface SiteContent {
  /** Border members, this hub among them. */
  readonly borders: readonly KnownAddresses[];
  /** Number of hubs in the site. */
  readonly hubs: number;
  readonly words: ReadonlySet<string>;
}

interface PublisherCollaborators {
  readonly site: string;
  readonly hub: { readonly hubId: HubId; readonly privateKey: KeyObject };
  readonly certificate: () => CertificateChain;
  readonly epoch: () => number;
  /** Returns the content of the summary; undefined if another hub makes the summary of the site. */
  readonly content: () => SiteContent | undefined;
  readonly clock: Clock;
  readonly time: Pick<Clock, 'now'>;
  readonly random: () => number;
  readonly publish: (summary: SiteSummary, envelope: Uint8Array) => void;
}

/** Changes within this number of milliseconds are in one summary. */
const COALESCE_MS = 500;
/** Rate limit of summaries. A house in which something changes all the time makes two a minute. */
const RATE = { burst: 8, perSecond: 1 / 30 };
const TTL_S = 7_200;
/** A summary that does not change is made again after this number of milliseconds, so that it stays valid if one is lost. */
const REFRESH_MS = 3_600_000;
const MAX_ADDRESSES = 2;

/** Signs the summary of the site while this hub is its first border member, and signs a new one when the content changes. */
export class SummaryPublisher implements Disposable {
  readonly #parts: PublisherCollaborators;
  readonly #bucket: TokenBucket;
  readonly #wakeup: CoalescingTimer;
  #sequence = 0;
  /** Text that identifies the content of the last summary; undefined if another hub makes the summary now. */
  #published: string | undefined;
  #cancelRefresh = () => {};

  constructor(parts: PublisherCollaborators) {
    this.#parts = parts;
    this.#bucket = new TokenBucket(parts.clock, RATE);
    this.#wakeup = new CoalescingTimer(parts.clock, () => this.#compare());
  }

  /** Plans a comparison of the content with the published one. */
  changed(haste: 'at once' | 'soon'): void {
    this.#wakeup.within(haste === 'soon' ? COALESCE_MS : 0);
  }

  [Symbol.dispose](): void {
    this.#wakeup.stop();
    this.#cancelRefresh();
  }

  #compare(): void {
    const { content, site } = this.#parts;
    const now = content();
    if (!now) {
      this.#handOver();
      return;
    }
    const filter = makeFilter(site, now.words);
    const text = textOf(now, filter);
    if (text === this.#published) return;
    const waitMs = this.#bucket.take();
    if (waitMs > 0) this.#wakeup.within(waitMs);
    else this.#publish(now, filter, text);
  }

  /** Stops the refreshes, because another hub makes the summary now. */
  #handOver(): void {
    this.#published = undefined;
    this.#cancelRefresh();
  }

  #publish({ borders, hubs }: SiteContent, filter: WordFilter, text: string): void {
    const { site, hub, certificate, epoch, time, publish } = this.#parts;
    this.#sequence += 1;
    const summary: SiteSummary = {
      site,
      hubId: hub.hubId,
      epoch: epoch(),
      sequence: this.#sequence,
      timeMs: time.now(),
      ttlSeconds: TTL_S,
      certificate: certificate(),
      borders: borders.map(({ id, addresses }) => ({ id, addresses: addresses.slice(0, MAX_ADDRESSES) })),
      hubs,
      filter,
    };
    this.#published = text;
    this.#refreshLater();
    publish(summary, siteSummaryCodec.sign(summary, hub.privateKey));
  }

  /** The delay is random, so that the sites of a mesh do not refresh their summaries at the same time after a power cut. */
  #refreshLater(): void {
    const { clock, random } = this.#parts;
    this.#cancelRefresh();
    this.#cancelRefresh = clock.after(REFRESH_MS * (0.5 + random() / 2), () => {
      this.#published = '';
      this.#compare();
    });
  }
}

function textOf({ borders, hubs }: SiteContent, { hashes, bits }: WordFilter): string {
  return JSON.stringify([borders, hubs, hashes, Buffer.from(bits).toString('base64')]);
}

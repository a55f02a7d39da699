import type { KeyObject } from 'node:crypto';
import { sha256Hex } from '../../codec/hashes.ts';
import { MAX_SUMMARIES, MAX_SUMMARY_BYTES, type SiteSummary, siteSummaryCodec } from '../../codec/messages/site.ts';
import type { Clock, TrustedTime } from '../../core/clock.ts';
import { AtmoError } from '../../core/errors.ts';
import type { HubId } from '../../core/ids.ts';
import type { DropReason } from '../gossip/gossip-limits.ts';
import { type AnnouncementVersion, type CertificateVerifier, isNewer } from '../gossip/hub-record.ts';
import { mayHave } from './site-words.ts';

/** Verifies a summary in the same way as `siteSummaryCodec.open`, and copies the bytes. */
export type OpenSummary = (
  envelope: Uint8Array,
  keyOf: (unverified: SiteSummary) => KeyObject | undefined,
) => { readonly summary: SiteSummary; readonly envelope: Uint8Array };

interface SummaryStoreCollaborators {
  readonly site: string;
  readonly certificates: CertificateVerifier;
  /** Returns whether this hub's own site has the hub. */
  readonly isOfOwnSite: (id: HubId) => boolean;
  readonly clock: Clock;
  readonly time: Pick<TrustedTime, 'now' | 'isTrusted'>;
  /** Replaces the verification in a simulation, where all simulated hubs share one verification of each summary. */
  readonly open?: OpenSummary | undefined;
}

interface Entry {
  readonly name: string;
  readonly summary: SiteSummary;
  readonly envelope: Uint8Array;
  /** Arrival by this hub's monotonic clock, in milliseconds. */
  readonly receivedMs: number;
}

/** Maximum number of summaries of one site. More than its border members sign only if some have just changed, or if a member lies. */
const MAX_PER_SITE = 4;
/** Maximum difference between the time in a summary and this hub's time, in milliseconds, besides the time for which it is valid. */
const TIME_WINDOW_MS = 3_600_000;
const MAX_VERSIONS = 2 * MAX_SUMMARIES;
const NAME_DIGITS = 16;

/** Stores the newest valid summary of each border member of the mesh. */
export class SummaryStore {
  readonly #parts: SummaryStoreCollaborators;
  readonly #entries = new Map<HubId, Entry>();
  /** Newest version of each signer, oldest entry first. It stays when the summary is deleted, so that the summary cannot be replayed. */
  readonly #versions = new Map<HubId, AnnouncementVersion>();
  #borders: ReadonlyMap<HubId, SiteSummary['borders'][number]> | undefined;
  #names: ReadonlySet<string> | undefined;
  #digest: string | undefined;
  /** Cached result of `others`, as `#borders` is of `borders`; undefined after a change. */
  #others: ReadonlyMap<string, readonly SiteSummary[]> | undefined;

  constructor(parts: SummaryStoreCollaborators) {
    this.#parts = parts;
  }

  /** Size of all signed summaries in bytes. */
  get bytes(): number {
    return this.#entries.values().reduce((sum, { envelope }) => sum + envelope.length, 0);
  }

  /** Validates and stores a summary. Returns its name, or the reason to drop it. */
  receive(bytes: Uint8Array): { readonly name: string } | DropReason {
    if (bytes.length > MAX_SUMMARY_BYTES) return 'oversized';
    let key: KeyObject | DropReason = 'malformed';
    try {
      const { summary, envelope } = (this.#parts.open ?? openSummary)(bytes, (unverified) => {
        key = this.#keyOf(unverified);
        return typeof key === 'string' ? undefined : key;
      });
      return typeof key === 'string' ? key : { name: this.#store(summary, envelope).name };
    } catch (error) {
      if (!(error instanceof AtmoError)) throw error;
      return typeof key === 'string' ? key : 'forged';
    }
  }

  /** Stores a summary that this hub has signed. Returns its name. */
  recordOwn(summary: SiteSummary, envelope: Uint8Array): string {
    return this.#store(summary, envelope).name;
  }

  /** Returns the names of all summaries: the first 8 bytes, in hex, of their SHA-256. */
  names(): ReadonlySet<string> {
    this.#names ??= new Set(Array.from(this.#entries.values(), ({ name }) => name));
    return this.#names;
  }

  /** Returns the first 8 bytes, in hex, of the SHA-256 of the sorted names. */
  digest(): string {
    this.#digest ??= sha256Hex([...this.names()].sort().join('')).slice(0, NAME_DIGITS);
    return this.#digest;
  }

  /** Returns the envelopes of the summaries whose names `isWanted` accepts; together at most `maxBytes`. */
  envelopes(isWanted: (name: string) => boolean, maxBytes: number): readonly Uint8Array[] {
    const envelopes: Uint8Array[] = [];
    let bytes = 0;
    for (const { name, envelope } of this.#entries.values()) {
      if (!isWanted(name)) continue;
      bytes += envelope.length;
      if (bytes > maxBytes) break;
      envelopes.push(envelope);
    }
    return envelopes;
  }

  /** Returns the summaries of the other sites, the newest of each site first. */
  others(): ReadonlyMap<string, readonly SiteSummary[]> {
    this.#others ??= this.#grouped();
    return this.#others;
  }

  /** Returns the border members of the other sites by id. */
  borders(): ReadonlyMap<HubId, SiteSummary['borders'][number]> {
    this.#borders ??= new Map([...this.others().values()].flat().flatMap(({ borders }) => borders.map((border) => [border.id, border])));
    return this.#borders;
  }

  /** Returns whether another site may have a word, by one of its summaries. */
  mayHave(site: string, word: string): boolean {
    return (this.others().get(site) ?? []).some(({ filter }) => mayHave(site, word, filter));
  }

  /** Deletes the summaries whose time is over. */
  sweep(): void {
    const nowMs = this.#parts.clock.monotonic();
    const over = [...this.#entries].filter(([, { summary, receivedMs }]) => nowMs - receivedMs >= 1_000 * summary.ttlSeconds);
    this.#delete(over.map(([id]) => id));
  }

  /** Deletes the summaries whose signers are no members any more. */
  recheck(): void {
    this.#delete([...this.#entries].filter(([id, { summary }]) => !this.#memberKey(id, summary)).map(([id]) => id));
  }

  /** Makes the cheap checks first. Returns the key with which the signature is then verified. */
  #keyOf(summary: SiteSummary): KeyObject | DropReason {
    const { hubId, site, borders } = summary;
    if (!isNewer(summary, this.#versions.get(hubId))) return 'stale';
    if (!borders.some(({ id }) => id === hubId)) return 'not_a_border';
    // This hub knows the members of its own site from themselves. None of them can speak for another site, and no other hub for this one.
    if (this.#parts.isOfOwnSite(hubId) !== (site === this.#parts.site)) return 'not_of_site';
    if (!this.#isInTime(summary)) return 'outside_time';
    return this.#excess(summary) ?? this.#memberKey(hubId, summary) ?? 'not_a_member';
  }

  #grouped(): ReadonlyMap<string, readonly SiteSummary[]> {
    const entries = [...this.#entries.values()].filter(({ summary }) => summary.site !== this.#parts.site);
    entries.sort((a, b) => b.receivedMs - a.receivedMs);
    return Map.groupBy(
      entries.map(({ summary }) => summary),
      ({ site }) => site,
    );
  }

  #delete(ids: readonly HubId[]): void {
    for (const id of ids) this.#entries.delete(id);
    if (ids.length > 0) this.#changed();
  }

  #changed(): void {
    this.#names = undefined;
    this.#digest = undefined;
    this.#others = undefined;
    this.#borders = undefined;
  }

  #isInTime({ timeMs, ttlSeconds }: SiteSummary): boolean {
    const { time } = this.#parts;
    if (!time.isTrusted()) return true;
    const ageMs = time.now() - timeMs;
    return ageMs <= 1_000 * ttlSeconds + TIME_WINDOW_MS && ageMs >= -TIME_WINDOW_MS;
  }

  #excess({ hubId, site }: SiteSummary): DropReason | undefined {
    if (this.#entries.get(hubId)?.summary.site === site) return undefined;
    const others = this.#entries.values().filter(({ summary }) => summary.site === site && summary.hubId !== hubId);
    return this.#entries.size >= MAX_SUMMARIES || others.toArray().length >= MAX_PER_SITE ? 'too_many_sites' : undefined;
  }

  #memberKey(id: HubId, { certificate }: SiteSummary): KeyObject | undefined {
    try {
      const member = this.#parts.certificates.verify(certificate);
      return member.hubId === id ? member.publicKey : undefined;
    } catch (error) {
      if (error instanceof AtmoError) return undefined;
      throw error;
    }
  }

  #store(summary: SiteSummary, envelope: Uint8Array): Entry {
    const { hubId, epoch, sequence } = summary;
    const entry = { name: sha256Hex(envelope).slice(0, NAME_DIGITS), summary, envelope, receivedMs: this.#parts.clock.monotonic() };
    this.#entries.set(hubId, entry);
    this.#changed();
    this.#versions.delete(hubId);
    this.#versions.set(hubId, { epoch, sequence });
    const [oldest] = this.#versions.keys();
    if (this.#versions.size > MAX_VERSIONS && oldest !== undefined) this.#versions.delete(oldest);
    return entry;
  }
}

/** Verifies a summary and copies its bytes, because a view would keep the whole received message in memory. */
export const openSummary: OpenSummary = (envelope, keyOf) => ({
  summary: siteSummaryCodec.open(envelope, keyOf),
  envelope: Uint8Array.from(envelope),
});

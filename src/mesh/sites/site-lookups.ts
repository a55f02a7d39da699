import { lookupAnswerCodec, lookupRequestCodec, type SiteLookup } from '../../codec/messages/site.ts';
import { encodeBlobAnswer } from '../../codec/messages/sync.ts';
import { type Clock, pause } from '../../core/clock.ts';
import { AtmoError } from '../../core/errors.ts';
import type { HubId } from '../../core/ids.ts';
import type { BlobStore } from '../gossip/blob-store.ts';
import { requestWithin } from '../gossip/neighbour-rounds.ts';
import { ConcurrencyLimit, KeyedRateLimit } from '../rate-limit.ts';
import type { IncomingRequest, PeerLink, PeerLinks } from '../rpc/peer-link.ts';

/** Words of a hub of this site, and what a lookup that finds the hub is answered. */
export interface FoundHub {
  readonly id: HubId;
  readonly words: ReadonlySet<string>;
  /** Returns the announcements of the hub with their original signatures, from oldest to newest. */
  readonly envelopes: () => readonly Uint8Array[];
  /** Returns the names of the definitions and pages that the announcements contain. */
  readonly blobs: () => readonly string[];
}

interface LookupCollaborators {
  readonly site: string;
  readonly links: PeerLinks;
  readonly blobs: BlobStore;
  readonly clock: Clock;
  /** Returns the hubs of this site. */
  readonly hubs: () => readonly FoundHub[];
  /** Returns the hubs to which requests for a site can be sent, best first. A hub that is not connected can be reached by `connect`. */
  readonly hopsTo: (site: string) => readonly HubId[];
  readonly connect: (id: HubId, signal: AbortSignal) => Promise<void>;
}

/** Time limit of a lookup in milliseconds. */
const LOOKUP_MS = 5_000;
/** If no answer has come after this number of milliseconds, the next hub is asked too, as RFC 8305 does it with addresses. */
const STAGGER_MS = 700;
/** Maximum number of hubs that forward a lookup: those of this site up to its border member, and those of the other site's border. */
const HOPS = 8;
const REQUEST_RATE = { burst: 64, perSecond: 8 };
const MAX_PARALLEL = 8;
/** Maximum size, in bytes, of the announcements and of the definitions in an answer. */
const MAX_ENVELOPE_BYTES = 262_144;
const MAX_DEFINITION_BYTES = 2_097_152;
const MAX_HUBS = 32;
const BLOBS_PER_ANSWER = 256;

/** Looks up hubs of other sites, answers lookups about the hubs of this site, and forwards lookups between sites. */
export class SiteLookups {
  readonly #parts: LookupCollaborators;
  readonly #rateLimit: KeyedRateLimit;
  readonly #forwarding = new ConcurrencyLimit(MAX_PARALLEL);

  constructor(parts: LookupCollaborators) {
    this.#parts = parts;
    this.#rateLimit = new KeyedRateLimit(parts.clock, REQUEST_RATE);
  }

  listen(): void {
    this.#parts.links.handle('lookup', (request) => this.#answer(request));
  }

  /** Returns the encoded answer of the site and the neighbour that sent it; undefined if no hub that leads to the site answers. */
  ask(lookup: Pick<SiteLookup, 'site' | 'words'>): Promise<{ readonly bytes: Uint8Array; readonly from: HubId } | undefined> {
    return this.#send({ ...lookup, hopsLeft: HOPS });
  }

  async #send(lookup: SiteLookup, except?: HubId) {
    const { clock, hopsTo } = this.#parts;
    const body = lookupRequestCodec.encode(lookup);
    const hops = hopsTo(lookup.site).filter((id) => id !== except);
    return await requestWithin(clock, LOOKUP_MS, async (timeout) => {
      const done = new AbortController();
      const signal = AbortSignal.any([timeout, done.signal]);
      try {
        return await Promise.any(hops.map((hop, index) => this.#sendTo(hop, { body, signal, delayMs: index * STAGGER_MS })));
      } catch (error) {
        throw error instanceof AggregateError ? new AtmoError('NODE_UNAVAILABLE', `No hub leads to ${lookup.site}`) : error;
      } finally {
        done.abort(new AtmoError('CANCELLED', 'Another hub has answered'));
      }
    });
  }

  async #sendTo(
    hop: HubId,
    { body, signal, delayMs }: { readonly body: Uint8Array; readonly signal: AbortSignal; readonly delayMs: number },
  ) {
    await pause(this.#parts.clock, delayMs, signal);
    signal.throwIfAborted();
    const link = await this.#linkTo(hop, signal);
    if (!link) throw new AtmoError('NODE_UNAVAILABLE', `There is no connection to ${hop}`);
    return { bytes: await link.request('lookup', body, { signal }), from: hop };
  }

  async #linkTo(hop: HubId, signal: AbortSignal): Promise<PeerLink | undefined> {
    const { links, connect } = this.#parts;
    if (!links.to(hop)) await connect(hop, signal);
    return links.to(hop);
  }

  async #answer({ from, body }: IncomingRequest): Promise<Uint8Array> {
    if (!this.#rateLimit.tryTake(from)) throw new AtmoError('RATE_LIMITED', 'The lookups are too frequent; try again in a second');
    const lookup = lookupRequestCodec.decode(body);
    if (lookup.site === this.#parts.site) return this.#found(lookup);
    if (lookup.hopsLeft === 0) throw new AtmoError('NO_CAPABLE_NODE', `The site ${lookup.site} is further away than a lookup goes`);
    using slot = this.#forwarding.enter(from);
    if (!slot) throw new AtmoError('RESOURCE_EXCEEDED', `${MAX_PARALLEL} lookups of ${from} are being forwarded; wait for one`);
    const answer = await this.#send({ ...lookup, hopsLeft: lookup.hopsLeft - 1 }, from);
    if (!answer) throw new AtmoError('NODE_UNAVAILABLE', `No hub that leads to the site ${lookup.site} answers`);
    // Decoding refuses what is no answer, before this hub passes it on.
    lookupAnswerCodec.decode(answer.bytes);
    return answer.bytes;
  }

  /** Returns the hubs that have most of the words. */
  #found({ words }: SiteLookup): Uint8Array {
    const counted = this.#parts.hubs().map((hub) => ({ hub, count: words.filter((word) => hub.words.has(word)).length }));
    const most = Math.max(0, ...counted.map(({ count }) => count));
    const found = most === 0 ? [] : counted.filter(({ count }) => count === most).map(({ hub }) => hub);
    const envelopes: Uint8Array[] = [];
    const blobs = new Map<string, Uint8Array>();
    const isFull = () => sizeOf(envelopes) > MAX_ENVELOPE_BYTES || sizeOf(blobs.values()) > MAX_DEFINITION_BYTES;
    for (const hub of found.slice(0, MAX_HUBS)) {
      if (isFull()) break;
      envelopes.push(...hub.envelopes());
      for (const name of hub.blobs()) {
        const blob = isFull() ? undefined : this.#parts.blobs.get(name);
        if (blob) blobs.set(name, blob);
      }
    }
    return lookupAnswerCodec.encode({ envelopes, blobs: encoded([...blobs.values()]) });
  }
}

function encoded(blobs: readonly Uint8Array[]): readonly Uint8Array[] {
  const answers: Uint8Array[] = [];
  for (let start = 0; start < blobs.length; start += BLOBS_PER_ANSWER)
    answers.push(encodeBlobAnswer({ blobs: blobs.slice(start, start + BLOBS_PER_ANSWER) }));
  return answers;
}

function sizeOf(parts: Iterable<Uint8Array>): number {
  let sum = 0;
  for (const { length } of parts) sum += length;
  return sum;
}

import { type SummaryRequest, summaryAnswerCodec, summaryRequestCodec } from '../../codec/messages/site.ts';
import type { Clock } from '../../core/clock.ts';
import { AtmoError } from '../../core/errors.ts';
import type { HubId } from '../../core/ids.ts';
import type { Service } from '../../core/lifecycle.ts';
import type { DropCounter } from '../gossip/gossip-limits.ts';
import { NeighbourRounds, requestWithin } from '../gossip/neighbour-rounds.ts';
import { KeyedRateLimit } from '../rate-limit.ts';
import type { IncomingRequest, PeerLink, PeerLinks } from '../rpc/peer-link.ts';
import type { SummaryStore } from './summary-store.ts';

interface ExchangeCollaborators {
  readonly site: string;
  readonly links: PeerLinks;
  readonly summaries: SummaryStore;
  readonly drops: DropCounter;
  readonly clock: Clock;
  readonly random?: (() => number) | undefined;
  /** Called when a connected hub has said its site. */
  readonly onSite: (id: HubId, site: string) => void;
  /** Called when summaries of other hubs have arrived. */
  readonly onNews: () => void;
}

/** Summaries to offer to a neighbour, and summaries that it has offered. */
interface Pending {
  readonly offered: Set<string>;
  readonly wanted: Set<string>;
}

type Question = Pick<SummaryRequest, 'offered' | 'wanted' | 'known'>;

const REQUEST_TIMEOUT_MS = 5_000;
const REQUEST_RATE = { burst: 80, perSecond: 8 };
/** Maximum size of the summaries in one answer, in bytes. The others need another request. */
const MAX_ANSWER_BYTES = 1_048_576;
const MAX_REQUESTS = 8;

/**
 * Spreads summaries from neighbour to neighbour. A new summary is offered by its name and sent only to neighbours that lack it. About
 * every 30 s, two neighbours compare a digest of their summaries, and their names if the digests differ.
 */
export class SummaryExchange implements Service {
  readonly #parts: ExchangeCollaborators;
  readonly #rateLimit: KeyedRateLimit;
  readonly #rounds: NeighbourRounds;
  readonly #pending = new Map<HubId, Pending>();
  #stopListening = () => {};

  constructor(parts: ExchangeCollaborators) {
    this.#parts = parts;
    this.#rateLimit = new KeyedRateLimit(parts.clock, REQUEST_RATE);
    this.#rounds = new NeighbourRounds(parts, (link) => this.#ask(link));
  }

  async start(): Promise<void> {
    this.#parts.links.handle('summaries', async (request) => this.#answer(request));
    this.#stopListening = this.#parts.links.onLinkDown(({ peer }) => this.#pending.delete(peer.id));
    this.#rounds.start();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#rounds.stop();
    this.#stopListening();
  }

  /** Offers summaries to all neighbours except the one that they came from. */
  offer(names: readonly string[], except?: HubId): void {
    for (const { peer } of this.#parts.links.links()) {
      if (peer.id === except) continue;
      const { offered } = this.#pendingOf(peer.id);
      for (const name of names) offered.add(name);
      this.#rounds.enqueue(peer.id);
    }
  }

  #pendingOf(id: HubId): Pending {
    const pending = this.#pending.get(id) ?? { offered: new Set(), wanted: new Set() };
    this.#pending.set(id, pending);
    return pending;
  }

  async #ask(link: PeerLink): Promise<void> {
    const { offered, wanted } = this.#pendingOf(link.peer.id);
    this.#pending.delete(link.peer.id);
    const own = this.#parts.summaries.names();
    const isPlanned = offered.size + wanted.size > 0;
    const question = { offered: [...offered].filter((name) => own.has(name)), wanted: [...wanted].filter((name) => !own.has(name)) };
    const theirs = await this.#askOnce(link, question);
    // A planned question is about some summaries. While they are on their way, the digests differ everywhere.
    if (isPlanned || theirs === undefined) return;
    let digest: string | undefined = theirs;
    for (let count = 0; count < MAX_REQUESTS && digest !== undefined && digest !== this.#parts.summaries.digest(); count++) {
      const before = this.#parts.summaries.digest();
      digest = await this.#askOnce(link, { offered: [], wanted: [], known: [...this.#parts.summaries.names()] });
      if (this.#parts.summaries.digest() === before) break;
    }
  }

  /** Returns the digest of the neighbour's summaries; undefined if it did not answer. */
  async #askOnce(link: PeerLink, question: Question): Promise<string | undefined> {
    const { clock, site, onSite } = this.#parts;
    const answer = await requestWithin(clock, REQUEST_TIMEOUT_MS, async (signal) => {
      const body = summaryRequestCodec.encode({ site, digest: this.#parts.summaries.digest(), ...question });
      return summaryAnswerCodec.decode(await link.request('summaries', body, { signal }));
    });
    if (!answer) return undefined;
    onSite(link.peer.id, answer.site);
    this.#store(answer.summaries, link.peer.id);
    return answer.digest;
  }

  #store(envelopes: readonly Uint8Array[], from: HubId): void {
    const { summaries, drops, onNews } = this.#parts;
    const news: string[] = [];
    for (const envelope of envelopes) {
      const result = summaries.receive(envelope);
      if (typeof result === 'string') drops.count(result);
      else news.push(result.name);
    }
    if (news.length === 0) return;
    this.offer(news, from);
    onNews();
  }

  #answer({ from, body }: IncomingRequest): Uint8Array {
    if (!this.#rateLimit.tryTake(from))
      throw new AtmoError('RATE_LIMITED', 'The requests for summaries are too frequent; try again in a second');
    const { site, summaries, onSite, clock } = this.#parts;
    const request = summaryRequestCodec.decode(body);
    // After the answer has been sent. The neighbour must know the site of this hub before it gets other requests.
    clock.after(0, () => onSite(from, request.site));
    const own = summaries.names();
    const lacking = [...request.offered, ...(request.known ?? [])].filter((name) => !own.has(name));
    if (lacking.length > 0) {
      const { wanted } = this.#pendingOf(from);
      for (const name of lacking) wanted.add(name);
      this.#rounds.enqueue(from);
    }
    const wanted = new Set(request.wanted);
    const known = request.known && new Set(request.known);
    const isWanted = (name: string) => wanted.has(name) || (known !== undefined && !known.has(name));
    return summaryAnswerCodec.encode({
      site,
      digest: this.#parts.summaries.digest(),
      summaries: summaries.envelopes(isWanted, MAX_ANSWER_BYTES),
    });
  }
}

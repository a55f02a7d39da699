import { syncAnswerCodec, syncRequestCodec } from '../../codec/messages/sync.ts';
import type { Clock } from '../../core/clock.ts';
import { AtmoError } from '../../core/errors.ts';
import type { HubId } from '../../core/ids.ts';
import type { Service } from '../../core/lifecycle.ts';
import { KeyedRateLimit } from '../rate-limit.ts';
import type { IncomingRequest, PeerLink, PeerLinks } from '../rpc/peer-link.ts';
import type { MeshDirectory } from './mesh-directory.ts';
import { NeighbourRounds, requestWithin } from './neighbour-rounds.ts';

interface AntiEntropyCollaborators {
  readonly links: PeerLinks;
  readonly directory: MeshDirectory;
  readonly clock: Clock;
  readonly random?: (() => number) | undefined;
  /** Returns whether a neighbour exchanges announcements with this hub, as all do in a mesh without sites. */
  readonly isPartner?: (id: HubId) => boolean;
}

/** Approximate maximum size of a response in bytes. The neighbour requests the rest separately. */
const MAX_ANSWER_BYTES = 1_048_576;
const MAX_REQUESTS = 16;
const REQUEST_TIMEOUT_MS = 5_000;
const REQUEST_RATE = { burst: 40, perSecond: 4 };

/**
 * Fetches announcements that this hub missed, because gossip sends each message only once. Compares announcement versions with each new
 * neighbour, with a neighbour that has newer announcements, and every 30 s with a random neighbour.
 */
export class AntiEntropy implements Service {
  readonly #parts: AntiEntropyCollaborators;
  readonly #rateLimit: KeyedRateLimit;
  readonly #rounds: NeighbourRounds;
  #stopListening: (() => void) | undefined;

  constructor(parts: AntiEntropyCollaborators) {
    this.#parts = parts;
    this.#rateLimit = new KeyedRateLimit(parts.clock, REQUEST_RATE);
    this.#rounds = new NeighbourRounds(parts, (link) => this.#fetch(link));
  }

  async start(): Promise<void> {
    const { links, directory } = this.#parts;
    links.handle('sync', async (request) => this.#answer(request));
    this.#stopListening = directory.onBehind((from) => this.#rounds.enqueue(from));
    this.#rounds.start();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#rounds.stop();
    this.#stopListening?.();
  }

  /** Compares announcement versions with a neighbour that has turned out to be a partner. */
  compare(id: HubId): void {
    this.#rounds.enqueue(id);
  }

  /** Fetches missing announcements from a neighbour. If some were new, also compares with the other neighbours, which may lack them. */
  async #fetch(link: PeerLink): Promise<void> {
    const { clock, directory } = this.#parts;
    let hasNews = false;
    for (let count = 0; count < MAX_REQUESTS; count++) {
      const answer = await requestWithin(clock, REQUEST_TIMEOUT_MS, async (signal) => {
        const body = syncRequestCodec.encode({ vector: directory.vector() });
        return syncAnswerCodec.decode(await link.request('sync', body, { signal }));
      });
      const verdicts = (answer?.envelopes ?? []).map((envelope) => directory.receive(envelope, link.peer.id));
      if (!answer || !verdicts.includes('accept')) break;
      hasNews = true;
      if (!directory.isBehind(answer.vector)) break;
    }
    if (hasNews) this.#rounds.enqueueAll(link.peer.id);
  }

  #answer({ from, body }: IncomingRequest): Uint8Array {
    if (!this.#rateLimit.tryTake(from))
      throw new AtmoError('RATE_LIMITED', 'The requests for announcements are too frequent; try again in a second');
    const { directory, isPartner } = this.#parts;
    const { vector } = syncRequestCodec.decode(body);
    if (isPartner?.(from) === false) return syncAnswerCodec.encode({ vector: [], envelopes: [] });
    if (directory.isBehind(vector)) this.#rounds.enqueue(from);
    return syncAnswerCodec.encode({ vector: directory.vector(), envelopes: directory.envelopesBeyond(vector, MAX_ANSWER_BYTES) });
  }
}

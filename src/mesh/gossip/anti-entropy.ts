import { type SyncAnswer, syncAnswerCodec, syncRequestCodec } from '../../codec/messages/sync.ts';
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
}

/** About so much is told in one answer; then it is asked again. */
const MAX_ANSWER_BYTES = 1_048_576;
const MAX_ROUNDS = 16;
const REQUEST_TIMEOUT_MS = 5_000;
const REQUEST_RATE = { burst: 40, perSecond: 4 };

/**
 * Compares with neighbours what each knows of every hub, and fetches what is missing: gossip repeats nothing. It happens when a
 * connection comes up, when something was missed, and every 30 s with a random neighbour. News that came this way go on the
 * same way, since gossip has told them before.
 */
export class AntiEntropy implements Service {
  readonly #parts: AntiEntropyCollaborators;
  readonly #asked: KeyedRateLimit;
  readonly #rounds: NeighbourRounds;
  #stopListening: (() => void) | undefined;

  constructor(collaborators: AntiEntropyCollaborators) {
    this.#parts = collaborators;
    this.#asked = new KeyedRateLimit(collaborators.clock, REQUEST_RATE);
    this.#rounds = new NeighbourRounds({
      links: collaborators.links,
      clock: collaborators.clock,
      random: collaborators.random,
      ask: (link) => this.#ask(link),
    });
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

  /** What is new here is new to neighbours too; each sees from our question that there is something to ask for. */
  async #ask(link: PeerLink): Promise<void> {
    if (await this.#pull(link)) this.#rounds.enqueueAll(link.peer.id);
  }

  /** True when something was new. */
  async #pull(link: PeerLink): Promise<boolean> {
    let hasNews = false;
    for (let round = 0; round < MAX_ROUNDS; round++) {
      const answer = await this.#request(link);
      const isNews = this.#take(answer?.envelopes ?? [], link.peer.id);
      if (!answer || !isNews) return hasNews;
      hasNews = true;
      if (!this.#parts.directory.isBehind(answer.vector)) return true;
    }
    return hasNews;
  }

  async #request(link: PeerLink): Promise<SyncAnswer | undefined> {
    const { clock, directory } = this.#parts;
    return await requestWithin(clock, REQUEST_TIMEOUT_MS, async (signal) => {
      const body = syncRequestCodec.encode({ vector: directory.vector() });
      return syncAnswerCodec.decode(await link.request('sync', body, { signal }));
    });
  }

  /** True when something was new. */
  #take(envelopes: SyncAnswer['envelopes'], from: HubId): boolean {
    return envelopes.map((envelope) => this.#parts.directory.receive(envelope, from) === 'accept').some(Boolean);
  }

  #answer({ from, body }: IncomingRequest): Uint8Array {
    if (!this.#asked.tryTake(from)) throw new AtmoError('RATE_LIMITED', 'The news were asked for too often; ask again in a second');
    const { directory } = this.#parts;
    const { vector } = syncRequestCodec.decode(body);
    if (directory.isBehind(vector)) this.#rounds.enqueue(from);
    return syncAnswerCodec.encode({ vector: directory.vector(), envelopes: directory.envelopesBeyond(vector, MAX_ANSWER_BYTES) });
  }
}

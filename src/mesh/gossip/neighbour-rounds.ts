import type { Clock } from '../../core/clock.ts';
import { AtmoError } from '../../core/errors.ts';
import type { HubId } from '../../core/ids.ts';
import type { PeerLink, PeerLinks } from '../rpc/peer-link.ts';
import { ANTI_ENTROPY_MS } from './gossip-limits.ts';
import { Ticker } from './timers.ts';

interface RoundsCollaborators {
  readonly links: PeerLinks;
  readonly clock: Clock;
  readonly random?: (() => number) | undefined;
  /** Asks one neighbour; never rejects. */
  readonly ask: (link: PeerLink) => Promise<void>;
}

/** Neighbours that are asked at a time: what the first one told, the next need not tell again. */
const PARALLEL = 2;
/** A neighbour is not asked more often than this; what comes up in between is asked for together. */
const PAUSE_MS = 250;

/** Asks neighbours: each one when its connection comes up, whichever is worth asking, and every 30 s a random one. */
export class NeighbourRounds {
  readonly #links: PeerLinks;
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #ask: (link: PeerLink) => Promise<void>;
  readonly #ticker: Ticker;
  /** In the order in which they are asked. */
  readonly #wanted = new Set<HubId>();
  /** Asked at the moment, or a moment ago. */
  readonly #resting = new Set<HubId>();
  #running = 0;
  #stopListening: (() => void) | undefined;

  constructor({ links, clock, random = Math.random, ask }: RoundsCollaborators) {
    this.#links = links;
    this.#clock = clock;
    this.#random = random;
    this.#ask = ask;
    this.#ticker = new Ticker({ clock, random }, ANTI_ENTROPY_MS);
  }

  start(): void {
    this.#stopListening = this.#links.onLinkUp(({ peer }) => this.enqueue(peer.id));
    this.enqueueAll();
    this.#ticker.start(() => this.#wantAnyone());
  }

  stop(): void {
    this.#ticker.stop();
    this.#stopListening?.();
    this.#stopListening = undefined;
    this.#wanted.clear();
  }

  /** Asks a neighbour as soon as it is its turn. */
  enqueue(id: HubId): void {
    if (!this.#stopListening) return;
    this.#wanted.add(id);
    this.#next();
  }

  enqueueAll(except?: HubId): void {
    for (const { peer } of this.#links.links()) if (peer.id !== except) this.enqueue(peer.id);
  }

  #wantAnyone(): void {
    const links = this.#links.links();
    const link = links[Math.floor(this.#random() * links.length)];
    if (link) this.enqueue(link.peer.id);
  }

  #next(): void {
    if (this.#running >= PARALLEL) return;
    const id = [...this.#wanted].find((wanted) => !this.#resting.has(wanted));
    if (id === undefined) return;
    this.#wanted.delete(id);
    const link = this.#links.to(id);
    if (link) void this.#run(link);
    this.#next();
  }

  async #run(link: PeerLink): Promise<void> {
    const { id } = link.peer;
    this.#running += 1;
    this.#resting.add(id);
    await this.#ask(link);
    this.#running -= 1;
    this.#clock.after(PAUSE_MS, () => {
      this.#resting.delete(id);
      this.#next();
    });
    this.#next();
  }
}

/** The answer of a neighbour, undefined when it refuses, goes away or takes too long: another one will know. */
export async function requestWithin<Answer>(
  clock: Clock,
  timeoutMs: number,
  ask: (signal: AbortSignal) => Promise<Answer>,
): Promise<Answer | undefined> {
  const abort = new AbortController();
  const cancel = clock.after(timeoutMs, () => abort.abort(new AtmoError('CANCELLED', 'The neighbour took too long to answer')));
  try {
    return await ask(abort.signal);
  } catch (error) {
    if (error instanceof AtmoError) return undefined;
    throw error;
  } finally {
    cancel();
  }
}

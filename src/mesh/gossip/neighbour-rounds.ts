import type { Clock } from '../../core/clock.ts';
import { AtmoError } from '../../core/errors.ts';
import type { HubId } from '../../core/ids.ts';
import type { PeerLink, PeerLinks } from '../rpc/peer-link.ts';
import { ANTI_ENTROPY_MS } from './gossip-limits.ts';
import { repeatWithJitter } from './timers.ts';

interface RoundsCollaborators {
  readonly links: PeerLinks;
  readonly clock: Clock;
  readonly random?: (() => number) | undefined;
  /** Returns whether a neighbour is queried; default: every neighbour. */
  readonly isPartner?: (id: HubId) => boolean;
}

/** Maximum number of neighbours that are queried at once. It is small, so that two neighbours seldom send the same data. */
const PARALLEL = 2;
/** Minimum pause, in milliseconds, between two queries of one neighbour. All `enqueue` calls in between lead to a single query. */
const PAUSE_MS = 250;

/** Queries a neighbour when it connects, and on a call of `enqueue` or `enqueueAll`. About every 30 s, also queries a random neighbour. */
export class NeighbourRounds {
  readonly #parts: RoundsCollaborators;
  readonly #random: () => number;
  readonly #query: (link: PeerLink) => Promise<void>;
  /** Neighbours to query, in the order in which they were enqueued. */
  readonly #waiting = new Set<HubId>();
  /** Neighbours that are queried now or were queried less than PAUSE_MS ago. */
  readonly #resting = new Set<HubId>();
  #running = 0;
  #stopTicks = () => {};
  #stopListening: (() => void) | undefined;

  /** `query` must query one neighbour and never reject. */
  constructor(parts: RoundsCollaborators, query: (link: PeerLink) => Promise<void>) {
    this.#parts = parts;
    this.#random = parts.random ?? Math.random;
    this.#query = query;
  }

  start(): void {
    const { links, clock } = this.#parts;
    this.#stopListening = links.onLinkUp(({ peer }) => this.enqueue(peer.id));
    this.enqueueAll();
    this.#stopTicks = repeatWithJitter(clock, this.#random, ANTI_ENTROPY_MS, () => this.#enqueueAny());
  }

  stop(): void {
    this.#stopTicks();
    this.#stopListening?.();
    this.#stopListening = undefined;
    this.#waiting.clear();
  }

  /** Queries a neighbour as soon as its turn comes. */
  enqueue(id: HubId): void {
    if (!this.#stopListening || this.#parts.isPartner?.(id) === false) return;
    this.#waiting.add(id);
    this.#next();
  }

  enqueueAll(except?: HubId): void {
    for (const { peer } of this.#parts.links.links()) if (peer.id !== except) this.enqueue(peer.id);
  }

  #enqueueAny(): void {
    const links = this.#parts.links.links();
    const link = links[Math.floor(this.#random() * links.length)];
    if (link) this.enqueue(link.peer.id);
  }

  #next(): void {
    if (this.#running >= PARALLEL) return;
    const id = this.#waiting.difference(this.#resting).values().next().value;
    if (id === undefined) return;
    this.#waiting.delete(id);
    const link = this.#parts.links.to(id);
    if (link) void this.#run(link);
    this.#next();
  }

  async #run(link: PeerLink): Promise<void> {
    const { id } = link.peer;
    this.#running += 1;
    this.#resting.add(id);
    await this.#query(link);
    this.#running -= 1;
    this.#parts.clock.after(PAUSE_MS, () => {
      this.#resting.delete(id);
      this.#next();
    });
    this.#next();
  }
}

/** Returns the response, or undefined if the neighbour refuses, disconnects or is too slow. Other neighbours have the same data. */
export async function requestWithin<Answer>(
  clock: Clock,
  timeoutMs: number,
  request: (signal: AbortSignal) => Promise<Answer>,
): Promise<Answer | undefined> {
  const abort = new AbortController();
  const cancel = clock.after(timeoutMs, () => abort.abort(new AtmoError('CANCELLED', 'The neighbour took too long to answer')));
  try {
    return await request(abort.signal);
  } catch (error) {
    if (error instanceof AtmoError) return undefined;
    throw error;
  } finally {
    cancel();
  }
}

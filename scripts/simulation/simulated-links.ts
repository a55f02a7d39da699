import { type Clock, orAborted } from '../../src/core/clock.ts';
import { AtmoError } from '../../src/core/errors.ts';
import type { HubId } from '../../src/core/ids.ts';
import type { PeerLink, PeerLinks, RequestHandler, RequestKind, RequestOptions } from '../../src/mesh/rpc/peer-link.ts';
import type { EnginePeer, MeshEngine } from '../../src/mesh/transport/mesh-engine.ts';

/** What went through the links of one hub. */
interface LinkTraffic {
  requests: number;
  /** Of questions asked and answers given. */
  sentBytes: number;
}

/** Head of a frame, its share of a packet and of the encryption: added to each message that is counted. */
export const OVERHEAD_BYTES = 100;

const NEVER = new Promise<never>(() => {});

/** Requests between engines of one process, without frames in between; they take their time on the clock and are counted. */
export class SimulatedLinks implements PeerLinks {
  /** Set while the machine has lost its power and its neighbours have not noticed it. */
  isSilent = false;
  readonly traffic: LinkTraffic = { requests: 0, sentBytes: 0 };
  readonly #engine: MeshEngine;
  readonly #clock: Clock;
  readonly #all: Map<HubId, SimulatedLinks>;
  readonly #latencyMs: number;
  readonly #links = new Map<HubId, PeerLink>();
  readonly #handlers = new Map<RequestKind, RequestHandler>();
  readonly #up = new Set<(link: PeerLink) => void>();
  readonly #down = new Set<(link: PeerLink) => void>();

  /** `all`: the links of every hub of the simulation by id. */
  constructor(
    engine: MeshEngine,
    { clock, all, latencyMs }: { readonly clock: Clock; readonly all: Map<HubId, SimulatedLinks>; readonly latencyMs: number },
  ) {
    this.#engine = engine;
    this.#clock = clock;
    this.#all = all;
    this.#latencyMs = latencyMs;
    all.set(engine.id, this);
    engine.onPeerUp((peer) => this.#open(peer));
    engine.onPeerDown(({ id }) => this.#close(id));
  }

  links(): readonly PeerLink[] {
    return [...this.#links.values()];
  }

  to(id: HubId): PeerLink | undefined {
    return this.#links.get(id);
  }

  handle(kind: RequestKind, handler: RequestHandler): void {
    this.#handlers.set(kind, handler);
  }

  onLinkUp(listener: (link: PeerLink) => void): () => void {
    this.#up.add(listener);
    return () => this.#up.delete(listener);
  }

  onLinkDown(listener: (link: PeerLink) => void): () => void {
    this.#down.add(listener);
    return () => this.#down.delete(listener);
  }

  /** Answers a neighbour. */
  async answer(
    kind: RequestKind,
    body: Uint8Array,
    { from, signal }: { readonly from: HubId; readonly signal: AbortSignal },
  ): Promise<Uint8Array> {
    if (this.isSilent) return NEVER;
    const handler = this.#handlers.get(kind);
    if (!handler) throw new AtmoError('NOT_SUPPORTED', `Nobody answers ${kind} here`);
    const answer = await handler({
      from,
      fromKey: this.#links.get(from)?.peer.publicKey ?? '',
      body,
      signal,
      accept: () => undefined,
      part: async () => undefined,
    });
    this.traffic.sentBytes += answer.length + OVERHEAD_BYTES;
    return answer;
  }

  #open(peer: EnginePeer): void {
    const link: PeerLink = {
      peer,
      roundTripMs: 2 * this.#latencyMs,
      peerClock: { earliestMs: undefined, untilKnown: async () => {} },
      request: (kind, body, options) => this.#request(peer.id, { kind, body, options }),
    };
    this.#links.set(peer.id, link);
    for (const listener of this.#up) listener(link);
  }

  #close(id: HubId): void {
    const link = this.#links.get(id);
    this.#links.delete(id);
    if (link) for (const listener of this.#down) listener(link);
  }

  async #request(
    id: HubId,
    { kind, body, options }: { readonly kind: RequestKind; readonly body: Uint8Array; readonly options: RequestOptions },
  ): Promise<Uint8Array> {
    if (this.isSilent) await orAborted(NEVER, options.signal);
    this.traffic.requests += 1;
    this.traffic.sentBytes += body.length + OVERHEAD_BYTES;
    await orAborted(this.#wait(), options.signal);
    const other = this.#all.get(id);
    if (!other || !this.#links.has(id)) throw new AtmoError('NODE_UNAVAILABLE', `${id} is not connected`);
    const answer = await orAborted(other.answer(kind, body, { from: this.#engine.id, signal: options.signal }), options.signal);
    await this.#wait();
    if (!this.#links.has(id)) throw new AtmoError('NODE_UNAVAILABLE', `${id} is not connected any more`);
    return answer;
  }

  #wait(): Promise<void> {
    return new Promise((resolve) => void this.#clock.after(this.#latencyMs, resolve));
  }
}

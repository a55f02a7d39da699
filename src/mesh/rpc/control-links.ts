import type { Clock } from '../../core/clock.ts';
import type { HubContext } from '../../core/context.ts';
import type { HubId } from '../../core/ids.ts';
import type { Service } from '../../core/lifecycle.ts';
import { type BucketRate, TokenBucket } from '../rate-limit.ts';
import type { EnginePeer, MeshEngine, MeshStream } from '../transport/mesh-engine.ts';
import { ControlLink, type LinkEnd } from './control-link.ts';
import { type DropSink, type PeerLink, type PeerLinks, REQUEST_KINDS, type RequestHandler, type RequestKind } from './peer-link.ts';

/** Protocol of the control stream. */
export const CONTROL_PROTOCOL = '/atmosphere-edge/control/1';
/** Rate limit for requests from one neighbour: high enough for a busy house, low enough to stop a flood. */
const DEFAULT_RATE: BucketRate = { burst: 1_000, perSecond: 1_000 };

interface ControlLinksCollaborators extends Pick<HubContext, 'clock' | 'logger'> {
  readonly engine: MeshEngine;
  readonly drops: DropSink;
}

type LinkListener = (link: PeerLink) => void;

/**
 * Keeps one control stream to every connected hub. The hub with the lower id opens the stream. If there is no stream after one second, the
 * other hub opens one. If both hubs open a stream, they keep the stream of the hub with the lower id.
 */
export class ControlLinks implements PeerLinks, Service {
  readonly #collaborators: ControlLinksCollaborators;
  readonly #rate: BucketRate;
  readonly #links = new Map<HubId, ControlLink>();
  /** Token buckets of connected peers. A bucket stays when a link ends, so that a new stream does not start with a full bucket. */
  readonly #buckets = new Map<HubId, TokenBucket>();
  readonly #handlers = new Map<number, RequestHandler>();
  readonly #up = new Set<LinkListener>();
  readonly #down = new Set<LinkListener>();
  readonly #opener: LinkOpener;
  readonly #stops: (() => void)[] = [];
  #isStopped = false;

  constructor(collaborators: ControlLinksCollaborators, options: { readonly rate?: BucketRate } = {}) {
    this.#collaborators = collaborators;
    this.#rate = options.rate ?? DEFAULT_RATE;
    const { engine, clock } = collaborators;
    this.#opener = new LinkOpener(engine, clock, (stream) => this.#opened(stream));
  }

  async start(): Promise<void> {
    const { engine } = this.#collaborators;
    engine.handle(CONTROL_PROTOCOL, (stream) => this.#accept(stream));
    this.#stops.push(engine.onPeerUp((peer) => this.#opener.schedule(peer.id)));
    this.#stops.push(engine.onPeerDown((peer) => this.#left(peer)));
    for (const peer of engine.peers()) this.#opener.schedule(peer.id);
  }

  links(): readonly PeerLink[] {
    return [...this.#links.values()];
  }

  to(id: HubId): PeerLink | undefined {
    return this.#links.get(id);
  }

  handle(kind: RequestKind, handler: RequestHandler): void {
    this.#handlers.set(REQUEST_KINDS[kind], handler);
  }

  onLinkUp(listener: LinkListener): () => void {
    this.#up.add(listener);
    return () => this.#up.delete(listener);
  }

  onLinkDown(listener: LinkListener): () => void {
    this.#down.add(listener);
    return () => this.#down.delete(listener);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isStopped = true;
    for (const stop of this.#stops.splice(0)) stop();
    this.#opener.stop();
    await Promise.allSettled([...this.#links.values()].map((link) => link.goodbye()));
  }

  #opened(stream: MeshStream): void {
    if (this.#isStopped || this.#links.has(stream.peer.id)) stream.abort();
    else this.#take(stream);
  }

  #accept(stream: MeshStream): void {
    const { id } = stream.peer;
    const known = this.#links.get(id);
    const isTheirTurn = id < this.#collaborators.engine.id;
    if (this.#isStopped || (!isTheirTurn && (known || this.#opener.isOpening(id)))) stream.abort();
    else {
      known?.end('replaced');
      this.#take(stream);
    }
  }

  #take(stream: MeshStream): void {
    const { clock, logger, drops, engine } = this.#collaborators;
    const { id } = stream.peer;
    this.#opener.linked(id);
    const link = new ControlLink(
      {
        stream,
        clock,
        logger,
        drops,
        rate: this.#bucketOf(id),
        handlerOf: (kind) => this.#handlers.get(kind),
        onEnd: (ended, reason) => this.#ended(ended, reason),
      },
      engine.id < id ? 'odd' : 'even',
    );
    this.#links.set(id, link);
    link.start();
    if (!link.isEnded) for (const listener of this.#up) listener(link);
  }

  #ended(link: ControlLink, reason: LinkEnd): void {
    const { engine, logger } = this.#collaborators;
    const { id } = link.peer;
    logger.debug('mesh.link_closed', { hub: id, reason });
    if (this.#links.get(id) === link) this.#links.delete(id);
    for (const listener of this.#down) listener(link);
    // If a peer is silent or floods the link, this hub ends the whole connection, even if the socket is still open.
    if (reason === 'silent' || reason === 'flooded') engine.disconnect(id).catch(() => {});
    else if (!this.#isStopped && reason !== 'replaced' && engine.peers().some((peer) => peer.id === id)) this.#opener.retry(id);
  }

  #left({ id }: EnginePeer): void {
    this.#opener.forget(id);
    this.#buckets.delete(id);
    this.#links.get(id)?.end('closed');
  }

  #bucketOf(id: HubId): TokenBucket {
    const bucket = this.#buckets.get(id) ?? new TokenBucket(this.#collaborators.clock, this.#rate);
    this.#buckets.set(id, bucket);
    return bucket;
  }
}

/** Milliseconds for which the hub with the higher id waits until the other hub opens the stream. */
const THEIR_TURN_MS = 1_000;
const FIRST_RETRY_MS = 250;
const MAX_RETRY_MS = 30_000;
/** If a link lived at least this number of milliseconds, the next retry begins with the short delay again. */
const GOOD_LIFE_MS = 60_000;

interface PendingLink {
  readonly controller: AbortController;
  isOpening: boolean;
  retryMs: number;
  /** Start of the last link, by the monotonic clock. */
  sinceMs: number;
  cancel: () => void;
}

/** Opens the control stream to connected hubs and retries until there is a stream. */
class LinkOpener {
  readonly #engine: MeshEngine;
  readonly #clock: Clock;
  readonly #onOpen: (stream: MeshStream) => void;
  readonly #pending = new Map<HubId, PendingLink>();

  constructor(engine: MeshEngine, clock: Clock, onOpen: (stream: MeshStream) => void) {
    this.#engine = engine;
    this.#clock = clock;
    this.#onOpen = onOpen;
  }

  /** Schedules the opening of a stream to a connected hub. */
  schedule(id: HubId): void {
    if (this.#pending.has(id)) return;
    const pending: PendingLink = {
      controller: new AbortController(),
      isOpening: false,
      retryMs: FIRST_RETRY_MS,
      sinceMs: 0,
      cancel: () => {},
    };
    this.#pending.set(id, pending);
    if (this.#engine.id < id) void this.#open(id, pending);
    else this.#openAfter(id, THEIR_TURN_MS);
  }

  isOpening(id: HubId): boolean {
    return this.#pending.get(id)?.isOpening ?? false;
  }

  /** Stops the attempts to open a link, because this hub or the peer has opened one. */
  linked(id: HubId): void {
    this.schedule(id);
    const pending = this.#pending.get(id);
    pending?.cancel();
    if (pending) pending.sinceMs = this.#clock.monotonic();
  }

  /** Schedules a new link to a hub whose link ended although the connection is still there. */
  retry(id: HubId): void {
    const pending = this.#pending.get(id);
    if (!pending) return;
    const livedMs = this.#clock.monotonic() - pending.sinceMs;
    if (livedMs >= GOOD_LIFE_MS) pending.retryMs = FIRST_RETRY_MS;
    this.#retryLater(id, pending);
  }

  forget(id: HubId): void {
    const pending = this.#pending.get(id);
    this.#pending.delete(id);
    pending?.cancel();
    pending?.controller.abort();
  }

  stop(): void {
    for (const id of [...this.#pending.keys()]) this.forget(id);
  }

  #retryLater(id: HubId, pending: PendingLink): void {
    const theirTurnMs = this.#engine.id < id ? 0 : THEIR_TURN_MS;
    this.#openAfter(id, pending.retryMs + theirTurnMs);
    pending.retryMs = Math.min(MAX_RETRY_MS, pending.retryMs * 2);
  }

  #openAfter(id: HubId, delayMs: number): void {
    const pending = this.#pending.get(id);
    if (!pending) return;
    pending.cancel();
    pending.cancel = this.#clock.after(delayMs, () => void this.#open(id, pending));
  }

  async #open(id: HubId, pending: PendingLink): Promise<void> {
    if (pending.isOpening) return;
    pending.isOpening = true;
    try {
      const stream = await this.#engine.openStream(id, CONTROL_PROTOCOL, { signal: pending.controller.signal });
      pending.isOpening = false;
      this.#onOpen(stream);
    } catch {
      pending.isOpening = false;
      // The hub is gone or does not support the protocol yet. The engine has already counted the failure.
      if (this.#pending.get(id) === pending) this.#retryLater(id, pending);
    }
  }
}

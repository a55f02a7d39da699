import type { Clock } from '../../core/clock.ts';
import type { HubId } from '../../core/ids.ts';
import type { Service } from '../../core/lifecycle.ts';
import type { Logger } from '../../core/logger.ts';
import { type BucketRate, TokenBucket } from '../rate-limit.ts';
import type { EnginePeer, MeshEngine, MeshStream } from '../transport/mesh-engine.ts';
import { ControlLink, type LinkEnd } from './control-link.ts';
import { type DropSink, type PeerLink, type PeerLinks, REQUEST_KINDS, type RequestHandler, type RequestKind } from './peer-link.ts';

/** Protocol of the control stream. */
export const CONTROL_PROTOCOL = '/atmosphere-edge/control/1';
/** Requests that one neighbour may send: enough for a house that is busy, not for one that floods. */
const DEFAULT_RATE: BucketRate = { burst: 1_000, perSecond: 1_000 };

interface ControlLinksCollaborators {
  readonly engine: MeshEngine;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly drops: DropSink;
}

type LinkListener = (link: PeerLink) => void;

/**
 * One control stream to every connected hub. The hub with the lower id opens it; the other one does when nothing came
 * within a second. Where both did, the stream of the lower id stays.
 */
export class ControlLinks implements PeerLinks, Service {
  readonly #collaborators: ControlLinksCollaborators;
  readonly #rate: BucketRate;
  readonly #links = new Map<HubId, ControlLink>();
  /** Kept while the peer is connected: a new stream does not fill its bucket again. */
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
    this.#opener = new LinkOpener({ engine, clock, protocol: CONTROL_PROTOCOL, onOpen: (stream) => this.#opened(stream) });
  }

  async start(): Promise<void> {
    const { engine } = this.#collaborators;
    engine.handle(CONTROL_PROTOCOL, (stream) => this.#came(stream));
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

  /** A stream that the peer opened. */
  #came(stream: MeshStream): void {
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
    this.#opener.has(id);
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
    if (!link.isEnded) this.#tell(this.#up, link);
  }

  #ended(link: ControlLink, reason: LinkEnd): void {
    const { engine, logger } = this.#collaborators;
    const { id } = link.peer;
    logger.debug('mesh.link_down', { hub: id, reason });
    if (this.#links.get(id) === link) this.#links.delete(id);
    this.#tell(this.#down, link);
    // A peer that does not answer any more is not connected, whatever the socket thinks.
    if (reason === 'silent' || reason === 'flooded') engine.disconnect(id).catch(() => {});
    else if (!this.#isStopped && reason !== 'replaced' && engine.peers().some((peer) => peer.id === id)) this.#opener.again(id);
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

  #tell(listeners: ReadonlySet<LinkListener>, link: PeerLink): void {
    for (const listener of listeners) listener(link);
  }
}

/** How long the hub with the higher id waits for the other one to open the stream. */
const THEIR_TURN_MS = 1_000;
const FIRST_RETRY_MS = 250;
const MAX_RETRY_MS = 30_000;
/** A link that lived so long ended for a new reason: trying again starts quickly. */
const GOOD_LIFE_MS = 60_000;

interface OpenerCollaborators {
  readonly engine: MeshEngine;
  readonly clock: Clock;
  readonly protocol: string;
  readonly onOpen: (stream: MeshStream) => void;
}

interface PendingLink {
  readonly controller: AbortController;
  isOpening: boolean;
  retryMs: number;
  /** When there was a link, by the monotonic clock. */
  sinceMs: number;
  cancel: () => void;
}

/** Opens the control stream to connected hubs, again and again while there is none. */
class LinkOpener {
  readonly #collaborators: OpenerCollaborators;
  readonly #wanted = new Map<HubId, PendingLink>();

  constructor(collaborators: OpenerCollaborators) {
    this.#collaborators = collaborators;
  }

  /** The hub is connected. */
  schedule(id: HubId): void {
    if (this.#wanted.has(id)) return;
    const wanted: PendingLink = {
      controller: new AbortController(),
      isOpening: false,
      retryMs: FIRST_RETRY_MS,
      sinceMs: 0,
      cancel: () => {},
    };
    this.#wanted.set(id, wanted);
    if (this.#collaborators.engine.id < id) void this.#open(id, wanted);
    else this.#later(id, THEIR_TURN_MS);
  }

  isOpening(id: HubId): boolean {
    return this.#wanted.get(id)?.isOpening ?? false;
  }

  /** There is a link, whoever opened it. */
  has(id: HubId): void {
    this.schedule(id);
    const wanted = this.#wanted.get(id);
    wanted?.cancel();
    if (wanted) wanted.sinceMs = this.#collaborators.clock.monotonic();
  }

  /** The link ended, the connection did not. */
  again(id: HubId): void {
    const wanted = this.#wanted.get(id);
    if (!wanted) return;
    const livedMs = this.#collaborators.clock.monotonic() - wanted.sinceMs;
    if (livedMs >= GOOD_LIFE_MS) wanted.retryMs = FIRST_RETRY_MS;
    this.#retry(id, wanted);
  }

  forget(id: HubId): void {
    const wanted = this.#wanted.get(id);
    this.#wanted.delete(id);
    wanted?.cancel();
    wanted?.controller.abort();
  }

  stop(): void {
    for (const id of [...this.#wanted.keys()]) this.forget(id);
  }

  #retry(id: HubId, wanted: PendingLink): void {
    const theirTurnMs = this.#collaborators.engine.id < id ? 0 : THEIR_TURN_MS;
    this.#later(id, wanted.retryMs + theirTurnMs);
    wanted.retryMs = Math.min(MAX_RETRY_MS, wanted.retryMs * 2);
  }

  #later(id: HubId, delayMs: number): void {
    const wanted = this.#wanted.get(id);
    if (!wanted) return;
    wanted.cancel();
    wanted.cancel = this.#collaborators.clock.after(delayMs, () => void this.#open(id, wanted));
  }

  async #open(id: HubId, wanted: PendingLink): Promise<void> {
    const { engine, protocol, onOpen } = this.#collaborators;
    if (wanted.isOpening) return;
    wanted.isOpening = true;
    try {
      const stream = await engine.openStream(id, protocol, { signal: wanted.controller.signal });
      wanted.isOpening = false;
      onOpen(stream);
    } catch {
      wanted.isOpening = false;
      // Nobody is there, or it does not know the protocol yet: the engine has counted it.
      if (this.#wanted.get(id) === wanted) this.#retry(id, wanted);
    }
  }
}

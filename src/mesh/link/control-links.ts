import type { HubId } from '../../core/ids.ts';
import type { Logger } from '../../core/logger.ts';
import type { Service } from '../../core/service.ts';
import type { Clock } from '../../core/time/clock.ts';
import type { EnginePeer, MeshEngine, MeshStream } from '../engine/mesh-engine.ts';
import { ControlLink, type LinkEnd } from './control-link.ts';
import type { DropSink } from './drop-sink.ts';
import { LinkOpener } from './link-opener.ts';
import { type PeerLink, type PeerLinks, REQUEST_KINDS, type RequestHandler, type RequestKind } from './peer-link.ts';
import { type BucketRate, TokenBucket } from './token-bucket.ts';

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
    this.#stops.push(engine.onPeerUp((peer) => this.#opener.want(peer.id)));
    this.#stops.push(engine.onPeerDown((peer) => this.#left(peer)));
    for (const peer of engine.peers()) this.#opener.want(peer.id);
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

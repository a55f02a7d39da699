import { type Frame, frameCodec } from '../../codec/messages/connection.ts';
import type { Clock } from '../../core/clock.ts';
import type { HubContext } from '../../core/context.ts';
import { AtmoError, toAtmoError } from '../../core/errors.ts';
import type { TokenBucket } from '../rate-limit.ts';
import type { EnginePeer, MeshStream } from '../transport/mesh-engine.ts';
import { type BodyRoute, CreditLedger, CreditWindow, FrameSender, IncomingBodies, requireSendable, sendBody } from './flow-control.ts';
import { Heartbeat } from './heartbeat.ts';
import { errorOfFrame, IncomingRequests, MAX_IN_FLIGHT } from './incoming-requests.ts';
import { PeerClock } from './peer-clock.ts';
import { type DropSink, type PeerLink, REQUEST_KINDS, type RequestHandler, type RequestKind, type RequestOptions } from './peer-link.ts';

/** Reasons for the end of a link. */
export type LinkEnd = 'closed' | 'goodbye' | 'silent' | 'malformed' | 'flooded' | 'replaced' | 'stopped';

interface LinkCollaborators extends Pick<HubContext, 'clock' | 'logger'> {
  readonly stream: MeshStream;
  readonly drops: DropSink;
  readonly rate: TokenBucket;
  readonly handlerOf: (kind: number) => RequestHandler | undefined;
  readonly onEnd: (link: ControlLink, reason: LinkEnd) => void;
}

/** The control stream to one peer. Both hubs can send requests at the same time: one hub uses odd ids, the other hub even ids. */
export class ControlLink implements PeerLink {
  readonly peerClock: PeerClock;
  readonly #collaborators: LinkCollaborators;
  readonly #sender: FrameSender;
  readonly #heartbeat: Heartbeat;
  readonly #outgoing = new Map<number, OutgoingRequest>();
  readonly #incoming: IncomingRequests;
  readonly #answers = new IncomingBodies();
  #nextId: number;
  #end: LinkEnd | undefined;

  constructor(collaborators: LinkCollaborators, ids: 'odd' | 'even') {
    const { stream, clock, logger, drops, rate, handlerOf } = collaborators;
    this.#collaborators = collaborators;
    this.peerClock = new PeerClock(clock);
    this.#sender = new FrameSender(stream);
    this.#heartbeat = new Heartbeat({
      clock,
      role: ids === 'odd' ? 'leads' : 'follows',
      ping: (number) => this.#sender.send({ type: 'ping', number }),
      onSilence: () => this.end('silent'),
      hasArrived: stream.hasArrived,
    });
    this.#incoming = new IncomingRequests({ peer: stream.peer, sender: this.#sender, logger, drops, rate, handlerOf });
    this.#nextId = ids === 'odd' ? 1 : 2;
  }

  get peer(): EnginePeer {
    return this.#collaborators.stream.peer;
  }

  get roundTripMs(): number | undefined {
    return this.#heartbeat.roundTripMs;
  }

  get isEnded(): boolean {
    return this.#end !== undefined;
  }

  start(): void {
    this.#heartbeat.start();
    const { stream } = this.#collaborators;
    stream.onClose(() => this.end('closed'));
    stream.onFrame((bytes) => this.#receive(bytes));
  }

  async request(kind: RequestKind, body: Uint8Array, options: RequestOptions): Promise<Uint8Array> {
    const { clock } = this.#collaborators;
    if (options.signal.aborted) throw new AtmoError('CANCELLED', 'The caller cancelled the request');
    if (this.#end) throw new AtmoError('NODE_UNAVAILABLE', `There is no connection to ${this.peer.id}`);
    if (this.#outgoing.size >= MAX_IN_FLIGHT) {
      throw new AtmoError('RESOURCE_EXCEEDED', `${MAX_IN_FLIGHT} requests to ${this.peer.id} are unanswered; wait for one`);
    }
    requireSendable(body);
    const route: BodyRoute = { id: this.#nextId, sender: this.#sender, window: new CreditWindow() };
    this.#nextId += 2;
    const request = new OutgoingRequest({ clock, route, onEnd: () => this.#forget(route.id) }, options);
    this.#outgoing.set(route.id, request);
    request.send(kind, body);
    return request.answer;
  }

  /** Sends a goodbye frame, and ends the link after everything is sent. */
  async goodbye(): Promise<void> {
    if (this.#end) return;
    this.#sender.send({ type: 'goodbye', reason: 'stopping' });
    this.#finish('stopped');
    await this.#collaborators.stream.close();
  }

  /** Ends the link at once; unanswered requests fail. */
  end(reason: LinkEnd): void {
    if (this.#end) return;
    this.#finish(reason);
    this.#collaborators.stream.abort();
  }

  #finish(reason: LinkEnd): void {
    this.#end = reason;
    this.#heartbeat.stop();
    this.peerClock.end();
    for (const request of [...this.#outgoing.values()]) request.lost(this.peer.id);
    this.#incoming.lost();
    this.#collaborators.onEnd(this, reason);
  }

  #receive(bytes: Uint8Array): void {
    if (this.#end) return;
    this.#heartbeat.onReceived();
    try {
      if (this.#take(frameCodec.decode(bytes))) return;
    } catch (error) {
      if (!(error instanceof AtmoError)) throw error;
    }
    this.#collaborators.drops.count('link.malformed');
    this.end('malformed');
  }

  /** Handles a frame. Returns false if the protocol forbids the frame in the current state. */
  #take(frame: Frame): boolean {
    switch (frame.type) {
      case 'request':
        return this.#isOfPeer(frame.id) && this.#admit(frame);
      case 'chunk':
        return this.#isOfPeer(frame.id) ? this.#incoming.chunk(frame.id, frame.bytes) : this.#answerChunk(frame.id, frame.bytes);
      case 'credit':
        (this.#outgoing.get(frame.id)?.window ?? this.#incoming.windowOf(frame.id))?.grant(frame.bytes);
        return true;
      case 'cancel':
        return this.#isOfPeer(frame.id) && this.#incoming.cancel(frame.id);
      case 'ping':
        this.peerClock.pinged(frame.number);
        if (!this.#sender.drained) this.#sender.send({ type: 'pong', number: frame.number });
        return true;
      case 'pong':
        this.#heartbeat.ponged(frame.number);
        return true;
      case 'goodbye':
        this.end('goodbye');
        return true;
      default:
        return this.#takeAnswer(frame);
    }
  }

  #takeAnswer(frame: Extract<Frame, { readonly type: 'accept' | 'result' | 'error' | 'part' }>): boolean {
    const request = this.#outgoing.get(frame.id);
    // An answer may still arrive after this hub has given up the request. The protocol permits that.
    if (!request) return !this.#isOfPeer(frame.id) && frame.id < this.#nextId;
    switch (frame.type) {
      case 'accept':
        request.accepted();
        return true;
      case 'part':
        return request.part(frame.sequence, frame.bytes);
      case 'error':
        request.fail(errorOfFrame(frame));
        return true;
      case 'result':
        return this.#finishAnswer(request, frame.id, frame.body);
    }
  }

  #finishAnswer(request: OutgoingRequest, id: number, last: Uint8Array): boolean {
    const body = this.#answers.finish(id, last);
    if (body) request.succeed(body);
    return body !== undefined;
  }

  #answerChunk(id: number, bytes: Uint8Array): boolean {
    const request = this.#outgoing.get(id);
    if (!request) return id < this.#nextId;
    const arrival = this.#answers.add(id, bytes);
    if (arrival.kind === 'malformed') return false;
    if (arrival.kind === 'kept' && arrival.grantBytes > 0) this.#sender.send({ type: 'credit', id, bytes: arrival.grantBytes });
    if (arrival.kind === 'too-much') {
      this.#collaborators.drops.count('link.answer_too_large');
      request.fail(new AtmoError('RESOURCE_EXCEEDED', `The answers of ${this.peer.id} are longer than this hub can keep at once`));
      this.#sender.send({ type: 'cancel', id });
    }
    return true;
  }

  #admit(request: Extract<Frame, { readonly type: 'request' }>): boolean {
    const admission = this.#incoming.admit(request);
    if (admission === 'flooded') {
      this.#collaborators.drops.count('link.flooded');
      this.end('flooded');
    }
    return admission !== 'malformed';
  }

  #forget(id: number): void {
    this.#outgoing.delete(id);
    this.#answers.drop(id);
  }

  #isOfPeer(id: number): boolean {
    return id % 2 !== this.#nextId % 2;
  }
}

interface OutgoingCollaborators {
  readonly clock: Clock;
  readonly route: BodyRoute;
  /** Is called once when the request ends. */
  readonly onEnd: () => void;
}

/** A request of this hub that waits for its answer. */
class OutgoingRequest {
  readonly answer: Promise<Uint8Array>;
  readonly #collaborators: OutgoingCollaborators;
  readonly #options: RequestOptions;
  readonly #ledger = new CreditLedger();
  readonly #settle = Promise.withResolvers<Uint8Array>();
  readonly #onAbort = () => this.#cancel();
  #isAccepted = false;
  #isOver = false;
  #partCount = 0;
  /** Resolves when `onPart` has read all parts that have arrived. Undefined as long as `onPart` reads every part synchronously. */
  #reading: Promise<void> | undefined;
  #stopGrace = () => {};

  constructor(collaborators: OutgoingCollaborators, options: RequestOptions) {
    this.#collaborators = collaborators;
    this.#options = options;
    this.answer = this.#settle.promise;
  }

  get window(): CreditWindow {
    return this.#collaborators.route.window;
  }

  send(kind: RequestKind, body: Uint8Array): void {
    const { route } = this.#collaborators;
    this.#options.signal.addEventListener('abort', this.#onAbort, { once: true });
    const sending = sendBody(body, route, (last) =>
      route.sender.send({ type: 'request', id: route.id, kind: REQUEST_KINDS[kind], body: last }),
    );
    // Sending fails only if the request ends before its body is sent. The cancel frame tells the peer not to wait for the rest.
    sending?.catch(() => route.sender.send({ type: 'cancel', id: route.id }));
  }

  accepted(): void {
    if (this.#isAccepted) return;
    this.#isAccepted = true;
    this.#options.onAccept?.();
  }

  /** Handles a part. Returns false if the part is empty, out of order or larger than the peer's credit. */
  part(sequence: number, bytes: Uint8Array): boolean {
    // Empty parts are refused. They cost no credit, so a peer could make this hub queue any number of them.
    if (bytes.length === 0) return false;
    if (sequence !== this.#partCount || !this.#ledger.add(bytes.length)) return false;
    this.#partCount += 1;
    const reading = this.#reading ? this.#reading.then(() => this.#options.onPart?.(bytes)) : this.#options.onPart?.(bytes);
    if (reading) this.#reading = this.#afterRead(reading, bytes.length);
    else this.#grant(bytes.length);
    return true;
  }

  succeed(body: Uint8Array): void {
    this.#end(() => this.#settle.resolve(body));
  }

  fail(error: AtmoError): void {
    this.#end(() => this.#settle.reject(error));
  }

  /** Fails the request after a loss of the connection: with OUTCOME_UNKNOWN if the peer had accepted it, else with NODE_UNAVAILABLE. */
  lost(peer: string): void {
    if (this.#isOver) return;
    this.#options.onLost?.();
    const [code, message] = this.#isAccepted
      ? (['OUTCOME_UNKNOWN', `The connection to ${peer} was lost after it accepted the request`] as const)
      : (['NODE_UNAVAILABLE', `The connection to ${peer} was lost`] as const);
    this.fail(new AtmoError(code, message));
  }

  async #afterRead(reading: Promise<void>, length: number): Promise<void> {
    try {
      await reading;
      this.#grant(length);
    } catch (error) {
      this.fail(toAtmoError(error));
    }
  }

  #grant(length: number): void {
    const bytes = this.#ledger.read(length);
    const { sender, id } = this.#collaborators.route;
    if (bytes > 0 && !this.#isOver) sender.send({ type: 'credit', id, bytes });
  }

  #cancel(): void {
    const { clock, route } = this.#collaborators;
    const error = new AtmoError('CANCELLED', 'The caller cancelled the request');
    route.sender.send({ type: 'cancel', id: route.id });
    const { cancelGraceMs = 0 } = this.#options;
    if (cancelGraceMs === 0) this.fail(error);
    else this.#stopGrace = clock.after(cancelGraceMs, () => this.fail(error));
  }

  #end(settle: () => void): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#options.signal.removeEventListener('abort', this.#onAbort);
    this.#stopGrace();
    this.window.end(() => new AtmoError('CANCELLED', 'The request has ended'));
    this.#collaborators.onEnd();
    if (this.#reading) this.#reading.then(settle, settle);
    else settle();
  }
}

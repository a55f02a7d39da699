import type { Frame } from '../../codec/messages/connection.ts';
import { AtmoError, isErrorCode, toAtmoError } from '../../core/errors.ts';
import type { HubId } from '../../core/ids.ts';
import { type Json, objectOf } from '../../core/json.ts';
import type { Logger } from '../../core/logger.ts';
import { visibleJson, visibleText } from '../../core/untrusted-text.ts';
import type { TokenBucket } from '../rate-limit.ts';
import type { EnginePeer } from '../transport/mesh-engine.ts';
import { type BodyRoute, CreditWindow, type FrameSender, IncomingBodies, requireSendable, sendBody } from './flow-control.ts';
import { type DropSink, type IncomingRequest, MAX_PART_BYTES, type RequestHandler } from './peer-link.ts';

/** Largest number of unanswered requests in one direction. */
export const MAX_IN_FLIGHT = 64;

interface IncomingRequestsCollaborators {
  readonly peer: Pick<EnginePeer, 'id' | 'publicKey'>;
  readonly sender: FrameSender;
  readonly logger: Logger;
  readonly drops: DropSink;
  readonly rate: TokenBucket;
  readonly handlerOf: (kind: number) => RequestHandler | undefined;
}

/** Runs the requests of one peer: limits their number and rate, and passes each request to its handler. */
export class IncomingRequests {
  readonly #collaborators: IncomingRequestsCollaborators;
  readonly #running = new Map<number, IncomingExchange>();
  readonly #bodies = new IncomingBodies();

  constructor(collaborators: IncomingRequestsCollaborators) {
    this.#collaborators = collaborators;
  }

  /** Runs a request or refuses it. Returns `flooded` if the peer does not even read refusals, and `malformed` if the id is in use. */
  admit({ id, kind, body: last }: Extract<Frame, { readonly type: 'request' }>): 'taken' | 'flooded' | 'malformed' {
    if (this.#running.has(id)) return 'malformed';
    const body = this.#bodies.finish(id, last);
    // The request was refused while its body arrived, or the last piece makes the body too long.
    if (!body) return 'taken';
    const refusal = this.#refusal(kind);
    if (refusal) return this.#refuse(id, refusal);
    const handler = this.#collaborators.handlerOf(kind);
    if (!handler) return this.#refuse(id, new AtmoError('NOT_SUPPORTED', `This hub answers no requests of kind ${kind}`));
    const { peer, sender, logger } = this.#collaborators;
    const exchange = new IncomingExchange(
      {
        peer,
        route: { id, sender, window: new CreditWindow() },
        onEnd: () => this.#running.delete(id),
        onBug: (error) => logger.error('mesh.request_failed', { kind, from: peer.id, stack: stackOf(error) }),
      },
      body,
    );
    this.#running.set(id, exchange);
    void exchange.run(handler);
    return 'taken';
  }

  /** Handles a piece of a body. Returns false if the piece is too short, exceeds the credit, or begins one body too many. */
  chunk(id: number, bytes: Uint8Array): boolean {
    if (!this.#bodies.has(id) && this.#bodies.size >= MAX_IN_FLIGHT) return false;
    const arrival = this.#bodies.add(id, bytes);
    if (arrival.kind === 'malformed') return false;
    const { sender, peer } = this.#collaborators;
    if (arrival.kind === 'kept' && arrival.grantBytes > 0) sender.send({ type: 'credit', id, bytes: arrival.grantBytes });
    if (arrival.kind === 'too-much') {
      this.#refuse(id, new AtmoError('RESOURCE_EXCEEDED', `The requests of ${peer.id} are longer than this hub can keep at once`));
    }
    return true;
  }

  cancel(id: number): true {
    this.#bodies.drop(id);
    this.#running.get(id)?.cancel();
    return true;
  }

  windowOf(id: number): CreditWindow | undefined {
    return this.#running.get(id)?.window;
  }

  /** Ends all requests after the loss of the connection, and aborts the handlers whose work is not detached. */
  lost(): void {
    for (const exchange of [...this.#running.values()]) exchange.lost();
  }

  #refusal(kind: number): AtmoError | undefined {
    const { peer, rate, drops } = this.#collaborators;
    const waitMs = rate.take();
    if (waitMs > 0) {
      drops.count('link.rate_limited');
      const message = `${peer.id} sends requests too often; the next one (kind ${kind}) is possible in ${waitMs} ms`;
      return new AtmoError('RATE_LIMITED', message, { retry_after_ms: waitMs });
    }
    if (this.#running.size < MAX_IN_FLIGHT) return undefined;
    drops.count('link.in_flight');
    return new AtmoError('RESOURCE_EXCEEDED', `${MAX_IN_FLIGHT} requests of ${peer.id} are unanswered; wait for one`);
  }

  #refuse(id: number, error: AtmoError): 'taken' | 'flooded' {
    const { sender } = this.#collaborators;
    if (sender.drained) return 'flooded';
    sender.send(errorFrame(id, error));
    return 'taken';
  }
}

function stackOf({ cause, stack }: AtmoError): string {
  return (cause instanceof Error ? cause.stack : stack) ?? '';
}

interface IncomingCollaborators {
  readonly peer: Pick<EnginePeer, 'id' | 'publicKey'>;
  readonly route: BodyRoute;
  /** Is called once, after the request was answered or its connection was lost. */
  readonly onEnd: () => void;
  readonly onBug: (error: AtmoError) => void;
}

class IncomingExchange implements IncomingRequest {
  readonly body: Uint8Array;
  readonly #collaborators: IncomingCollaborators;
  /** Created at the first use, since most handlers do not need it. */
  #controller: AbortController | undefined;
  #aborted: AtmoError | undefined;
  #isAccepted = false;
  #isDetached = false;
  #isOver = false;
  #parts = 0;

  constructor(collaborators: IncomingCollaborators, body: Uint8Array) {
    this.#collaborators = collaborators;
    this.body = body;
  }

  get from(): HubId {
    return this.#collaborators.peer.id;
  }

  get fromKey(): string {
    return this.#collaborators.peer.publicKey;
  }

  get window(): BodyRoute['window'] {
    return this.#collaborators.route.window;
  }

  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.#aborted) this.#controller.abort(this.#aborted);
    }
    return this.#controller.signal;
  }

  /** Runs the handler and sends its result or its error. */
  async run(handler: RequestHandler): Promise<void> {
    try {
      const body = await handler(this);
      requireSendable(body);
      await this.#succeed(body);
    } catch (thrown) {
      this.#fail(toAtmoError(thrown));
    }
  }

  accept(mode: 'attached' | 'detached' = 'attached', haste: 'now' | 'soon' = 'now'): void {
    if (mode === 'detached') this.#isDetached = true;
    if (haste === 'now') this.#sendAccept();
    else setImmediate(() => this.#sendAccept());
  }

  async part(bytes: Uint8Array): Promise<void> {
    const { sender, id, window } = this.#collaborators.route;
    if (bytes.length > MAX_PART_BYTES) {
      throw new AtmoError('PAYLOAD_TOO_LARGE', `A part of an answer has at most ${MAX_PART_BYTES} bytes; this one has ${bytes.length}`);
    }
    const room = window.take(bytes.length);
    if (room) await room;
    if (sender.drained) await sender.drained;
    window.check();
    sender.send({ type: 'part', id, sequence: this.#parts++, bytes });
  }

  cancel(): void {
    this.#abort(new AtmoError('CANCELLED', 'The caller cancelled the request'));
  }

  /** Ends the request after a loss of the connection, because no answer can be sent. Aborts the handler unless its work is detached. */
  lost(): void {
    const error = new AtmoError('CANCELLED', `The connection to ${this.from} was lost`);
    if (!this.#isDetached) this.#abort(error);
    this.#end(() => error);
  }

  #sendAccept(): void {
    if (this.#isAccepted || this.#isOver) return;
    this.#isAccepted = true;
    const { sender, id } = this.#collaborators.route;
    sender.send({ type: 'accept', id });
  }

  async #succeed(body: Uint8Array): Promise<void> {
    if (this.#isOver) return;
    const { route } = this.#collaborators;
    const sending = sendBody(body, route, (last) => {
      if (this.#isOver) return;
      route.sender.send({ type: 'result', id: route.id, body: last });
      this.#end();
    });
    if (sending) await sending;
  }

  #fail(error: AtmoError): void {
    if (error.code === 'INTERNAL_ERROR') this.#collaborators.onBug(error);
    if (this.#isOver) return;
    const { sender, id } = this.#collaborators.route;
    sender.send(errorFrame(id, error));
    this.#end();
  }

  #abort(error: AtmoError): void {
    if (this.#isOver || this.#aborted) return;
    this.#aborted = error;
    this.#controller?.abort(error);
  }

  #end(reason = () => new AtmoError('CANCELLED', 'The request was answered')): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.window.end(reason);
    this.#collaborators.onEnd();
  }
}

const MAX_MESSAGE_LENGTH = 2_048;
const MAX_DETAILS_LENGTH = 16_384;

type ErrorFrame = Extract<Frame, { readonly type: 'error' }>;

/** Returns the error frame for an error. Leaves out the details if they are too long. */
function errorFrame(id: number, { code, message, details }: AtmoError): ErrorFrame {
  const text = JSON.stringify(details);
  return {
    type: 'error',
    id,
    code,
    message: message.slice(0, MAX_MESSAGE_LENGTH).toWellFormed(),
    details: text.length <= MAX_DETAILS_LENGTH && text.isWellFormed() ? text : '{}',
  };
}

/** Converts an error frame of a peer to an error. An unknown code becomes INTERNAL_ERROR. */
export function errorOfFrame({ code, message, details }: ErrorFrame): AtmoError {
  const known = isErrorCode(code) ? code : 'INTERNAL_ERROR';
  return new AtmoError(known, visibleText(message, MAX_MESSAGE_LENGTH), parseDetails(details));
}

function parseDetails(text: string) {
  try {
    return objectOf(visibleJson(JSON.parse(text) as Json));
  } catch {
    return {};
  }
}

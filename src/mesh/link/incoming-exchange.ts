import { AtmoError, toAtmoError } from '../../core/errors.ts';
import type { HubId } from '../../core/ids.ts';
import { requireSendable } from './body-chunks.ts';
import { type BodyRoute, sendBody } from './body-sender.ts';
import { errorFrame } from './error-frame.ts';
import { type IncomingRequest, MAX_PART_BYTES, type RequestHandler } from './peer-link.ts';

interface IncomingCollaborators {
  readonly from: HubId;
  readonly route: BodyRoute;
  /** Told once, when the request was answered or nobody waits for its answer any more. */
  readonly onEnd: () => void;
  readonly onBug: (error: AtmoError) => void;
}

/** A request of the peer, until it is answered. */
export class IncomingExchange implements IncomingRequest {
  readonly body: Uint8Array;
  readonly #collaborators: IncomingCollaborators;
  /** Made when somebody asks for it: most requests are answered before. */
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
    return this.#collaborators.from;
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

  /** Answers with what the handler returns or throws. */
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
    if (haste === 'now') this.#tellAccepted();
    else setImmediate(() => this.#tellAccepted());
  }

  async part(bytes: Uint8Array): Promise<void> {
    const { sender, id, window } = this.#collaborators.route;
    if (bytes.length > MAX_PART_BYTES) {
      throw new AtmoError('PAYLOAD_TOO_LARGE', `A part of an answer has at most ${MAX_PART_BYTES} bytes; this one has ${bytes.length}`);
    }
    const room = window.take(bytes.length);
    if (room) await room;
    if (sender.room) await sender.room;
    window.check();
    sender.send({ type: 'part', id, sequence: this.#parts++, bytes });
  }

  cancel(): void {
    this.#abort(new AtmoError('CANCELLED', 'The caller cancelled the request'));
  }

  /** The connection is gone: nobody hears the answer. */
  lost(): void {
    const error = new AtmoError('CANCELLED', `The connection to ${this.from} was lost`);
    if (!this.#isDetached) this.#abort(error);
    this.#end(() => error);
  }

  #tellAccepted(): void {
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

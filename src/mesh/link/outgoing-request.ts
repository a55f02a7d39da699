import { AtmoError, toAtmoError } from '../../core/errors.ts';
import type { Clock } from '../../core/time/clock.ts';
import { type BodyRoute, sendBody } from './body-sender.ts';
import { CreditLedger } from './credit-ledger.ts';
import type { CreditWindow } from './credit-window.ts';
import { REQUEST_KINDS, type RequestKind, type RequestOptions } from './peer-link.ts';

interface OutgoingCollaborators {
  readonly clock: Clock;
  readonly route: BodyRoute;
  /** Told once, when no more is expected. */
  readonly onEnd: () => void;
}

/** A request of ours, until its answer is here. */
export class OutgoingRequest {
  readonly answer: Promise<Uint8Array>;
  readonly #collaborators: OutgoingCollaborators;
  readonly #options: RequestOptions;
  readonly #ledger = new CreditLedger();
  readonly #settle = Promise.withResolvers<Uint8Array>();
  readonly #onAbort = () => this.#cancel();
  #isAccepted = false;
  #isOver = false;
  #partsCame = 0;
  /** Parts that are being read; undefined while there are none. */
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
    // It only fails with what has ended the request: the peer need not wait for the rest.
    sending?.catch(() => route.sender.send({ type: 'cancel', id: route.id }));
  }

  accepted(): void {
    if (this.#isAccepted) return;
    this.#isAccepted = true;
    this.#options.onAccept?.();
  }

  /** False when the peer broke the rules: parts out of order or empty, or more than it had room for. */
  part(sequence: number, bytes: Uint8Array): boolean {
    // Parts without bytes would cost no credit, and each waits for its reader.
    if (bytes.length === 0) return false;
    if (sequence !== this.#partsCame || !this.#ledger.came(bytes.length)) return false;
    this.#partsCame += 1;
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

  /** The connection is gone. */
  lost(peer: string): void {
    if (this.#isOver) return;
    this.#options.onLost?.();
    this.fail(lostError(peer, this.#isAccepted));
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

function lostError(peer: string, isAccepted: boolean): AtmoError {
  if (isAccepted) return new AtmoError('OUTCOME_UNKNOWN', `The connection to ${peer} was lost after it took the request on`);
  return new AtmoError('NODE_UNAVAILABLE', `The connection to ${peer} was lost`);
}

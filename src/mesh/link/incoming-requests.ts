import { AtmoError } from '../../core/errors.ts';
import type { HubId } from '../../core/ids.ts';
import type { Logger } from '../../core/logger.ts';
import type { Frame } from '../../wire/messages/frame.ts';
import { ArrivingBodies } from './arriving-bodies.ts';
import { CreditWindow } from './credit-window.ts';
import type { DropSink } from './drop-sink.ts';
import { errorFrame } from './error-frame.ts';
import type { FrameSender } from './frame-sender.ts';
import { IncomingExchange } from './incoming-exchange.ts';
import type { RequestHandler } from './peer-link.ts';
import type { TokenBucket } from './token-bucket.ts';

/** Requests of one direction that may be unanswered at once. */
export const MAX_IN_FLIGHT = 64;

interface IncomingRequestsCollaborators {
  readonly from: HubId;
  readonly sender: FrameSender;
  readonly logger: Logger;
  readonly drops: DropSink;
  readonly rate: TokenBucket;
  readonly handlerOf: (kind: number) => RequestHandler | undefined;
}

/** The requests of one peer: how many there may be, how often they may come, and who answers them. */
export class IncomingRequests {
  readonly #collaborators: IncomingRequestsCollaborators;
  readonly #running = new Map<number, IncomingExchange>();
  readonly #bodies = new ArrivingBodies();

  constructor(collaborators: IncomingRequestsCollaborators) {
    this.#collaborators = collaborators;
  }

  /** Runs a request or refuses it; `flooded` when the peer does not even read the refusals. */
  admit({ id, kind, body: last }: Extract<Frame, { readonly type: 'request' }>): 'taken' | 'flooded' | 'malformed' {
    if (this.#running.has(id)) return 'malformed';
    const body = this.#bodies.finish(id, last);
    // Refused while its body came.
    if (!body) return 'taken';
    const refusal = this.#refusal(kind);
    if (refusal) return this.#refuse(id, refusal);
    const handler = this.#collaborators.handlerOf(kind);
    if (!handler) return this.#refuse(id, new AtmoError('NOT_SUPPORTED', `This hub answers no requests of kind ${kind}`));
    this.#run({ id, kind, body }, handler);
    return 'taken';
  }

  #run({ id, kind, body }: { readonly id: number; readonly kind: number; readonly body: Uint8Array }, handler: RequestHandler): void {
    const { from, sender, logger } = this.#collaborators;
    const exchange = new IncomingExchange(
      {
        from,
        route: { id, sender, window: new CreditWindow() },
        onEnd: () => this.#running.delete(id),
        onBug: (error) => logger.error('mesh.request_failed', { kind, from, stack: stackOf(error) }),
      },
      body,
    );
    this.#running.set(id, exchange);
    void exchange.run(handler);
  }

  /** False when the peer sends more than it had room for, or more bodies at once than there may be requests. */
  chunk(id: number, bytes: Uint8Array): boolean {
    if (!this.#bodies.has(id) && this.#bodies.size >= MAX_IN_FLIGHT) return false;
    const arrival = this.#bodies.add(id, bytes);
    if (arrival.kind === 'malformed') return false;
    const { sender, from } = this.#collaborators;
    if (arrival.kind === 'kept' && arrival.grantBytes > 0) sender.send({ type: 'credit', id, bytes: arrival.grantBytes });
    if (arrival.kind === 'too-much') {
      this.#refuse(id, new AtmoError('RESOURCE_EXCEEDED', `The requests of ${from} are longer than this hub can keep at once`));
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

  /** The connection is gone. */
  lost(): void {
    for (const exchange of [...this.#running.values()]) exchange.lost();
  }

  #refusal(kind: number): AtmoError | undefined {
    const { from, rate, drops } = this.#collaborators;
    const waitMs = rate.take();
    if (waitMs > 0) {
      drops.count('link.rate_limited');
      return new AtmoError(
        'RATE_LIMITED',
        `${from} asks more often than it may; the next request (kind ${kind}) is possible in ${waitMs} ms`,
        {
          retry_after_ms: waitMs,
        },
      );
    }
    if (this.#running.size < MAX_IN_FLIGHT) return undefined;
    drops.count('link.in_flight');
    return new AtmoError('RESOURCE_EXCEEDED', `${MAX_IN_FLIGHT} requests of ${from} are unanswered; wait for one`);
  }

  #refuse(id: number, error: AtmoError): 'taken' | 'flooded' {
    const { sender } = this.#collaborators;
    if (sender.room) return 'flooded';
    sender.send(errorFrame(id, error));
    return 'taken';
  }
}

function stackOf({ cause, stack }: AtmoError): string {
  return (cause instanceof Error ? cause.stack : stack) ?? '';
}

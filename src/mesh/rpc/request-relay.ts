import type { Clock } from '../../core/clock.ts';
import { AtmoError } from '../../core/errors.ts';
import type { HubId } from '../../core/ids.ts';
import type { DropSink, IncomingRequest, RequestKind } from './peer-link.ts';
import type { OpenedRequest, RequestHead } from './request-guard.ts';
import type { RoutedRequests } from './routed-requests.ts';

/** Requests of one neighbour that are handed on at once. */
const MAX_PER_NEIGHBOUR = 32;
const CANCEL_GRACE_MS = 200;

interface RelayCollaborators {
  readonly self: HubId;
  readonly requests: RoutedRequests;
  readonly clock: Clock;
  readonly drops: DropSink;
}

/** Hands requests of others on to the hub they are for: their signed part and the signed answer stay as they are. */
export class RequestRelay {
  readonly #collaborators: RelayCollaborators;
  readonly #isEnabled: boolean;
  readonly #running = new Map<HubId, number>();

  constructor(collaborators: RelayCollaborators, options: { readonly isEnabled: boolean }) {
    this.#collaborators = collaborators;
    this.#isEnabled = options.isEnabled;
  }

  /** NO_CAPABLE_NODE where the request may not go on, RESOURCE_EXCEEDED, OUTCOME_UNKNOWN when the way broke behind this hub. */
  async relay(
    request: IncomingRequest,
    kind: RequestKind,
    { statement, forwarded, untilMs }: OpenedRequest<RequestHead>,
  ): Promise<Uint8Array> {
    const { self, requests, clock } = this.#collaborators;
    this.#check(statement, forwarded.visited);
    using _ = this.#enter(request.from);
    let isLost = false;
    try {
      const { signed, params, hopsLeft, visited } = forwarded;
      return await requests.send(
        {
          kind,
          target: statement.executingHub,
          signed,
          ...(params !== undefined && { params }),
          remainingMs: untilMs - clock.monotonic(),
          hopsLeft,
          visited: [...visited, self],
        },
        {
          signal: request.signal,
          cancelGraceMs: CANCEL_GRACE_MS,
          onAccept: () => request.accept(kind === 'invoke' ? 'detached' : 'attached'),
          onPart: (part) => request.part(part),
          onLost: () => {
            isLost = true;
          },
        },
      );
    } catch (error) {
      if (!isLost) throw error;
      throw new AtmoError('OUTCOME_UNKNOWN', `The way from ${self} to ${statement.executingHub} broke while it had the request`);
    }
  }

  #check({ executingHub }: RequestHead, visited: readonly HubId[]): void {
    const { self, drops } = this.#collaborators;
    if (!this.#isEnabled) {
      drops.count('relay.disabled');
      throw new AtmoError('NO_CAPABLE_NODE', `${self} is not ${executingHub} and hands nothing on`);
    }
    if (visited.includes(self)) {
      drops.count('relay.loop');
      throw new AtmoError('NO_CAPABLE_NODE', `The request for ${executingHub} has come back to ${self}`);
    }
  }

  #enter(neighbour: HubId): Disposable {
    const count = this.#running.get(neighbour) ?? 0;
    if (count >= MAX_PER_NEIGHBOUR) {
      this.#collaborators.drops.count('relay.too_many');
      throw new AtmoError('RESOURCE_EXCEEDED', `${MAX_PER_NEIGHBOUR} requests of ${neighbour} are being handed on; wait for one`);
    }
    this.#running.set(neighbour, count + 1);
    return {
      [Symbol.dispose]: () => {
        const left = (this.#running.get(neighbour) ?? 1) - 1;
        if (left > 0) this.#running.set(neighbour, left);
        else this.#running.delete(neighbour);
      },
    };
  }
}

import { AtmoError } from '../../core/errors.ts';
import type { HubId } from '../../core/ids.ts';
import { present } from '../../core/json.ts';
import { ConcurrencyLimit } from '../rate-limit.ts';
import type { DropSink, IncomingRequest, RequestKind } from './peer-link.ts';
import type { RequestHead, SignedRequest } from './request-guard.ts';
import type { RoutedRequests } from './routed-requests.ts';

/** Maximum number of requests of one neighbour that are forwarded at once. */
const MAX_PER_NEIGHBOUR = 32;
const CANCEL_GRACE_MS = 200;

interface RelayCollaborators {
  readonly self: HubId;
  readonly requests: RoutedRequests;
  readonly drops: DropSink;
}

/** Forwards requests of other hubs to their target. Does not change the signed request or the signed answer. */
export class RequestRelay {
  readonly #collaborators: RelayCollaborators;
  readonly #isEnabled: boolean;
  readonly #running = new ConcurrencyLimit(MAX_PER_NEIGHBOUR);

  constructor(collaborators: RelayCollaborators, options: { readonly isEnabled: boolean }) {
    this.#collaborators = collaborators;
    this.#isEnabled = options.isEnabled;
  }

  /**
   * Resolves with the signed answer. Rejects with NO_CAPABLE_NODE if the request must not be forwarded, RESOURCE_EXCEEDED if too many
   * requests of the neighbour are being forwarded, or OUTCOME_UNKNOWN if the connection to the next hub broke.
   */
  async relay(request: IncomingRequest, kind: RequestKind, opened: SignedRequest<RequestHead>): Promise<Uint8Array> {
    const { statement, forwarded, untilMs } = opened;
    const { self, requests, drops } = this.#collaborators;
    this.#check(statement, forwarded.visited);
    using slot = this.#running.enter(request.from);
    if (!slot) {
      drops.count('relay.too_many');
      throw new AtmoError('RESOURCE_EXCEEDED', `${MAX_PER_NEIGHBOUR} requests of ${request.from} are being forwarded; wait for one`);
    }
    let isLost = false;
    try {
      const { signed, params, hopsLeft, visited, certificate, site } = forwarded;
      const target = statement.executingHub;
      return await requests.send(
        { kind, target, signed, ...present({ params, certificate, site }), untilMs, hopsLeft, visited: [...visited, self] },
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
      throw new AtmoError('OUTCOME_UNKNOWN', `The connection from ${self} to ${statement.executingHub} broke before the answer`);
    }
  }

  #check({ executingHub }: RequestHead, visited: readonly HubId[]): void {
    const { self, drops } = this.#collaborators;
    if (!this.#isEnabled) {
      drops.count('relay.disabled');
      throw new AtmoError('NO_CAPABLE_NODE', `${self} is not ${executingHub} and forwards no requests`);
    }
    if (visited.includes(self)) {
      drops.count('relay.loop');
      throw new AtmoError('NO_CAPABLE_NODE', `The request for ${executingHub} has come back to ${self}`);
    }
  }
}

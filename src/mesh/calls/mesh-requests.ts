import { AtmoError } from '../../core/errors.ts';
import type { HubId } from '../../core/ids.ts';
import { encodeForwardedRequest } from '../../wire/messages/call.ts';
import type { PeerLinks, RequestKind, RequestOptions } from '../link/peer-link.ts';
import type { CallRoutes } from './call-ports.ts';

/** A signed request on its way to a hub that need not be a neighbour. */
export interface MeshRequest {
  readonly kind: RequestKind;
  readonly target: HubId;
  /** COSE_Sign1 of the entry hub. */
  readonly signed: Uint8Array;
  /** RFC 8785 text of a call's parameters. */
  readonly params?: string;
  readonly remainingMs: number;
  /** Hops beyond the first one. */
  readonly hopsLeft: number;
  /** Hubs that it went through, the entry hub first, this hub last. */
  readonly visited: readonly HubId[];
}

/** Hands requests to the neighbour that is, or leads to, the hub they are for. */
export class MeshRequests {
  readonly #links: PeerLinks;
  readonly #routes: CallRoutes;

  constructor({ links, routes }: { readonly links: PeerLinks; readonly routes: CallRoutes }) {
    this.#links = links;
    this.#routes = routes;
  }

  /** As `PeerLink.request`; NODE_UNAVAILABLE also when no way leads there, NO_CAPABLE_NODE when the way is too long or a loop. */
  async send(request: MeshRequest, options: RequestOptions): Promise<Uint8Array> {
    const { kind, target, visited } = request;
    const hop = this.#links.to(target) ? target : this.#routes.nextHop(target);
    const link = hop && this.#links.to(hop);
    if (!link) throw new AtmoError('NODE_UNAVAILABLE', `No way leads to ${target} at the moment`);
    const isLast = link.peer.id === target;
    if (!isLast && request.hopsLeft === 0) {
      throw new AtmoError('NO_CAPABLE_NODE', `${target} is further away than the hop budget of the request allows`);
    }
    if (visited.includes(link.peer.id)) {
      throw new AtmoError('NO_CAPABLE_NODE', `The way to ${target} leads back to ${link.peer.id}, where the request has been`);
    }
    return link.request(kind, bodyOf(request, isLast), options);
  }
}

function bodyOf({ signed, params, remainingMs, hopsLeft, visited }: MeshRequest, isLast: boolean): Uint8Array {
  return encodeForwardedRequest({
    signed,
    ...(params !== undefined && { params }),
    remainingMs: Math.max(0, Math.floor(remainingMs)),
    hopsLeft: isLast ? 0 : hopsLeft - 1,
    visited: [...visited],
  });
}

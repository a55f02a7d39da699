import { AtmoError, type ErrorCode, toAtmoError } from '../../core/errors.ts';
import { visibleText } from '../../core/foreign-text.ts';
import type { HubId } from '../../core/ids.ts';
import { type JsonPieces, joinedJson } from '../../wire/json-pieces.ts';
import { encodeForwardedRequest } from '../../wire/messages/call.ts';
import type { PeerLinks, RequestKind, RequestOptions } from '../link/peer-link.ts';
import type { CallRoutes } from './call-ports.ts';

/** A signed request on its way to a hub that need not be a neighbour. */
export interface MeshRequest {
  readonly kind: RequestKind;
  readonly target: HubId;
  /** COSE_Sign1 of the entry hub. */
  readonly signed: Uint8Array;
  /** RFC 8785 text of a call's parameters, in pieces where some are bytes. */
  readonly params?: JsonPieces;
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
    try {
      return await link.request(kind, bodyOf(this.#readable(request, link.peer.id), isLast), options);
    } catch (error) {
      throw isLast ? error : refusalOnTheWay(toAtmoError(error), { target, via: link.peer.id });
    }
  }

  /** Every hub on the way reads the parameters: one of the first knows them as text alone. */
  #readable(request: MeshRequest, hop: HubId): MeshRequest {
    const { params } = request;
    if (params === undefined || typeof params === 'string' || this.#routes.reads(hop, 'wire:bytes')) return request;
    return { ...request, params: joinedJson(params) };
  }
}

/** What the own end of a connection notices, and what leaves the outcome open. */
const OF_THE_WAY: ReadonlySet<ErrorCode> = new Set(['CANCELLED', 'OUTCOME_UNKNOWN']);
const MAX_MESSAGE_LENGTH = 512;

/** Whatever a hub on the way answers without the signature of the one that was asked, it says no more than that it did not carry it. */
function refusalOnTheWay(error: AtmoError, { target, via }: { readonly target: HubId; readonly via: HubId }): AtmoError {
  if (OF_THE_WAY.has(error.code)) return error;
  const { epoch } = error.details;
  const details = { via, code: error.code, ...(typeof epoch === 'number' && { epoch }) };
  const message = `${via} did not carry the request to ${target}: ${visibleText(error.message, MAX_MESSAGE_LENGTH)}`;
  return new AtmoError('NODE_UNAVAILABLE', message, details, { cause: error });
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

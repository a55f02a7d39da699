import type { KeyObject } from 'node:crypto';
import { type JsonPieces, joinedJson } from '../../codec/message-json.ts';
import type { ProtocolFeature } from '../../codec/messages/announced-state.ts';
import { encodeForwardedRequest } from '../../codec/messages/call.ts';
import type { Principal } from '../../core/auth/principal.ts';
import { AtmoError, type ErrorCode, toAtmoError } from '../../core/errors.ts';
import type { HubId } from '../../core/ids.ts';
import { visibleText } from '../../core/untrusted-text.ts';
import type { PeerLinks, RequestKind, RequestOptions } from './peer-link.ts';

/** A signed request on its way to a hub that need not be a neighbour. */
export interface RoutedRequest {
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
export class RoutedRequests {
  readonly #links: PeerLinks;
  readonly #routes: CallRoutes;

  constructor({ links, routes }: { readonly links: PeerLinks; readonly routes: CallRoutes }) {
    this.#links = links;
    this.#routes = routes;
  }

  /** As `PeerLink.request`; NODE_UNAVAILABLE also when no way leads there, NO_CAPABLE_NODE when the way is too long or a loop. */
  async send(request: RoutedRequest, options: RequestOptions): Promise<Uint8Array> {
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
      throw isLast ? error : routingError(toAtmoError(error), { target, via: link.peer.id });
    }
  }

  /** Every hub on the way reads the parameters: one of the first knows them as text alone. */
  #readable(request: RoutedRequest, hop: HubId): RoutedRequest {
    const { params } = request;
    if (params === undefined || typeof params === 'string' || this.#routes.reads(hop, 'wire:bytes')) return request;
    return { ...request, params: joinedJson(params) };
  }
}

/** What the own end of a connection notices, and what leaves the outcome open. */
const KEPT_ERRORS: ReadonlySet<ErrorCode> = new Set(['CANCELLED', 'OUTCOME_UNKNOWN']);
const MAX_MESSAGE_LENGTH = 512;

/** Whatever a hub on the way answers without the signature of the one that was asked, it says no more than that it did not carry it. */
function routingError(error: AtmoError, { target, via }: { readonly target: HubId; readonly via: HubId }): AtmoError {
  if (KEPT_ERRORS.has(error.code)) return error;
  const { epoch } = error.details;
  const details = { via, code: error.code, ...(typeof epoch === 'number' && { epoch }) };
  const message = `${via} did not carry the request to ${target}: ${visibleText(error.message, MAX_MESSAGE_LENGTH)}`;
  return new AtmoError('NODE_UNAVAILABLE', message, details, { cause: error });
}

function bodyOf({ signed, params, remainingMs, hopsLeft, visited }: RoutedRequest, isLast: boolean): Uint8Array {
  return encodeForwardedRequest({
    signed,
    ...(params !== undefined && { params }),
    remainingMs: Math.max(0, Math.floor(remainingMs)),
    hopsLeft: isLast ? 0 : hopsLeft - 1,
    visited: [...visited],
  });
}

/** This hub, as it signs. */
export interface SigningHub {
  readonly hubId: HubId;
  /** Ed25519. */
  readonly privateKey: KeyObject;
}

/** The key that a certificate gives to a hub. */
export interface MemberKey {
  /** Raw, 32 bytes, base64url. */
  readonly key: string;
  readonly publicKey: KeyObject;
}

/** Port: the keys of the members of this mesh. A certificate that expired or was revoked has none. */
export interface MemberKeys {
  keyOf(id: HubId): MemberKey | undefined;
}

/** Port: ways to other hubs. */
export interface CallRoutes {
  /** The neighbour to hand a request to; undefined while no way is known. */
  nextHop(target: HubId): HubId | undefined;
  /** Epoch of the newest announcement of the hub. */
  epochOf(target: HubId): number | undefined;
  /** Whether the hub has announced that it reads what not every hub reads. */
  reads(target: HubId, feature: ProtocolFeature): boolean;
}

/** Port: the token that this hub shows for a caller. PERMISSION_DENIED for a caller that has to delegate to this hub first. */
export interface MeshTokens {
  textFor(principal: Principal, executor: HubId): string;
}

/** What a hub answers to a request for a former start of it. */
export function staleEpochError(hub: HubId, epoch: number): AtmoError {
  return new AtmoError('NODE_UNAVAILABLE', `${hub} has started anew since its last announcement was heard; send the request again`, {
    epoch,
  });
}

/** What the newest announced start of the hub answers; where it has started anew since then, what the start answers of which it tells. */
export async function atNewestEpoch<Answer>(
  routes: Pick<CallRoutes, 'epochOf'>,
  target: HubId,
  ask: (epoch: number) => Promise<Answer>,
): Promise<Answer> {
  const epoch = routes.epochOf(target) ?? 0;
  try {
    return await ask(epoch);
  } catch (error) {
    // Its announcement is not here yet, and nothing of the request was looked at.
    const told = staleEpoch(error);
    if (told === undefined || told === epoch) throw error;
    return ask(told);
  }
}

/** The epoch that such an answer tells; undefined for every other error. */
export function staleEpoch(error: unknown): number | undefined {
  if (!(error instanceof AtmoError) || error.code !== 'NODE_UNAVAILABLE') return undefined;
  const { epoch } = error.details;
  return typeof epoch === 'number' && Number.isSafeInteger(epoch) && epoch >= 0 ? epoch : undefined;
}

import type { KeyObject } from 'node:crypto';
import { type JsonPieces, joinedJson } from '../../codec/message-json.ts';
import type { ProtocolFeature } from '../../codec/messages/announced-state.ts';
import { type ForwardedRequest, forwardedRequestCodec } from '../../codec/messages/call.ts';
import type { CertificateChain } from '../../codec/messages/membership.ts';
import type { Principal } from '../../core/auth/principal.ts';
import type { Clock } from '../../core/clock.ts';
import { AtmoError, type ErrorCode, toAtmoError } from '../../core/errors.ts';
import type { HubId } from '../../core/ids.ts';
import { present } from '../../core/json.ts';
import { visibleText } from '../../core/untrusted-text.ts';
import type { PeerLink, PeerLinks, RequestKind, RequestOptions } from './peer-link.ts';

/** A signed request to a hub, which may be several hops away. */
interface RoutedRequest extends Pick<ForwardedRequest, 'certificate' | 'site'> {
  readonly kind: RequestKind;
  readonly target: HubId;
  /** The request as the entry hub signed it, a COSE_Sign1 message. */
  readonly signed: Uint8Array;
  /** Canonical JSON (RFC 8785) of a call's parameters. It is in pieces if some parameters are bytes. */
  readonly params?: JsonPieces;
  /** Time by this hub's monotonic clock until which the caller waits. */
  readonly untilMs: number;
  /** Maximum number of hops after the first hop. */
  readonly hopsLeft: number;
  /** Hubs that the request has visited: the entry hub first, this hub last. */
  readonly visited: readonly HubId[];
}

type RequestTimes = Pick<ForwardedRequest, 'remainingMs' | 'deadlineMs'>;

/** A request to a direct neighbour. */
interface TimedRequest {
  readonly kind: RequestKind;
  /** Time by this hub's monotonic clock until which the caller waits. */
  readonly untilMs: number;
  readonly bodyOf: (times: RequestTimes) => Uint8Array;
}

interface RoutedRequestsParts {
  readonly links: PeerLinks;
  readonly routes: CallRoutes;
  /** Routes to hubs of other sites; undefined if this hub has no site. */
  readonly sites?: SiteRoutes | undefined;
  readonly clock: Pick<Clock, 'monotonic'>;
}

/** Sends requests to a hub, directly or through the neighbour on the route to it. */
export class RoutedRequests {
  readonly #parts: RoutedRequestsParts;

  constructor(parts: RoutedRequestsParts) {
    this.#parts = parts;
  }

  /** Sends a request like `PeerLink.request`. Also rejects with NODE_UNAVAILABLE (no route) or NO_CAPABLE_NODE (route too long, loop). */
  async send(given: RoutedRequest, options: RequestOptions): Promise<Uint8Array> {
    const request = this.#named(given);
    const { kind, target, visited, site } = request;
    const link = this.#linkTo(target) ?? (site === undefined ? undefined : await this.#linkToSite(site, visited, options.signal));
    if (!link) throw new AtmoError('NODE_UNAVAILABLE', `No route to ${target} is known at the moment`);
    const isLast = link.peer.id === target;
    if (!isLast && request.hopsLeft === 0) {
      throw new AtmoError('NO_CAPABLE_NODE', `${target} is further away than the hop budget of the request allows`);
    }
    if (visited.includes(link.peer.id)) {
      throw new AtmoError('NO_CAPABLE_NODE', `The route to ${target} leads back to ${link.peer.id}, which the request has visited`);
    }
    try {
      const sent = this.#readable({ ...request, hopsLeft: isLast ? 0 : request.hopsLeft - 1 }, link.peer.id);
      return await this.sendTo(link, { kind, untilMs: request.untilMs, bodyOf: (times) => bodyOf(sent, times) }, options);
    } catch (error) {
      throw isLast ? error : routingError(toAtmoError(error), { target, via: link.peer.id });
    }
  }

  /** Sends a request over a link. Rejects like `PeerLink.request`, and with NODE_UNAVAILABLE if the wait for the peer's clock is aborted. */
  async sendTo(link: PeerLink, { kind, untilMs, bodyOf }: TimedRequest, options: RequestOptions): Promise<Uint8Array> {
    const known = this.#clockKnown(link, options.signal);
    if (known) await known;
    return link.request(kind, bodyOf(this.#timesOf(untilMs, link)), options);
  }

  #linkTo(target: HubId): PeerLink | undefined {
    const { links, routes } = this.#parts;
    const hop = links.to(target) ? target : routes.nextHop(target);
    return hop && links.to(hop);
  }

  /** Returns the link to a hub that leads to another site. Connects to a border member of that site if necessary. */
  async #linkToSite(site: string, visited: readonly HubId[], signal: AbortSignal): Promise<PeerLink | undefined> {
    const { links, sites } = this.#parts;
    for (const hop of sites?.hopsTo(site) ?? []) {
      if (visited.includes(hop)) continue;
      if (!links.to(hop)) await sites?.connect(hop, signal);
      const link = links.to(hop);
      if (link) return link;
    }
    return undefined;
  }

  /** Adds the site of the target and the certificate of this hub to a request of this hub for another site. */
  #named(request: RoutedRequest): RoutedRequest {
    const { sites } = this.#parts;
    const site = request.visited.length > 1 ? undefined : sites?.siteOf(request.target);
    return site === undefined || !sites ? request : { ...request, site, certificate: sites.certificate() };
  }

  /** Waits for the first ping of a hub that reads deadlines, if its clock is unknown. Rejects with NODE_UNAVAILABLE after an abort. */
  #clockKnown({ peer, peerClock }: PeerLink, signal: AbortSignal): Promise<void> | undefined {
    if (peerClock.earliestMs !== undefined || !this.#parts.routes.reads(peer.id, 'wire:deadline')) return undefined;
    return peerClock.untilKnown(signal).catch(() => {
      throw new AtmoError('NODE_UNAVAILABLE', `The request was not sent, because ${peer.id} has not answered yet`);
    });
  }

  /** Returns the time that is left and, for a hub that reads it, the deadline by that hub's clock. */
  #timesOf(untilMs: number, { peer, peerClock }: PeerLink): RequestTimes {
    const remainingMs = Math.max(0, Math.floor(untilMs - this.#parts.clock.monotonic()));
    const peerMs = this.#parts.routes.reads(peer.id, 'wire:deadline') ? peerClock.earliestMs : undefined;
    const deadlineMs = peerMs === undefined ? Number.NaN : Math.max(0, peerMs + remainingMs);
    // A peer may count from any number.
    return { remainingMs, ...(Number.isSafeInteger(deadlineMs) && { deadlineMs }) };
  }

  /** Joins parameter pieces to one text if the next hub does not announce `wire:bytes`, because that hub could not decode the pieces. */
  #readable(request: RoutedRequest, hop: HubId): RoutedRequest {
    const { params } = request;
    if (params === undefined || typeof params === 'string' || this.#parts.routes.reads(hop, 'wire:bytes')) return request;
    return { ...request, params: joinedJson(params) };
  }
}

/** Codes of unsigned errors that are passed on unchanged, because this hub made them itself or they leave the outcome open. */
const KEPT_ERRORS: ReadonlySet<ErrorCode> = new Set(['CANCELLED', 'OUTCOME_UNKNOWN']);
const MAX_MESSAGE_LENGTH = 512;

/** Converts an unsigned error of a hub on the route to NODE_UNAVAILABLE: whatever its code, it means that the request was not forwarded. */
function routingError(error: AtmoError, { target, via }: { readonly target: HubId; readonly via: HubId }): AtmoError {
  if (KEPT_ERRORS.has(error.code)) return error;
  const { epoch } = error.details;
  const details = { via, code: error.code, ...(typeof epoch === 'number' && { epoch }) };
  const message = `${via} did not carry the request to ${target}: ${visibleText(error.message, MAX_MESSAGE_LENGTH)}`;
  return new AtmoError('NODE_UNAVAILABLE', message, details, { cause: error });
}

function bodyOf({ signed, params, hopsLeft, visited, certificate, site }: RoutedRequest, times: RequestTimes): Uint8Array {
  return forwardedRequestCodec.encode({
    signed,
    ...present({ params, certificate, site }),
    ...times,
    hopsLeft,
    visited: [...visited],
  });
}

/** The id and key with which this hub signs. */
export interface SigningHub {
  readonly hubId: HubId;
  /** Ed25519 private key of the hub. */
  readonly privateKey: KeyObject;
}

/** Key of a mesh member. */
export interface MemberKey {
  /** Raw public key: 32 bytes in base64url. */
  readonly key: string;
  readonly publicKey: KeyObject;
}

/** Port: the keys of the mesh members. A member with an expired or revoked certificate has no key. */
export interface MemberKeys {
  keyOf(id: HubId): MemberKey | undefined;
  /**
   * Verifies the certificate of a hub of another site, which has then a key. Throws PERMISSION_DENIED or VALIDATION_ERROR if the certificate
   * is not valid now. Absent if this hub has no site: it then knows all members.
   */
  admit?(certificate: CertificateChain): { readonly hubId: HubId };
}

/** Port: routes to the hubs of other sites. */
export interface SiteRoutes {
  /** Returns the site of a hub that is known to be of another site. */
  siteOf(target: HubId): string | undefined;
  /** Returns the hubs that lead to another site, best first. This hub may have to connect to them first. */
  hopsTo(site: string): readonly HubId[];
  /** Connects to a hub. Never rejects. */
  connect(id: HubId, signal: AbortSignal): Promise<void>;
  /** Returns the certificate of this hub. */
  certificate(): CertificateChain;
}

/** Port: routes to other hubs. */
export interface CallRoutes {
  /** Returns the neighbour on the route; undefined if no route is known. */
  nextHop(target: HubId): HubId | undefined;
  /** Returns the epoch of the newest announcement of the hub. */
  epochOf(target: HubId): number | undefined;
  /** Returns whether the hub has announced an optional feature of the protocol. */
  reads(target: HubId, feature: ProtocolFeature): boolean;
}

/** Port: provides the token that this hub sends for a caller. Throws PERMISSION_DENIED if no token is bound to this hub's key. */
export interface CallerTokens {
  /** With `waiting`, the token outlasts the longest time for which people can be asked to approve the call. */
  textFor(principal: Principal, executor: HubId, use?: 'now' | 'waiting'): string;
}

/** Returns the error for a request that was made for an earlier start of the hub. */
export function staleEpochError(hub: HubId, epoch: number): AtmoError {
  return new AtmoError('NODE_UNAVAILABLE', `${hub} has restarted since its last known announcement; send the request again`, {
    epoch,
  });
}

/** Calls `send` with the newest announced epoch of a hub. If a stale-epoch error names another epoch, calls `send` again with it. */
export async function atNewestEpoch<Answer>(
  routes: Pick<CallRoutes, 'epochOf'>,
  target: HubId,
  send: (epoch: number) => Promise<Answer>,
): Promise<Answer> {
  const epoch = routes.epochOf(target) ?? 0;
  try {
    return await send(epoch);
  } catch (error) {
    // The target has restarted and its new announcement has not arrived here yet; the target has not run the request.
    const newer = staleEpoch(error);
    if (newer === undefined || newer === epoch) throw error;
    return send(newer);
  }
}

/** Returns the epoch in a stale-epoch error; undefined for every other error. */
export function staleEpoch(error: unknown): number | undefined {
  if (!(error instanceof AtmoError) || error.code !== 'NODE_UNAVAILABLE') return undefined;
  const { epoch } = error.details;
  return typeof epoch === 'number' && Number.isSafeInteger(epoch) && epoch >= 0 ? epoch : undefined;
}

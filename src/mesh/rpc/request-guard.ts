import { hash, type KeyObject } from 'node:crypto';
import {
  type ForwardedRequest,
  forwardedRequestCodec,
  type MeshQuery,
  meshQueryCodec,
  openToolInvoke,
  type ToolInvoke,
} from '../../codec/messages/call.ts';
import { decodeSessionCall, type SessionCall } from '../../codec/messages/session-call.ts';
import type { Principal, TokenAuthority } from '../../core/auth/principal.ts';
import type { Clock } from '../../core/clock.ts';
import { AtmoError } from '../../core/errors.ts';
import type { HubId } from '../../core/ids.ts';
import { KeyedRateLimit } from '../rate-limit.ts';
import type { DropSink, IncomingRequest, PeerLinks } from './peer-link.ts';
import { type MemberKey, type MemberKeys, staleEpochError } from './routed-requests.ts';

/** Maximum difference, in milliseconds, between the time in a request and this hub's time. It covers clock errors and travel time. */
export const TIME_WINDOW_MS = 60_000;

/** Rate limit for new tokens from one entry hub. A new token is costly to check, because it has up to a dozen signatures. */
const NEW_TOKEN_RATE = { burst: 256, perSecond: 8 };
/** Rate limit for unknown hubs of other sites from one neighbour. Their certificates have up to two signatures. */
const NEW_VISITOR_RATE = { burst: 256, perSecond: 8 };
const MAX_KNOWN_TOKENS = 1_024;

/** The fields that every signed request has. */
export type RequestHead = Pick<MeshQuery, 'id' | 'entryHub' | 'executingHub' | 'executorEpoch' | 'timeMs' | 'token'>;

/** A request of which the entry hub is proven: by its signature, or by the session if the entry hub is a direct neighbour. */
export interface OpenedRequest<Statement extends RequestHead> {
  readonly statement: Statement;
  /** Number of hops that the request has taken. */
  readonly hops: number;
  /** Hash of the signed bytes. Absent for a request that only the session vouches for. */
  readonly fingerprint?: string;
  /** Times by this hub's monotonic clock: when it came, and until when the caller waits, as the hub before says. */
  readonly arrivedMs: number;
  readonly untilMs: number;
}

/** A request that the entry hub has signed. A hub that is not the executing hub can forward it. */
export interface SignedRequest<Statement extends RequestHead> extends OpenedRequest<Statement> {
  readonly forwarded: ForwardedRequest;
  readonly fingerprint: string;
}

interface GuardCollaborators {
  readonly self: HubId;
  /** Returns the epoch of this hub's current start. The hub's announcements have the same epoch. */
  readonly epoch: () => number;
  readonly members: MemberKeys;
  readonly tokens: Pick<TokenAuthority, 'principalOf'>;
  readonly clock: Clock;
  /** Corrected time of day. The machine's own clock may not be set yet. */
  readonly time: Pick<Clock, 'now'>;
  readonly links: Pick<PeerLinks, 'to'>;
  readonly drops: DropSink;
}

/** Checks who signed a request, for which hub and when. Also checks that the token of the request is bound to the signer. */
export class RequestGuard {
  readonly #collaborators: GuardCollaborators;
  readonly #newTokens: KeyedRateLimit;
  readonly #newVisitors: KeyedRateLimit;
  /** Tokens that passed the check, least recently used first. */
  readonly #knownTokens = new Set<string>();

  constructor(collaborators: GuardCollaborators) {
    this.#collaborators = collaborators;
    this.#newTokens = new KeyedRateLimit(collaborators.clock, NEW_TOKEN_RATE);
    this.#newVisitors = new KeyedRateLimit(collaborators.clock, NEW_VISITOR_RATE);
  }

  /**
   * Returns a call with a valid signature. Throws VALIDATION_ERROR if the call is forged or outside of the time window, PERMISSION_DENIED
   * if the entry hub is no member, or NODE_UNAVAILABLE if the call names the epoch of an earlier start of this hub. Counts each refusal.
   */
  openInvoke({ body, from }: IncomingRequest): SignedRequest<ToolInvoke> {
    return this.#open(body, from, openToolInvoke);
  }

  /** Returns a query with a valid signature; throws like `openInvoke`. */
  openQuery({ body, from }: IncomingRequest): SignedRequest<MeshQuery> {
    return this.#open(body, from, ({ signed }, keyOf) => meshQueryCodec.open(signed, keyOf));
  }

  /**
   * Returns a call that a direct neighbour sends for its own callers without a signature. The neighbour is the entry hub, and this hub the
   * executing hub, as the handshake of their session has proven. Throws like `openInvoke`.
   */
  openSessionCall({ body, from, fromKey }: IncomingRequest): OpenedRequest<ToolInvoke> {
    const { self, clock, time } = this.#collaborators;
    const arrivedMs = clock.monotonic();
    const call = this.#decodeSessionCall(body);
    const { agentId, sessionId, traceId, remainingMs, deadlineMs, ...rest } = call;
    this.#requireEpoch(call);
    // An id is a part of the hash of a key. The whole key of the session has to be the one that the member's certificate names.
    if (this.#requireMember(from, this.#collaborators.members.keyOf(from)).key !== fromKey) {
      this.#refuse('call.other_key', new AtmoError('PERMISSION_DENIED', `The session of ${from} has another key than its certificate`));
    }
    const statement: ToolInvoke = {
      ...rest,
      entryHub: from,
      executingHub: self,
      timeMs: time.now(),
      context: { agentId, traceId, ...(sessionId !== undefined && { sessionId }) },
      routing: { hopBudget: 0 },
      timeoutMs: remainingMs,
    };
    return { statement, hops: 1, arrivedMs, untilMs: this.#untilMs(call, { from, arrivedMs }) };
  }

  /**
   * Returns the principal of the token. Throws TOKEN_INVALID if the token is invalid or not bound to the entry hub's key, TOKEN_EXPIRED if
   * it has expired, RATE_LIMITED for too many new tokens, or PERMISSION_DENIED if the request took more hops than the token allows.
   */
  principalOf({ statement, hops }: OpenedRequest<RequestHead>): Principal {
    const { members } = this.#collaborators;
    const principal = this.#bearerOf(statement);
    const holder = members.keyOf(statement.entryHub)?.key;
    if (holder === undefined || principal.token?.keys.at(-1) !== holder) {
      return this.#refuse(
        'call.no_possession',
        new AtmoError('TOKEN_INVALID', `The token is not bound to the key of ${statement.entryHub}`),
      );
    }
    const { maxHops } = principal.token;
    if (maxHops !== undefined && hops > maxHops) {
      throw new AtmoError('PERMISSION_DENIED', `The token allows ${maxHops} hops; the call has taken ${hops}`);
    }
    return principal;
  }

  #bearerOf({ token, entryHub }: RequestHead): Principal {
    if (!this.#knownTokens.delete(token) && !this.#newTokens.tryTake(entryHub)) {
      this.#refuse('call.new_tokens', new AtmoError('RATE_LIMITED', `${entryHub} sends new tokens too often; try again in a moment`));
    }
    const principal = this.#collaborators.tokens.principalOf(token);
    this.#knownTokens.add(token);
    const [oldest] = this.#knownTokens;
    if (this.#knownTokens.size > MAX_KNOWN_TOKENS && oldest !== undefined) this.#knownTokens.delete(oldest);
    return principal;
  }

  /** Counts and throws the error. */
  #refuse(reason: string, error: AtmoError): never {
    this.#collaborators.drops.count(reason);
    throw error;
  }

  #open<Statement extends RequestHead>(body: Uint8Array, from: HubId, open: Opener<Statement>): SignedRequest<Statement> {
    const { clock, drops } = this.#collaborators;
    const arrivedMs = clock.monotonic();
    let counted = false;
    const keyOf = (head: RequestHead, forwarded: ForwardedRequest): KeyObject => {
      counted = true;
      const key = this.#keyOf(head, { forwarded, from });
      counted = false;
      return key;
    };
    try {
      const forwarded = forwardedRequestCodec.decode(body);
      const statement = open(forwarded, (head) => keyOf(head, forwarded));
      const fingerprint = hash('sha256', forwarded.signed, 'base64url');
      const hops = forwarded.visited.length;
      return { statement, forwarded, hops, fingerprint, arrivedMs, untilMs: this.#untilMs(forwarded, { from, arrivedMs }) };
    } catch (error) {
      if (!counted) drops.count('call.forged_or_malformed');
      throw error;
    }
  }

  /** Returns the sender's deadline. If the sender names none, estimates how long the request was on its way, which may be too short. */
  #untilMs(
    { remainingMs, deadlineMs }: Pick<ForwardedRequest, 'remainingMs' | 'deadlineMs'>,
    { from, arrivedMs }: { readonly from: HubId; readonly arrivedMs: number },
  ): number {
    if (deadlineMs !== undefined) return Math.min(deadlineMs, arrivedMs + remainingMs);
    return arrivedMs + remainingMs - (this.#collaborators.links.to(from)?.roundTripMs ?? 0) / 2;
  }

  /** Returns the key of an entry hub of another site, which sends its certificate along. */
  #visitor(entryHub: HubId, { forwarded, from }: { readonly forwarded: ForwardedRequest; readonly from: HubId }) {
    const { members } = this.#collaborators;
    if (!forwarded.certificate || !members.admit || !this.#newVisitors.tryTake(from)) return undefined;
    try {
      return members.admit(forwarded.certificate).hubId === entryHub ? members.keyOf(entryHub) : undefined;
    } catch (error) {
      if (error instanceof AtmoError) return undefined;
      throw error;
    }
  }

  /** Makes the cheap checks first. Returns the key with which the signature is then verified. */
  #keyOf(head: RequestHead, { forwarded, from }: { readonly forwarded: ForwardedRequest; readonly from: HubId }): KeyObject {
    const { self, time } = this.#collaborators;
    const { visited } = forwarded;
    if (visited[0] !== head.entryHub || visited.at(-1) !== from) {
      this.#refuse('call.wrong_path', new AtmoError('VALIDATION_ERROR', 'The request did not come from the hubs that it lists as visited'));
    }
    if (Math.abs(time.now() - head.timeMs) > TIME_WINDOW_MS) {
      this.#refuse(
        'call.outside_time',
        new AtmoError('VALIDATION_ERROR', `The request was not made within ${TIME_WINDOW_MS / 1000} s of the time on ${self}`),
      );
    }
    if (head.executingHub === self) this.#requireEpoch(head);
    const member = this.#collaborators.members.keyOf(head.entryHub) ?? this.#visitor(head.entryHub, { forwarded, from });
    return this.#requireMember(head.entryHub, member).publicKey;
  }

  #decodeSessionCall(body: Uint8Array): SessionCall {
    try {
      return decodeSessionCall(body);
    } catch (error) {
      this.#collaborators.drops.count('call.forged_or_malformed');
      throw error;
    }
  }

  /** Throws NODE_UNAVAILABLE if the request was made for another start of this hub. */
  #requireEpoch({ executorEpoch }: Pick<RequestHead, 'executorEpoch'>): void {
    const { self, epoch } = this.#collaborators;
    // Epoch 0 means that this hub has not announced itself yet. Until then, it accepts no requests.
    if (executorEpoch !== epoch() || epoch() === 0) this.#refuse('call.former_epoch', staleEpochError(self, epoch()));
  }

  #requireMember(entryHub: HubId, member: MemberKey | undefined): MemberKey {
    if (member) return member;
    return this.#refuse('call.no_member', new AtmoError('PERMISSION_DENIED', `${entryHub} is not known to be a member of this mesh`));
  }
}

type Opener<Statement> = (forwarded: ForwardedRequest, keyOf: (head: RequestHead) => KeyObject) => Statement;

import { type OAuthTokens, oauthError } from '../../core/auth/oauth.ts';
import type { PeopleDirectory, Person } from '../../core/auth/people.ts';
import { intersectPermissions } from '../../core/auth/permission-intersection.ts';
import { OWNER, TOKEN_SKEW_MS, type TokenAuthority } from '../../core/auth/principal.ts';
import type { TrustedTime } from '../../core/clock.ts';
import type { HubContext } from '../../core/context.ts';
import { AtmoError, toAtmoError } from '../../core/errors.ts';
import type { JsonObject } from '../../core/json.ts';
import type { Service } from '../../core/lifecycle.ts';
import { recordNote } from '../../core/storage/audit-sink.ts';
import { admittedUntil, grantsOf } from '../people/person-grants.ts';
import type { SignInStore } from '../people/sign-in-store.ts';
import type { GrantedToken, GrantedTokens } from './access-tokens.ts';
import {
  type GrantDraft,
  type GrantStore,
  newRefreshToken,
  parseRefreshToken,
  type RefreshToken,
  refreshState,
  refreshTokenText,
  type StoredGrant,
  secretDigest,
} from './grant-store.ts';

/** Lifetime of an access token. */
const ACCESS_MS = 3_600_000;
const SHORTEST_ACCESS_MS = 60_000;
/** Time of the last use is stored at most this often, because each write is synced to the disk. */
const USE_NOTED_MS = 15 * 60_000;
const MAX_NOTED = 1_024;
const MAX_GRANTS = 256;
const MAX_OF_PERSON = 32;
/** Grants that each person may give even if others have given so many that the hub has MAX_GRANTS. */
const ALWAYS_OF_PERSON = 4;
/** Number of renewals of one grant within an hour. A client needs one or two. */
const MAX_RENEWALS = 60;
const HOUR_MS = 3_600_000;
/** Access tokens of one grant that are valid at the same time: the newest, and the one whose calls may still run. */
const MAX_ACCESS_TOKENS = 2;

interface GrantCollaborators extends Pick<HubContext, 'audit' | 'logger'> {
  readonly time: Pick<TrustedTime, 'now'>;
  readonly grants: GrantStore;
  readonly granted: GrantedTokens;
  readonly tokens: Pick<TokenAuthority, 'issue' | 'revoke' | 'list' | 'find' | 'onRevoked' | 'principalOf'>;
  readonly people: Pick<PeopleDirectory, 'find'>;
  readonly signIns: Pick<SignInStore, 'get'>;
}

/** Who sends a refresh token, and for which of the hub's names and addresses. */
export interface RenewalRequest {
  readonly clientId: string;
  readonly issuer: string;
  /** Address in the request (RFC 8707 §2.2); absent if the client names none. */
  readonly resource?: string;
}

/** Why a grant ends, as the audit log has it. */
type EndReason =
  | 'ended_by_person'
  | 'revoked_by_client'
  | 'token_revoked'
  | 'refresh_token_reused'
  | 'refresh_token_of_another_client'
  | 'code_reused'
  | 'person_gone'
  | 'role_changed'
  | 'signed_out'
  | 'nothing_left';

interface AllowedNow {
  readonly permissions: readonly string[];
  readonly ttlMs: number;
}

/**
 * Gives clients their tokens for as long as the grant lasts. A grant holds no right itself: each renewal gives a token with what was shown to
 * the person and what the person may do at that time. A grant is deleted before its tokens are revoked; the next start revokes what a crash left.
 */
export class OAuthGrants implements Service {
  readonly #ports: GrantCollaborators;
  /** Times at which the use of access tokens was stored last, the oldest first. */
  readonly #notedMs = new Map<string, number>();
  /** Tokens that this class revokes without ending their grant. */
  readonly #replaced = new Set<string>();
  /** Times of the last renewals by grant, milliseconds since 1970. */
  readonly #renewals = new Map<string, readonly number[]>();
  #stop: readonly (() => void)[] = [];

  constructor(ports: GrantCollaborators) {
    this.#ports = ports;
  }

  async start(): Promise<void> {
    const { tokens, granted, grants, time } = this.#ports;
    for (const { id, grant: grantId, expiresAtMs, revokedAtMs } of tokens.list()) {
      if (grantId === undefined || revokedAtMs !== undefined || expiresAtMs + TOKEN_SKEW_MS <= time.now()) continue;
      const grant = grants.get(grantId);
      if (grant) granted.add(id, grantedToken(grant, expiresAtMs), time.now());
      else tokens.revoke(id);
    }
    this.#stop = [granted.onUsed((tokenId, grantId) => this.#noteUse(tokenId, grantId)), tokens.onRevoked((id) => this.#onRevoked(id))];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const stop of this.#stop) stop();
    this.#stop = [];
  }

  list(): readonly StoredGrant[] {
    return this.#ports.grants.all();
  }

  /** Returns whether a client has access now. */
  hasClient(clientId: string): boolean {
    return this.list().some((grant) => grant.clientId === clientId);
  }

  /** Throws CONFLICT if the person or the hub has too many grants. */
  requireRoom(person: string): void {
    const all = this.list();
    const own = all.filter((grant) => grant.person === person).length;
    if (own >= MAX_OF_PERSON) {
      throw new AtmoError('CONFLICT', `A person may give access to ${MAX_OF_PERSON} applications; end one that is not needed any more`);
    }
    if (all.length < MAX_GRANTS || own < ALWAYS_OF_PERSON) return;
    throw new AtmoError('CONFLICT', `${MAX_GRANTS} applications have access to this hub, which is the most; somebody has to end one`);
  }

  /** Begins the grant with this id. Throws `invalid_grant` if the person may not give it any more. */
  async begin(id: string, draft: GrantDraft): Promise<OAuthTokens> {
    const refresh = newRefreshToken(id);
    const nowMs = this.#ports.time.now();
    const seed = { ...draft, id, createdAtMs: nowMs, family: secretDigest(refresh.family) };
    const grant = { ...seed, current: '', rotatedAtMs: nowMs, accessTokenId: '', isAccessUsed: false };
    // Between consent and exchange, the person may have signed out everywhere, or got another role and the former one again.
    if (draft.consentedAtMs <= this.#ports.grants.endedAtMs(draft.person)) return refuse('The person has withdrawn; ask the person again');
    const allowed = this.#allowedNow(grant);
    if (typeof allowed === 'string') return this.#refuseAndEnd(grant, allowed);
    // Many codes may wait for their clients that were all made while there was room.
    this.requireRoom(draft.person);
    const answer = this.#give(grant, refresh, allowed);
    await this.#note('oauth.grant_begun', draft, { grant_id: id, expires_at_ms: draft.untilMs });
    return answer;
  }

  /** Renews the tokens of a grant, and replaces its refresh token. Throws `invalid_grant`; a reused refresh token ends the grant. */
  async renew(text: string, request: RenewalRequest): Promise<OAuthTokens> {
    const refresh = parseRefreshToken(text);
    const grant = refresh && this.#ports.grants.get(refresh.grantId);
    if (!refresh || !grant) return refuse('The refresh token is not known, or its grant has ended; ask the person again');
    const state = refreshState(refresh, this.#withUse(grant), this.#ports.time.now());
    if (state === 'foreign') return refuse('The refresh token is not one of this hub');
    if (request.issuer !== grant.issuer) return refuse(`The refresh token was given at ${grant.issuer}; use it there`);
    if (request.clientId !== grant.clientId) return this.#refuseAndEnd(grant, 'refresh_token_of_another_client');
    if (state === 'reused') return this.#refuseAndEnd(grant, 'refresh_token_reused');
    if (request.resource !== undefined && request.resource !== grant.resource.address) {
      throw oauthError('invalid_target', `The refresh token is for ${grant.resource.address} alone`);
    }
    const allowed = this.#allowedNow(grant);
    if (typeof allowed === 'string') return this.#refuseAndEnd(grant, allowed);
    this.#requireRate(grant.id);
    // Nothing is awaited between reading the grant and storing its next refresh token, so that a token serves one of two parallel requests.
    const answer = this.#give(this.#rotated(grant, refresh, state), newRefreshToken(grant.id, refresh.family), allowed);
    await this.#note('oauth.token_renewed', grant, { grant_id: grant.id });
    return answer;
  }

  /** Ends the grant of a refresh token or access token that its client does not need any more (RFC 7009). Ignores unknown tokens. */
  async revoke(text: string, clientId: string): Promise<void> {
    const grant = this.#grantOf(text);
    if (grant?.clientId === clientId) await this.end(grant.id, 'revoked_by_client');
  }

  /** Ends a grant and its tokens. Returns false if there was none. */
  async end(id: string, reason: EndReason): Promise<boolean> {
    const grant = this.#ports.grants.get(id);
    if (!grant) return false;
    this.#ports.grants.delete(id);
    this.#renewals.delete(id);
    for (const tokenId of this.#ports.granted.of(id)) this.#ports.tokens.revoke(tokenId);
    await this.#note('oauth.grant_ended', grant, { grant_id: id, reason });
    return true;
  }

  /** Ends the grants of a person who is gone. */
  async endOf(person: string): Promise<void> {
    this.#ports.grants.noteEnd(person);
    for (const grant of this.list()) if (grant.person === person) await this.end(grant.id, 'person_gone');
  }

  /** Ends the grants that were given with a sign-in which has ended. Codes that no client has exchanged begin nothing then. */
  async endOfSignIn(signIn: string): Promise<void> {
    for (const grant of this.list()) if (grant.givenWith?.signIn === signIn) await this.end(grant.id, 'signed_out');
  }

  /** Ends the grants of a person with another role. With other limits, only ends the tokens: their renewal gives what is left. */
  async settle(person: Pick<Person, 'name' | 'role'>): Promise<void> {
    this.#ports.grants.noteEnd(person.name);
    for (const grant of this.list()) {
      if (grant.person !== person.name) continue;
      if (grant.role !== person.role) await this.end(grant.id, 'role_changed');
      else for (const id of this.#ports.granted.of(grant.id)) this.#replace(id);
    }
  }

  #rotated(grant: StoredGrant, used: RefreshToken, state: 'current' | 'repeated'): StoredGrant {
    if (state === 'repeated') this.#replace(grant.accessTokenId);
    const rotatedAtMs = state === 'repeated' ? grant.rotatedAtMs : this.#ports.time.now();
    return { ...grant, previous: secretDigest(used.own), rotatedAtMs, isAccessUsed: false };
  }

  /** Issues an access token and stores the grant. If the hub crashes between the two, the token was not sent to anybody. */
  #give(grant: StoredGrant, refresh: RefreshToken, { permissions, ttlMs }: AllowedNow): OAuthTokens {
    const { tokens, granted, grants, time } = this.#ports;
    const { id: grantId, clientName: client, agentId } = grant;
    const { token, principal } = tokens.issue({ agentId, permissions, ttlMs, grant: { id: grantId, client } }, OWNER);
    const { id: accessTokenId = '', expiresAtMs = 0 } = principal.token ?? {};
    granted.add(accessTokenId, grantedToken(grant, expiresAtMs), time.now());
    grants.save({ ...grant, current: secretDigest(refresh.own), accessTokenId });
    for (const id of granted.of(grantId).slice(0, -MAX_ACCESS_TOKENS)) this.#replace(id);
    const expiresInSeconds = Math.floor((expiresAtMs - time.now()) / 1000);
    return { accessToken: token, expiresInSeconds, refreshToken: refreshTokenText(refresh), permissions: principal.permissions };
  }

  /** Returns what was shown and what the person may do now, or why the grant ends. */
  #allowedNow(grant: StoredGrant): AllowedNow | EndReason {
    const nowMs = this.#ports.time.now();
    const person = this.#ports.people.find(grant.person);
    if (!person) return 'person_gone';
    if (person.role !== grant.role) return 'role_changed';
    if (!this.#isSignedIn(grant)) return 'signed_out';
    const permissions = intersectPermissions(grant.permissions, grantsOf(person));
    if (permissions.length === 0) return 'nothing_left';
    const admittedMs = admittedUntil(person, nowMs) ?? nowMs;
    const ttlMs = Math.min(ACCESS_MS, grant.untilMs - nowMs, admittedMs - nowMs);
    if (ttlMs >= SHORTEST_ACCESS_MS) return { permissions, ttlMs };
    throw oauthError(
      'temporarily_unavailable',
      'The person who gave access is not admitted at this time, or the access ends; try again later',
    );
  }

  /** Returns whether the sign-in, or the token without one, with which the access was given is still good. */
  #isSignedIn({ givenWith, person }: GrantDraft): boolean {
    if (givenWith?.signIn !== undefined) {
      const signIn = this.#ports.signIns.get(givenWith.signIn);
      return signIn?.person === person && signIn.endedAtMs === undefined;
    }
    if (givenWith?.token === undefined) return true;
    const token = this.#ports.tokens.find(givenWith.token);
    return token !== undefined && token.revokedAtMs === undefined && token.expiresAtMs > this.#ports.time.now();
  }

  #requireRate(grantId: string): void {
    const nowMs = this.#ports.time.now();
    const recent = (this.#renewals.get(grantId) ?? []).filter((atMs) => nowMs - atMs < HOUR_MS);
    if (recent.length >= MAX_RENEWALS) {
      throw oauthError(
        'temporarily_unavailable',
        `An access is renewed at most ${MAX_RENEWALS} times an hour; use the token that there is`,
        {
          retry_after_ms: Math.max(1, HOUR_MS - (nowMs - (recent[0] ?? nowMs))),
        },
      );
    }
    this.#renewals.set(grantId, [...recent, nowMs]);
  }

  #grantOf(text: string): StoredGrant | undefined {
    const refresh = parseRefreshToken(text);
    if (refresh) {
      const grant = this.#ports.grants.get(refresh.grantId);
      return grant && refreshState(refresh, grant, this.#ports.time.now()) !== 'foreign' ? grant : undefined;
    }
    const tokenId = tokenIdOf(this.#ports.tokens, text);
    const grantId = tokenId === undefined ? undefined : this.#ports.tokens.find(tokenId)?.grant;
    return grantId === undefined ? undefined : this.#ports.grants.get(grantId);
  }

  async #refuseAndEnd(grant: StoredGrant, reason: EndReason): Promise<never> {
    await this.end(grant.id, reason);
    return refuse(`The access has ended (${reason.replaceAll('_', ' ')}); ask the person again`);
  }

  #replace(tokenId: string): void {
    this.#replaced.add(tokenId);
    this.#ports.tokens.revoke(tokenId);
    this.#replaced.delete(tokenId);
  }

  /** Ends the grant of a token that somebody has revoked in the list of tokens, and the grants that were given with the token. */
  #onRevoked(tokenId: string): void {
    if (this.#replaced.has(tokenId)) return;
    const grantId = this.#ports.tokens.find(tokenId)?.grant;
    if (grantId !== undefined) this.#endLater(grantId, 'token_revoked');
    for (const { id, givenWith } of this.list()) if (givenWith?.token === tokenId) this.#endLater(id, 'signed_out');
  }

  #endLater(grantId: string, reason: EndReason): void {
    this.end(grantId, reason).catch((thrown: unknown) => {
      this.#ports.logger.warn('oauth.grant_not_ended', { grant: grantId, problem: toAtmoError(thrown).message });
    });
  }

  #withUse(grant: StoredGrant): StoredGrant {
    return this.#notedMs.has(grant.accessTokenId) ? { ...grant, isAccessUsed: true } : grant;
  }

  /** Stores the first use of a token at once, and later ones now and then. If storing fails, the request goes on. */
  #noteUse(tokenId: string, grantId: string): void {
    const nowMs = this.#ports.time.now();
    if (nowMs - (this.#notedMs.get(tokenId) ?? Number.NEGATIVE_INFINITY) < USE_NOTED_MS) return;
    this.#notedMs.delete(tokenId);
    this.#notedMs.set(tokenId, nowMs);
    const [oldest] = this.#notedMs.keys();
    if (this.#notedMs.size > MAX_NOTED && oldest !== undefined) this.#notedMs.delete(oldest);
    const grant = this.#ports.grants.get(grantId);
    if (!grant) return;
    try {
      this.#ports.grants.save({ ...grant, lastUsedAtMs: nowMs, isAccessUsed: grant.isAccessUsed || grant.accessTokenId === tokenId });
    } catch (thrown) {
      this.#ports.logger.warn('oauth.use_not_stored', { grant: grantId, problem: toAtmoError(thrown).message });
    }
  }

  #note(event: string, grant: GrantDraft, data: JsonObject): Promise<void> {
    const { clientName, clientId, person, agentId, resource } = grant;
    const about = { client: clientName, client_id: clientId, person, agent_id: agentId, resource: resource.address };
    return recordNote(this.#ports, { event, atMs: this.#ports.time.now(), principalId: person, data: { ...about, ...data } });
  }
}

function grantedToken({ id: grantId, resource }: StoredGrant, expiresAtMs: number): GrantedToken {
  return { grantId, paths: resource.paths, expiresAtMs };
}

/** Returns the id of a valid access token; undefined for any other text. */
function tokenIdOf(tokens: Pick<TokenAuthority, 'principalOf'>, text: string): string | undefined {
  try {
    return tokens.principalOf(text).token?.id;
  } catch {
    return undefined;
  }
}

function refuse(message: string): never {
  throw oauthError('invalid_grant', message);
}

import { isSignedBy, personKeyOf } from '../../codec/person-key.ts';
import type { OfferedKey } from '../../core/auth/approvals.ts';
import {
  type Invitation,
  type KeyOffer,
  mayRoleApprove,
  type PeopleAdministration,
  type Person,
  plainCode,
  type SignIn,
  type SignInAction,
  type SignInProof,
  type SignInService,
  type SignInToken,
  signInStatement,
} from '../../core/auth/people.ts';
import { OWNER, type Principal, rootAgentOf, type TokenAuthority, type TokenRecord } from '../../core/auth/principal.ts';
import type { TrustedTime } from '../../core/clock.ts';
import type { HubContext } from '../../core/context.ts';
import { AtmoError, permissionDenied, toAtmoError } from '../../core/errors.ts';
import type { JsonObject } from '../../core/json.ts';
import type { Service } from '../../core/lifecycle.ts';
import { recordNote } from '../../core/storage/audit-sink.ts';
import { visibleLine } from '../../core/untrusted-text.ts';
import type { ApproverRegistry } from '../approvals/approver-registry.ts';
import { readRegistration } from '../approvals/passkey.ts';
import type { OAuthGrants } from '../oauth/grants.ts';
import { agentNameOf, type Household } from './household.ts';
import { Challenges, type Invitations } from './invitations.ts';
import { admittedUntil, grantsOf, requireRights } from './person-grants.ts';
import type { SignInStore, StoredSignIn } from './sign-in-store.ts';

const LONGEST_TOKEN_MS = 12 * 3_600_000;
const SHORTEST_TOKEN_MS = 60_000;
const MAX_LABEL_LENGTH = 64;
/** Number of renewals of one sign-in within an hour. A browser with several open tabs needs far fewer. */
const MAX_RENEWALS = 60;
const HOUR_MS = 3_600_000;

interface PeopleCollaborators extends Pick<HubContext, 'clock' | 'audit' | 'logger'> {
  readonly time: Pick<TrustedTime, 'now'>;
  readonly household: Household;
  readonly invitations: Invitations;
  readonly signIns: SignInStore;
  readonly tokens: Pick<TokenAuthority, 'issue' | 'revoke' | 'list' | 'find'>;
  /** What persons have granted to applications. */
  readonly grants: Pick<OAuthGrants, 'endOf' | 'endOfSignIn' | 'settle'>;
  readonly approvers: Pick<ApproverRegistry, 'keysOf' | 'list' | 'remove' | 'offer' | 'dropOffers'>;
}

/**
 * The household and its sign-ins. A change is stored before its consequences, such as the end of tokens; after a crash, the next start
 * completes them. A sign-in holds no right itself: each renewal gives a token with what the person may do at that time.
 */
export class PeopleService implements PeopleAdministration, SignInService, Service {
  readonly #ports: PeopleCollaborators;
  readonly #challenges: Challenges;
  /** Times of the last renewals by sign-in, in milliseconds of the monotonic clock. */
  readonly #renewals = new Map<string, readonly number[]>();
  readonly #removalListeners = new Set<(name: string) => void>();

  constructor(ports: PeopleCollaborators) {
    this.#ports = ports;
    this.#challenges = new Challenges(ports.clock);
  }

  /** Completes what a former process stored and could not complete. */
  async start(): Promise<void> {
    const { household, signIns } = this.#ports;
    for (const name of household.leaving()) await this.#endPerson(name);
    for (const person of household.unsettled()) await this.#settle(person);
    for (const { id, person, endedAtMs } of signIns.all()) {
      if (endedAtMs === undefined) continue;
      this.#revokeTokensOf(id);
      await this.#ports.grants.endOfSignIn(id);
      await this.#removeKeysOf(person, ({ signIn }) => signIn === id);
    }
    for (const person of household.list()) this.#revokeOutdated(person);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#renewals.clear();
  }

  list(): readonly Person[] {
    return this.#ports.household.list();
  }

  find(name: string): Person | undefined {
    return this.#ports.household.find(name);
  }

  isKnown(name: string): boolean {
    return this.#ports.household.isKnown(name);
  }

  personOf(principal: Principal): Person | undefined {
    return this.#ports.household.personOf(principal);
  }

  async add(person: Person): Promise<void> {
    this.#requireNoAgent(person.name);
    this.#ports.household.add(person);
    await this.#note('person.added', person.name, { role: person.role });
  }

  async change(person: Person): Promise<void> {
    if (!mayRoleApprove(person.role)) this.#requireOtherKeys(person.name);
    this.#ports.household.change(person);
    for (const unsettled of this.#ports.household.unsettled()) if (unsettled.name === person.name) await this.#settle(unsettled);
    await this.#note('person.changed', person.name, { role: person.role });
  }

  async remove(name: string): Promise<void> {
    this.#ports.household.require(name);
    this.#requireOtherKeys(name);
    this.#ports.household.leave(name);
    await this.#endPerson(name);
    await this.#note('person.removed', name, {});
  }

  /**
   * Calls `listener` while a person is removed, before the name is free again. If the listener throws, the next start completes the removal, when
   * nobody may listen yet. The returned function unsubscribes.
   */
  onRemoved(listener: (name: string) => void): () => void {
    this.#removalListeners.add(listener);
    return () => this.#removalListeners.delete(listener);
  }

  async invite(name: string): Promise<Invitation> {
    const person = this.#ports.household.require(name);
    this.#ports.signIns.requireRoom(name);
    const invitation = this.#ports.invitations.make(person);
    await this.#note('person.invited', name, {});
    return invitation;
  }

  requireRightsOf(person: Person, caller: Principal): void {
    requireRights(person, caller);
  }

  async offerKey(name: string, { label, signIn, key = '', passkey }: KeyOffer): Promise<OfferedKey> {
    const { role } = this.#ports.household.require(name);
    if (!mayRoleApprove(role)) throw new AtmoError('PERMISSION_DENIED', 'Only owners and adults can approve');
    const offered = { person: name, label, ...(signIn !== undefined && { signIn }) };
    if (!passkey) return this.#ports.approvers.offer({ ...offered, key });
    this.#challenges.use(passkey.challenge);
    return this.#ports.approvers.offer({ ...offered, ...readRegistration(passkey, passkey.challenge) });
  }

  signInOf({ token }: Principal): string | undefined {
    const root = token?.chain[0];
    return root === undefined ? undefined : this.#ports.tokens.find(root)?.signIn;
  }

  signIns(): readonly SignIn[] {
    return this.#ports.signIns.live();
  }

  async endSignIn(id: string): Promise<SignIn> {
    const found = this.#ports.signIns.get(id);
    if (!found || found.endedAtMs !== undefined) {
      throw new AtmoError('NOT_FOUND', `There is no sign-in ${JSON.stringify(id.slice(0, 32))}; "atmo people sign-ins" lists them`);
    }
    await this.#end(found);
    return found;
  }

  challenge(): string {
    return this.#challenges.make();
  }

  async accept({ code, key, label, ...proof }: Parameters<SignInService['accept']>[0]): Promise<SignInToken> {
    // The invitation comes first: the hub keeps a limited number of used challenges, and a wrong code must not take a place there.
    const invitation = this.#ports.invitations.find(code);
    const person = invitation && this.find(invitation.person);
    if (!invitation || !person)
      return refuse('This invitation is not known: it was used, has expired, or has a mistake. Ask for a new one');
    this.#requireProof(proof, { key, action: 'accept', subject: plainCode(code) });
    const known = this.#ports.signIns.get(invitation.signInId);
    if (known && (known.key !== key || known.endedAtMs !== undefined)) return refuse('This invitation was used already. Ask for a new one');
    if (!known) this.#ports.signIns.requireRoom(person.name);
    const nowMs = this.#ports.time.now();
    const shown = visibleLine(label, MAX_LABEL_LENGTH) || 'a browser';
    const signIn = known ?? { id: invitation.signInId, person: person.name, label: shown, key, createdAtMs: nowMs, seenAtMs: nowMs };
    const answer = this.#withToken(person, signIn);
    if (!known) await this.#note('sign_in.begun', person.name, { sign_in_id: signIn.id, label: shown });
    return answer;
  }

  async renew({ signInId, ...proof }: Parameters<SignInService['renew']>[0]): Promise<SignInToken> {
    const signIn = this.#ports.signIns.get(signInId);
    const person = signIn && this.find(signIn.person);
    if (!signIn || !person || signIn.endedAtMs !== undefined) return refuse('This sign-in was ended. Ask for a new invitation');
    this.#requireProof(proof, { key: signIn.key, action: 'renew', subject: signIn.id });
    this.#requireRate(signIn.id);
    const answer = this.#withToken(person, { ...signIn, seenAtMs: this.#ports.time.now() });
    await this.#note('sign_in.renewed', person.name, { sign_in_id: signIn.id });
    return answer;
  }

  requireAgreement(caller: Principal, subject: string, proof: SignInProof | undefined): void {
    const id = this.signInOf(caller);
    if (id === undefined) return;
    const signIn = this.#ports.signIns.get(id);
    if (!signIn || !proof) throw permissionDenied('The browser that is signed in has to sign this; load the page anew and allow it there');
    try {
      this.#requireProof(proof, { key: signIn.key, action: 'consent', subject });
    } catch (thrown) {
      const { code, message } = toAtmoError(thrown);
      if (code !== 'TOKEN_INVALID') throw thrown;
      throw permissionDenied(`${message}; load the page anew and allow it there again`);
    }
  }

  /** Issues a token and stores the sign-in. If the hub crashes between the two, the token was not sent to anybody. */
  #withToken(person: Person, signIn: StoredSignIn): SignInToken {
    const nowMs = this.#ports.time.now();
    const untilMs = admittedUntil(person, nowMs) ?? 0;
    const ttlMs = Math.min(LONGEST_TOKEN_MS, untilMs - nowMs);
    if (ttlMs < SHORTEST_TOKEN_MS) throw new AtmoError('PERMISSION_DENIED', notAdmitted(person, nowMs));
    const request = { agentId: agentNameOf(person), permissions: grantsOf(person), ttlMs, signIn: signIn.id };
    const { token, principal } = this.#ports.tokens.issue(request, OWNER);
    this.#ports.signIns.save(signIn);
    return { signIn, person, token, expiresAtMs: principal.token?.expiresAtMs ?? nowMs };
  }

  #requireProof(
    { challenge, signature }: SignInProof,
    { key, action, subject }: { readonly key: string; readonly action: SignInAction; readonly subject: string },
  ): void {
    const publicKey = personKeyOf(key);
    this.#challenges.use(challenge);
    if (isSignedBy(publicKey, signInStatement(action, subject, challenge), signature)) return;
    refuse('The signature is not one of the key of this sign-in over this challenge');
  }

  #requireRate(signInId: string): void {
    const nowMs = this.#ports.clock.monotonic();
    const recent = (this.#renewals.get(signInId) ?? []).filter((atMs) => nowMs - atMs < HOUR_MS);
    if (recent.length >= MAX_RENEWALS) {
      throw new AtmoError('RATE_LIMITED', `A sign-in is renewed at most ${MAX_RENEWALS} times an hour; use the token that it has`, {
        retry_after_ms: Math.max(1, HOUR_MS - (nowMs - (recent[0] ?? nowMs))),
      });
    }
    this.#renewals.set(signInId, [...recent, nowMs]);
  }

  async #end(signIn: StoredSignIn): Promise<void> {
    const { signIns, time } = this.#ports;
    signIns.save({ ...signIn, endedAtMs: time.now() });
    this.#renewals.delete(signIn.id);
    this.#revokeTokensOf(signIn.id);
    await this.#ports.grants.endOfSignIn(signIn.id);
    await this.#removeKeysOf(signIn.person, (one) => one.signIn === signIn.id || one.key === signIn.key);
    await this.#note('sign_in.ended', signIn.person, { sign_in_id: signIn.id, label: signIn.label });
  }

  /** Ends everything that a person has, and then the record, so that a crash in between leaves nothing. */
  async #endPerson(name: string): Promise<void> {
    const { household, invitations, signIns } = this.#ports;
    invitations.end(name);
    for (const signIn of signIns.live()) if (signIn.person === name) await this.#end(signIn);
    this.#revokeAllTokens(name);
    await this.#ports.grants.endOf(name);
    await this.#removeKeys(name);
    for (const listener of this.#removalListeners) listener(name);
    household.forget(name);
  }

  /**
   * Ends what a person got under another role or other limits: all tokens, also those of `atmo login` and their descendants, and the keys of
   * who may not approve any more. Sign-ins stay and renew their tokens. The owner is never among these persons.
   */
  async #settle(person: Person): Promise<void> {
    this.#revokeAllTokens(person.name);
    await this.#ports.grants.settle(person);
    if (!mayRoleApprove(person.role)) await this.#removeKeys(person.name);
    this.#ports.household.settle(person);
  }

  /** Removes the keys of a person, and those that wait to be confirmed. */
  async #removeKeys(name: string): Promise<void> {
    this.#ports.approvers.dropOffers(({ person }) => person === name);
    for (const { keyId } of this.#ports.approvers.keysOf(name)) await this.#ports.approvers.remove(keyId);
  }

  /** Removes some keys of a person, also those that wait to be confirmed. The last key of the hub stays. */
  async #removeKeysOf(name: string, isRemoved: (key: Pick<OfferedKey, 'key' | 'signIn'>) => boolean): Promise<void> {
    const { approvers } = this.#ports;
    approvers.dropOffers((offer) => offer.person === name && isRemoved(offer));
    for (const key of approvers.keysOf(name)) if (isRemoved(key) && approvers.list().length > 1) await approvers.remove(key.keyId);
  }

  /** Throws CONFLICT if an agent has this name: its token would count as the person's. */
  #requireNoAgent(name: string): void {
    if (this.find(name)) return;
    const isAgent = this.#validTokens().some(({ agentId, signIn }) => signIn === undefined && agentId === name);
    if (isAgent) throw new AtmoError('CONFLICT', `An agent with a token is called ${name}; end its tokens first, or choose another name`);
  }

  /** Throws CONFLICT if nobody else could approve anything without this person. */
  #requireOtherKeys(name: string): void {
    const keys = this.#ports.approvers.list();
    if (keys.length === 0 || keys.some(({ person }) => person !== name)) return;
    throw new AtmoError('CONFLICT', `${name} has the only keys that may approve; let somebody else approve first`);
  }

  /** Revokes a person's tokens and those that come from them. The tokens of applications end with or in their grants. */
  #revokeAllTokens(name: string): void {
    for (const { id, agentId, grant } of this.#validTokens()) {
      if (rootAgentOf(agentId) === name && grant === undefined) this.#ports.tokens.revoke(id);
    }
  }

  #revokeTokensOf(signInId: string): void {
    for (const { id, signIn } of this.#validTokens()) if (signIn === signInId) this.#ports.tokens.revoke(id);
  }

  /** Revokes the tokens of a person's sign-ins whose grants are not those that the person has now. */
  #revokeOutdated(person: Person): void {
    const granted = [...new Set(grantsOf(person))].sort().join();
    const own = new Set(this.#ports.signIns.live().flatMap((signIn) => (signIn.person === person.name ? [signIn.id] : [])));
    for (const { id, signIn, permissions } of this.#validTokens()) {
      if (signIn !== undefined && own.has(signIn) && [...permissions].sort().join() !== granted) this.#ports.tokens.revoke(id);
    }
  }

  #validTokens(): readonly TokenRecord[] {
    const nowMs = this.#ports.time.now();
    return this.#ports.tokens
      .list()
      .filter(({ revokedAtMs, expiresAtMs }) => revokedAtMs === undefined && expiresAtMs + SHORTEST_TOKEN_MS > nowMs);
  }

  #note(event: string, person: string, data: JsonObject): Promise<void> {
    return recordNote(this.#ports, { event, atMs: this.#ports.time.now(), principalId: person, data: { person, ...data } });
  }
}

function notAdmitted({ limits: { untilMs, hours } }: Person, nowMs: number): string {
  if (untilMs !== undefined && untilMs - nowMs < SHORTEST_TOKEN_MS) return 'Your time here has ended; ask the owner for more';
  return hours ? `You can sign in from ${hours.from} to ${hours.to}; come back then` : 'You cannot sign in now; ask the owner';
}

function refuse(problem: string): never {
  throw new AtmoError('TOKEN_INVALID', problem);
}

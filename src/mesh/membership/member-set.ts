import { createHash, hash } from 'node:crypto';
import {
  type CertificateChain,
  certificateChainCodec,
  memberRevocationCodec,
  revocationStatementCodec,
} from '../../codec/messages/membership.ts';
import { meshIdOf, publicKeyOf } from '../../codec/public-key.ts';
import type { TrustedTime } from '../../core/clock.ts';
import { AtmoError, toAtmoError } from '../../core/errors.ts';
import type { HubId } from '../../core/ids.ts';
import type { Logger } from '../../core/logger.ts';
import type { KeyValueStore } from '../../core/storage/key-value-store.ts';
import { isExpired, isInviter, type Member, requireInTime, verifyCertificate } from './certificates.ts';
import { refuseAtGate } from './gate-refusal.ts';

const MAX_CACHED = 512;

interface MemberSetCollaborators {
  readonly store: KeyValueStore;
  readonly time: TrustedTime;
  readonly logger: Logger;
}

/** The members of one mesh as one of them sees it: whose certificates hold, who was met, who was revoked. */
export class MemberSet {
  readonly rootKey: string;
  readonly #time: TrustedTime;
  readonly #known: KnownMembers;
  readonly #revoked: RevokedMembers;
  /** Chains whose signatures were verified, by hash; least recently used first. */
  readonly #verified = new Map<string, Member>();

  constructor({ store, time, logger }: MemberSetCollaborators, rootKey: string) {
    this.rootKey = rootKey;
    this.#time = time;
    this.#known = new KnownMembers({ store, logger }, rootKey);
    this.#revoked = new RevokedMembers({ store, logger }, rootKey);
  }

  /** STORAGE_FAILED. */
  load(): void {
    this.#known.load();
    this.#revoked.load();
  }

  /** The hub that a certificate vouches for now. PERMISSION_DENIED with the reason. */
  verify(certificate: CertificateChain): Member {
    const member = this.#verifySignatures(certificate);
    requireInTime(member, this.#time);
    if (this.#revoked.covers(member)) {
      refuseAtGate(
        'revoked',
        `${member.hubId}, or the hub that let it in, was revoked. It can join again only with a key and an invite that are new`,
      );
    }
    return member;
  }

  /** Keeps what a hub has proven to be its own certificate. STORAGE_FAILED. */
  remember(member: Member): void {
    this.#known.remember(member, (other) => this.#isOver(other));
  }

  /** A hub that was met before and whose certificate still holds. */
  member(id: string): Member | undefined {
    const member = this.#known.get(id);
    return member && !this.#isOver(member) ? member : undefined;
  }

  members(): readonly Member[] {
    return this.#known.all().filter((member) => !this.#isOver(member));
  }

  isRevoked(member: Member): boolean {
    return this.#revoked.covers(member);
  }

  /** The statement by which the certificate counts no more; undefined where there is none. PERMISSION_DENIED where it never counted. */
  revocationOf(certificate: CertificateChain): Uint8Array | undefined {
    return this.#revoked.statementFor(this.#verifySignatures(certificate));
  }

  /** Why a hub that was met is a member no more; undefined while it is one, and for hubs that are not known. */
  lossOf(id: string): 'revoked' | 'expired' | undefined {
    const member = this.#known.get(id);
    if (!member) return undefined;
    if (this.#revoked.covers(member)) return 'revoked';
    return isExpired(member, this.#time) ? 'expired' : undefined;
  }

  revokedHubs(): readonly HubId[] {
    return this.#revoked.hubs();
  }

  statements(): readonly Uint8Array[] {
    return this.#revoked.statements();
  }

  /** See `RevokedMembers.merge`. */
  merge(statement: Uint8Array): HubId | undefined {
    return this.#revoked.merge(statement);
  }

  /** Forgets all of it, on the disk too. STORAGE_FAILED. */
  clear(): void {
    this.#known.clear();
    this.#revoked.clear();
    this.#verified.clear();
  }

  #isOver(member: Member): boolean {
    return isExpired(member, this.#time) || this.#revoked.covers(member);
  }

  #verifySignatures(certificate: CertificateChain): Member {
    const name = nameOf(certificate);
    const member = this.#verified.get(name) ?? verifyCertificate(certificate, this.rootKey);
    this.#verified.delete(name);
    const [oldest] = this.#verified.keys();
    if (this.#verified.size >= MAX_CACHED && oldest !== undefined) this.#verified.delete(oldest);
    this.#verified.set(name, member);
    return member;
  }
}

/** Each link counts with its length: no two chains have one name. */
function nameOf(certificate: CertificateChain): string {
  const digest = createHash('sha256');
  for (const link of certificate) digest.update(`${link.length}.`).update(link);
  return digest.digest('base64url');
}

const MEMBERS_NAMESPACE = 'mesh.members';
/** Hubs that are remembered. */
export const MAX_KNOWN_MEMBERS = 256;

/** The newest certificate of every hub that was met, over restarts too: a token of it verifies before it is met again. */
class KnownMembers {
  readonly #store: KeyValueStore;
  readonly #logger: Logger;
  readonly #rootKey: string;
  /** The one that was least recently remembered first. */
  readonly #members = new Map<HubId, Member>();

  constructor({ store, logger }: { readonly store: KeyValueStore; readonly logger: Logger }, rootKey: string) {
    this.#store = store;
    this.#logger = logger;
    this.#rootKey = rootKey;
  }

  /** STORAGE_FAILED. */
  load(): void {
    for (const { key, value } of this.#store.entries(MEMBERS_NAMESPACE)) {
      try {
        const member = verifyCertificate(certificateChainCodec.decode(Buffer.from(String(value), 'base64url')), this.#rootKey);
        this.#members.set(member.hubId, member);
      } catch (error) {
        this.#store.delete(MEMBERS_NAMESPACE, key);
        this.#logger.warn('mesh.member_forgotten', { hub_id: key, problem: toAtmoError(error).message });
      }
    }
  }

  /** Keeps the certificate unless a newer one of the hub is known; `isOver` tells which may go first for want of room. STORAGE_FAILED. */
  remember(member: Member, isOver: (other: Member) => boolean): void {
    const known = this.#members.get(member.hubId);
    const isNew = known === undefined || isNewer(member, known);
    if (!known) this.#makeRoom(isOver);
    const kept = isNew ? member : known;
    this.#members.delete(member.hubId);
    this.#members.set(member.hubId, kept);
    if (isNew)
      this.#store.set(MEMBERS_NAMESPACE, member.hubId, Buffer.from(certificateChainCodec.encode(kept.certificate)).toString('base64url'));
  }

  get(id: string): Member | undefined {
    return this.#members.get(id as HubId);
  }

  all(): readonly Member[] {
    return [...this.#members.values()];
  }

  /** Forgets all, on the disk too: this hub left the mesh. */
  clear(): void {
    for (const { key } of this.#store.entries(MEMBERS_NAMESPACE)) this.#store.delete(MEMBERS_NAMESPACE, key);
    this.#members.clear();
  }

  #makeRoom(isOver: (other: Member) => boolean): void {
    if (this.#members.size < MAX_KNOWN_MEMBERS) return;
    const leaving = this.all().find(isOver) ?? this.all()[0];
    if (!leaving) return;
    this.#members.delete(leaving.hubId);
    this.#store.delete(MEMBERS_NAMESPACE, leaving.hubId);
  }
}

/** Times are in whole seconds: of two certificates of one second, the root key's counts more. */
function isNewer(one: Member, other: Member): boolean {
  if (one.issuedAtMs !== other.issuedAtMs) return one.issuedAtMs > other.issuedAtMs;
  return one.inviter === undefined && other.inviter !== undefined;
}

const REVOKED_NAMESPACE = 'mesh.revoked';
const MAX_STATEMENTS = 1024;
/** So that a hub which lets others in cannot use up the room of the root key. */
const MAX_BY_INVITERS = 512;

interface Revocation {
  readonly hubId: HubId;
  readonly isByRoot: boolean;
  readonly statement: Uint8Array;
  /** Decides between two statements that say the same; nobody can make many that each win over the one before. */
  readonly rank: string;
}

/**
 * Hubs that are members no more. What each hub knows is a set of signed statements, one for each hub that was revoked: sets
 * merge by taking each other's statements, in any order, any number of times, and they are kept for good. The root key ends
 * any membership; a hub that may invite ends those of hubs that may not.
 */
export class RevokedMembers {
  readonly #store: KeyValueStore;
  readonly #logger: Logger;
  readonly #rootKey: string;
  readonly #revoked = new Map<HubId, Revocation>();
  /** Those that the disk did not take. */
  readonly #unwritten = new Set<HubId>();

  constructor({ store, logger }: { readonly store: KeyValueStore; readonly logger: Logger }, rootKey: string) {
    this.#store = store;
    this.#logger = logger;
    this.#rootKey = rootKey;
  }

  /** Takes up what was revoked before the restart. STORAGE_FAILED. */
  load(): void {
    for (const { key, value } of this.#store.entries(REVOKED_NAMESPACE)) {
      const statement = Buffer.from(String(value), 'base64url');
      try {
        this.#revoked.set(key as HubId, this.#read(statement));
      } catch (error) {
        // A damaged statement still says which hub it was about; to believe that hub again would be the worse mistake.
        this.#revoked.set(key as HubId, { hubId: key as HubId, isByRoot: true, statement: new Uint8Array(), rank: '' });
        this.#logger.warn('mesh.revocation_unreadable', { hub_id: key, problem: toAtmoError(error).message });
      }
    }
  }

  /**
   * Takes a statement and answers the hub that it is about; undefined when nothing is new. PERMISSION_DENIED or VALIDATION_ERROR when it is not by somebody who may say so,
   * RESOURCE_EXCEEDED when there are too many, STORAGE_FAILED (then it holds until the hub stops: say it again).
   */
  merge(statement: Uint8Array): HubId | undefined {
    const revocation = this.#read(statement);
    const { hubId } = revocation;
    const known = this.#revoked.get(hubId);
    if (known && !overrules(revocation, known) && !this.#unwritten.has(hubId)) return undefined;
    if (!known) this.#requireRoom(revocation);
    this.#revoked.set(hubId, revocation);
    this.#unwritten.add(hubId);
    this.#store.set(REVOKED_NAMESPACE, hubId, Buffer.from(statement).toString('base64url'));
    this.#unwritten.delete(hubId);
    return hubId;
  }

  /** True when the certificate vouches for nothing any more: its hub was revoked, or the one that let it in. */
  covers(member: Member): boolean {
    return this.#revocationOf(member) !== undefined;
  }

  /** The statement by which that is so; undefined where there is none that can be shown. */
  statementFor(member: Member): Uint8Array | undefined {
    const { statement } = this.#revocationOf(member) ?? {};
    return statement && statement.length > 0 ? statement : undefined;
  }

  /** What other hubs have to know. */
  statements(): readonly Uint8Array[] {
    return [...this.#revoked.values()].filter(({ statement }) => statement.length > 0).map(({ statement }) => statement);
  }

  hubs(): readonly HubId[] {
    return [...this.#revoked.keys()];
  }

  /** Forgets all, on the disk too: this hub left the mesh. */
  clear(): void {
    for (const { key } of this.#store.entries(REVOKED_NAMESPACE)) this.#store.delete(REVOKED_NAMESPACE, key);
    this.#revoked.clear();
  }

  #revocationOf(member: Member): Revocation | undefined {
    const own = this.#revoked.get(member.hubId);
    if (own && (own.isByRoot || !isInviter(member))) return own;
    const ofInviter = member.inviter === undefined ? undefined : this.#revoked.get(member.inviter);
    return ofInviter?.isByRoot ? ofInviter : undefined;
  }

  #read(bytes: Uint8Array): Revocation {
    const { signed, signer } = revocationStatementCodec.decode(bytes);
    const meshId = meshIdOf(this.#rootKey);
    // The signer's own end, by time or revocation, takes nothing back that it said: what is known must not depend on the order.
    const inviter = signer && verifyCertificate(signer, this.#rootKey);
    if (inviter && !isInviter(inviter)) refuseAtGate('certificate_invalid', `${inviter.hubId} may not end the membership of others`);
    const { hubId } = memberRevocationCodec.open(signed, (unverified) => {
      if (unverified.meshId !== meshId) refuseAtGate('other_mesh', `The revocation is for ${unverified.meshId}, this is ${meshId}`);
      return inviter ? inviter.publicKey : publicKeyOf(this.#rootKey);
    });
    return { hubId, isByRoot: inviter === undefined, statement: Uint8Array.from(bytes), rank: hash('sha256', bytes, 'hex') };
  }

  #requireRoom({ isByRoot }: Revocation): void {
    const byInviters = [...this.#revoked.values()].filter((revocation) => !revocation.isByRoot).length;
    if (this.#revoked.size < MAX_STATEMENTS && (isByRoot || byInviters < MAX_BY_INVITERS)) return;
    throw new AtmoError('RESOURCE_EXCEEDED', 'Too many hubs were revoked in this mesh; make a new mesh and let the hubs that stay join it');
  }
}

/** The root key overrules; among equals any fixed order will do, as long as every hub has the same. */
function overrules(one: Revocation, other: Revocation): boolean {
  if (one.isByRoot !== other.isByRoot) return one.isByRoot;
  return other.rank === '' || one.rank < other.rank;
}

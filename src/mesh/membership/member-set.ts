import { createHash, hash } from 'node:crypto';
import { type CertificateChain, memberRevocationCodec, revocationStatementCodec } from '../../codec/messages/membership.ts';
import { meshIdOf, publicKeyOf } from '../../codec/public-key.ts';
import type { TrustedTime } from '../../core/clock.ts';
import type { HubContext } from '../../core/context.ts';
import { AtmoError, toAtmoError } from '../../core/errors.ts';
import { attemptWrite } from '../../core/files/file-system.ts';
import type { HubId } from '../../core/ids.ts';
import {
  certificateText,
  isExpired,
  isInviter,
  type Member,
  parseCertificate,
  refuseAtGate,
  requireInTime,
  verifyCertificate,
} from './certificates.ts';

const MAX_CACHED = 512;
/** Maximum number of hubs of other sites that this hub remembers. */
export const MAX_VISITORS = 1_024;

type MemberSetCollaborators = Pick<HubContext, 'clock' | 'logger' | 'store' | 'time'>;

/** Holds the certificates and revocations that this hub knows of the members of one mesh. */
export class MemberSet {
  readonly rootKey: string;
  readonly revoked: RevokedMembers;
  readonly #time: TrustedTime;
  readonly #known: KnownMembers;
  /** Members whose certificates have verified signatures, by certificate hash. The least recently used one is the first. */
  readonly #verified = new Map<string, Member>();
  /** Hubs of other sites that called this hub or were looked up, the least recently used first. They are not stored on the disk. */
  readonly #visitors = new Map<HubId, Member>();

  constructor(parts: MemberSetCollaborators, rootKey: string) {
    this.rootKey = rootKey;
    this.#time = parts.time;
    this.#known = new KnownMembers(parts, rootKey);
    this.revoked = new RevokedMembers(parts, rootKey);
  }

  /** Reads the members and revocations from the disk. Throws STORAGE_FAILED if the disk cannot be read. */
  load(): void {
    this.#known.load();
    this.revoked.load();
  }

  /** Returns the hub of a certificate that is valid now. Throws PERMISSION_DENIED with the reason if the certificate is not valid now. */
  verify(certificate: CertificateChain): Member {
    const member = this.#verifySignatures(certificate);
    requireInTime(member, this.#time);
    if (this.revoked.covers(member)) {
      refuseAtGate(
        'revoked',
        `${member.hubId}, or the hub that let it in, was revoked. It can join again only with a key and an invite that are new`,
      );
    }
    return member;
  }

  /** Keeps the certificate of a hub that has proven its key. Throws STORAGE_FAILED if it replaces another one and cannot be stored. */
  remember(member: Member): void {
    this.#known.remember(member, (other) => this.#isOver(other));
  }

  /** Verifies the certificate of a hub of another site and remembers it until the hub stops. Throws the errors of `verify`. */
  admitVisitor(certificate: CertificateChain): Member {
    const member = this.verify(certificate);
    this.#renewVisitor(member);
    const [oldest] = this.#visitors.keys();
    if (this.#visitors.size > MAX_VISITORS && oldest !== undefined) this.#visitors.delete(oldest);
    return member;
  }

  /** Returns a known hub if its stored certificate is still valid, else undefined. A hub of another site then counts as just used. */
  member(id: string): Member | undefined {
    const visitor = this.#visitors.get(id as HubId);
    if (visitor) this.#renewVisitor(visitor);
    const member = this.#known.get(id) ?? visitor;
    return member && !this.#isOver(member) ? member : undefined;
  }

  members(): readonly Member[] {
    return this.#known.all().filter((member) => !this.#isOver(member));
  }

  /** Returns the statement that revoked a certificate, if any. Throws PERMISSION_DENIED if the certificate has an invalid signature. */
  revocationOf(certificate: CertificateChain): Uint8Array | undefined {
    return this.revoked.statementFor(this.#verifySignatures(certificate));
  }

  /** Returns why a known hub is no longer a member. Returns undefined if the hub is a member or unknown. */
  lossOf(id: string): 'revoked' | 'expired' | undefined {
    const member = this.#known.get(id);
    if (!member) return undefined;
    if (this.revoked.covers(member)) return 'revoked';
    return isExpired(member, this.#time) ? 'expired' : undefined;
  }

  /** Deletes all members and revocations, also on the disk. Throws STORAGE_FAILED if they cannot be deleted. */
  clear(): void {
    this.#known.clear();
    this.revoked.clear();
    this.#verified.clear();
    this.#visitors.clear();
  }

  /** Stores what waits to be stored. What the disk refuses is lost; its hub shows it again. */
  [Symbol.dispose](): void {
    this.#known[Symbol.dispose]();
  }

  #renewVisitor(member: Member): void {
    this.#visitors.delete(member.hubId);
    this.#visitors.set(member.hubId, member);
  }

  #isOver(member: Member): boolean {
    return isExpired(member, this.#time) || this.revoked.covers(member);
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

/** Returns a hash of the certificate. Each link is hashed with its length, so that different chains have different hashes. */
function nameOf(certificate: CertificateChain): string {
  const digest = createHash('sha256');
  for (const link of certificate) digest.update(`${link.length}.`).update(link);
  return digest.digest('base64url');
}

type MemberStorage = Pick<MemberSetCollaborators, 'clock' | 'store' | 'logger'>;

const MEMBERS_NAMESPACE = 'mesh.members';
/** Maximum number of stored members. */
export const MAX_KNOWN_MEMBERS = 256;
/** Milliseconds between two writes of certificates. Each write waits for the disk, and a hub that joins a mesh gets all certificates at once. */
const WRITE_EVERY_MS = 250;
/** Milliseconds until the next attempt to write what the disk refused. */
const WRITE_AGAIN_MS = 30_000;

/**
 * Stores the newest certificate of each known hub on disk. After a restart, this hub can verify tokens of hubs that are not connected. That of a new
 * hub is written a moment later: the connection or announcement that brought it brings it again if it was not written.
 */
class KnownMembers {
  readonly #parts: MemberStorage;
  readonly #rootKey: string;
  /** Members by hub id, in the order in which they were last passed to `remember`. */
  readonly #members = new Map<HubId, Member>();
  /** Hubs whose certificates are not written yet, the longest known first. */
  readonly #unwritten = new Set<HubId>();
  #cancelWrite: (() => void) | undefined;

  constructor(parts: MemberStorage, rootKey: string) {
    this.#parts = parts;
    this.#rootKey = rootKey;
  }

  /** Reads the members from the disk and deletes unreadable entries. Throws STORAGE_FAILED if the disk cannot be read. */
  load(): void {
    const { store, logger } = this.#parts;
    for (const { key, value } of store.entries(MEMBERS_NAMESPACE)) {
      try {
        const member = verifyCertificate(parseCertificate(String(value)), this.#rootKey);
        this.#members.set(member.hubId, member);
      } catch (error) {
        store.delete(MEMBERS_NAMESPACE, key);
        logger.warn('mesh.member_forgotten', { hub_id: key, problem: toAtmoError(error).message });
      }
    }
  }

  /**
   * Keeps a certificate unless a newer one of the same hub is kept. If there are too many, first deletes a member for which `isOver` is
   * true, or, if there is none, the least recently remembered member. Throws STORAGE_FAILED if a certificate that replaces another one
   * cannot be stored.
   */
  remember(member: Member, isOver: (other: Member) => boolean): void {
    const known = this.#members.get(member.hubId);
    const isNew = known === undefined || isNewer(member, known);
    if (!known) this.#makeRoom(isOver);
    this.#members.delete(member.hubId);
    this.#members.set(member.hubId, isNew ? member : known);
    if (!isNew) return;
    if (known && !this.#unwritten.has(member.hubId)) this.#write(member);
    else {
      this.#unwritten.add(member.hubId);
      this.#writeAfter(WRITE_EVERY_MS);
    }
  }

  get(id: string): Member | undefined {
    return this.#members.get(id as HubId);
  }

  all(): readonly Member[] {
    return [...this.#members.values()];
  }

  /** Deletes all members, also on the disk, because this hub left the mesh. */
  clear(): void {
    const { store } = this.#parts;
    for (const { key } of store.entries(MEMBERS_NAMESPACE)) store.delete(MEMBERS_NAMESPACE, key);
    this.#unwritten.clear();
    this.#members.clear();
  }

  [Symbol.dispose](): void {
    this.#cancelWrite?.();
    this.#cancelWrite = undefined;
    while (this.#unwritten.size > 0 && this.#writeNext());
  }

  #writeAfter(delayMs: number): void {
    this.#cancelWrite ??= this.#parts.clock.after(delayMs, () => {
      this.#cancelWrite = undefined;
      const isWritten = this.#writeNext();
      if (this.#unwritten.size > 0) this.#writeAfter(isWritten ? WRITE_EVERY_MS : WRITE_AGAIN_MS);
    });
  }

  #write({ hubId, certificate }: Member): void {
    this.#parts.store.set(MEMBERS_NAMESPACE, hubId, certificateText(certificate));
  }

  /** Writes one certificate. Returns false if the disk refuses it. */
  #writeNext(): boolean {
    const [hubId] = this.#unwritten;
    const member = hubId && this.#members.get(hubId);
    if (!member) return true;
    let isWritten = false;
    attemptWrite(
      () => {
        this.#write(member);
        isWritten = this.#unwritten.delete(hubId);
      },
      (problem) => this.#parts.logger.warn('mesh.member_not_written', { hub_id: hubId, problem }),
    );
    return isWritten;
  }

  #makeRoom(isOver: (other: Member) => boolean): void {
    if (this.#members.size < MAX_KNOWN_MEMBERS) return;
    const leaving = this.all().find(isOver) ?? this.all()[0];
    if (!leaving) return;
    this.#members.delete(leaving.hubId);
    this.#unwritten.delete(leaving.hubId);
    this.#parts.store.delete(MEMBERS_NAMESPACE, leaving.hubId);
  }
}

/** Returns whether `one` was issued later. If both were issued in the same second, one by the root key is newer than one by an inviter. */
function isNewer(one: Member, other: Member): boolean {
  if (one.issuedAtMs !== other.issuedAtMs) return one.issuedAtMs > other.issuedAtMs;
  return one.inviter === undefined && other.inviter !== undefined;
}

type RevocationStorage = Pick<MemberStorage, 'store' | 'logger'>;

const REVOKED_NAMESPACE = 'mesh.revoked';
const MAX_STATEMENTS = 1024;
/** Maximum number of revocations that inviters signed. The remaining statements are reserved for the root key. */
const MAX_BY_INVITERS = 512;

interface Revocation {
  readonly hubId: HubId;
  readonly isByRoot: boolean;
  readonly statement: Uint8Array;
  /** Hash of the statement. If two statements of equal authority revoke one hub, all hubs keep the one with the lower hash. */
  readonly rank: string;
}

/**
 * Stores one signed revocation statement for each revoked hub forever. Hubs exchange statements until all have the same set; order and
 * repetitions do not matter. The root key can end any membership. An inviter can end memberships of hubs that are no inviters.
 */
export class RevokedMembers {
  readonly #parts: RevocationStorage;
  readonly #rootKey: string;
  readonly #revoked = new Map<HubId, Revocation>();
  /** Hubs whose statement could not be written to the disk. */
  readonly #unwritten = new Set<HubId>();

  constructor(parts: RevocationStorage, rootKey: string) {
    this.#parts = parts;
    this.#rootKey = rootKey;
  }

  /** Reads the revocations from the disk. Throws STORAGE_FAILED if the disk cannot be read. */
  load(): void {
    for (const { key, value } of this.#parts.store.entries(REVOKED_NAMESPACE)) {
      const statement = Buffer.from(String(value), 'base64url');
      try {
        this.#revoked.set(key as HubId, this.#read(statement));
      } catch (error) {
        // The hub whose id is the storage key stays revoked even if its statement is damaged. Trusting that hub again would be worse.
        this.#revoked.set(key as HubId, { hubId: key as HubId, isByRoot: true, statement: new Uint8Array(), rank: '' });
        this.#parts.logger.warn('mesh.revocation_unreadable', { hub_id: key, problem: toAtmoError(error).message });
      }
    }
  }

  /**
   * Adds a revocation statement and returns the hub that it revokes. Returns undefined if the statement changes nothing. Throws
   * PERMISSION_DENIED or VALIDATION_ERROR if the signer has no right to revoke, RESOURCE_EXCEEDED if there are too many statements. Throws
   * STORAGE_FAILED if the statement cannot be written. It is then valid until this hub stops; merging it again tries to write it again.
   */
  merge(statement: Uint8Array): HubId | undefined {
    const revocation = this.#read(statement);
    const { hubId } = revocation;
    const known = this.#revoked.get(hubId);
    if (known && !overrules(revocation, known) && !this.#unwritten.has(hubId)) return undefined;
    if (!known) this.#requireRoom(revocation);
    this.#revoked.set(hubId, revocation);
    this.#unwritten.add(hubId);
    this.#parts.store.set(REVOKED_NAMESPACE, hubId, Buffer.from(statement).toString('base64url'));
    this.#unwritten.delete(hubId);
    return hubId;
  }

  /** Returns whether a certificate has ended because its hub, or the inviter that admitted this hub, was revoked. */
  covers(member: Member): boolean {
    return this.#revocationOf(member) !== undefined;
  }

  /** Returns the statement that ended a certificate. Returns undefined if there is no statement or the stored one is damaged. */
  statementFor(member: Member): Uint8Array | undefined {
    const { statement } = this.#revocationOf(member) ?? {};
    return statement && statement.length > 0 ? statement : undefined;
  }

  /** Returns all statements that are not damaged, to send them to other hubs. */
  statements(): readonly Uint8Array[] {
    return [...this.#revoked.values()].filter(({ statement }) => statement.length > 0).map(({ statement }) => statement);
  }

  hubs(): readonly HubId[] {
    return [...this.#revoked.keys()];
  }

  /** Deletes all revocations, also on the disk, because this hub left the mesh. */
  clear(): void {
    for (const { key } of this.#parts.store.entries(REVOKED_NAMESPACE)) this.#parts.store.delete(REVOKED_NAMESPACE, key);
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
    // The signer counts even if it has expired or was revoked. The set of revocations must not depend on the order of the statements.
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

/** Returns whether `one` replaces `other`. The root key overrules inviters. Otherwise the lower hash wins, so that all hubs agree. */
function overrules(one: Revocation, other: Revocation): boolean {
  if (one.isByRoot !== other.isByRoot) return one.isByRoot;
  return other.rank === '' || one.rank < other.rank;
}

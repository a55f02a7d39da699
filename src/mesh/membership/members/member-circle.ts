import { createHash } from 'node:crypto';
import type { HubId } from '../../../core/ids.ts';
import type { Logger } from '../../../core/logger.ts';
import type { KeyValueStore } from '../../../core/storage/key-value-store.ts';
import type { TrustedTime } from '../../../core/time/trusted-time.ts';
import type { CertificateChain } from '../../../wire/messages/certificate.ts';
import { verifyCertificate } from '../certificates/certificate-chain.ts';
import { isExpired, requireInTime } from '../certificates/certificate-time.ts';
import { refuseAtGate } from '../joining/gate-refusal.ts';
import { KnownMembers } from './known-members.ts';
import type { Member } from './member.ts';
import { RevokedMembers } from './revoked-members.ts';

const MAX_CACHED = 512;

interface CircleCollaborators {
  readonly store: KeyValueStore;
  readonly time: TrustedTime;
  readonly logger: Logger;
}

/** The members of one mesh as one of them sees it: whose certificates hold, who was met, who was revoked. */
export class MemberCircle {
  readonly rootKey: string;
  readonly #time: TrustedTime;
  readonly #known: KnownMembers;
  readonly #revoked: RevokedMembers;
  /** Chains whose signatures were verified, by hash; least recently used first. */
  readonly #verified = new Map<string, Member>();

  constructor({ store, time, logger }: CircleCollaborators, rootKey: string) {
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

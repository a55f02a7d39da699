import { toAtmoError } from '../../../core/errors.ts';
import type { HubId } from '../../../core/ids.ts';
import type { Logger } from '../../../core/logger.ts';
import type { KeyValueStore } from '../../../core/storage/key-value-store.ts';
import { decodeCertificateChain, encodeCertificateChain } from '../../../wire/messages/certificate.ts';
import { verifyCertificate } from '../certificates/certificate-chain.ts';
import type { Member } from './member.ts';

const SPACE = 'mesh.members';
/** Hubs that are remembered. */
export const MAX_KNOWN_MEMBERS = 256;

/** The newest certificate of every hub that was met, over restarts too: a token of it verifies before it is met again. */
export class KnownMembers {
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
    for (const { key, value } of this.#store.entries(SPACE)) {
      try {
        const member = verifyCertificate(decodeCertificateChain(Buffer.from(String(value), 'base64url')), this.#rootKey);
        this.#members.set(member.hubId, member);
      } catch (error) {
        this.#store.delete(SPACE, key);
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
    if (isNew) this.#store.set(SPACE, member.hubId, Buffer.from(encodeCertificateChain(kept.certificate)).toString('base64url'));
  }

  get(id: string): Member | undefined {
    return this.#members.get(id as HubId);
  }

  all(): readonly Member[] {
    return [...this.#members.values()];
  }

  /** Forgets all, on the disk too: this hub left the mesh. */
  clear(): void {
    for (const { key } of this.#store.entries(SPACE)) this.#store.delete(SPACE, key);
    this.#members.clear();
  }

  #makeRoom(isOver: (other: Member) => boolean): void {
    if (this.#members.size < MAX_KNOWN_MEMBERS) return;
    const leaving = this.all().find(isOver) ?? this.all()[0];
    if (!leaving) return;
    this.#members.delete(leaving.hubId);
    this.#store.delete(SPACE, leaving.hubId);
  }
}

/** Times are in whole seconds: of two certificates of one second, the root key's counts more. */
function isNewer(one: Member, other: Member): boolean {
  if (one.issuedAtMs !== other.issuedAtMs) return one.issuedAtMs > other.issuedAtMs;
  return one.inviter === undefined && other.inviter !== undefined;
}

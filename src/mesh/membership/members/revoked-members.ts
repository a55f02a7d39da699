import { hash } from 'node:crypto';
import { AtmoError, toAtmoError } from '../../../core/errors.ts';
import type { HubId } from '../../../core/ids.ts';
import type { Logger } from '../../../core/logger.ts';
import type { KeyValueStore } from '../../../core/storage/key-value-store.ts';
import { publicKeyOf } from '../../../wire/ed25519-key.ts';
import { meshIdOf } from '../../../wire/hub-id.ts';
import { decodeRevocationStatement, openMemberRevocation } from '../../../wire/messages/member-revocation.ts';
import { verifyCertificate } from '../certificates/certificate-chain.ts';
import { refuseAtGate } from '../joining/gate-refusal.ts';
import { isInviter, type Member } from './member.ts';

const SPACE = 'mesh.revoked';
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
    for (const { key, value } of this.#store.entries(SPACE)) {
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
    if (known && !wins(revocation, known) && !this.#unwritten.has(hubId)) return undefined;
    if (!known) this.#requireRoom(revocation);
    this.#revoked.set(hubId, revocation);
    this.#unwritten.add(hubId);
    this.#store.set(SPACE, hubId, Buffer.from(statement).toString('base64url'));
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
    for (const { key } of this.#store.entries(SPACE)) this.#store.delete(SPACE, key);
    this.#revoked.clear();
  }

  #revocationOf(member: Member): Revocation | undefined {
    const own = this.#revoked.get(member.hubId);
    if (own && (own.isByRoot || !isInviter(member))) return own;
    const ofInviter = member.inviter === undefined ? undefined : this.#revoked.get(member.inviter);
    return ofInviter?.isByRoot ? ofInviter : undefined;
  }

  #read(bytes: Uint8Array): Revocation {
    const { signed, signer } = decodeRevocationStatement(bytes);
    const meshId = meshIdOf(this.#rootKey);
    // The signer's own end, by time or revocation, takes nothing back that it said: what is known must not depend on the order.
    const inviter = signer && verifyCertificate(signer, this.#rootKey);
    if (inviter && !isInviter(inviter)) refuseAtGate('certificate_invalid', `${inviter.hubId} may not end the membership of others`);
    const { hubId } = openMemberRevocation(signed, (unverified) => {
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
function wins(one: Revocation, other: Revocation): boolean {
  if (one.isByRoot !== other.isByRoot) return one.isByRoot;
  return other.rank === '' || one.rank < other.rank;
}

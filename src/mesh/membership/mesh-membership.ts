import { type CertificateChain, certificateChainCodec } from '../../codec/messages/membership.ts';
import { meshIdOf } from '../../codec/public-key.ts';
import type { MeshTrust, TrustedHub } from '../../core/auth/tokens.ts';
import type { Clock, TrustedTime } from '../../core/clock.ts';
import { AtmoError, toAtmoError } from '../../core/errors.ts';
import type { EventBus } from '../../core/events.ts';
import type { HubId } from '../../core/ids.ts';
import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts';
import type { Service } from '../../core/lifecycle.ts';
import type { Logger } from '../../core/logger.ts';
import type { KeyValueStore } from '../../core/storage/key-value-store.ts';
import { isExpired, type LocalHub, type Member, verifyCertificate } from './certificates.ts';
import { refuseAtGate } from './gate-refusal.ts';
import { MemberSet } from './member-set.ts';

const SPACE = 'mesh.membership';
const OWN = 'own';
const CHECK_EVERY_MS = 60_000;

/** Hears whose membership is over, and why. */
type LossListener = (hub: HubId, reason: 'revoked' | 'expired') => void;

/** How this hub stands to its mesh. */
export type MembershipState = 'none' | 'member' | 'expired' | 'revoked';

interface MembershipCollaborators {
  readonly self: LocalHub;
  readonly store: KeyValueStore;
  readonly time: TrustedTime;
  readonly clock: Clock;
  readonly events: EventBus;
  readonly logger: Logger;
}

interface Current {
  readonly record: MembershipRecord;
  readonly own: Member;
  readonly circle: MemberSet;
}

/** Which mesh this hub belongs to, and whom it believes for that. */
export class MeshMembership implements Service, MeshTrust {
  readonly self: LocalHub;
  readonly #parts: MembershipCollaborators;
  readonly #listeners = new Set<LossListener>();
  /** Members whose end was not told yet. */
  readonly #believed = new Set<HubId>();
  #current: Current | undefined;
  #cancelCheck: () => void = () => {};

  constructor(collaborators: MembershipCollaborators) {
    this.self = collaborators.self;
    this.#parts = collaborators;
  }

  /** Takes up the membership of before the restart; one that cannot be read is told and left as it is. STORAGE_FAILED. */
  async start(): Promise<void> {
    const stored = this.#parts.store.get(SPACE, OWN);
    if (stored !== undefined) this.#resume(() => parseMembershipRecord(stored));
    this.#watch();
  }

  meshId(): string | undefined {
    return this.#current?.own.meshId;
  }

  /** A member that was met; undefined for this hub itself, and for everybody once this hub was revoked. */
  hub(id: string): TrustedHub | undefined {
    const member = this.state() === 'revoked' ? undefined : this.#current?.circle.member(id);
    return member && { key: member.key, permissions: member.permissions };
  }

  state(): MembershipState {
    if (!this.#current) return 'none';
    const { own, circle } = this.#current;
    if (circle.isRevoked(own)) return 'revoked';
    return isExpired(own, this.#parts.time) ? 'expired' : 'member';
  }

  /** This hub's own certificate; undefined while it is in no mesh. */
  own(): Member | undefined {
    return this.#current?.own;
  }

  /** The same for who cannot go on without it: CONFLICT says how to get one. */
  requireOwn(): Member {
    return this.#require().own;
  }

  record(): MembershipRecord {
    return this.#require().record;
  }

  /** The hub that a certificate vouches for now. PERMISSION_DENIED with the reason, CONFLICT while this hub is in no mesh. */
  verify(certificate: CertificateChain): Member {
    return this.#require().circle.verify(certificate);
  }

  /** What proves to a hub that its certificate was revoked. PERMISSION_DENIED where it never counted, CONFLICT. */
  revocationOf(certificate: CertificateChain): Uint8Array | undefined {
    return this.#require().circle.revocationOf(certificate);
  }

  /** As `verify`, and remembers it: for certificates that come with what their hub signed. PERMISSION_DENIED, CONFLICT, STORAGE_FAILED. */
  admit(certificate: CertificateChain): Member {
    const member = this.verify(certificate);
    this.remember(member);
    return member;
  }

  /** Keeps the certificate of a hub that has proven to be the one it speaks of. STORAGE_FAILED. */
  remember(member: Member): void {
    if (member.hubId === this.self.hubId) return;
    this.#require().circle.remember(member);
    this.#believed.add(member.hubId);
  }

  /** A member that was met and still is one. */
  member(id: string): Member | undefined {
    return this.#current?.circle.member(id);
  }

  members(): readonly Member[] {
    return this.#current?.circle.members() ?? [];
  }

  revokedHubs(): readonly HubId[] {
    return this.#current?.circle.revokedHubs() ?? [];
  }

  /** Signed statements about revoked members, for other members. */
  statements(): readonly Uint8Array[] {
    return this.#current?.circle.statements() ?? [];
  }

  /**
   * Takes a statement of another member; false when it says nothing new. The hub that it is about, and those that it let in, are
   * told as lost before this returns. PERMISSION_DENIED or VALIDATION_ERROR for one that is not by who may say so, STORAGE_FAILED.
   */
  merge(statement: Uint8Array): boolean {
    const hub = this.#merge(statement);
    if (hub === undefined) return false;
    if (this.state() === 'revoked') this.#parts.logger.error('mesh.own_membership_revoked', { mesh_id: this.meshId() ?? '' });
    this.announceChange('revoked', { hub_id: hub });
    return true;
  }

  /** Hears of members that are none any more: their connections have to end. The answer stops it. */
  onLost(listener: LossListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * Makes this hub a member, or replaces its certificate. PERMISSION_DENIED when the certificate is not for this hub's key or not
   * of this mesh, CONFLICT when the hub is in another mesh, STORAGE_FAILED.
   */
  enter(record: MembershipRecord): void {
    const meshId = meshIdOf(record.rootKey);
    this.requireFree(meshId);
    const own = this.#ownMember(record);
    const circle = this.#current?.circle ?? new MemberSet(this.#parts, record.rootKey);
    // What a former mesh left behind has to be gone before this one can be taken up after a crash.
    if (!this.#current) circle.clear();
    this.#parts.store.set(SPACE, OWN, membershipRecordJson(record));
    this.#current = { record, own, circle };
  }

  /** Takes a newer certificate of this hub. PERMISSION_DENIED when it is not this hub's or older than the present one, STORAGE_FAILED. */
  replaceCertificate(certificate: CertificateChain): void {
    const { record, own } = this.#require();
    const { issuedAtMs } = this.verify(certificate);
    if (issuedAtMs < own.issuedAtMs)
      refuseAtGate('certificate_invalid', 'The membership certificate is older than the one that this hub has');
    this.enter({ ...record, certificate });
    this.announceChange('renewed');
  }

  /** CONFLICT when this hub is in another mesh. */
  requireFree(meshId: string): void {
    const present = this.meshId();
    if (present === undefined || present === meshId) return;
    throw new AtmoError('CONFLICT', `This hub is a member of ${present}; a hub is in one mesh. Leave it first: atmo mesh leave`, {
      mesh_id: present,
    });
  }

  /** Ends the membership and forgets the other members. STORAGE_FAILED. */
  forget(): void {
    const { circle } = this.#require();
    this.#parts.store.delete(SPACE, OWN);
    this.#current = undefined;
    this.#believed.clear();
    circle.clear();
  }

  /** Tells `mesh.changed`. */
  announceChange(change: string, data: JsonObject = {}): void {
    this.#parts.events.emit('mesh.changed', this.meshId() ?? this.self.hubId, { change, ...data });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#cancelCheck();
    this.#listeners.clear();
  }

  #resume(read: () => MembershipRecord): void {
    const { events, logger } = this.#parts;
    try {
      const record = read();
      const own = this.#ownMember(record);
      const circle = new MemberSet(this.#parts, record.rootKey);
      circle.load();
      this.#current = { record, own, circle };
      for (const { hubId } of circle.members()) this.#believed.add(hubId);
    } catch (thrown) {
      const { code, message } = toAtmoError(thrown);
      if (code === 'STORAGE_FAILED') throw thrown;
      logger.error('mesh.membership_unusable', { problem: message });
      events.emit('hub.warning', this.self.hubId, { warning: 'mesh.membership_unusable', message });
    }
  }

  #ownMember(record: MembershipRecord): Member {
    const own = verifyCertificate(record.certificate, record.rootKey);
    if (own.key === this.self.publicKey) return own;
    return refuseAtGate(
      'certificate_of_another',
      `The membership certificate is for ${own.hubId}, this hub is ${this.self.hubId}: its key is another one now. Join again with a new invite`,
    );
  }

  #merge(statement: Uint8Array): HubId | undefined {
    const { circle } = this.#require();
    try {
      const hub = circle.merge(statement);
      const told = this.#tellLosses();
      // Also where its certificate was never kept: a connection to it may be there all the same.
      if (hub !== undefined && hub !== this.self.hubId && !told.has(hub) && !circle.member(hub)) this.#tell(hub, 'revoked');
      return hub;
    } finally {
      // A full disk lets nobody go on.
      this.#tellLosses();
    }
  }

  #watch(): void {
    this.#cancelCheck = this.#parts.clock.after(CHECK_EVERY_MS, () => {
      this.#tellLosses();
      this.#watch();
    });
  }

  #tellLosses(): ReadonlySet<HubId> {
    const lost = new Set<HubId>();
    for (const hub of [...this.#believed]) {
      const loss = this.#current?.circle.lossOf(hub);
      if (loss === undefined) continue;
      this.#believed.delete(hub);
      lost.add(hub);
      this.#tell(hub, loss);
    }
    return lost;
  }

  #tell(hub: HubId, reason: 'revoked' | 'expired'): void {
    for (const listener of this.#listeners) {
      try {
        listener(hub, reason);
      } catch (error) {
        this.#parts.logger.error('mesh.loss_listener_failed', { hub_id: hub, problem: String(error) });
      }
    }
  }

  #require(): Current {
    if (this.#current) return this.#current;
    throw new AtmoError('CONFLICT', 'This hub is in no mesh. Make one with atmo mesh create, or join one with atmo mesh join LINE');
  }
}

/** What a hub keeps of its own membership. */
export interface MembershipRecord {
  /** Raw root key of the mesh, base64url. */
  readonly rootKey: string;
  readonly certificate: CertificateChain;
  /** What the owner calls the mesh; only hubs where it was said know it. */
  readonly name?: string;
  /** `host:port` of hubs that were there when this one joined. */
  readonly addresses: readonly string[];
}

/** The form that is stored. */
function membershipRecordJson({ rootKey, certificate, name, addresses }: MembershipRecord): JsonObject {
  const chain = Buffer.from(certificateChainCodec.encode(certificate)).toString('base64url');
  return { rootKey, certificate: chain, addresses, ...(name !== undefined && { name }) };
}

/** The other way round. VALIDATION_ERROR for what no version of the hub wrote. */
export function parseMembershipRecord(value: Json): MembershipRecord {
  if (
    !isJsonObject(value) ||
    typeof value.rootKey !== 'string' ||
    typeof value.certificate !== 'string' ||
    !Array.isArray(value.addresses)
  ) {
    throw new AtmoError('VALIDATION_ERROR', 'The stored membership is not of a form that this version knows');
  }
  const { rootKey, certificate, name, addresses } = value;
  return {
    rootKey,
    certificate: certificateChainCodec.decode(Buffer.from(certificate, 'base64url')),
    ...(typeof name === 'string' && { name }),
    addresses: addresses.map(String),
  };
}

import type { CertificateChain } from '../../codec/messages/membership.ts';
import { meshIdOf } from '../../codec/public-key.ts';
import type { MeshTrust, TrustedHub } from '../../core/auth/principal.ts';
import { repeat } from '../../core/clock.ts';
import type { HubContext } from '../../core/context.ts';
import { AtmoError, toAtmoError } from '../../core/errors.ts';
import type { HubId } from '../../core/ids.ts';
import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts';
import type { Service } from '../../core/lifecycle.ts';
import type { MembershipState } from '../mesh-control.ts';
import {
  certificateText,
  isExpired,
  type LocalHub,
  type Member,
  parseCertificate,
  refuseAtGate,
  verifyCertificate,
} from './certificates.ts';
import { MemberSet } from './member-set.ts';

const SPACE = 'mesh.membership';
const OWN = 'own';
const CHECK_EVERY_MS = 60_000;

/** Called when the membership of a hub has ended; `reason` says why. */
type LossListener = (hub: HubId, reason: 'revoked' | 'expired') => void;

interface MembershipCollaborators extends Pick<HubContext, 'clock' | 'logger' | 'events' | 'store' | 'time'> {
  readonly self: LocalHub;
}

interface Current {
  readonly record: MembershipRecord;
  readonly own: Member;
  readonly members: MemberSet;
}

/** Manages the membership of this hub and the certificates of the other members of its mesh. */
export class MeshMembership implements Service, MeshTrust {
  readonly self: LocalHub;
  readonly #parts: MembershipCollaborators;
  readonly #listeners = new Set<LossListener>();
  /** Known members, until the listeners have been told that the membership has ended. */
  readonly #trusted = new Set<HubId>();
  #current: Current | undefined;
  #stopChecks: () => void = () => {};

  constructor(collaborators: MembershipCollaborators) {
    this.self = collaborators.self;
    this.#parts = collaborators;
  }

  /** Loads the membership. If it is unreadable, warns and leaves it on the disk. Rejects with STORAGE_FAILED if the disk fails. */
  async start(): Promise<void> {
    const stored = this.#parts.store.get(SPACE, OWN);
    if (stored !== undefined) this.#resume(() => parseMembershipRecord(stored));
    this.#stopChecks = repeat(this.#parts.clock, CHECK_EVERY_MS, () => this.#reportLosses());
  }

  meshId(): string | undefined {
    return this.#current?.own.meshId;
  }

  /** Returns a known member other than this hub. If this hub was revoked, always returns undefined. */
  hub(id: string): TrustedHub | undefined {
    const member = this.state() === 'revoked' ? undefined : this.#current?.members.member(id);
    return member && { key: member.key, permissions: member.permissions };
  }

  state(): MembershipState {
    if (!this.#current) return 'none';
    const { own, members } = this.#current;
    if (members.revoked.covers(own)) return 'revoked';
    return isExpired(own, this.#parts.time) ? 'expired' : 'member';
  }

  own(): Member | undefined {
    return this.#current?.own;
  }

  /** Returns this hub as a member. Throws CONFLICT if this hub is in no mesh; the message says how to create or join one. */
  requireOwn(): Member {
    return this.#require().own;
  }

  record(): MembershipRecord {
    return this.#require().record;
  }

  /** Returns the hub of a certificate. Throws PERMISSION_DENIED if the certificate is not valid now, CONFLICT if this hub is in no mesh. */
  verify(certificate: CertificateChain): Member {
    return this.#require().members.verify(certificate);
  }

  /** Returns the statement that revoked a certificate, like `MemberSet.revocationOf`. Throws CONFLICT if this hub is in no mesh. */
  revocationOf(certificate: CertificateChain): Uint8Array | undefined {
    return this.#require().members.revocationOf(certificate);
  }

  /** Verifies and keeps the certificate that came with a signed message. Throws the errors of `verify` and `remember`. */
  admit(certificate: CertificateChain): Member {
    const member = this.verify(certificate);
    this.remember(member);
    return member;
  }

  /** Verifies the certificate of a hub of another site, like `verify`. Until this hub stops, `member` returns the other hub. */
  admitVisitor(certificate: CertificateChain): Member {
    return this.#require().members.admitVisitor(certificate);
  }

  /** Keeps the certificate of a hub that has proven its key. Throws STORAGE_FAILED if it replaces another one and cannot be stored. */
  remember(member: Member): void {
    if (member.hubId === this.self.hubId) return;
    this.#require().members.remember(member);
    this.#trusted.add(member.hubId);
  }

  member(id: string): Member | undefined {
    return this.#current?.members.member(id);
  }

  members(): readonly Member[] {
    return this.#current?.members.members() ?? [];
  }

  revokedHubs(): readonly HubId[] {
    return this.#current?.members.revoked.hubs() ?? [];
  }

  /** Returns the signed revocation statements, which are sent to other hubs. */
  statements(): readonly Uint8Array[] {
    return this.#current?.members.revoked.statements() ?? [];
  }

  /**
   * Adds a revocation statement; returns false if it changes nothing. Before it returns, tells the `onLost` listeners that the revoked hub
   * and the hubs that it had admitted are no longer members. Throws the errors of `RevokedMembers.merge`.
   */
  merge(statement: Uint8Array): boolean {
    const hub = this.#merge(statement);
    if (hub === undefined) return false;
    if (this.state() === 'revoked') this.#parts.logger.error('mesh.own_membership_revoked', { mesh_id: this.meshId() ?? '' });
    this.announceChange('revoked', { hub_id: hub });
    return true;
  }

  /** Calls the listener for each hub whose membership has ended, to end its connections. Returns a function that removes the listener. */
  onLost(listener: LossListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * Makes this hub a member, or replaces its certificate. Throws PERMISSION_DENIED if the certificate is for another key or mesh, CONFLICT
   * if this hub is in another mesh, STORAGE_FAILED if the membership cannot be stored.
   */
  enter(record: MembershipRecord): void {
    const meshId = meshIdOf(record.rootKey);
    this.requireFree(meshId);
    const own = this.#ownMember(record);
    const members = this.#current?.members ?? new MemberSet(this.#parts, record.rootKey);
    // Deletes the records of a former mesh first. A restart could otherwise load them as records of the new mesh.
    if (!this.#current) members.clear();
    this.#parts.store.set(SPACE, OWN, { ...record, certificate: certificateText(record.certificate) });
    this.#current = { record, own, members };
  }

  /** Replaces the certificate of this hub. Throws PERMISSION_DENIED if the new one is invalid or older, STORAGE_FAILED if storing fails. */
  replaceCertificate(certificate: CertificateChain): void {
    const { record, own } = this.#require();
    const { issuedAtMs } = this.verify(certificate);
    if (issuedAtMs < own.issuedAtMs)
      refuseAtGate('certificate_invalid', 'The membership certificate is older than the one that this hub has');
    this.enter({ ...record, certificate });
    this.announceChange('renewed');
  }

  /** Throws CONFLICT if this hub is in another mesh. */
  requireFree(meshId: string): void {
    const present = this.meshId();
    if (present === undefined || present === meshId) return;
    throw new AtmoError('CONFLICT', `This hub is a member of ${present}; a hub is in one mesh. Leave it first: atmo mesh leave`, {
      mesh_id: present,
    });
  }

  /** Ends the membership and deletes the records of the other members. Throws STORAGE_FAILED if they cannot be deleted. */
  leave(): void {
    const { members } = this.#require();
    this.#parts.store.delete(SPACE, OWN);
    this.#current = undefined;
    this.#trusted.clear();
    members.clear();
  }

  /** Emits `mesh.changed`. */
  announceChange(change: string, data: JsonObject = {}): void {
    this.#parts.events.emit('mesh.changed', this.meshId() ?? this.self.hubId, { change, ...data });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopChecks();
    this.#current?.members[Symbol.dispose]();
    this.#listeners.clear();
  }

  #resume(read: () => MembershipRecord): void {
    const { events, logger } = this.#parts;
    try {
      const record = read();
      const own = this.#ownMember(record);
      const members = new MemberSet(this.#parts, record.rootKey);
      members.load();
      this.#current = { record, own, members };
      for (const { hubId } of members.members()) this.#trusted.add(hubId);
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
    const { members } = this.#require();
    try {
      const hub = members.revoked.merge(statement);
      const lost = this.#reportLosses();
      // Reports a revoked hub even if its certificate is not stored, because the hub may be connected.
      if (hub !== undefined && hub !== this.self.hubId && !lost.has(hub) && !members.member(hub)) this.#report(hub, 'revoked');
      return hub;
    } finally {
      // Reports losses even if the revocation could not be written to a full disk, so that the connections end.
      this.#reportLosses();
    }
  }

  #reportLosses(): ReadonlySet<HubId> {
    const lost = new Set<HubId>();
    for (const hub of [...this.#trusted]) {
      const loss = this.#current?.members.lossOf(hub);
      if (loss === undefined) continue;
      this.#trusted.delete(hub);
      lost.add(hub);
      this.#report(hub, loss);
    }
    return lost;
  }

  #report(hub: HubId, reason: 'revoked' | 'expired'): void {
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

/** Stored membership of this hub. */
export interface MembershipRecord {
  /** Raw root key of the mesh in base64url. */
  readonly rootKey: string;
  readonly certificate: CertificateChain;
  /** Name that the owner gave to the mesh. It is stored only on the hubs on which the owner entered the name. */
  readonly name?: string;
  /** Addresses, as `host:port`, of hubs that were members when this hub joined. */
  readonly addresses: readonly string[];
}

/** Parses a stored membership. Throws VALIDATION_ERROR if the value does not have the form of a membership. */
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
    certificate: parseCertificate(certificate),
    ...(typeof name === 'string' && { name }),
    addresses: addresses.map(String),
  };
}

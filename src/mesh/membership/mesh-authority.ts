import {
  type CertificateChain,
  certificateChainCodec,
  memberRevocationCodec,
  revocationStatementCodec,
} from '../../codec/messages/membership.ts';
import { meshIdOf } from '../../codec/public-key.ts';
import type { TrustedTime } from '../../core/clock.ts';
import { AtmoError } from '../../core/errors.ts';
import type { HubId } from '../../core/ids.ts';
import type { KeyValueStore } from '../../core/storage/key-value-store.ts';
import { inviterCertificate, isInviter, type Member } from './certificates.ts';
import type { InviteStore } from './invite-store.ts';
import type { MeshMembership } from './mesh-membership.ts';
import type { OpenRootKey, RootKey } from './root-key.ts';

const DELEGATIONS = 'mesh.delegations';
const FOUNDER_PERMISSIONS = ['*', 'admin:*'] as const;
const HUB_ID = /^hub-[0-9a-f]{16}$/;

interface AuthorityCollaborators {
  readonly membership: MeshMembership;
  readonly rootKey: RootKey;
  readonly invites: Pick<InviteStore, 'clear'>;
  readonly store: KeyValueStore;
  readonly time: TrustedTime;
}

/** What a revocation ended. */
export interface Revoked {
  readonly hub: HubId;
  /** Members that the hub had let in: their certificates came from it and ended with it. */
  readonly alsoEnded: readonly HubId[];
}

/** What the root key is for: making the mesh, hubs that may invite, and ending any membership. */
export class MeshAuthority {
  readonly #membership: MeshMembership;
  readonly #rootKey: RootKey;
  readonly #invites: Pick<InviteStore, 'clear'>;
  readonly #store: KeyValueStore;
  readonly #time: TrustedTime;

  constructor({ membership, rootKey, invites, store, time }: AuthorityCollaborators) {
    this.#membership = membership;
    this.#rootKey = rootKey;
    this.#invites = invites;
    this.#store = store;
    this.#time = time;
  }

  /** The sealed root key is on this hub. */
  hasRootKey(): boolean {
    return this.#rootKey.isHere();
  }

  /**
   * Makes a mesh and this hub its first member. A root key that an earlier try left behind is used again when the passphrase fits.
   * CONFLICT when the hub is in a mesh or its time is not known, VALIDATION_ERROR, PERMISSION_DENIED, STORAGE_FAILED.
   */
  async create({ passphrase, name }: { readonly passphrase: string; readonly name?: string | undefined }): Promise<Member> {
    const meshId = this.#membership.meshId();
    if (meshId !== undefined) throw new AtmoError('CONFLICT', `This hub is a member of ${meshId} already`, { mesh_id: meshId });
    const root = this.#rootKey.isHere() ? await this.#rootKey.open(passphrase) : await this.#rootKey.make(passphrase);
    const certificate = inviterCertificate(root, { key: this.#membership.self.publicKey, permissions: FOUNDER_PERMISSIONS }, this.#time);
    this.#membership.enter({ rootKey: root.publicKey, certificate, addresses: [], ...(name !== undefined && { name }) });
    this.#membership.announceChange('created');
    return this.#membership.requireOwn();
  }

  /**
   * Lets a member, or this hub itself, let others in. The certificate waits here until the hub fetches it or `handOver` brings it.
   * NOT_FOUND for a hub that was not met, PERMISSION_DENIED for the passphrase, STORAGE_FAILED.
   */
  async delegate({ hub, passphrase }: { readonly hub: string; readonly passphrase: string }): Promise<Member> {
    const root = await this.openRoot(passphrase);
    const member = hub === this.#membership.self.hubId ? this.#membership.requireOwn() : this.#membership.member(hub);
    if (!member) throw new AtmoError('NOT_FOUND', `${hub} is no member that this hub has met; atmo mesh peers lists them`);
    const certificate = inviterCertificate(root, member, this.#time);
    const delegated = this.#membership.verify(certificate);
    if (delegated.hubId === this.#membership.self.hubId) this.#membership.replaceCertificate(certificate);
    else this.#store.set(DELEGATIONS, hub, Buffer.from(certificateChainCodec.encode(certificate)).toString('base64url'));
    this.#membership.announceChange('delegated', { hub_id: delegated.hubId });
    return delegated;
  }

  /** A certificate that waits for its hub. */
  delegationFor(hub: HubId): CertificateChain | undefined {
    const stored = this.#store.get(DELEGATIONS, hub);
    return typeof stored === 'string' ? certificateChainCodec.decode(Buffer.from(stored, 'base64url')) : undefined;
  }

  /** The hub has it. */
  delivered(hub: HubId): void {
    this.#store.delete(DELEGATIONS, hub);
  }

  /**
   * Ends a membership at once and for good: that hub needs a new key to join again. With the passphrase the root key says so, and
   * may end any; without, a hub that may invite ends members that may not. NOT_FOUND for what is no hub id, CONFLICT for this hub
   * itself, PERMISSION_DENIED, STORAGE_FAILED.
   */
  async revoke({ hub, passphrase }: { readonly hub: string; readonly passphrase?: string | undefined }): Promise<Revoked> {
    const own = this.#membership.requireOwn();
    const target = parseTarget(hub);
    if (target === own.hubId) throw new AtmoError('CONFLICT', 'A hub does not revoke itself; leave the mesh with atmo mesh leave');
    const root = passphrase === undefined ? this.#requireMayRevoke(own, target) : await this.openRoot(passphrase);
    const alsoEnded = this.#membership.members().filter(({ inviter }) => inviter === target);
    const revocation = { meshId: own.meshId, hubId: target, atMs: this.#time.now() };
    const signed = memberRevocationCodec.sign(revocation, root?.privateKey ?? this.#membership.self.privateKey);
    this.#membership.merge(revocationStatementCodec.encode({ signed, ...(!root && { signer: own.certificate }) }));
    this.delivered(target);
    return { hub: target, alsoEnded: root ? alsoEnded.map(({ hubId }) => hubId) : [] };
  }

  /** The sealed root key as one line for a safe place; the passphrase still protects it. NOT_FOUND, PERMISSION_DENIED. */
  async exportRoot(passphrase: string): Promise<string> {
    await this.openRoot(passphrase);
    return this.#rootKey.text();
  }

  /** Brings an exported root key to this hub. CONFLICT when one is here or it is another mesh's, PERMISSION_DENIED, VALIDATION_ERROR. */
  async importRoot({ text, passphrase }: { readonly text: string; readonly passphrase: string }): Promise<void> {
    const key = await this.#rootKey.openText(text, passphrase);
    this.#requireRootOfMesh(key);
    this.#rootKey.adopt(text);
  }

  /**
   * Ends this hub's own membership on this hub; the others forget it in time. CONFLICT while the root key is here, unless it is to
   * be deleted: without a copy of it the mesh loses it for ever.
   */
  leave({ rootKey }: { readonly rootKey: 'keep' | 'delete' }): void {
    const { meshId } = this.#membership.requireOwn();
    if (this.#rootKey.isHere() && rootKey === 'keep') {
      throw new AtmoError(
        'CONFLICT',
        'This hub has the root key of the mesh. Export it first (atmo mesh export-root FILE), then leave and delete it here: atmo mesh leave --delete-root-key',
      );
    }
    this.#membership.forget();
    this.#invites.clear();
    for (const { key } of this.#store.entries(DELEGATIONS)) this.#store.delete(DELEGATIONS, key);
    if (rootKey === 'delete') this.#rootKey.remove();
    this.#membership.announceChange('left', { mesh_id: meshId });
  }

  /** The root key of this hub's mesh. NOT_FOUND, PERMISSION_DENIED, CONFLICT when it is another mesh's. */
  async openRoot(passphrase: string): Promise<OpenRootKey> {
    this.#membership.requireOwn();
    const root = await this.#rootKey.open(passphrase);
    this.#requireRootOfMesh(root);
    return root;
  }

  #requireRootOfMesh({ publicKey }: OpenRootKey): void {
    const { meshId } = this.#membership.requireOwn();
    if (meshIdOf(publicKey) === meshId) return;
    throw new AtmoError('CONFLICT', `This is the root key of ${meshIdOf(publicKey)}; this hub is in ${meshId}`);
  }

  #requireMayRevoke(own: Member, target: HubId): undefined {
    const member = this.#membership.member(target);
    const problem = member && isInviter(member) ? `${target} may let others in: only the root key ends that` : undefined;
    const reason = problem ?? (isInviter(own) ? undefined : 'This hub may not let others in or send them away');
    if (reason === undefined) return undefined;
    throw new AtmoError('PERMISSION_DENIED', `${reason}. Do it on the hub that has the root key, with its passphrase`);
  }
}

function parseTarget(hub: string): HubId {
  if (HUB_ID.test(hub)) return hub as HubId;
  throw new AtmoError(
    'NOT_FOUND',
    `${JSON.stringify(hub.slice(0, 64))} is not the id of a hub, such as hub-0123456789abcdef; atmo mesh peers lists them`,
  );
}

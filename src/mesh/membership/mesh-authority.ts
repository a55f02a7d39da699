import { type CertificateChain, memberRevocationCodec, revocationStatementCodec } from '../../codec/messages/membership.ts';
import { meshIdOf, type SigningKey } from '../../codec/public-key.ts';
import type { HubContext } from '../../core/context.ts';
import { AtmoError } from '../../core/errors.ts';
import type { HubId } from '../../core/ids.ts';
import { present } from '../../core/json.ts';
import type { Revoked } from '../mesh-control.ts';
import { certificateText, inviterCertificate, isInviter, type Member, parseCertificate } from './certificates.ts';
import type { InviteStore } from './invite-store.ts';
import type { MeshMembership } from './mesh-membership.ts';
import type { RootKey } from './root-key.ts';

const DELEGATIONS = 'mesh.delegations';
const FOUNDER_PERMISSIONS = ['*', 'admin:*'] as const;
const HUB_ID = /^hub-[0-9a-f]{16}$/;

interface AuthorityCollaborators extends Pick<HubContext, 'store' | 'time'> {
  readonly membership: MeshMembership;
  readonly rootKey: RootKey;
  readonly invites: Pick<InviteStore, 'clear'>;
}

/** Operations that need the root key: creating the mesh, appointing inviters and ending any membership. */
export class MeshAuthority {
  readonly #parts: AuthorityCollaborators;

  constructor(parts: AuthorityCollaborators) {
    this.#parts = parts;
  }

  hasRootKey(): boolean {
    return this.#parts.rootKey.isHere();
  }

  /**
   * Creates a mesh with this hub as its first member. If an earlier attempt failed and left a root key, uses this key. Rejects with
   * CONFLICT if this hub is in a mesh or its time is not known, VALIDATION_ERROR if the passphrase is too short, PERMISSION_DENIED if the
   * passphrase does not open the existing root key, STORAGE_FAILED if the mesh cannot be stored.
   */
  async create({ passphrase, name }: { readonly passphrase: string; readonly name?: string | undefined }): Promise<Member> {
    const { membership, rootKey, time } = this.#parts;
    const meshId = membership.meshId();
    if (meshId !== undefined) throw new AtmoError('CONFLICT', `This hub is a member of ${meshId} already`, { mesh_id: meshId });
    const root = rootKey.isHere() ? await rootKey.open(passphrase) : await rootKey.make(passphrase);
    const certificate = inviterCertificate(root, { key: membership.self.publicKey, permissions: FOUNDER_PERMISSIONS }, time);
    membership.enter({ rootKey: root.publicKey, certificate, addresses: [], ...present({ name }) });
    membership.announceChange('created');
    return membership.requireOwn();
  }

  /**
   * Makes a member, or this hub itself, an inviter. Another hub's certificate is stored until that hub requests it or `handOver` sends it.
   * Rejects with NOT_FOUND if the hub is unknown, PERMISSION_DENIED if the passphrase is wrong, STORAGE_FAILED if storing fails.
   */
  async delegate({ hub, passphrase }: { readonly hub: string; readonly passphrase: string }): Promise<Member> {
    const root = await this.openRoot(passphrase);
    const { membership, store, time } = this.#parts;
    const member = hub === membership.self.hubId ? membership.requireOwn() : membership.member(hub);
    if (!member) throw new AtmoError('NOT_FOUND', `${hub} is no member that this hub has met; atmo mesh peers lists them`);
    const certificate = inviterCertificate(root, member, time);
    const delegated = membership.verify(certificate);
    if (delegated.hubId === membership.self.hubId) membership.replaceCertificate(certificate);
    else store.set(DELEGATIONS, hub, certificateText(certificate));
    membership.announceChange('delegated', { hub_id: delegated.hubId });
    return delegated;
  }

  /** Returns the certificate that `delegate` stored for a hub; undefined if there is none. */
  delegationFor(hub: HubId): CertificateChain | undefined {
    const stored = this.#parts.store.get(DELEGATIONS, hub);
    return typeof stored === 'string' ? parseCertificate(stored) : undefined;
  }

  /** Deletes the stored certificate of a hub, because the hub has received it. */
  delivered(hub: HubId): void {
    this.#parts.store.delete(DELEGATIONS, hub);
  }

  /**
   * Permanently ends a membership: the hub needs a new key to join again. With a passphrase, the root key signs the revocation and can end
   * any membership. Without a passphrase, this hub signs the revocation. It must then be an inviter, and cannot revoke other inviters.
   * Rejects with NOT_FOUND if `hub` is not a hub id, CONFLICT if it is the id of this hub, PERMISSION_DENIED if the passphrase is wrong or
   * this hub may not revoke, STORAGE_FAILED if the revocation cannot be stored.
   */
  async revoke({ hub, passphrase }: { readonly hub: string; readonly passphrase?: string | undefined }): Promise<Revoked> {
    const { membership, time } = this.#parts;
    const own = membership.requireOwn();
    const target = parseTarget(hub);
    if (target === own.hubId) throw new AtmoError('CONFLICT', 'A hub does not revoke itself; leave the mesh with atmo mesh leave');
    const root = passphrase === undefined ? this.#requireMayRevoke(own, target) : await this.openRoot(passphrase);
    const alsoEnded = membership.members().filter(({ inviter }) => inviter === target);
    const revocation = { meshId: own.meshId, hubId: target, atMs: time.now() };
    const signed = memberRevocationCodec.sign(revocation, root?.privateKey ?? membership.self.privateKey);
    membership.merge(revocationStatementCodec.encode({ signed, ...(!root && { signer: own.certificate }) }));
    this.delivered(target);
    return { hub: target, alsoEnded: root ? alsoEnded.map(({ hubId }) => hubId) : [] };
  }

  /** Returns the sealed root key as one line. Rejects with NOT_FOUND if it is not on this hub, PERMISSION_DENIED for a wrong passphrase. */
  async exportRoot(passphrase: string): Promise<string> {
    await this.openRoot(passphrase);
    return this.#parts.rootKey.text();
  }

  /**
   * Stores an exported root key on this hub. Rejects with CONFLICT if a root key is stored or the key belongs to another mesh,
   * PERMISSION_DENIED if the passphrase is wrong, VALIDATION_ERROR if the text is not a root key.
   */
  async importRoot({ text, passphrase }: { readonly text: string; readonly passphrase: string }): Promise<void> {
    const key = await this.#parts.rootKey.openText(text, passphrase);
    this.#requireRootOfMesh(key);
    this.#parts.rootKey.adopt(text);
  }

  /**
   * Ends the membership on this hub. For other hubs, this hub remains a member until its certificate expires. Throws CONFLICT if this hub
   * has the root key and `rootKey` is `keep`. The owner must then export the key and choose `delete`, so that the mesh does not lose the
   * key.
   */
  leave({ rootKey }: { readonly rootKey: 'keep' | 'delete' }): void {
    const { membership, invites, store } = this.#parts;
    const { meshId } = membership.requireOwn();
    if (rootKey === 'keep' && this.hasRootKey()) {
      throw new AtmoError(
        'CONFLICT',
        'This hub has the root key of the mesh. Export it first (atmo mesh export-root FILE), then leave and delete it here: atmo mesh leave --delete-root-key',
      );
    }
    membership.leave();
    invites.clear();
    for (const { key } of store.entries(DELEGATIONS)) store.delete(DELEGATIONS, key);
    if (rootKey === 'delete') this.#parts.rootKey.remove();
    membership.announceChange('left', { mesh_id: meshId });
  }

  /** Decrypts the root key. Rejects with NOT_FOUND (no key), PERMISSION_DENIED (wrong passphrase) or CONFLICT (key of another mesh). */
  async openRoot(passphrase: string): Promise<SigningKey> {
    this.#parts.membership.requireOwn();
    const root = await this.#parts.rootKey.open(passphrase);
    this.#requireRootOfMesh(root);
    return root;
  }

  #requireRootOfMesh({ publicKey }: SigningKey): void {
    const { meshId } = this.#parts.membership.requireOwn();
    if (meshIdOf(publicKey) === meshId) return;
    throw new AtmoError('CONFLICT', `This is the root key of ${meshIdOf(publicKey)}; this hub is in ${meshId}`);
  }

  #requireMayRevoke(own: Member, target: HubId): undefined {
    const member = this.#parts.membership.member(target);
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

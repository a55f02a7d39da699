import type { MeshPorts } from '../calls/mesh-ports.ts';
import { AtmoError, toAtmoError } from '../core/errors.ts';
import { type Service, ServiceStack } from '../core/lifecycle.ts';
import type { Peer } from '../core/mesh-view.ts';
import { findHubs } from './discovery/hub-discovery.ts';
import { joinMesh } from './membership/join-mesh.ts';
import { auditMembershipChanges, type Membership, membershipStatus } from './membership/membership.ts';
import type { Delegated, Invitation, InviteOptions, MembershipStatus, MeshControl, Revoked } from './mesh-control.ts';
import { type MeshHub, type MeshOptions, MeshSession } from './mesh-session.ts';
import type { ConnectionGate, MeshEngine } from './transport/mesh-engine.ts';

const RETRY_MS = 10_000;
const MAX_INVITE_ADDRESSES = 4;

/** Collaborators of the mesh service. */
export interface MeshServiceCollaborators {
  readonly hub: MeshHub;
  readonly membership: Membership;
  /** Creates an engine without starting it. The engine of a `member` accepts connections from other hubs; that of a `guest` only dials. */
  readonly openEngine: (gate: ConnectionGate, role: 'member' | 'guest') => Promise<MeshEngine>;
}

/** Runs a mesh session whenever this hub is a member of a mesh. Also carries out the owner's operations on the mesh. */
export class MeshService implements Service, MeshControl {
  readonly #parts: MeshServiceCollaborators;
  readonly #options: MeshOptions;
  #session: MeshSession | undefined;
  /** Settles when the latest operation has ended. The next operation waits for it. */
  #last: Promise<unknown> = Promise.resolve();
  #stopListening: () => void = () => {};
  #cancelRetry: () => void = () => {};
  #isStopped = false;

  constructor(parts: MeshServiceCollaborators, options: MeshOptions) {
    this.#parts = parts;
    this.#options = options;
  }

  /** Returns the parts of the session that calls need; undefined if no session runs. */
  ports(): MeshPorts | undefined {
    return this.#session?.ports;
  }

  /** Returns the numbers of refused or dropped connections, messages and calls by `part.reason`; empty if no session runs. */
  drops(): Readonly<Record<string, number>> {
    return this.#session?.drops() ?? {};
  }

  /** Starts the session if this hub is a member. A failed start is reported and repeated; meanwhile the hub runs without the mesh. */
  async start(): Promise<void> {
    const { hub, membership } = this.#parts;
    const stopNotes = auditMembershipChanges(hub);
    const closeIfRevoked = () => {
      if (membership.membership.state() === 'revoked') void this.#inTurn(() => this.#close());
    };
    const stopWatch = hub.events.listen(closeIfRevoked, ['mesh.changed']);
    this.#stopListening = () => {
      stopNotes();
      stopWatch();
    };
    await this.#inTurn(() => this.#resume());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isStopped = true;
    this.#stopListening();
    this.#cancelRetry();
    await this.#inTurn(() => this.#close());
  }

  create(options: { readonly passphrase: string; readonly name?: string | undefined }): Promise<MembershipStatus> {
    return this.#inTurn(async () => {
      await this.#parts.membership.authority.create(options);
      await this.#resume();
      return this.status();
    });
  }

  invite(options: InviteOptions): Promise<Invitation> {
    const addresses = options.addresses ?? this.#session?.addresses().slice(0, MAX_INVITE_ADDRESSES);
    return this.#parts.membership.admission.invite({ ...options, ...(addresses && { addresses }) });
  }

  join(invite: string, { signal }: { readonly signal: AbortSignal }): Promise<MembershipStatus> {
    return this.#inTurn(async () => {
      this.#parts.membership.admission.requireForeign(invite);
      await this.#joinAsGuest(invite, signal);
      await this.#resume();
      return this.status();
    });
  }

  leave(options: { readonly rootKey: 'keep' | 'delete' }): Promise<void> {
    return this.#inTurn(async () => {
      await this.#close();
      try {
        this.#parts.membership.authority.leave(options);
      } finally {
        // This hub is still a member if leaving was refused. Its session then starts again.
        await this.#resume();
      }
    });
  }

  revoke(options: { readonly hub: string; readonly passphrase?: string | undefined }): Promise<Revoked> {
    return this.#parts.membership.authority.revoke(options);
  }

  async delegate(options: { readonly hub: string; readonly passphrase: string }): Promise<Delegated> {
    const { hubId } = await this.#parts.membership.authority.delegate(options);
    const isOwn = hubId === this.#parts.membership.membership.self.hubId;
    return { hub: hubId, isDelivered: isOwn || ((await this.#session?.renewal.handOver(hubId)) ?? false) };
  }

  async renew(): Promise<MembershipStatus> {
    this.#parts.membership.membership.requireOwn();
    if (!this.#session) throw new AtmoError('NODE_UNAVAILABLE', 'The mesh of this hub does not run; its log says why');
    await this.#session.renewal.renewNow();
    return this.status();
  }

  exportRoot(passphrase: string): Promise<string> {
    return this.#parts.membership.authority.exportRoot(passphrase);
  }

  importRoot(options: { readonly text: string; readonly passphrase: string }): Promise<void> {
    return this.#parts.membership.authority.importRoot(options);
  }

  status(): MembershipStatus {
    return { ...membershipStatus(this.#parts.membership), hubName: this.#options.name };
  }

  peers(): readonly Peer[] {
    return this.#session?.ports.view.peers() ?? [];
  }

  /** Starts a session if this hub is a member and no session runs. */
  async #resume(): Promise<void> {
    const isMember = this.#parts.membership.membership.state() === 'member';
    if (this.#session || this.#isStopped || !isMember) return;
    try {
      await this.#open();
    } catch (thrown) {
      const { message } = toAtmoError(thrown);
      const { hub, membership } = this.#parts;
      hub.logger.error('mesh.not_started', { problem: message, retry_ms: RETRY_MS });
      hub.events.emit('hub.warning', membership.membership.self.hubId, { warning: 'mesh.not_started', message });
      this.#cancelRetry = hub.clock.after(RETRY_MS, () => void this.#inTurn(() => this.#resume()));
    }
  }

  async #open(): Promise<void> {
    const { hub, membership, openEngine } = this.#parts;
    const engine = await openEngine(membership.gate, 'member');
    const session = new MeshSession({ hub, membership, engine }, this.#options);
    // Set before the start, so that calls can use the session as soon as the first peer is connected.
    this.#session = session;
    try {
      await session.start();
    } catch (error) {
      this.#session = undefined;
      await session[Symbol.asyncDispose]();
      throw error;
    }
  }

  async #close(): Promise<void> {
    this.#cancelRetry();
    const session = this.#session;
    this.#session = undefined;
    await session?.[Symbol.asyncDispose]();
  }

  /** Joins at the addresses of the invite. If no hub answers there, searches the local network for hubs of the mesh and joins there. */
  async #joinAsGuest(invite: string, signal: AbortSignal): Promise<void> {
    const { hub, membership, openEngine } = this.#parts;
    const { clock, logger, time } = hub;
    const { interfaces, name, isDiscoveryEnabled } = this.#options;
    await using stack = new ServiceStack();
    const engine = await openEngine(membership.gate, 'guest');
    await stack.start(engine);
    const parts = { membership: membership.membership, engine, time };
    const options = { invite, name, signal };
    try {
      await joinMesh(parts, { ...options, found: [] });
    } catch (thrown) {
      if (!isDiscoveryEnabled || toAtmoError(thrown).code !== 'NODE_UNAVAILABLE') throw thrown;
      const found = await findHubs({ clock, logger, signal }, { invite, interfaces });
      await joinMesh(parts, { ...options, found });
    }
  }

  #inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const result = this.#last.then(work, work);
    this.#last = result.catch(() => undefined);
    return result;
  }
}

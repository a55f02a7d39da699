import type { MeshPorts } from '../calls/mesh-ports.ts';
import { AtmoError, toAtmoError } from '../core/errors.ts';
import type { HubId } from '../core/ids.ts';
import { type Service, ServiceStack } from '../core/lifecycle.ts';
import type { Peer } from '../core/mesh-view.ts';
import { findHubs } from './discovery/hub-discovery.ts';
import { joinMesh } from './membership/join-mesh.ts';
import type { Invitation, InviteOptions } from './membership/member-admission.ts';
import { auditMembershipChanges, type Membership, type MembershipStatus, membershipStatus } from './membership/membership.ts';
import type { Revoked } from './membership/mesh-authority.ts';
import { type MeshHub, type MeshOptions, MeshSession } from './mesh-session.ts';
import type { ConnectionGate, MeshEngine, PeerAddress } from './transport/mesh-engine.ts';

const RETRY_MS = 10_000;
const MAX_INVITE_ADDRESSES = 4;

/** What the mesh of a hub is made from. */
export interface MeshServiceCollaborators {
  readonly hub: MeshHub;
  readonly membership: Membership;
  /** Makes an engine that is not started yet; `member` listens where the owner says, `guest` only connects. */
  readonly openEngine: (gate: ConnectionGate, role: 'member' | 'guest') => Promise<MeshEngine>;
}

/** The mesh of this hub: nothing as long as it is in none, a session while it is a member, begun and ended while the hub runs. */
export class MeshService implements Service, MeshControl {
  readonly #parts: MeshServiceCollaborators;
  readonly #options: MeshOptions;
  #session: MeshSession | undefined;
  /** Each change of the membership begins when the one before has ended. */
  #last: Promise<unknown> = Promise.resolve();
  #stopListening: () => void = () => {};
  #cancelRetry: () => void = () => {};
  #isStopped = false;

  constructor(parts: MeshServiceCollaborators, options: MeshOptions) {
    this.#parts = parts;
    this.#options = options;
  }

  /** What the mesh offers to calls; undefined while this hub is in none. */
  ports(): MeshPorts | undefined {
    return this.#session?.ports;
  }

  /** What the mesh dropped or refused since the session began, by part and reason. */
  drops(): Readonly<Record<string, number>> {
    return this.#session?.drops() ?? {};
  }

  /** Goes on where the hub was a member before. A mesh that cannot begin is told and tried again; the hub runs without it. */
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
        // Refused: the hub is a member still.
        await this.#resume();
      }
    });
  }

  async revoke(options: { readonly hub: string; readonly passphrase?: string | undefined }): Promise<Revoked> {
    return await this.#parts.membership.authority.revoke(options);
  }

  async delegate(options: { readonly hub: string; readonly passphrase: string }): Promise<Delegated> {
    const { hubId } = await this.#parts.membership.authority.delegate(options);
    const isOwn = hubId === this.#parts.membership.membership.self.hubId;
    return { hub: hubId, isDelivered: isOwn || (await this.#handOver(hubId)) };
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

  async #handOver(hub: HubId): Promise<boolean> {
    return (await this.#session?.renewal.handOver(hub)) ?? false;
  }

  /** Begins a session where there should be one and is none. */
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
    // Calls may go out as soon as the first peer is there.
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

  /** Asks the hubs that the invite names, and those that are found on the local network, to be let in. */
  async #joinAsGuest(invite: string, signal: AbortSignal): Promise<void> {
    const { hub, membership, openEngine } = this.#parts;
    const { clock, logger, time } = hub;
    await using stack = new ServiceStack();
    const engine = await openEngine(membership.gate, 'guest');
    await stack.start(engine);
    const parts = { membership: membership.membership, engine, time };
    const options = { invite, name: this.#options.name, signal };
    try {
      await joinMesh(parts, { ...options, found: [] });
    } catch (thrown) {
      if (!this.#options.isDiscoveryEnabled || toAtmoError(thrown).code !== 'NODE_UNAVAILABLE') throw thrown;
      const found = await this.#find(invite, { clock, logger, signal });
      await joinMesh(parts, { ...options, found });
    }
  }

  #find(invite: string, parts: Pick<MeshHub, 'clock' | 'logger'> & { readonly signal: AbortSignal }): Promise<readonly PeerAddress[]> {
    return findHubs(parts, { invite, interfaces: this.#options.interfaces });
  }

  #inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const result = this.#last.then(work, work);
    this.#last = result.catch(() => undefined);
    return result;
  }
}

/** What waits for the other hub, or is done. */
interface Delegated {
  readonly hub: HubId;
  /** False while the hub is not connected: it gets its certificate when it is. */
  readonly isDelivered: boolean;
}

/** Port: what the owner does with the mesh. Each refuses with CONFLICT what does not fit this hub's membership; the message says what does. */
export interface MeshControl {
  /** Makes a mesh; this hub is its first member. The passphrase seals the root key. */
  create(options: { readonly passphrase: string; readonly name?: string | undefined }): Promise<MembershipStatus>;
  invite(options: InviteOptions): Promise<Invitation>;
  /** Joins the mesh of an invite. */
  join(invite: string, options: { readonly signal: AbortSignal }): Promise<MembershipStatus>;
  leave(options: { readonly rootKey: 'keep' | 'delete' }): Promise<void>;
  /** Ends the membership of another hub for good. */
  revoke(options: { readonly hub: string; readonly passphrase?: string | undefined }): Promise<Revoked>;
  /** Lets another hub, or this one, let others in. */
  delegate(options: { readonly hub: string; readonly passphrase: string }): Promise<Delegated>;
  /** Gets this hub a new certificate from a connected hub that may invite. */
  renew(): Promise<MembershipStatus>;
  /** The sealed root key, one line. */
  exportRoot(passphrase: string): Promise<string>;
  importRoot(options: { readonly text: string; readonly passphrase: string }): Promise<void>;
  status(): MembershipStatus;
  peers(): readonly Peer[];
}

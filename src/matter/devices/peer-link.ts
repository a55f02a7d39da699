import { Forever, Seconds } from '@matter/main';
import type { ClientNode } from '@matter/main/node';
import {
  type ClientInteraction,
  ClientSubscriptions,
  type Peer,
  type PeerAddress,
  PeerSet,
  PeerUnresponsiveError,
  SustainedSubscription,
} from '@matter/main/protocol';
import type { ReachabilityLink } from './reachability.ts';

// A probe message is sent up to this many times within the time limit of the probe.
const PROBE_TRANSMISSIONS = 4;

/** Manages the connection to one node: its sessions, its addresses, and the times of its messages. */
export class PeerLink implements ReachabilityLink {
  readonly #node: ClientNode;

  constructor(node: ClientNode) {
    this.#node = node;
  }

  /** The matter.js peer of the node; undefined before the commissioning and from the beginning of the removal. */
  get peer(): Peer | undefined {
    // A node that is being destroyed has no such state, other than the type of matter.js says.
    const address = (this.#node.state.commissioning as { readonly peerAddress?: PeerAddress } | undefined)?.peerAddress;
    return address === undefined ? undefined : this.#node.env.get(PeerSet).for(address);
  }

  lastReceivedMs(): number {
    const sessions = [...(this.peer?.sessions ?? [])].filter((session) => !session.isClosing && !session.isPeerLost);
    return Math.max(0, ...sessions.map((session) => session.activeTimestamp));
  }

  /** The idle interval that the newest session negotiated; undefined without a session. */
  get idleIntervalMs(): number | undefined {
    return this.peer?.newestSession()?.parameters.idleInterval;
  }

  /** Waits until there is a session, without sending a command. If the signal aborts, rejects with the signal's reason. */
  async connect(signal: AbortSignal): Promise<void> {
    await this.peer?.connect({ abort: signal, connectionTimeout: Forever });
    signal.throwIfAborted();
  }

  async probe(timeoutMs: number): Promise<boolean> {
    const abort = AbortSignal.timeout(timeoutMs);
    try {
      if (this.peer?.hasSession) {
        // ClientNode's interaction has a `probe` method that its declared type lacks.
        const interaction = this.#node.interaction as unknown as Pick<ClientInteraction, 'probe'>;
        return await interaction.probe({ abort, suppressPeerLoss: true, maxRetransmissions: PROBE_TRANSMISSIONS });
      }
      await this.connect(abort);
      return true;
    } catch {
      return false;
    }
  }

  drop(): void {
    const { peer } = this;
    if (peer === undefined) return;
    void peer.disconnect(new PeerUnresponsiveError()).catch(() => undefined);
    this.#node.env.get(ClientSubscriptions).closeForPeer(peer.address);
  }

  /** If the peer has no session, closes the peer. This ends the growing retry delays of matter.js for the next connection attempt. */
  async reconnect(): Promise<void> {
    if (!this.peer?.hasSession) await this.peer?.disconnect().catch(() => undefined);
  }

  /** Returns whether no announcement of the node counts any more: it said goodbye (RFC 6762 §10.1), or its records have expired. */
  hasSaidGoodbye(): boolean {
    return this.peer?.service.addresses.size === 0;
  }

  /** Returns whether the node has moved or restarted: it announces addresses, but not the address that its session uses. */
  hasMoved(): boolean {
    const { peer } = this;
    const session = peer?.newestSession();
    if (peer === undefined || session === undefined || peer.service.addresses.size === 0) return false;
    const current = peer.descriptor.operationalAddress;
    return current !== undefined && ![...peer.service.addresses].some(({ ip, port }) => ip === current.ip && port === current.port);
  }
}

// Retries a failed subscription after 2 s to 30 s, so that a lamp that was switched off at the wall for a day is reachable at once. By
// default, matter.js waits 15 s to an hour. It has no option for this, so its schedule is changed here.
Object.assign(SustainedSubscription.DefaultRetrySchedule, { initialInterval: Seconds(2), maximumInterval: Seconds(30) });

/**
 * Shortens the pauses before matter.js connects again to a node that does not respond. Its defaults (2 min between attempts, 45 s before it
 * tries a newly announced address) are for large networks. Here a node must be reachable seconds after its announcement.
 */
export function shortenReconnectDelays(peers: PeerSet): void {
  peers.timing = {
    ...peers.timing,
    maxDelayBetweenInitialContactRetries: Seconds(3),
    delayBeforeNextAddress: Seconds(1),
    delayAfterNetworkError: Seconds(2),
    delayAfterPeerError: Seconds(5),
    delayAfterUnhandledError: Seconds(10),
    addressChangeStabilizationDelay: Seconds(1),
    addressChangeProbeCooldown: { minimum: Seconds(10), maximum: Seconds(60) },
  };
}

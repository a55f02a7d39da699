import { Forever, Seconds } from '@matter/main';
import type { ClientNode } from '@matter/main/node';
import {
  type ClientInteraction,
  ClientSubscriptions,
  type Peer,
  PeerSet,
  PeerUnresponsiveError,
  SustainedSubscription,
} from '@matter/main/protocol';
import type { ReachabilityLink } from './reachability.ts';

// Number of transmissions of a probe message within its time limit.
const PROBE_TRANSMISSIONS = 4;

/** Manages the connection to one node: its sessions, its addresses, and the times of its messages. */
export class PeerLink implements ReachabilityLink {
  readonly #node: ClientNode;

  constructor(node: ClientNode) {
    this.#node = node;
  }

  /** The matter.js peer of the node; undefined before the commissioning and after the removal. */
  get peer(): Peer | undefined {
    const address = this.#node.state.commissioning.peerAddress;
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

  /** Waits for a session without sending a command. Rejects with the signal's reason if the signal aborts. */
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

  /** Closes the peer if it has no session. The next connection attempt then starts without the growing retry delays of matter.js. */
  async reconnect(): Promise<void> {
    if (!this.peer?.hasSession) await this.peer?.disconnect().catch(() => undefined);
  }

  /** Returns whether the node announces addresses, but not the address of its session. The node has then moved or restarted. */
  hasMoved(): boolean {
    const { peer } = this;
    const session = peer?.newestSession();
    if (peer === undefined || session === undefined || peer.service.addresses.size === 0) return false;
    const current = peer.descriptor.operationalAddress;
    return current !== undefined && ![...peer.service.addresses].some(({ ip, port }) => ip === current.ip && port === current.port);
  }
}

// A failed subscription is retried after 2 s to 30 s, so that a lamp that was switched off at the wall for a day is reachable at once. By
// default it is retried after 15 s to an hour, and matter.js has no option for it.
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

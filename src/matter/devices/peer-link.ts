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

// One transmission and two repetitions fit into the time of a probe.
const PROBE_TRANSMISSIONS = 4;

/** The connection to one node below the interaction model: sessions, addresses, signs of life. */
export class PeerLink implements ReachabilityLink {
  readonly #node: ClientNode;

  constructor(node: ClientNode) {
    this.#node = node;
  }

  /** matter.js's own record of the node; undefined before it was commissioned and after it was removed. */
  get peer(): Peer | undefined {
    const address = this.#node.state.commissioning.peerAddress;
    return address === undefined ? undefined : this.#node.env.get(PeerSet).for(address);
  }

  lastHeardMs(): number {
    const sessions = [...(this.peer?.sessions ?? [])].filter((session) => !session.isClosing && !session.isPeerLost);
    return Math.max(0, ...sessions.map((session) => session.activeTimestamp));
  }

  /** How long the node may be idle between two looks for messages, as its newest session negotiated it; undefined without a session. */
  get idleIntervalMs(): number | undefined {
    return this.peer?.newestSession()?.parameters.idleInterval;
  }

  /** Waits for a session; ends with the signal's reason when there is none in time. Nothing of a command is sent by this. */
  async connect(signal: AbortSignal): Promise<void> {
    await this.peer?.connect({ abort: signal, connectionTimeout: Forever });
    signal.throwIfAborted();
  }

  async probe(timeoutMs: number): Promise<boolean> {
    const abort = AbortSignal.timeout(timeoutMs);
    try {
      if (this.peer?.hasSession) {
        // ClientNode's interaction has it, its declared type does not say so.
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

  /** Starts to connect from scratch, without waiting for the pauses that a longer absence brought. */
  async reconnect(): Promise<void> {
    if (!this.peer?.hasSession) await this.peer?.disconnect().catch(() => undefined);
  }

  /** True when the node announces addresses and the session's is none of them: it moved or restarted elsewhere. */
  hasMoved(): boolean {
    const { peer } = this;
    const session = peer?.newestSession();
    if (peer === undefined || session === undefined || peer.service.addresses.size === 0) return false;
    const current = peer.descriptor.operationalAddress;
    return current !== undefined && ![...peer.service.addresses].some(({ ip, port }) => ip === current.ip && port === current.port);
  }
}

// ClientNode has no option for this. A subscription that failed is tried again after 2 s to 30 s instead of 15 s to an
// hour: in a home a lamp that was switched off at the wall for a day has to be back at once.
Object.assign(SustainedSubscription.DefaultRetrySchedule, { initialInterval: Seconds(2), maximumInterval: Seconds(30) });

/**
 * How eagerly matter.js looks for nodes that do not answer. Its own pauses (2 min between attempts, 45 s before a newly
 * announced address is tried) suit large networks; here a node has to be usable seconds after it announced itself.
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

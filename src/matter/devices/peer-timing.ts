import { Seconds } from '@matter/main';
import { type PeerSet, SustainedSubscription } from '@matter/main/protocol';

// ClientNode has no option for this. A subscription that failed is tried again after 2 s to 30 s instead of 15 s to an
// hour: in a home a lamp that was switched off at the wall for a day has to be back at once.
Object.assign(SustainedSubscription.DefaultRetrySchedule, { initialInterval: Seconds(2), maximumInterval: Seconds(30) });

/**
 * How eagerly matter.js looks for nodes that do not answer. Its own pauses (2 min between attempts, 45 s before a newly
 * announced address is tried) suit large networks; here a node has to be usable seconds after it announced itself.
 */
export function seekEagerly(peers: PeerSet): void {
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

import { createHash } from 'node:crypto';
import { type GossipsubOpts, gossipsub, StrictNoSign } from '@libp2p/gossipsub';
import type { TopicScoreParams } from '@libp2p/gossipsub/score';

/** The one topic of the mesh. */
export const GOSSIP_TOPIC = '/atmosphere-edge/gossip/1';
/** One message of gossipsub's protocol: a handful of ours and its own bookkeeping. */
const MAX_RPC_BYTES = 65_536;

/** Only what the validator rejected counts against a neighbour: a quiet one is no bad one. */
const TOPIC_SCORE: TopicScoreParams = {
  topicWeight: 1,
  timeInMeshWeight: 0,
  timeInMeshQuantum: 1_000,
  timeInMeshCap: 1,
  firstMessageDeliveriesWeight: 0,
  firstMessageDeliveriesDecay: 0.5,
  firstMessageDeliveriesCap: 1,
  meshMessageDeliveriesWeight: 0,
  meshMessageDeliveriesDecay: 0.5,
  meshMessageDeliveriesCap: 1,
  meshMessageDeliveriesThreshold: 1,
  meshMessageDeliveriesWindow: 10,
  meshMessageDeliveriesActivation: 5_000,
  meshFailurePenaltyWeight: 0,
  meshFailurePenaltyDecay: 0.5,
  // Three rejected messages within a few seconds reach the threshold of -80 at which gossipsub stops listening for a while.
  invalidMessageDeliveriesWeight: -10,
  invalidMessageDeliveriesDecay: 0.9,
};

const SETTINGS: Partial<GossipsubOpts> = {
  // An announcement carries its origin's signature, which survives every hop; gossipsub's own would be a second one.
  globalSignaturePolicy: StrictNoSign,
  msgIdFn: (message) => createHash('sha256').update(message.data).digest(),
  allowPublishToZeroTopicPeers: true,
  ignoreDuplicatePublishError: true,
  fallbackToFloodsub: false,
  emitSelf: false,
  doPX: false,
  tagMeshPeers: false,
  allowedTopics: [GOSSIP_TOPIC],
  maxInboundDataLength: MAX_RPC_BYTES,
  maxOutboundBufferSize: 1_048_576,
  D: 4,
  Dlo: 3,
  Dhi: 6,
  Dout: 1,
  Dscore: 2,
  Dlazy: 4,
  scoreParams: {
    // The default silences members that share one address, as behind a router that translates addresses.
    IPColocationFactorWeight: 0,
    retainScore: 600_000,
    topics: { [GOSSIP_TOPIC]: TOPIC_SCORE },
  },
};

/** gossipsub as the mesh needs it (specification v1.2; what was measured is in docs/decisions). */
export const meshGossipsub = (): ReturnType<typeof gossipsub> => gossipsub(SETTINGS);

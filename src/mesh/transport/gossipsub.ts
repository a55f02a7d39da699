import { createHash } from 'node:crypto';
import { type GossipSub, type GossipsubOpts, gossipsub, type Message, StrictNoSign, TopicValidatorResult } from '@libp2p/gossipsub';
import type { TopicScoreParams } from '@libp2p/gossipsub/score';
import type { PeerId } from '@libp2p/interface';
import { AtmoError } from '../../core/errors.ts';
import type { HubId } from '../../core/ids.ts';
import type { RefusalCounter } from './admission.ts';
import { hubOf } from './libp2p-key.ts';
import { type GossipVerdict, MAX_GOSSIP_BYTES } from './mesh-engine.ts';

type Validator = (message: Uint8Array, from: HubId) => GossipVerdict | Promise<GossipVerdict>;

const RESULTS: Readonly<Record<GossipVerdict, TopicValidatorResult>> = {
  accept: TopicValidatorResult.Accept,
  ignore: TopicValidatorResult.Ignore,
  reject: TopicValidatorResult.Reject,
};

/** Sends and receives gossip through gossipsub. The validator runs before a received message is forwarded. */
export class Libp2pGossip {
  readonly #self: HubId;
  readonly #refusals: RefusalCounter;
  readonly #topic: string;
  #pubsub: GossipSub | undefined;
  #validate: Validator | undefined;

  constructor(self: HubId, refusals: RefusalCounter, site: string | undefined) {
    this.#self = self;
    this.#refusals = refusals;
    this.#topic = gossipTopic(site);
  }

  /** Joins the topic. Before this, no message is received or sent. */
  join(pubsub: GossipSub): void {
    this.#pubsub = pubsub;
    // Every hub subscribes to the topic without a site. This shows hubs of other sites that gossip works.
    pubsub.topicValidators.set(GOSSIP_TOPIC, () => TopicValidatorResult.Ignore);
    pubsub.topicValidators.set(this.#topic, (peer, message) => this.#validateMessage(peer, message));
    for (const topic of new Set([GOSSIP_TOPIC, this.#topic])) pubsub.subscribe(topic);
  }

  onGossip(validate: Validator): void {
    this.#validate = validate;
  }

  async publish(message: Uint8Array): Promise<void> {
    if (message.length > MAX_GOSSIP_BYTES)
      throw new AtmoError('PAYLOAD_TOO_LARGE', `A gossip message of ${message.length} bytes is longer than ${MAX_GOSSIP_BYTES}`);
    const verdict = await (this.#validate?.(message, this.#self) ?? 'accept');
    if (verdict === 'accept') await this.#pubsub?.publish(this.#topic, message);
    else this.#refusals.count('gossip_own_refused');
  }

  /** Returns whether the peer has subscribed to the topic to which the hubs of all sites subscribe. */
  receivesGossip(peer: PeerId): boolean {
    return this.#pubsub?.getSubscribers(GOSSIP_TOPIC).some((other) => other.equals(peer)) ?? false;
  }

  async #validateMessage(peer: PeerId, { data }: Message): Promise<TopicValidatorResult> {
    if (data.length > MAX_GOSSIP_BYTES) {
      this.#refusals.count('gossip_too_long');
      return TopicValidatorResult.Reject;
    }
    const from = hubOf(peer);
    const verdict = from && this.#validate ? await this.#validate(data, from.id) : 'ignore';
    if (verdict === 'reject') this.#refusals.count('gossip_rejected');
    return RESULTS[verdict];
  }
}

/** The gossip topic of a mesh without sites. */
export const GOSSIP_TOPIC = '/atmosphere-edge/gossip/1';

/** Returns the topic of a site's gossip. Messages of a topic reach only hubs that subscribe to it. */
function gossipTopic(site: string | undefined): string {
  return site === undefined ? GOSSIP_TOPIC : `${GOSSIP_TOPIC}/${site}`;
}
/** Longest RPC of gossipsub in bytes. It holds a few announcements and gossipsub's own control messages. */
const MAX_RPC_BYTES = 65_536;

/** Only rejected messages lower the score of a neighbour. A neighbour that sends few messages keeps its score. */
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
  // Three rejected messages within a few seconds lower the score below -80, where gossipsub ignores the peer for a while.
  invalidMessageDeliveriesWeight: -10,
  invalidMessageDeliveriesDecay: 0.9,
};

const settings = (topics: readonly string[]): Partial<GossipsubOpts> => ({
  // gossipsub adds no signature. Each announcement has the signature of its origin, which stays valid when hubs forward it.
  globalSignaturePolicy: StrictNoSign,
  msgIdFn: (message) => createHash('sha256').update(message.data).digest(),
  allowPublishToZeroTopicPeers: true,
  ignoreDuplicatePublishError: true,
  fallbackToFloodsub: false,
  emitSelf: false,
  doPX: false,
  tagMeshPeers: false,
  allowedTopics: [...topics],
  maxInboundDataLength: MAX_RPC_BYTES,
  maxOutboundBufferSize: 1_048_576,
  D: 4,
  Dlo: 3,
  Dhi: 6,
  Dout: 1,
  Dscore: 2,
  Dlazy: 4,
  scoreParams: {
    // Zero. The default would lower the score of members that share an address, for example behind a NAT router.
    IPColocationFactorWeight: 0,
    retainScore: 600_000,
    topics: Object.fromEntries(topics.map((topic) => [topic, TOPIC_SCORE])),
  },
});

/** Returns gossipsub (specification v1.2) with the settings of the mesh. docs/decisions explains them with measurements. */
export const meshGossipsub = (site: string | undefined): ReturnType<typeof gossipsub> =>
  gossipsub(settings([...new Set([GOSSIP_TOPIC, gossipTopic(site)])]));

import { type GossipSub, type Message, TopicValidatorResult } from '@libp2p/gossipsub';
import type { PeerId } from '@libp2p/interface';
import { AtmoError } from '../../../core/errors.ts';
import type { HubId } from '../../../core/ids.ts';
import { type GossipVerdict, MAX_GOSSIP_BYTES } from '../mesh-engine.ts';
import type { RefusalCounter } from '../refusal-counter.ts';
import { GOSSIP_TOPIC } from './gossip-settings.ts';
import { hubOf } from './libp2p-key.ts';

type Validator = (message: Uint8Array, from: HubId) => GossipVerdict | Promise<GossipVerdict>;

const RESULTS: Readonly<Record<GossipVerdict, TopicValidatorResult>> = {
  accept: TopicValidatorResult.Accept,
  ignore: TopicValidatorResult.Ignore,
  reject: TopicValidatorResult.Reject,
};

/** Gossip through gossipsub, with the one validator before anything is told on. */
export class Libp2pGossip {
  readonly #self: HubId;
  readonly #refusals: RefusalCounter;
  #pubsub: GossipSub | undefined;
  #validate: Validator | undefined;

  constructor(self: HubId, refusals: RefusalCounter) {
    this.#self = self;
    this.#refusals = refusals;
  }

  /** Joins the topic; before this nothing is heard or told. */
  join(pubsub: GossipSub): void {
    this.#pubsub = pubsub;
    pubsub.topicValidators.set(GOSSIP_TOPIC, (peer, message) => this.#judge(peer, message));
    pubsub.subscribe(GOSSIP_TOPIC);
  }

  onGossip(validate: Validator): void {
    this.#validate = validate;
  }

  async publish(message: Uint8Array): Promise<void> {
    if (message.length > MAX_GOSSIP_BYTES)
      throw new AtmoError('PAYLOAD_TOO_LARGE', `A gossip message of ${message.length} bytes is longer than ${MAX_GOSSIP_BYTES}`);
    const verdict = await (this.#validate?.(message, this.#self) ?? 'accept');
    if (verdict === 'accept') await this.#pubsub?.publish(GOSSIP_TOPIC, message);
    else this.#refusals.count('gossip_own_refused');
  }

  /** Whether gossip flows from this peer: it has told that it listens to the topic too. */
  hears(peer: PeerId): boolean {
    return this.#pubsub?.getSubscribers(GOSSIP_TOPIC).some((other) => other.equals(peer)) ?? false;
  }

  async #judge(peer: PeerId, { data }: Message): Promise<TopicValidatorResult> {
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

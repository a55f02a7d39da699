/** Why an engine turned something away. */
export type RefusalReason =
  | 'gate_refused'
  | 'refused_by_peer'
  | 'duplicate'
  | 'gate_timeout'
  | 'gate_closed'
  | 'gate_malformed'
  | 'gate_message_too_long'
  | 'handshake_failed'
  | 'inbound_rate'
  | 'too_many_pending'
  | 'wrong_hub'
  | 'self'
  | 'too_many_connections'
  | 'frame_too_long'
  | 'send_queue_full'
  | 'too_many_streams'
  | 'unknown_protocol'
  | 'gossip_too_long'
  | 'gossip_rejected'
  | 'gossip_broken'
  | 'gossip_own_refused';

/** Counts what was turned away, by reason. */
export class RefusalCounter {
  readonly #counts = new Map<RefusalReason, number>();

  count(reason: RefusalReason): void {
    this.#counts.set(reason, (this.#counts.get(reason) ?? 0) + 1);
  }

  totals(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.#counts);
  }
}

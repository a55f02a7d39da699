/** Why messages of the local network were not heeded. */
export const DISCOVERY_DROPS = ['link_rate', 'source_rate', 'malformed', 'stranger', 'too_many_instances', 'answer_rate'] as const;
/** A reason of the list. */
export type DiscoveryDrop = (typeof DISCOVERY_DROPS)[number];

/** Counts them since the start. */
export class DiscoveryDrops {
  readonly #counts = new Map<DiscoveryDrop, number>();

  count(reason: DiscoveryDrop): void {
    this.#counts.set(reason, (this.#counts.get(reason) ?? 0) + 1);
  }

  /** Reasons that never occurred are 0. */
  counts(): Readonly<Record<DiscoveryDrop, number>> {
    return Object.fromEntries(DISCOVERY_DROPS.map((reason) => [reason, this.#counts.get(reason) ?? 0])) as Record<DiscoveryDrop, number>;
  }
}

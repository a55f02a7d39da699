/** Why news of other hubs were not believed or not kept. */
const DROP_REASONS = [
  'oversized',
  'malformed',
  'neighbour_rate',
  'origin_rate',
  'not_a_member',
  'forged',
  'stale',
  'unknown_origin',
  'gap',
  'wrong_digest',
  'too_many_hubs',
  'too_many_changes',
  'out_of_memory',
  'wrong_blob',
  'bad_definition',
  'bad_statement',
] as const;
/** A reason of the list. */
export type DropReason = (typeof DROP_REASONS)[number];

/** Counts what was dropped, by reason, since the start. */
export class DropCounter {
  readonly #counts = new Map<DropReason, number>();

  count(reason: DropReason): void {
    this.#counts.set(reason, (this.#counts.get(reason) ?? 0) + 1);
  }

  /** Reasons that never occurred are 0. */
  counts(): Readonly<Record<DropReason, number>> {
    const counts = DROP_REASONS.map((reason) => [reason, this.#counts.get(reason) ?? 0]);
    return Object.fromEntries(counts) as Record<DropReason, number>;
  }
}

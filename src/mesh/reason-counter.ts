/** Counts refusals or dropped messages since the start, by reason. */
export class ReasonCounter<Reason extends string> {
  readonly #counts: Map<Reason, number>;

  /** Reasons in `reasons` have the count 0 from the beginning. Any other reason is absent until it occurs. */
  constructor(reasons: readonly Reason[] = []) {
    this.#counts = new Map(reasons.map((reason) => [reason, 0]));
  }

  count(reason: Reason): void {
    this.#counts.set(reason, (this.#counts.get(reason) ?? 0) + 1);
  }

  counts(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.#counts);
  }
}

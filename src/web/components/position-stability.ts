/** A press counts only on a button that has not moved for this long: people need longer to aim. */
const STABLE_MS = 500;

/** Records since when things have been at their place. */
export class PositionStability<Thing> {
  #places = new Map<Thing, { readonly place: string; readonly sinceMs: number }>();

  /** Sets the present place of everything; undefined for invisible things. */
  update(things: Iterable<readonly [Thing, string | undefined]>, nowMs: number): void {
    const places = new Map<Thing, { readonly place: string; readonly sinceMs: number }>();
    for (const [thing, place] of things) {
      const known = this.#places.get(thing);
      if (place !== undefined) places.set(thing, { place, sinceMs: known?.place === place ? known.sinceMs : nowMs });
    }
    this.#places = places;
  }

  /** Returns whether it has been at the same place for long enough. */
  isStable(thing: Thing, nowMs: number): boolean {
    const known = this.#places.get(thing);
    return known !== undefined && nowMs - known.sinceMs >= STABLE_MS;
  }

  /** Deletes all places. */
  reset(): void {
    this.#places.clear();
  }
}

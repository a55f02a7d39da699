/** Milliseconds for which a button must not have moved before a press counts. People need longer to aim. */
const STABLE_MS = 500;

/** Records how long each item has been at its current position. */
export class PositionStability<Thing> {
  #places = new Map<Thing, { readonly place: string; readonly sinceMs: number }>();

  /** Sets the current position of every item; undefined for an invisible item. */
  update(things: Iterable<readonly [Thing, string | undefined]>, nowMs: number): void {
    const places = new Map<Thing, { readonly place: string; readonly sinceMs: number }>();
    for (const [thing, place] of things) {
      const known = this.#places.get(thing);
      if (place !== undefined) places.set(thing, { place, sinceMs: known?.place === place ? known.sinceMs : nowMs });
    }
    this.#places = places;
  }

  /** Returns whether an item has been at its position for long enough. */
  isStable(thing: Thing, nowMs: number): boolean {
    const known = this.#places.get(thing);
    return known !== undefined && nowMs - known.sinceMs >= STABLE_MS;
  }

  reset(): void {
    this.#places.clear();
  }
}

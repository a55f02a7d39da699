/** A press counts only if the button has not moved for this many milliseconds. A person needs more time than this to aim. */
const STABLE_MS = 500;

/** Records how long each item has been at its current position. */
export class PositionStability<Thing> {
  #places = new Map<Thing, { readonly place: string; readonly sinceMs: number }>();

  /** Records the current position of every item. An invisible item has the position undefined. */
  update(things: Iterable<readonly [Thing, string | undefined]>, nowMs: number): void {
    const places = new Map<Thing, { readonly place: string; readonly sinceMs: number }>();
    for (const [thing, place] of things) {
      const known = this.#places.get(thing);
      if (place !== undefined) places.set(thing, { place, sinceMs: known?.place === place ? known.sinceMs : nowMs });
    }
    this.#places = places;
  }

  /** Returns whether an item has been at its position for at least STABLE_MS. */
  isStable(thing: Thing, nowMs: number): boolean {
    const known = this.#places.get(thing);
    return known !== undefined && nowMs - known.sinceMs >= STABLE_MS;
  }

  reset(): void {
    this.#places.clear();
  }
}

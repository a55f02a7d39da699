/** How long a button has to stand where it is before a press of it counts: nobody aims and presses faster than that. */
const STABLE_MS = 500;

/** Since when things have been where they are. */
export class PositionStability<Thing> {
  #places = new Map<Thing, { readonly place: string; readonly sinceMs: number }>();

  /** Takes over where everything is now; undefined for what cannot be seen. */
  update(things: Iterable<readonly [Thing, string | undefined]>, nowMs: number): void {
    const places = new Map<Thing, { readonly place: string; readonly sinceMs: number }>();
    for (const [thing, place] of things) {
      const known = this.#places.get(thing);
      if (place !== undefined) places.set(thing, { place, sinceMs: known?.place === place ? known.sinceMs : nowMs });
    }
    this.#places = places;
  }

  /** Has it been here, and nowhere else, for long enough to be aimed at? */
  isStable(thing: Thing, nowMs: number): boolean {
    const known = this.#places.get(thing);
    return known !== undefined && nowMs - known.sinceMs >= STABLE_MS;
  }

  /** Nothing was seen for a while. */
  reset(): void {
    this.#places.clear();
  }
}

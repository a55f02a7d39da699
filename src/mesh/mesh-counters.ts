import type { DropSink } from './link/drop-sink.ts';

/** Counts what links and calls refuse, by reason, and puts the counts of all parts of the mesh side by side. */
export class MeshCounters implements DropSink {
  readonly #counts = new Map<string, number>();

  count(reason: string): void {
    this.#counts.set(reason, (this.#counts.get(reason) ?? 0) + 1);
  }

  /** `part.reason` → count; those of links and calls under `call`. */
  withAll(parts: Readonly<Record<string, Readonly<Record<string, number>>>>): Readonly<Record<string, number>> {
    const all = { call: Object.fromEntries(this.#counts), ...parts };
    return Object.fromEntries(
      Object.entries(all).flatMap(([part, counts]) => Object.entries(counts).map(([reason, count]) => [`${part}.${reason}`, count])),
    );
  }
}

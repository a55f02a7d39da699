import type { SensorId } from '../../core/ids.ts';

/** A reading that waits for the next commit. */
export interface PendingReading {
  readonly id: SensorId;
  readonly value: number | string;
  readonly atMs: number;
}

/** Readings between two commits. What repeats within `unchangedEveryMs` is left out; at `capacity` the oldest go. */
export class PendingReadings {
  readonly #unchangedEveryMs: number;
  readonly #capacity: number;
  readonly #lastKept = new Map<SensorId, PendingReading>();
  #waiting: PendingReading[] = [];

  constructor({ unchangedEveryMs, capacity }: { readonly unchangedEveryMs: number; readonly capacity: number }) {
    this.#unchangedEveryMs = unchangedEveryMs;
    this.#capacity = capacity;
  }

  get count(): number {
    return this.#waiting.length;
  }

  add(reading: PendingReading): void {
    if (this.#isRepetition(reading)) return;
    this.#lastKept.set(reading.id, reading);
    this.#waiting.push(reading);
    if (this.#waiting.length > this.#capacity) this.#waiting.shift();
  }

  /** The next value of this sensor is news whatever it is. */
  forget(id: SensorId): void {
    this.#lastKept.delete(id);
  }

  /** What waits; it keeps waiting until `clear`, so that a failed commit loses nothing. */
  peek(): readonly PendingReading[] {
    return this.#waiting;
  }

  clear(): void {
    this.#waiting = [];
  }

  #isRepetition({ id, value, atMs }: PendingReading): boolean {
    const last = this.#lastKept.get(id);
    return last !== undefined && last.value === value && Math.abs(atMs - last.atMs) < this.#unchangedEveryMs;
  }
}

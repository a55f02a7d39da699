const HOUR_MS = 3_600_000;

interface GateLimits {
  readonly cooldownMs: number;
  readonly maxRunsPerHour: number;
}

/** How soon an automation may run again; times are those of a clock that never jumps. */
export class RunGate {
  #starts: number[] = [];

  /** Milliseconds until a run may start; infinite when this hour has had all of its runs. */
  waitMs(nowMs: number, { cooldownMs, maxRunsPerHour }: GateLimits): number {
    this.#starts = this.#starts.filter((startMs) => nowMs - startMs < HOUR_MS);
    if (this.#starts.length >= maxRunsPerHour) return Infinity;
    const lastMs = this.#starts.at(-1);
    return lastMs === undefined ? 0 : Math.max(0, lastMs + cooldownMs - nowMs);
  }

  started(nowMs: number): void {
    this.#starts.push(nowMs);
  }
}

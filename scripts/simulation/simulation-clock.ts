import type { Clock } from '../../src/core/clock.ts';

interface Timer {
  readonly dueMs: number;
  readonly sequence: number;
  readonly callback: () => void;
  isCancelled: boolean;
}

/** A clock of whole milliseconds for thousands of timers, moved by hand; between two moments whatever waits for promises gets its turn. */
export class SimulationClock implements Clock {
  readonly #heap: Timer[] = [];
  #nowMs = Date.UTC(2026, 0, 1);
  #sequence = 0;

  now(): number {
    return this.#nowMs;
  }

  monotonic(): number {
    return this.#nowMs;
  }

  after(delayMs: number, callback: () => void): () => void {
    const timer = { dueMs: this.#nowMs + Math.ceil(Math.max(0, delayMs)), sequence: this.#sequence++, callback, isCancelled: false };
    this.#push(timer);
    return () => {
      timer.isCancelled = true;
    };
  }

  /** Moves time on and runs what falls due, in order, until `isDone` says so or `ms` are over; answers how long it took. */
  async run(ms: number, isDone: () => boolean = () => false): Promise<number> {
    const startMs = this.#nowMs;
    const endMs = startMs + ms;
    await settled();
    while (!isDone()) {
      const next = this.#heap[0];
      if (!next || next.dueMs > endMs) break;
      this.#nowMs = Math.max(this.#nowMs, next.dueMs);
      while (this.#heap[0] && this.#heap[0].dueMs <= this.#nowMs) this.#runFirst();
      await settled();
    }
    if (!isDone()) this.#nowMs = endMs;
    return this.#nowMs - startMs;
  }

  #runFirst(): void {
    const timer = this.#pop();
    if (timer && !timer.isCancelled) timer.callback();
  }

  #push(timer: Timer): void {
    const heap = this.#heap;
    let index = heap.push(timer) - 1;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      const above = heap[parent];
      if (!above || !isBefore(timer, above)) break;
      heap[index] = above;
      index = parent;
    }
    heap[index] = timer;
  }

  #pop(): Timer | undefined {
    const heap = this.#heap;
    const [first] = heap;
    const last = heap.pop();
    if (!last || heap.length === 0) return first;
    let index = 0;
    for (let child = this.#smallerChild(index); child && isBefore(child.timer, last); child = this.#smallerChild(index)) {
      heap[index] = child.timer;
      index = child.index;
    }
    heap[index] = last;
    return first;
  }

  #smallerChild(index: number): { readonly index: number; readonly timer: Timer } | undefined {
    const [left, right] = [this.#heap[2 * index + 1], this.#heap[2 * index + 2]];
    if (right && left && isBefore(right, left)) return { index: 2 * index + 2, timer: right };
    return left && { index: 2 * index + 1, timer: left };
  }
}

function isBefore(timer: Timer, other: Timer): boolean {
  return timer.dueMs < other.dueMs || (timer.dueMs === other.dueMs && timer.sequence < other.sequence);
}

/** Promises and microtasks have run. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 2; turn++) await new Promise((resolve) => setImmediate(resolve));
}

import type { Clock } from '../../../core/time/clock.ts';

interface Delivery {
  readonly dueMs: number;
  /** Orders what falls due together. */
  readonly sequence: number;
  readonly deliver: () => void;
}

/** Runs what falls due, in order, with one timer for all of it; what is due now runs as a microtask. */
export class DeliveryQueue {
  readonly #clock: Clock;
  /** Binary heap: no entry is due before its parent. */
  readonly #heap: Delivery[] = [];
  #sequence = 0;
  #timer: { readonly dueMs: number; readonly cancel: () => void } | undefined;
  #microtaskWaits = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** `dueMs` on the clock's monotonic time. */
  schedule(dueMs: number, deliver: () => void): void {
    this.#push({ dueMs, sequence: this.#sequence++, deliver });
    this.#arm();
  }

  #arm(): void {
    const first = this.#heap[0];
    if (!first || this.#microtaskWaits) return;
    const waitMs = first.dueMs - this.#clock.monotonic();
    if (waitMs <= 0) {
      this.#microtaskWaits = true;
      queueMicrotask(() => this.#run());
      return;
    }
    if (this.#timer && this.#timer.dueMs <= first.dueMs) return;
    this.#timer?.cancel();
    this.#timer = { dueMs: first.dueMs, cancel: this.#clock.after(waitMs, () => this.#run()) };
  }

  /** Leaves to a later microtask what deliveries schedule for now, so that promises get their turn in between. */
  #run(): void {
    this.#microtaskWaits = false;
    this.#timer?.cancel();
    this.#timer = undefined;
    const end = this.#sequence;
    const nowMs = this.#clock.monotonic();
    for (let first = this.#heap[0]; first && first.dueMs <= nowMs && first.sequence < end; first = this.#heap[0]) {
      this.#pop();
      first.deliver();
    }
    this.#arm();
  }

  #push(delivery: Delivery): void {
    const heap = this.#heap;
    let index = heap.push(delivery) - 1;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (!isBefore(delivery, heap[parent])) break;
      heap[index] = heap[parent] as Delivery;
      index = parent;
    }
    heap[index] = delivery;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (!last || heap.length === 0) return;
    let index = 0;
    for (;;) {
      const child = earlierChild(heap, index);
      const next = heap[child];
      if (!next || !isBefore(next, last)) break;
      heap[index] = next;
      index = child;
    }
    heap[index] = last;
  }
}

function earlierChild(heap: readonly Delivery[], index: number): number {
  const left = 2 * index + 1;
  const right = heap[left + 1];
  return right && isBefore(right, heap[left]) ? left + 1 : left;
}

function isBefore(delivery: Delivery, other: Delivery | undefined): boolean {
  if (!other) return true;
  return delivery.dueMs < other.dueMs || (delivery.dueMs === other.dueMs && delivery.sequence < other.sequence);
}

/** Who an event belongs to: a process of the simulated world. */
export interface EventOwner {
  readonly name: string;
  /** After the end of a process, none of its events happens. */
  readonly isAlive: boolean;
  /** Until this time the process stands still: its events wait. */
  readonly standsUntilMs: number;
}

/** One event of the simulated world. */
interface SimulatedEvent {
  dueMs: number;
  /** Orders events that are due at the same time. */
  readonly sequence: number;
  readonly owner: EventOwner;
  readonly kind: string;
  readonly run: () => void;
  isCancelled: boolean;
}

/** When and for whom something happens; `kind` is for the trace. */
export interface EventPlan {
  readonly dueMs: number;
  readonly owner: EventOwner;
  readonly kind: string;
}

/** Node's own function: the simulation replaces the global one. */
const realImmediate = setImmediate;
/** After so many events Node gets a turn of its own, in which it may end a process, for instance. */
const EVENTS_OF_A_TURN = 2_000;
/** Node's own function, which runs all ticks and promises that can go on. A turn of its event loop for each event would cost more than most events. */
const runPromises = (process as unknown as { readonly _tickCallback: () => void })._tickCallback;

/** All events of the simulated world, in the order of their time. It is the only thing that moves the time. */
export class EventQueue {
  /** Milliseconds of the world since its begin. */
  nowMs = 0;
  eventCount = 0;
  readonly #heap: SimulatedEvent[] = [];
  readonly #onEvent: (event: EventPlan) => void;
  #sequence = 0;

  constructor(onEvent: (event: EventPlan) => void) {
    this.#onEvent = onEvent;
  }

  /** Plans an event, not before now. The returned function cancels it. */
  schedule(plan: EventPlan, run: () => void): () => void {
    const { dueMs, owner, kind } = plan;
    const event = { dueMs: Math.max(dueMs, this.nowMs), sequence: this.#sequence++, owner, kind, run, isCancelled: false };
    this.#push(event);
    return () => {
      event.isCancelled = true;
    };
  }

  /** The number of events of an owner that are still to come. */
  countOf(owner: EventOwner): number {
    return this.#heap.filter((event) => event.owner === owner && !event.isCancelled).length;
  }

  /** Runs the events up to a time, each one after all promises of the one before have gone on. Stops early if `isDone` returns true. */
  async run(untilMs: number, isDone: () => boolean = () => false): Promise<void> {
    while (await inTurn(() => this.#runSome(untilMs, isDone)));
    if (!isDone()) this.nowMs = untilMs;
  }

  /** Returns whether events may be left. */
  #runSome(untilMs: number, isDone: () => boolean): boolean {
    for (let count = 0; count < EVENTS_OF_A_TURN; count++) {
      const first = this.#heap[0];
      if (!first || first.dueMs > untilMs || isDone()) return false;
      this.#pop();
      if (this.#happen(first)) runPromises();
    }
    return true;
  }

  /** Returns whether the event took place. */
  #happen(event: SimulatedEvent): boolean {
    if (event.isCancelled || !event.owner.isAlive) return false;
    if (event.owner.standsUntilMs > event.dueMs) {
      // The order of the waiting events stays, since each keeps its number.
      event.dueMs = event.owner.standsUntilMs;
      this.#push(event);
      return false;
    }
    this.nowMs = event.dueMs;
    this.eventCount += 1;
    this.#onEvent(event);
    event.run();
    return true;
  }

  #push(event: SimulatedEvent): void {
    const heap = this.#heap;
    let index = heap.push(event) - 1;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      const above = heap[parent];
      if (!above || !isBefore(event, above)) break;
      heap[index] = above;
      index = parent;
    }
    heap[index] = event;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (!last || heap.length === 0) return;
    let index = 0;
    for (;;) {
      const child = this.#earlierChild(index);
      const event = heap[child];
      if (!event || !isBefore(event, last)) break;
      heap[index] = event;
      index = child;
    }
    heap[index] = last;
  }

  /** The place of the earlier one of the two events below a place, in the heap or after its end. */
  #earlierChild(index: number): number {
    const place = 2 * index + 1;
    const [left, right] = [this.#heap[place], this.#heap[place + 1]];
    return left && right && isBefore(right, left) ? place + 1 : place;
  }
}

function isBefore(event: SimulatedEvent, other: SimulatedEvent): boolean {
  return event.dueMs < other.dueMs || (event.dueMs === other.dueMs && event.sequence < other.sequence);
}

/** Runs work in a turn of Node of its own, where no promise waits, since promises go on only when none of them runs. */
function inTurn<Result>(work: () => Result): Promise<Result> {
  return new Promise((resolve, reject) =>
    realImmediate(() => {
      try {
        resolve(work());
      } catch (error) {
        reject(error);
      }
    }),
  );
}

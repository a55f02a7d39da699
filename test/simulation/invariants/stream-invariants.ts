import { BrokenInvariant } from '../broken-invariant.ts';

/** A message of a stream of events. Comments have neither an id nor a type. */
export interface StreamMessage {
  readonly id?: string;
  readonly type?: string;
  readonly bytes: number;
}

/** A hub keeps so many events for who comes back (docs/http.md). */
const KEPT_EVENTS = 1_000;
/** A hub keeps so many bytes for a listener who does not read, and then ends the stream. One message and comments may come on top. */
const MOST_PENDING_BYTES = 1_048_576 + 65_536;
/** Who may hear these events does not change with time. Others are left out later, as those of a job that nobody knows any more. */
const STEADY = /^(?:agi\.tool\.(?:invoked|result|failed)|approval\.\w+|token\.\w+)$/;

/** The events of one process of a hub in their order, as a listener has them who reads all at once. */
export class EventOrder {
  readonly #events: { readonly id: string; readonly type: string }[] = [];
  readonly #indexes = new Map<string, number>();

  add({ id, type = '' }: StreamMessage): void {
    if (id === undefined) return;
    this.#indexes.set(id, this.#events.length);
    this.#events.push({ id, type });
  }

  get count(): number {
    return this.#events.length;
  }

  indexOf(id: string): number | undefined {
    return this.#indexes.get(id);
  }

  /** The first event between two others that whoever may hear it gets at any time. */
  steadyBetween(after: number, before: number): string | undefined {
    return this.#events.slice(after + 1, before).find(({ type }) => STEADY.test(type))?.id;
  }

  /** Returns whether a hub still has what came after an event, and knows that the listener may have heard it. */
  hasSince(index: number): boolean {
    return STEADY.test(this.#events[index]?.type ?? '') && this.count - index <= KEPT_EVENTS / 2;
  }
}

/** What one stream brings its listener, compared with what happened. */
export class StreamCheck {
  readonly #order: EventOrder;
  readonly #listener: string;
  /** Index of the last event; undefined if it may be any. */
  #index: number | undefined;
  readonly #resumed: string | undefined;
  #isFirst = true;
  #pendingBytes = 0;
  #pendingUntil = -1;

  /** `last` is the id with which the listener comes back. */
  constructor(order: EventOrder, { listener, last }: { readonly listener: string; readonly last: string | undefined }) {
    this.#order = order;
    this.#listener = listener;
    this.#resumed = last;
    this.#index = last === undefined ? undefined : order.indexOf(last);
  }

  /** The listener reads again after a pause. What waits for it is bounded. */
  readsAgain(): void {
    this.#pendingBytes = 0;
    this.#pendingUntil = this.#order.count - 1;
  }

  /** Whether the listener reads what happened before it read again. */
  get isCatchingUp(): boolean {
    return this.#index !== undefined && this.#index < this.#pendingUntil;
  }

  /** Throws BrokenInvariant if the message may not come now. */
  take({ id, type, bytes }: StreamMessage): void {
    if (type === 'gap') this.#takeGap();
    if (id === undefined) return;
    const index = this.#order.indexOf(id);
    if (index === undefined) fail(this.#listener, 'streams tell what happened', `${id} did not happen`);
    const isUnannounced = this.#isFirst && this.#resumed !== undefined && this.#index === undefined;
    if (isUnannounced) fail(this.#listener, 'a gap is told', `${id} comes after ${this.#resumed}, which the hub does not know`);
    const lost = this.#index === undefined ? undefined : this.#order.steadyBetween(this.#index, index);
    if (this.#index !== undefined && index <= this.#index)
      fail(this.#listener, 'events come in order, none twice', `${id} comes again or late`);
    if (lost !== undefined) fail(this.#listener, 'no event is lost without a gap', `${lost} is missing before ${id}`);
    this.#index = index;
    this.#isFirst = false;
    if (index > this.#pendingUntil) return;
    this.#pendingBytes += bytes;
    if (this.#pendingBytes > MOST_PENDING_BYTES)
      fail(this.#listener, 'nothing grows without bound', `${this.#pendingBytes} bytes waited for it`);
  }

  #takeGap(): void {
    if (this.#isFirst && this.#index !== undefined && this.#order.hasSince(this.#index))
      fail(this.#listener, 'a gap is told where one is', `it comes after ${this.#resumed}, since when nothing was lost`);
    this.#index = undefined;
    this.#isFirst = false;
  }
}

function fail(listener: string, invariant: string, problem: string): never {
  throw new BrokenInvariant(invariant, `${listener}: ${problem}`, [listener]);
}

import { SseParser } from '../../codec/sse-parser.ts';
import { HubError } from './hub-client.ts';
import type { EventView } from './hub-types.ts';

/** The state of the connection to the hub. */
export type Connection = 'connecting' | 'live' | 'lost';

/** Port: waits for `delayMs` milliseconds, or until the signal aborts. Tests replace it. */
export type Wait = (delayMs: number, signal: AbortSignal) => Promise<void>;

export interface EventStreamParts {
  /** Opens the hub's event stream. If an id is given, the stream begins after the event with that id. */
  readonly open: (lastEventId: string | undefined, signal: AbortSignal) => Promise<Response>;
  readonly wait: Wait;
  /** Returns a random number from 0 to below 1. It spreads the reconnections of many pages over time. */
  readonly random: () => number;
}

export interface EventStreamListener {
  onEvent(event: EventView): void;
  /** Called when the stream opens for the first time, and when events were lost. The page must then load all its data. */
  onGap(): void;
  onConnection(connection: Connection): void;
}

const FIRST_DELAY_MS = 500;
const MAX_DELAY_MS = 15_000;
/** If the hub sends nothing for this long, the connection is closed. The hub sends data at least every 15 s. */
const SILENCE_MS = 40_000;
/** Longest wait for the stream to open. Without this limit, the page could wait forever for a machine that has failed. */
const OPENING_MS = 30_000;

/** Reads the hub's events, and reconnects after each interruption. If events were lost, tells the listener to load all data again. */
export class EventStream {
  readonly #parts: EventStreamParts;
  readonly #listener: EventStreamListener;
  #ended = new AbortController();
  #nap = new AbortController();
  #connection = new AbortController();
  #lastEventId: string | undefined;
  #failures = 0;

  constructor(parts: EventStreamParts, listener: EventStreamListener) {
    this.#parts = parts;
    this.#listener = listener;
  }

  /** Reads events until `stop` is called or the hub rejects the token. */
  async run(): Promise<void> {
    this.#lastEventId = undefined;
    this.#failures = 0;
    this.#ended = new AbortController();
    const { signal } = this.#ended;
    while (!signal.aborted) {
      this.#listener.onConnection('connecting');
      const isOver = await this.#listen(signal);
      if (isOver || signal.aborted) return;
      this.#listener.onConnection('lost');
      this.#nap = new AbortController();
      await this.#parts.wait(this.#delayMs(), AbortSignal.any([signal, this.#nap.signal]));
    }
  }

  /** Ends the pause before the next attempt to connect. Called when the network is back or the page becomes visible. */
  wake(): void {
    this.#nap.abort();
  }

  /** Cuts the connection and makes another. Called when a request got no response: a hub without power does not close its connections. */
  reconnect(): void {
    this.#connection.abort();
  }

  stop(): void {
    this.#ended.abort();
  }

  /** Opens one connection and reads it to its end. Returns true if the hub rejected the token. */
  async #listen(signal: AbortSignal): Promise<boolean> {
    const silence = new AbortController();
    this.#connection = silence;
    try {
      const opening = this.#parts.open(this.#lastEventId, AbortSignal.any([signal, silence.signal]));
      const response = await this.#within(OPENING_MS, opening, silence);
      if (this.#lastEventId === undefined) this.#listener.onGap();
      this.#listener.onConnection('live');
      await this.#read(response, silence);
    } catch (error) {
      if (error instanceof HubError && error.status === 401) return true;
    }
    this.#failures++;
    return false;
  }

  async #read(response: Response, silence: AbortController): Promise<void> {
    const parser = new SseParser();
    const decoder = new TextDecoder();
    const reader = response.body?.getReader();
    while (reader) {
      const { done, value } = await this.#within(SILENCE_MS, reader.read(), silence);
      if (done) return;
      this.#failures = 0;
      for (const { event, data, id } of parser.push(decoder.decode(value, { stream: true }))) this.#emit(event, data, id);
    }
  }

  /** Waits for `work`. After `limitMs`, aborts `cut`. The request behind `work` uses the signal of `cut`, so `work` then rejects. */
  #within<Value>(limitMs: number, work: Promise<Value>, cut: AbortController): Promise<Value> {
    const patience = new AbortController();
    void this.#parts.wait(limitMs, patience.signal).then(() => patience.signal.aborted || cut.abort());
    return work.finally(() => patience.abort());
  }

  #emit(event: string, data: string, id: string | undefined): void {
    if (id !== undefined) this.#lastEventId = id;
    if (event === 'gap') {
      this.#lastEventId = undefined;
      this.#listener.onGap();
    } else {
      this.#listener.onEvent(JSON.parse(data) as EventView);
    }
  }

  #delayMs(): number {
    const limitMs = Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** Math.max(0, this.#failures - 1));
    return limitMs * (0.5 + this.#parts.random() / 2);
  }
}

/** Waits with the browser's `setTimeout`. */
export const browserWait: Wait = (delayMs, signal) =>
  new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const timer = setTimeout(resolve, delayMs);
    signal.addEventListener(
      'abort',
      () => {
        clearTimeout(timer);
        resolve();
      },
      { once: true },
    );
  });

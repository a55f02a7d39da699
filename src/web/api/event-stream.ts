import { SseParser } from '../../codec/sse-parser.ts';
import { HubError } from './hub-client.ts';
import type { EventView } from './hub-types.ts';

/** How the page hears the hub: `live`, on the way to it, or not at all until the hub answers again. */
export type Connection = 'connecting' | 'live' | 'lost';

/** Port: waiting, so that tests do not. Resolves early when the signal aborts. */
export type Wait = (delayMs: number, signal: AbortSignal) => Promise<void>;

export interface EventStreamParts {
  /** The stream from the hub, after the event of this id if there is one. */
  readonly open: (lastEventId: string | undefined, signal: AbortSignal) => Promise<Response>;
  readonly wait: Wait;
  /** 0 (inclusive) to 1, so that many pages do not come back at the same moment. */
  readonly random: () => number;
}

export interface EventStreamListener {
  onEvent(event: EventView): void;
  /** Events were lost, or nothing is known yet: what is shown has to be asked for anew. */
  onGap(): void;
  onConnection(connection: Connection): void;
}

const FIRST_DELAY_MS = 500;
const MAX_DELAY_MS = 15_000;
/** The hub says something at least every 15 s. */
const SILENCE_MS = 40_000;
/** A machine that is gone may take a connection and never answer. */
const OPENING_MS = 30_000;

/** The hub's events, for ever: comes back after every cut where it was, asks for a reload when something was lost. */
export class EventStream {
  readonly #parts: EventStreamParts;
  readonly #listener: EventStreamListener;
  #ended = new AbortController();
  #nap = new AbortController();
  #lastEventId: string | undefined;
  #failures = 0;

  constructor(parts: EventStreamParts, listener: EventStreamListener) {
    this.#parts = parts;
    this.#listener = listener;
  }

  /** Runs until `stop`, or until the hub refuses the token. */
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

  /** Comes back at once instead of at the next try: the network is there again, the page is looked at again. */
  wake(): void {
    this.#nap.abort();
  }

  stop(): void {
    this.#ended.abort();
  }

  /** True when there is nothing more to hear: the token has ended. */
  async #listen(signal: AbortSignal): Promise<boolean> {
    const silence = new AbortController();
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
      for (const { event, data, id } of parser.push(decoder.decode(value, { stream: true }))) this.#tell(event, data, id);
    }
  }

  /** Cuts what takes longer. */
  #within<Value>(limitMs: number, work: Promise<Value>, cut: AbortController): Promise<Value> {
    const patience = new AbortController();
    void this.#parts.wait(limitMs, patience.signal).then(() => patience.signal.aborted || cut.abort());
    return work.finally(() => patience.abort());
  }

  #tell(event: string, data: string, id: string | undefined): void {
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

/** The page's `Wait`. */
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

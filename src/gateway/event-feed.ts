import type { Clock } from '../core/clock.ts';
import type { EventBus, HubEvent } from '../core/events.ts';

/** Where a listener puts what it is told; false = it does not keep up and is let go. */
export interface FeedSink {
  write(chunk: string): boolean;
  close(): void;
}

/** What a listener wants to hear. */
export interface Subscription {
  /** Patterns such as `device.added` or `agi.tool.*`; all when empty. */
  readonly types: readonly string[];
  /** Id of the last event that the listener has seen: what came after it is told first. */
  readonly lastEventId?: string;
}

interface FeedOptions {
  /** Events kept for listeners that come back. */
  readonly historySize?: number;
  readonly heartbeatMs?: number;
}

/** Tells the hub's events to listeners as Server-Sent Events whose data are CloudEvents; remembers the last ones. */
export class EventFeed implements AsyncDisposable {
  readonly #bus: EventBus;
  readonly #clock: Clock;
  readonly #historySize: number;
  readonly #heartbeatMs: number;
  readonly #history: HubEvent[] = [];
  readonly #listeners = new Map<FeedSink, readonly string[]>();
  #stopListening: (() => void) | undefined;
  #stopHeartbeat: (() => void) | undefined;
  #isClosed = false;

  constructor(bus: EventBus, clock: Clock, { historySize = 1_000, heartbeatMs = 15_000 }: FeedOptions = {}) {
    this.#bus = bus;
    this.#clock = clock;
    this.#historySize = historySize;
    this.#heartbeatMs = heartbeatMs;
  }

  get listenerCount(): number {
    return this.#listeners.size;
  }

  start(): void {
    this.#stopListening = this.#bus.listen((event) => this.#tell(event));
    this.#beat();
  }

  /** Tells what was missed, then everything as it happens; the answer ends it. */
  subscribe(sink: FeedSink, { types, lastEventId }: Subscription): () => void {
    if (this.#isClosed) {
      sink.close();
      return () => {};
    }
    const backlog = this.#missedSince(lastEventId);
    sink.write('retry: 2000\n\n');
    if (backlog === undefined) sink.write(`event: gap\ndata: {"last_event_id":${JSON.stringify(lastEventId)}}\n\n`);
    for (const event of backlog ?? this.#history) if (matches(event, types)) sink.write(frame(event));
    this.#listeners.set(sink, types);
    return () => this.#listeners.delete(sink);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    this.#stopListening?.();
    this.#stopHeartbeat?.();
    for (const sink of this.#listeners.keys()) this.#letGo(sink);
  }

  /** Undefined when the event is no longer remembered: something in between may be lost. */
  #missedSince(lastEventId: string | undefined): readonly HubEvent[] | undefined {
    if (lastEventId === undefined) return [];
    const index = this.#history.findIndex((event) => event.id === lastEventId);
    return index === -1 ? undefined : this.#history.slice(index + 1);
  }

  #tell(event: HubEvent): void {
    this.#history.push(event);
    if (this.#history.length > this.#historySize) this.#history.shift();
    if (this.#listeners.size === 0) return;
    const text = frame(event);
    for (const [sink, types] of this.#listeners) if (matches(event, types)) this.#write(sink, text);
  }

  #beat(): void {
    this.#stopHeartbeat = this.#clock.after(this.#heartbeatMs, () => {
      for (const sink of this.#listeners.keys()) this.#write(sink, ': still here\n\n');
      this.#beat();
    });
  }

  #write(sink: FeedSink, text: string): void {
    if (!sink.write(text)) this.#letGo(sink);
  }

  #letGo(sink: FeedSink): void {
    this.#listeners.delete(sink);
    sink.close();
  }
}

/** True when a pattern names the type or, ending in `.*`, a part of the tree. */
export function matchesType(type: string, pattern: string): boolean {
  return pattern.endsWith('.*') ? type.startsWith(pattern.slice(0, -1)) : type === pattern;
}

function matches(event: HubEvent, types: readonly string[]): boolean {
  return types.length === 0 || types.some((pattern) => matchesType(event.type, pattern));
}

function frame(event: HubEvent): string {
  return `id: ${event.id}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}

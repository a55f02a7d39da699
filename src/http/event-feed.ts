import type { RemoteEvents, RemoteSubscription } from '../calls/mesh-ports.ts';
import { type Clock, repeat } from '../core/clock.ts';
import { toAtmoError } from '../core/errors.ts';
import type { EventBus, HubEvent } from '../core/events.ts';
import { SSE_HEARTBEAT_MS, SSE_KEEP_ALIVE, SSE_RETRY, sseMessage } from './server/sse.ts';

/** Where a listener puts what it is told; false = it does not keep up and is let go. */
export interface EventSink {
  write(chunk: string): boolean;
  /** Nothing when the listener has gone already. */
  close(): void;
}

/** What a listener wants to hear, and what it may. */
export interface EventSubscription {
  /** Patterns such as `device.added` or `agi.tool.*`; all when empty. */
  readonly types: readonly string[];
  /** Id of the last event that the listener has seen: what came after it is told first. */
  readonly lastEventId?: string;
  /** Listeners of one account share its places. */
  readonly account: string;
  /** Whether this event is for the listener. */
  mayHear(event: HubEvent): boolean;
  /** False once the listener's token has ended: then the stream ends too. */
  isStillValid(): boolean;
}

interface FeedOptions {
  /** Events kept for listeners that come back. */
  readonly historySize?: number;
  readonly heartbeatMs?: number;
  /** How often the tokens of silent listeners are looked at. */
  readonly validityCheckMs?: number;
}

/** Tells the hub's events to listeners as Server-Sent Events whose data are CloudEvents; remembers the last ones. */
export class EventFeed implements AsyncDisposable {
  readonly #bus: EventBus;
  readonly #clock: Clock;
  readonly #options: Required<FeedOptions>;
  readonly #history: HubEvent[] = [];
  readonly #listeners = new Map<EventSink, EventSubscription>();
  readonly #stops: (() => void)[] = [];
  #isClosed = false;

  constructor(bus: EventBus, clock: Clock, options: FeedOptions = {}) {
    this.#bus = bus;
    this.#clock = clock;
    this.#options = { historySize: 1_000, heartbeatMs: SSE_HEARTBEAT_MS, validityCheckMs: 5_000, ...options };
  }

  get listenerCount(): number {
    return this.#listeners.size;
  }

  /** How many listeners an account has. */
  listenersOf(account: string): number {
    return this.#listeners.values().reduce((count, subscription) => count + (subscription.account === account ? 1 : 0), 0);
  }

  start(): void {
    const { heartbeatMs, validityCheckMs } = this.#options;
    this.#stops.push(this.#bus.listen((event) => this.#tell(event)));
    this.#every(heartbeatMs, (sink) => this.#write(sink, SSE_KEEP_ALIVE));
    this.#every(validityCheckMs, (sink) => this.#endInvalid(sink));
  }

  /** Tells what was missed, then everything as it happens; the answer ends it. */
  subscribe(sink: EventSink, subscription: EventSubscription): () => void {
    if (this.#isClosed) {
      sink.close();
      return () => {};
    }
    const { lastEventId } = subscription;
    const backlog = this.#missedSince(subscription);
    sink.write(SSE_RETRY);
    if (backlog === undefined) sink.write(sseMessage('gap', { last_event_id: lastEventId }));
    for (const event of backlog ?? this.#history) if (isWantedBy(subscription, event)) sink.write(eventFrame(event));
    this.#listeners.set(sink, subscription);
    return () => this.#listeners.delete(sink);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    for (const stop of this.#stops.splice(0)) stop();
    for (const sink of this.#listeners.keys()) this.#letGo(sink);
  }

  /**
   * Undefined when the event is no longer remembered: something in between may be lost. One that the listener could
   * not have seen is not remembered for it either, or a guess would tell that the event was there.
   */
  #missedSince({ lastEventId, mayHear }: EventSubscription): readonly HubEvent[] | undefined {
    if (lastEventId === undefined) return [];
    const index = this.#history.findIndex((event) => event.id === lastEventId);
    const last = this.#history[index];
    return last && mayHear(last) ? this.#history.slice(index + 1) : undefined;
  }

  #tell(event: HubEvent): void {
    this.#history.push(event);
    if (this.#history.length > this.#options.historySize) this.#history.shift();
    if (this.#listeners.size === 0) return;
    const text = eventFrame(event);
    for (const [sink, subscription] of this.#listeners) if (isWantedBy(subscription, event)) this.#write(sink, text);
  }

  #every(periodMs: number, look: (sink: EventSink) => void): void {
    const lookAtAll = () => {
      for (const sink of this.#listeners.keys()) look(sink);
    };
    this.#stops.push(repeat(this.#clock, periodMs, lookAtAll));
  }

  #write(sink: EventSink, text: string): void {
    if (this.#endInvalid(sink)) return;
    if (!sink.write(text)) this.#letGo(sink);
  }

  #endInvalid(sink: EventSink): boolean {
    if (this.#listeners.get(sink)?.isStillValid() !== false) return false;
    sink.write(': the token has expired or was revoked, the stream ends here\n\n');
    this.#letGo(sink);
    return true;
  }

  #letGo(sink: EventSink): void {
    this.#listeners.delete(sink);
    sink.close();
  }
}

/** True when a pattern names the type or, ending in `.*`, a part of the tree. */
export function matchesType(type: string, pattern: string): boolean {
  return pattern.endsWith('.*') ? type.startsWith(pattern.slice(0, -1)) : type === pattern;
}

function isWantedBy({ types, mayHear }: EventSubscription, event: HubEvent): boolean {
  return (types.length === 0 || types.some((pattern) => matchesType(event.type, pattern))) && mayHear(event);
}

/** An event as a message of the stream. */
function eventFrame(event: HubEvent): string {
  return sseMessage(event.type, event, event.id);
}

/** What is heard of another hub, and on whose account. */
interface RemoteStreamRequest extends Omit<RemoteSubscription, 'signal' | 'onGap'> {
  readonly hub: string;
  readonly account: string;
  isStillValid(): boolean;
}

/** Streams of other hubs' events that pass through this one; each of them judges itself what its listener may hear. */
export class RemoteEventStreams implements AsyncDisposable {
  readonly #events: RemoteEvents;
  readonly #clock: Clock;
  readonly #open = new Map<AbortController, string>();

  constructor({ events, clock }: { readonly events: RemoteEvents; readonly clock: Clock }) {
    this.#events = events;
    this.#clock = clock;
  }

  get listenerCount(): number {
    return this.#open.size;
  }

  listenersOf(account: string): number {
    return [...this.#open.values()].filter((other) => other === account).length;
  }

  /** Listens until the answer is called, the listener does not keep up, or the hub is lost: then an `error` event says why. */
  subscribe(sink: EventSink, { hub, account, isStillValid, ...subscription }: RemoteStreamRequest): () => void {
    const stop = new AbortController();
    this.#open.set(stop, account);
    const write = (text: string) => {
      if (stop.signal.aborted) return;
      if (!isStillValid() || !sink.write(text)) stop.abort();
    };
    write(SSE_RETRY);
    const stopHeartbeat = repeat(this.#clock, SSE_HEARTBEAT_MS, () => write(SSE_KEEP_ALIVE));
    this.#events
      .subscribe(hub, { ...subscription, onGap: () => write(sseMessage('gap', {})), signal: stop.signal }, (event) =>
        write(eventFrame(event)),
      )
      .catch((error: unknown) => write(sseMessage('error', toAtmoError(error).toBody())))
      .finally(() => {
        stopHeartbeat();
        this.#open.delete(stop);
        sink.close();
      });
    return () => stop.abort();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const stop of this.#open.keys()) stop.abort();
  }
}

import type { RemoteEvents, RemoteSubscription } from '../calls/mesh-ports.ts';
import { type Clock, repeat } from '../core/clock.ts';
import { toAtmoError } from '../core/errors.ts';
import type { EventBus, HubEvent } from '../core/events.ts';
import { SSE_HEARTBEAT_MS, SSE_KEEP_ALIVE, SSE_RETRY, sseMessage } from './server/sse.ts';

/** The connection of a subscriber. */
export interface EventSink {
  /** Returns false if the subscriber reads too slowly. The hub then disconnects it. */
  write(chunk: string): boolean;
  /** Closes the connection. Does nothing if the subscriber has already disconnected. */
  close(): void;
}

/** The events that a subscriber asked for and may receive. */
export interface EventSubscription {
  /** Event types or patterns such as `device.added` or `agi.tool.*`; an empty list means all. */
  readonly types: readonly string[];
  /** Id of the last event that the subscriber received. The stream begins with the later events. */
  readonly lastEventId?: string;
  /** Account of the subscriber. All subscribers of one account share a limit of streams. */
  readonly account: string;
  mayReceive(event: HubEvent): boolean;
  /** Returns whether the subscriber's token is still valid. The stream ends when it has expired or was revoked. */
  isStillValid(): boolean;
}

interface FeedOptions {
  /** Number of events kept for subscribers that reconnect. */
  readonly historySize?: number;
  readonly heartbeatMs?: number;
  /** Interval of token checks in milliseconds, for subscribers to whom no events are sent. */
  readonly validityCheckMs?: number;
}

/** Sends the hub's events to subscribers: Server-Sent Events with CloudEvents as data. Keeps the newest events for reconnections. */
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

  listenersOf(account: string): number {
    return this.#listeners.values().reduce((count, subscription) => count + (subscription.account === account ? 1 : 0), 0);
  }

  start(): void {
    const { heartbeatMs, validityCheckMs } = this.#options;
    this.#stops.push(this.#bus.listen((event) => this.#publish(event)));
    this.#every(heartbeatMs, (sink) => this.#write(sink, SSE_KEEP_ALIVE));
    this.#every(validityCheckMs, (sink) => this.#endInvalid(sink));
  }

  /** Sends the missed events, then each new event. Returns a function that ends the subscription. */
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
    for (const sink of this.#listeners.keys()) this.#disconnect(sink);
  }

  /**
   * Returns the missed events. Returns undefined if the last received event is no longer in the history, because later events may be gone
   * too. Also returns undefined if the subscriber may not receive that event, so that a guessed id reveals nothing.
   */
  #missedSince({ lastEventId, mayReceive }: EventSubscription): readonly HubEvent[] | undefined {
    if (lastEventId === undefined) return [];
    const index = this.#history.findIndex((event) => event.id === lastEventId);
    const last = this.#history[index];
    return last && mayReceive(last) ? this.#history.slice(index + 1) : undefined;
  }

  #publish(event: HubEvent): void {
    this.#history.push(event);
    if (this.#history.length > this.#options.historySize) this.#history.shift();
    if (this.#listeners.size === 0) return;
    const text = eventFrame(event);
    for (const [sink, subscription] of this.#listeners) if (isWantedBy(subscription, event)) this.#write(sink, text);
  }

  #every(periodMs: number, visit: (sink: EventSink) => void): void {
    this.#stops.push(repeat(this.#clock, periodMs, () => this.#listeners.keys().forEach(visit)));
  }

  #write(sink: EventSink, text: string): void {
    if (this.#endInvalid(sink)) return;
    if (!sink.write(text)) this.#disconnect(sink);
  }

  #endInvalid(sink: EventSink): boolean {
    if (this.#listeners.get(sink)?.isStillValid() !== false) return false;
    sink.write(': the token has expired or was revoked, the stream ends here\n\n');
    this.#disconnect(sink);
    return true;
  }

  #disconnect(sink: EventSink): void {
    this.#listeners.delete(sink);
    sink.close();
  }
}

/** Returns whether a pattern is equal to the event type, or ends in `.*` and matches the type's beginning. */
export function matchesType(type: string, pattern: string): boolean {
  return pattern.endsWith('.*') ? type.startsWith(pattern.slice(0, -1)) : type === pattern;
}

function isWantedBy({ types, mayReceive }: EventSubscription, event: HubEvent): boolean {
  return (types.length === 0 || types.some((pattern) => matchesType(event.type, pattern))) && mayReceive(event);
}

function eventFrame(event: HubEvent): string {
  return sseMessage(event.type, event, event.id);
}

/** A request for the event stream of another hub. */
interface RemoteStreamRequest extends Omit<RemoteSubscription, 'signal' | 'onGap'> {
  readonly hub: string;
  readonly account: string;
  isStillValid(): boolean;
}

/** Relays event streams of other hubs. The other hub decides which events the subscriber may receive. */
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

  /**
   * Relays events until the returned function is called, the subscriber reads too slowly, or the connection to the hub is lost. Sends an
   * `error` event if the connection is lost.
   */
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

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
  /** Event types such as `device.added`, and patterns such as `agi.tool.*`. An empty list means all events. */
  readonly types: readonly string[];
  /** Id of the last event that the subscriber received. The stream continues after this event. */
  readonly lastEventId?: string;
  /** Account of the subscriber. All subscribers of one account share a limit of streams. */
  readonly account: string;
  mayReceive(event: HubEvent): boolean;
  /** Returns whether the subscriber's token is still valid. Once the token has expired or is revoked, the hub ends the stream. */
  isStillValid(): boolean;
}

interface FeedOptions {
  /** Number of events kept for subscribers that reconnect. */
  readonly historySize?: number;
  readonly heartbeatMs?: number;
  /** Interval of the periodic token check in milliseconds. Each token is also checked before every write to its subscriber. */
  readonly validityCheckMs?: number;
  /** Called when a subscriber comes while there is no other. */
  readonly onFirst?: () => void;
}

/** Sends the hub's events (CloudEvents) to subscribers over Server-Sent Events. Keeps the newest events for later reconnections. */
export class EventFeed implements AsyncDisposable {
  readonly #bus: EventBus;
  readonly #clock: Clock;
  readonly #options: Required<FeedOptions>;
  readonly #history: HubEvent[] = [];
  readonly #listeners = new Map<EventSink, EventSubscription>();
  #stopListening = () => {};
  /** Ends the heartbeats and the token checks, which run only while there are subscribers. */
  #stopVisits: (() => void) | undefined;
  #isClosed = false;

  constructor(bus: EventBus, clock: Clock, options: FeedOptions = {}) {
    this.#bus = bus;
    this.#clock = clock;
    this.#options = { historySize: 1_000, heartbeatMs: SSE_HEARTBEAT_MS, validityCheckMs: 5_000, onFirst: () => {}, ...options };
  }

  get listenerCount(): number {
    return this.#listeners.size;
  }

  listenersOf(account: string): number {
    return this.#listeners.values().reduce((count, subscription) => count + (subscription.account === account ? 1 : 0), 0);
  }

  start(): void {
    this.#stopListening = this.#bus.listen((event) => this.#publish(event));
  }

  /**
   * Sends the missed events, then each new event. If missed events may be lost, first sends a `gap` event and then the whole history.
   * Returns a function that ends the subscription.
   */
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
    if (this.#listeners.size === 1) this.#options.onFirst();
    this.#stopVisits ??= this.#visitAll();
    return () => this.#remove(sink);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    this.#stopListening();
    for (const sink of this.#listeners.keys()) this.#disconnect(sink);
  }

  /**
   * Returns the events after the last received event. Returns undefined if that event is no longer in the history, or if the subscriber may
   * not receive it. Both cases look the same, so that a guessed id reveals nothing.
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

  #visitAll(): () => void {
    const { heartbeatMs, validityCheckMs } = this.#options;
    const every = (periodMs: number, visit: (sink: EventSink) => void) =>
      repeat(this.#clock, periodMs, () => this.#listeners.keys().forEach(visit));
    const stopHeartbeats = every(heartbeatMs, (sink) => this.#write(sink, SSE_KEEP_ALIVE));
    const stopChecks = every(validityCheckMs, (sink) => this.#endInvalid(sink));
    return () => {
      stopHeartbeats();
      stopChecks();
    };
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
    this.#remove(sink);
    sink.close();
  }

  #remove(sink: EventSink): void {
    this.#listeners.delete(sink);
    if (this.#listeners.size > 0) return;
    this.#stopVisits?.();
    this.#stopVisits = undefined;
  }
}

/** Returns whether a pattern matches an event type. `a.*` matches each type that begins with `a.`. Other patterns must equal the type. */
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

/** Relays the event streams of other hubs to subscribers. The other hub decides which events a subscriber may receive. */
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
   * Relays the other hub's events until the returned function is called, the token becomes invalid, or the subscriber reads too slowly. If
   * that hub refuses the request or its connection is lost, the relay sends an `error` event and ends.
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

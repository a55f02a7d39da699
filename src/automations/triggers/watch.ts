import { type Clock, isoTime, type TrustedTime } from '../../core/clock.ts';
import type { DeviceDirectory } from '../../core/devices/device-directory.ts';
import type { ReadingStore } from '../../core/devices/sensor-readings.ts';
import { AtmoError } from '../../core/errors.ts';
import type { EventBus, EventListener, EventType } from '../../core/events.ts';
import type { Json, JsonObject } from '../../core/json.ts';
import type { HouseState } from '../house/house.ts';
import type { Trigger } from '../plan/trigger-schema.ts';
import type { TraceNote } from '../traces/trace.ts';

/** Maximum age of a report in milliseconds. Older reports are ignored, because a device sends missed events again after an interruption. */
export const MAX_REPORT_AGE_MS = 60_000;

/** One firing of a trigger. */
export interface Firing {
  readonly trigger: Trigger;
  /** The values that actions may refer to. */
  readonly facts: JsonObject;
  /** Time of the firing, by the monotonic clock. */
  readonly atMs: number;
  /** Returns whether the cause of the firing still holds. Called for a run that had to wait. */
  holds(): boolean;
}

/** A moment at which a trigger nearly fired, or at which it was due and could not. */
export type Miss = Pick<TraceNote, 'cause' | 'facts'>;

/** Gets what happens at a watch. */
export interface WatchListener {
  onFiring(firing: Firing): void;
  onMiss(trigger: Trigger, miss: Miss): void;
}

/** The parts of the hub from which triggers and conditions are read. */
export interface WatchPorts {
  readonly clock: Clock;
  readonly index: EventIndex;
  readonly readings: Pick<ReadingStore, 'current'>;
  readonly devices: Pick<DeviceDirectory, 'get'>;
  readonly time: Pick<TrustedTime, 'isTrusted'>;
  readonly house: HouseState;
  /** The agents of this hub, of which one may be in the middle of a run. */
  readonly agents: { get(id: string): { readonly running?: object } | undefined };
  /** Default IANA time zone of triggers and conditions. */
  readonly timeZone: string;
}

/** Something that happens to one automation alone, of which there is no event. */
export type Delivery = { readonly type: 'hub_start' } | { readonly type: 'webhook'; readonly name: string; readonly body: Json };

/** Longest body of a webhook, in characters of JSON. */
const MAX_WEBHOOK_LENGTH = 4_096;

/** Returns what a webhook delivers. Throws PAYLOAD_TOO_LARGE. */
export function webhookDelivery(name: string, body: Json): Delivery {
  const { length } = JSON.stringify(body);
  if (length <= MAX_WEBHOOK_LENGTH) return { type: 'webhook', name, body };
  throw new AtmoError('PAYLOAD_TOO_LARGE', `The body has ${length} characters of JSON; a webhook takes ${MAX_WEBHOOK_LENGTH}`);
}

/** Watches for one trigger of one automation between `start` and `stop`. */
export abstract class Watch<T extends Trigger = Trigger> {
  protected readonly ports: WatchPorts;
  protected trigger: T;
  protected cancel = () => {};
  readonly #listener: WatchListener;

  constructor(ports: WatchPorts, trigger: T, listener: WatchListener) {
    this.ports = ports;
    this.trigger = trigger;
    this.#listener = listener;
  }

  /** When the watch fires next, milliseconds since 1970; undefined if that does not depend on the time alone. */
  get dueMs(): number | undefined {
    return undefined;
  }

  /** Starts to watch. `lastRunMs` is when the automation ran last, milliseconds since 1970; 0 if it never did. */
  abstract start(lastRunMs: number): void;

  stop(): void {
    this.cancel();
  }

  /** Takes what happens to this automation alone. Returns whether the watch waits for it. */
  deliver(_delivery: Delivery): boolean {
    return false;
  }

  /** Replaces the trigger with a trigger of the same type. The watch keeps the last known state and compares the next report with it. */
  update(trigger: Trigger): void {
    this.trigger = trigger as T;
  }

  protected fire(facts: JsonObject = {}, holds: Firing['holds'] = () => true): void {
    const { clock } = this.ports;
    const common = { type: this.trigger.type, at: isoTime(clock.now()) };
    this.#listener.onFiring({ trigger: this.trigger, facts: { ...common, ...facts }, atMs: clock.monotonic(), holds });
  }

  /** Reports that the trigger did not fire although it nearly did. Called at changes only, so that it costs nothing for each report. */
  protected miss(cause: Miss['cause'], facts: JsonObject = {}): void {
    this.#listener.onMiss(this.trigger, { cause, facts });
  }
}

/** Passes each event to the handlers for its type and subject, with one look-up. Listens to the bus only while there are handlers. */
export class EventIndex {
  readonly #events: Pick<EventBus, 'listen'>;
  readonly #handlers = new Map<string, Set<EventListener>>();
  #stop: (() => void) | undefined;

  constructor(events: Pick<EventBus, 'listen'>) {
    this.#events = events;
  }

  stop(): void {
    this.#handlers.clear();
    this.#unlisten();
  }

  /** Calls the handler for each event of a type about a subject. The returned function removes the handler. */
  on(type: EventType, subject: string, handler: EventListener): () => void {
    return this.#add(keyOf(type, subject), handler);
  }

  /** Calls the handler for each event of a type. */
  onAny(type: EventType, handler: EventListener): () => void {
    return this.#add(keyOf(type, ANY), handler);
  }

  /** Returns whether a handler waits for events of a type about a subject. */
  isAwaited(type: EventType, subject: string): boolean {
    return this.#handlers.has(keyOf(type, subject)) || this.#handlers.has(keyOf(type, ANY));
  }

  #add(key: string, handler: EventListener): () => void {
    const handlers = this.#handlers.get(key) ?? new Set();
    this.#handlers.set(key, handlers.add(handler));
    this.#stop ??= this.#events.listen((event) => {
      for (const subject of [event.subject, ANY]) {
        for (const one of [...(this.#handlers.get(keyOf(event.type, subject)) ?? [])]) one(event);
      }
    });
    return () => {
      handlers.delete(handler);
      if (handlers.size === 0) this.#handlers.delete(key);
      if (this.#handlers.size === 0) this.#unlisten();
    };
  }

  #unlisten(): void {
    this.#stop?.();
    this.#stop = undefined;
  }
}

/** Stands for every subject. No subject is empty. */
const ANY = '';

function keyOf(type: EventType, subject: string): string {
  return `${type} ${subject}`;
}

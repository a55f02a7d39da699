import type { Clock, TrustedTime } from '../core/clock.ts';
import type { DeviceDirectory } from '../core/devices/device-directory.ts';
import type { ReadingStore } from '../core/devices/sensor-readings.ts';
import type { EventBus, EventType, HubEvent } from '../core/events.ts';
import type { JsonObject } from '../core/json.ts';
import type { Trigger } from './automation-config.ts';

/** Reports older than this tell of the past: a device repeats what happened while it was not heard. */
export const MAX_REPORT_AGE_MS = 60_000;

/** One moment at which a trigger fired. */
export interface Firing {
  readonly trigger: Trigger;
  /** What actions may refer to. */
  readonly facts: JsonObject;
  /** On the clock that never jumps. */
  readonly atMs: number;
  /** Whether what fired it is still so, for a run that had to wait. */
  holds(): boolean;
}

/** Hears firings. */
export type Fire = (firing: Firing) => void;

/** What watches work with. */
export interface WatchPorts {
  readonly clock: Clock;
  readonly index: EventIndex;
  readonly readings: Pick<ReadingStore, 'current'>;
  readonly devices: Pick<DeviceDirectory, 'get'>;
  readonly time: Pick<TrustedTime, 'isTrusted'>;
  /** For triggers that name none. */
  readonly timeZone: string;
}

/** Watches for one trigger of one automation. */
export interface Watch {
  start(): void;
  /** The trigger with other values; what was seen so far still counts. */
  update(trigger: Trigger): void;
  stop(): void;
}

type Handler = (event: HubEvent) => void;

/**
 * Passes the hub's events to the handlers of their type and subject: many automations cost one look-up for each event. It listens only
 * while there are handlers.
 */
export class EventIndex {
  readonly #events: EventBus;
  readonly #handlers = new Map<string, Set<Handler>>();
  #stop: (() => void) | undefined;

  constructor(events: EventBus) {
    this.#events = events;
  }

  stop(): void {
    this.#handlers.clear();
    this.#unlisten();
  }

  /** Calls the handler with each event of a type about a subject; the returned function ends that. */
  on(type: EventType, subject: string, handler: Handler): () => void {
    const key = keyOf(type, subject);
    const handlers = this.#handlers.get(key) ?? new Set();
    this.#handlers.set(key, handlers.add(handler));
    this.#stop ??= this.#events.listen((event) => {
      for (const one of [...(this.#handlers.get(keyOf(event.type, event.subject)) ?? [])]) one(event);
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

function keyOf(type: EventType, subject: string): string {
  return `${type} ${subject}`;
}

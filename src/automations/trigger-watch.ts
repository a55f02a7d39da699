import { type Clock, isoTime, type TrustedTime } from '../core/clock.ts';
import type { DeviceDirectory } from '../core/devices/device-directory.ts';
import type { ReadingStore } from '../core/devices/sensor-readings.ts';
import type { EventBus, EventListener, EventType } from '../core/events.ts';
import type { JsonObject } from '../core/json.ts';
import type { Trigger } from './automation-schema.ts';

/** Older reports are of the past: after an interruption a device repeats what happened in the meantime. */
export const MAX_REPORT_AGE_MS = 60_000;

/** One moment at which a trigger fired. */
export interface Firing {
  readonly trigger: Trigger;
  /** The values that actions may refer to. */
  readonly facts: JsonObject;
  /** On the clock that never jumps. */
  readonly atMs: number;
  /** Returns whether the cause still holds, for a run that had to wait. */
  holds(): boolean;
}

/** The parts of the hub that triggers and conditions are read from. */
export interface WatchPorts {
  readonly clock: Clock;
  readonly index: EventIndex;
  readonly readings: Pick<ReadingStore, 'current'>;
  readonly devices: Pick<DeviceDirectory, 'get'>;
  readonly time: Pick<TrustedTime, 'isTrusted'>;
  /** IANA time zone of triggers and conditions that name none. */
  readonly timeZone: string;
}

/** Watches for one trigger of one automation, from `start` to `stop`. */
export abstract class Watch<T extends Trigger = Trigger> {
  protected readonly ports: WatchPorts;
  protected trigger: T;
  protected cancel = () => {};
  readonly #onFiring: (firing: Firing) => void;

  constructor(ports: WatchPorts, trigger: T, onFiring: (firing: Firing) => void) {
    this.ports = ports;
    this.trigger = trigger;
    this.#onFiring = onFiring;
  }

  abstract start(): void;

  stop(): void {
    this.cancel();
  }

  /** Takes the same trigger with other values; earlier reports still count. The type of a trigger never changes. */
  update(trigger: Trigger): void {
    this.trigger = trigger as T;
  }

  protected fire(facts: JsonObject = {}, holds: Firing['holds'] = () => true): void {
    const { clock } = this.ports;
    const common = { type: this.trigger.type, at: isoTime(clock.now()) };
    this.#onFiring({ trigger: this.trigger, facts: { ...common, ...facts }, atMs: clock.monotonic(), holds });
  }
}

/**
 * Passes the hub's events to the handlers of their type and subject: many automations cost one look-up for each event. It listens only
 * while there are handlers.
 */
export class EventIndex {
  readonly #events: EventBus;
  readonly #handlers = new Map<string, Set<EventListener>>();
  #stop: (() => void) | undefined;

  constructor(events: EventBus) {
    this.#events = events;
  }

  stop(): void {
    this.#handlers.clear();
    this.#unlisten();
  }

  /** Calls the handler with each event of a type about a subject; the returned function ends that. */
  on(type: EventType, subject: string, handler: EventListener): () => void {
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

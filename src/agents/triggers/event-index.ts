import type { EventBus, EventType, HubEvent } from '../../core/events.ts';

type Handler = (event: HubEvent) => void;

/** Hands the hub's events to those who wait for this type about this subject: many automations cost one look-up each event. */
export class EventIndex {
  readonly #events: EventBus;
  readonly #handlers = new Map<string, Set<Handler>>();
  #stop: (() => void) | undefined;

  constructor(events: EventBus) {
    this.#events = events;
  }

  start(): void {
    this.#stop ??= this.#events.listen((event) => {
      for (const handler of [...(this.#handlers.get(keyOf(event.type, event.subject)) ?? [])]) handler(event);
    });
  }

  stop(): void {
    this.#stop?.();
    this.#stop = undefined;
    this.#handlers.clear();
  }

  /** Hears events of a type about a subject; the answer stops it. */
  on(type: EventType, subject: string, handler: Handler): () => void {
    const key = keyOf(type, subject);
    const handlers = this.#handlers.get(key) ?? new Set();
    this.#handlers.set(key, handlers.add(handler));
    return () => {
      handlers.delete(handler);
      if (handlers.size === 0) this.#handlers.delete(key);
    };
  }
}

function keyOf(type: EventType, subject: string): string {
  return `${type} ${subject}`;
}

import { randomUUID } from 'node:crypto';
import type { Clock } from './clock.ts';
import type { JsonObject } from './json.ts';

/** Every type of event that the hub emits. `agi.tool.*` are the names of the HTTP tool service, which its monitors know. */
export const EVENT_TYPES = [
  'agi.tool.discovered',
  'agi.tool.created',
  'agi.tool.removed',
  'agi.tool.invoked',
  'agi.tool.result',
  'agi.tool.failed',
  'device.added',
  'device.removed',
  'device.changed',
  'device.reachability',
  'device.event',
  'sensor.reading',
  'job.changed',
  'approval.requested',
  'approval.decided',
  'token.issued',
  'token.revoked',
  'agent.changed',
  'rules.changed',
  'mesh.changed',
  'peer.changed',
  'hub.warning',
] as const;
/** A type of the list. */
export type EventType = (typeof EVENT_TYPES)[number];

/** A CloudEvents 1.0 event in its JSON form. */
export interface HubEvent {
  readonly specversion: '1.0';
  readonly id: string;
  readonly source: string;
  readonly type: EventType;
  /** Id of the device, tool, sensor, job, approval, token, agent or hub that the event is about. */
  readonly subject: string;
  readonly time: string;
  readonly data: JsonObject;
}

/** Is called with each event; an error that it throws is dropped. */
export type EventListener = (event: HubEvent) => void;

/** Emits events to its listeners in order; an error of one listener never stops another. */
export class EventBus {
  readonly #listeners = new Set<EventListener>();
  readonly #source: string;
  readonly #clock: Clock;

  constructor(source: string, clock: Clock) {
    this.#source = source;
    this.#clock = clock;
  }

  emit(type: EventType, subject: string, data: JsonObject = {}): void {
    if (this.#listeners.size === 0) return;
    const event: HubEvent = {
      specversion: '1.0',
      id: randomUUID(),
      source: this.#source,
      type,
      subject,
      time: new Date(this.#clock.now()).toISOString(),
      data,
    };
    for (const listener of this.#listeners) {
      try {
        listener(event);
      } catch {
        // The other listeners still get the event.
      }
    }
  }

  /** Subscribes to every event; the returned function unsubscribes. */
  listen(listener: EventListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}

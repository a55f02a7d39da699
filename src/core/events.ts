import { randomUUID } from 'node:crypto';
import type { Clock } from './clock.ts';
import type { JsonObject } from './json.ts';

/** Types of events that the hub emits. Monitors of the HTTP tool service expect the names `agi.tool.*`. */
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
  'approval.removed',
  'token.issued',
  'token.revoked',
  'agent.changed',
  'proposal.changed',
  'house.changed',
  'scene.run',
  'rules.changed',
  'notice.changed',
  'mesh.changed',
  'peer.changed',
  'hub.warning',
] as const;
/** A type of event. */
export type EventType = (typeof EVENT_TYPES)[number];

/** A CloudEvents 1.0 event in its JSON form. */
export interface HubEvent {
  readonly specversion: '1.0';
  readonly id: string;
  readonly source: string;
  readonly type: EventType;
  /** Id of the event's subject: a device, tool, sensor, job, approval, token, agent, proposal, person or hub. */
  readonly subject: string;
  readonly time: string;
  readonly data: JsonObject;
}

/** Called with each event. If the listener throws an error, the error is ignored. */
export type EventListener = (event: HubEvent) => void;

interface Subscription {
  readonly listener: EventListener;
  /** Types of events to receive; undefined means all types. */
  readonly types: readonly EventType[] | undefined;
}

/** Emits events to the listeners in the order of their subscription. An error of one listener does not stop the others. */
export class EventBus {
  readonly #subscriptions = new Set<Subscription>();
  readonly #source: string;
  readonly #clock: Clock;

  constructor(source: string, clock: Clock) {
    this.#source = source;
    this.#clock = clock;
  }

  emit(type: EventType, subject: string, data: JsonObject = {}): void {
    if (this.#subscriptions.size === 0) return;
    const event: HubEvent = {
      specversion: '1.0',
      id: randomUUID(),
      source: this.#source,
      type,
      subject,
      time: new Date(this.#clock.now()).toISOString(),
      data,
    };
    for (const { listener, types } of this.#subscriptions) {
      if (types && !types.includes(type)) continue;
      try {
        listener(event);
      } catch {
        // The error is ignored, so that the other listeners still get the event.
      }
    }
  }

  /** Subscribes to events of some types, or to all events. The returned function unsubscribes. */
  listen(listener: EventListener, types?: readonly EventType[]): () => void {
    const subscription = { listener, types };
    this.#subscriptions.add(subscription);
    return () => this.#subscriptions.delete(subscription);
  }
}

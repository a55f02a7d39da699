import type { EventView } from '../api/hub-types.ts';
import type { TextKey } from '../texts/text.ts';

/** The fields of an event that the log shows. */
export type LoggedEvent = Omit<EventView, 'source'>;

/** The filter of the log. */
export interface EventFilter {
  /** An event type, or the beginning of one, such as `device.`. If it is empty, all events match. */
  readonly type: string;
  /** Text that the event's subject or data must contain. Letter case is ignored. */
  readonly text: string;
}

const KEPT = 500;

/** Holds the latest events, newest first. While the log is paused, new events are held back and the shown list does not change. */
export class EventLog {
  #shown: readonly LoggedEvent[] = [];
  #waiting: readonly LoggedEvent[] = [];
  #isPaused = false;

  add(event: LoggedEvent): void {
    if (this.#isPaused) this.#waiting = [event, ...this.#waiting].slice(0, KEPT);
    else this.#shown = [event, ...this.#shown].slice(0, KEPT);
  }

  get isPaused(): boolean {
    return this.#isPaused;
  }

  /** Number of events that have arrived since the pause began, at most 500. */
  get waitingCount(): number {
    return this.#waiting.length;
  }

  pause(): void {
    this.#isPaused = true;
  }

  resume(): void {
    this.#isPaused = false;
    this.#shown = [...this.#waiting, ...this.#shown].slice(0, KEPT);
    this.#waiting = [];
  }

  clear(): void {
    this.#shown = [];
    this.#waiting = [];
  }

  /** Returns the shown events that match the filter. */
  matching({ type, text }: EventFilter): readonly LoggedEvent[] {
    const wanted = text.trim().toLowerCase();
    return this.#shown.filter((event) => event.type.startsWith(type) && (wanted === '' || textOf(event).includes(wanted)));
  }
}

function textOf({ subject, data }: LoggedEvent): string {
  return `${subject} ${JSON.stringify(data)}`.toLowerCase();
}

/** The prefixes of the event types, each for a group that a person can choose, with the titles of the groups. */
export const EVENT_KINDS: ReadonlyMap<string, TextKey> = new Map([
  ['sensor.', 'events.kind_sensor'],
  ['device.', 'events.kind_device'],
  ['agi.tool.', 'events.kind_tool'],
  ['approval.', 'events.kind_approval'],
  ['house.', 'events.kind_house'],
  ['job.', 'events.kind_job'],
  ['scene.', 'events.kind_scene'],
  ['agent.', 'events.kind_agent'],
  ['proposal.', 'events.kind_proposal'],
  ['token.', 'events.kind_token'],
  ['rules.', 'events.kind_rules'],
  ['notice.', 'events.kind_notice'],
  ['mesh.', 'events.kind_mesh'],
  ['peer.', 'events.kind_peer'],
  ['hub.', 'events.kind_hub'],
]);

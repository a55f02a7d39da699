import type { JsonObject } from '../json.ts';

/** Something that happened in the house. `hub.started` and `hub.stopped` are noted beside the types of events that the hub emits. */
export interface PastEvent {
  /** Milliseconds since 1970. */
  readonly atMs: number;
  readonly type: string;
  readonly subject: string;
  readonly data: JsonObject;
}

/**
 * Type of the row that says how many events were left out (`count`), from its time until `until_ms`, because they were too long or too many came
 * within a minute.
 */
export const LEFT_OUT = 'history.left_out';

/** Port: what happened in the house, so that an automation can be tried on it. Reading throws STORAGE_FAILED. */
export interface EventHistory {
  /** Notes that events are kept from now on, unless they were before. */
  begin(atMs: number): void;
  /** Keeps an event; it is on the disk with the readings of the minute. One that is too long or comes too often is left out, which a row of the type `LEFT_OUT` says. */
  note(event: PastEvent): void;
  /** Yields the events from `startMs` to before `endMs` in the order of time, page by page. */
  between(range: { readonly startMs: number; readonly endMs: number }): Iterable<readonly PastEvent[]>;
  /** Returns the first event of each subject from `startMs` on, of the types. */
  firstOfEach(types: readonly string[], startMs: number): readonly PastEvent[];
  /** Returns the last event of each type and subject, of the types. */
  lastOfEach(types: readonly string[]): readonly PastEvent[];
  /** Returns since when events are kept, milliseconds since 1970; undefined if that is not known. */
  sinceMs(): number | undefined;
  /** Returns the time of the newest event or reading, milliseconds since 1970; undefined if there is none. */
  newestMs(): number | undefined;
}

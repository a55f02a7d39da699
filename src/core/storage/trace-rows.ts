import type { JsonObject } from '../json.ts';

/** A row about what an agent did, or did not do, at a moment. Times are in milliseconds since 1970. */
export interface TraceRow {
  /** Number that only grows, also over restarts. */
  readonly id: number;
  readonly agent: string;
  /** Rows of each kind have a bound of their own. */
  readonly kind: 'fired' | 'near';
  readonly atMs: number;
  readonly lastMs: number;
  readonly count: number;
  readonly content: JsonObject;
}

/** How many rows are kept. */
export interface TraceBounds {
  /** Older rows, milliseconds since 1970, are deleted. */
  readonly sinceMs: number;
  /** Most rows of one agent, by kind. */
  readonly perAgent: Readonly<Record<TraceRow['kind'], number>>;
  /** Most rows of all agents. */
  readonly total: number;
}

/** Port: traces on the disk. Methods throw STORAGE_FAILED if the disk refuses. */
export interface TraceRows {
  /** Returns the largest id in use (0 if there is none), and when the hub was last known to run; undefined if it never was. */
  known(): { readonly lastId: number; readonly aliveMs: number | undefined };
  /** Writes or replaces rows, and the time at which the hub runs, in one transaction. */
  write(rows: readonly TraceRow[], aliveMs: number): void;
  /** Returns the newest rows of an agent that touch a range of time, newest first. */
  read(query: { readonly agent: string; readonly fromMs: number; readonly toMs: number; readonly limit: number }): readonly TraceRow[];
  /** Deletes what is beyond the bounds. */
  drop(bounds: TraceBounds): void;
}

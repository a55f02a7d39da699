import type { JsonObject } from '../json.ts';

/** What a row can be. Rows on the disk hold places in this list: it only ever grows at its end. */
export const AUDIT_KINDS = ['intent', 'outcome', 'refusal', 'note'] as const;

/** One row of the journal of calls, as it was written. */
export interface AuditRow {
  /** One more than that of the row before. */
  readonly seq: number;
  /** ISO 8601. */
  readonly at: string;
  readonly kind: (typeof AUDIT_KINDS)[number];
  /** SHA-256, hex, over the row before and the content of this one. */
  readonly hash: string;
  readonly hub: string;
  readonly agent?: string;
  readonly token?: string;
  /** Ids of the tokens that it comes from, root first. */
  readonly chain?: readonly string[];
  readonly tool?: string;
  readonly request?: string;
  readonly trace?: string;
  /** Everything else of the entry, by the names of `AuditIntent`, `AuditOutcome` and `AuditNote` in snake_case. */
  readonly content: JsonObject;
}

/** The time and the randomness of a call, so that replay can repeat it. */
export interface RunContext {
  readonly runId: string;
  /** Milliseconds since 1970 that a bounded tool saw as the time. */
  readonly logicalTimeMs: number;
  readonly randomSeed: string;
}

/** Which rows. Times in milliseconds since 1970. */
export interface AuditQuery {
  readonly sinceMs?: number;
  readonly untilMs?: number;
  readonly agent?: string;
  readonly tool?: string;
  readonly request?: string;
  readonly kind?: AuditRow['kind'];
  /** Rows before this number, for paging towards the past. */
  readonly before?: number;
  readonly limit: number;
}

/** Where the chain stands: whoever keeps it elsewhere can later show that rows were cut off. */
export interface AuditHead {
  readonly hub: string;
  readonly seq: number;
  readonly hash: string;
  readonly at: string;
}

/** What a check of the whole chain found. */
export interface AuditVerification {
  readonly intact: boolean;
  readonly rows: number;
  readonly head: AuditHead;
  /** First row that does not fit, and why; absent when all fit. */
  readonly problem?: { readonly seq: number; readonly reason: string };
}

/** Port: reading the journal of calls. Errors: STORAGE_FAILED. */
export interface AuditLog {
  /** Newest first, at most 1,000 rows whatever `limit` says. */
  read(query: AuditQuery): readonly AuditRow[];
  /** Of the newest row. */
  head(): AuditHead;
  /** Recomputes the chain; `expected` is a head that was kept elsewhere. Works in slices, so that the hub goes on answering. */
  verify(expected?: Pick<AuditHead, 'seq' | 'hash'>): Promise<AuditVerification>;
}

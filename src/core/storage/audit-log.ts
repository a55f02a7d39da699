import type { JsonObject } from '../json.ts';

/** Kinds of rows. Rows on the disk contain indexes into this list, so new kinds must be appended at its end. */
export const AUDIT_KINDS = ['intent', 'outcome', 'refusal', 'note'] as const;

/** A row of the audit log. */
export interface AuditRow {
  /** Sequence number of the row, one higher than that of the previous row. */
  readonly seq: number;
  /** Time of the row in ISO 8601. */
  readonly at: string;
  readonly kind: (typeof AUDIT_KINDS)[number];
  /** SHA-256 (hex) of the previous row's hash and this row's content. */
  readonly hash: string;
  readonly hub: string;
  readonly agent?: string;
  readonly token?: string;
  /** Ids of the token's ancestors, root first. */
  readonly chain?: readonly string[];
  readonly tool?: string;
  readonly request?: string;
  readonly trace?: string;
  /** All other fields of the entry, with the names in `AuditIntent`, `AuditOutcome` or `AuditNote` in snake_case. */
  readonly content: JsonObject;
}

/** The time and the random seed of a call, so that replay can repeat it. */
export interface RunContext {
  readonly runId: string;
  /** Time at which the clock of a bounded tool stands still, milliseconds since 1970. */
  readonly logicalTimeMs: number;
  readonly randomSeed: string;
}

/** A selection of rows; times are milliseconds since 1970. */
export interface AuditQuery {
  readonly sinceMs?: number;
  readonly untilMs?: number;
  readonly agent?: string;
  readonly tool?: string;
  readonly request?: string;
  readonly kind?: AuditRow['kind'];
  /** Returns only rows with lower sequence numbers, for paging towards older rows. */
  readonly before?: number;
  readonly limit: number;
}

/** The newest row of the chain. A copy that is stored elsewhere can prove that rows were cut off later. */
export interface AuditHead {
  readonly hub: string;
  readonly seq: number;
  readonly hash: string;
  readonly at: string;
}

/** The result of a check of the whole chain. */
export interface AuditVerification {
  readonly intact: boolean;
  readonly rows: number;
  readonly head: AuditHead;
  /** First wrong row, with the reason; absent if all rows are right. */
  readonly problem?: { readonly seq: number; readonly reason: string };
}

/** Port: reads the audit log. Throws STORAGE_FAILED if the disk fails. */
export interface AuditLog {
  /** Returns rows, newest first, at most 1,000. */
  read(query: AuditQuery): readonly AuditRow[];
  /** Returns number, hash and time of the newest row. */
  head(): AuditHead;
  /** Recomputes the chain; `expected` is a head that was stored elsewhere. Works in slices, so that the hub can serve requests. */
  verify(expected?: Pick<AuditHead, 'seq' | 'hash'>): Promise<AuditVerification>;
}

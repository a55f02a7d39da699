import type { JsonObject } from '../json.ts';

/** Kinds of rows. A row on the disk contains an index into this list, so new kinds may only be appended. */
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
  /** Ids of all tokens in the token's chain: root first, the token itself last. */
  readonly chain?: readonly string[];
  readonly tool?: string;
  readonly request?: string;
  readonly trace?: string;
  /** The other fields of the `AuditIntent`, `AuditOutcome` or `AuditNote`, with their names in snake_case. */
  readonly content: JsonObject;
}

/** What replay needs to repeat a call: its time and its random seed. */
export interface RunContext {
  readonly runId: string;
  /** Time that the clock of a bounded tool shows during the whole run, milliseconds since 1970. */
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
  readonly trace?: string;
  /** Only intents with the state of one of these devices before the call, and intents of which the log could not keep all. */
  readonly devices?: readonly string[];
  readonly kind?: AuditRow['kind'];
  /** Only rows with a lower sequence number are returned. Used to page to older rows. */
  readonly before?: number;
  /** Only rows with a higher sequence number are returned. */
  readonly after?: number;
  readonly limit: number;
}

/** The newest row of the chain. If a copy of it is stored elsewhere, it can later prove that rows were cut off. */
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
  /** The first wrong row and what is wrong with it; absent if all rows are right. */
  readonly problem?: { readonly seq: number; readonly reason: string };
}

/** Port: reads the audit log. Throws STORAGE_FAILED if the disk fails. */
export interface AuditLog {
  /** Returns at most 1,000 rows, newest first. */
  read(query: AuditQuery): readonly AuditRow[];
  /** Returns the number, hash and time of the newest row. */
  head(): AuditHead;
  /** Checks the whole chain, and whether it contains `expected`, a head that was stored elsewhere. The hub serves requests meanwhile. */
  verify(expected?: Pick<AuditHead, 'seq' | 'hash'>): Promise<AuditVerification>;
}

import { AtmoError } from '../../core/errors.ts';
import type { Json } from '../../core/json.ts';

/** Limits of a database: whether callers may change data, and how long a statement may run. */
export interface DatabaseBounds {
  readonly isWritable: boolean;
  readonly timeoutMs: number;
}

/** One statement. The values of its parameters are passed separately and never become a part of its text. */
export interface DatabaseQuery {
  readonly text: string;
  readonly params: readonly Json[];
  readonly maxRows: number;
  readonly signal: AbortSignal;
}

/** The result of a statement: rows as lists of values in the order of the columns. */
export interface DatabaseAnswer {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly Json[])[];
  /** True if the statement has more rows than requested. */
  readonly isTruncated: boolean;
  /** Number of changed rows, if the database permits changes. */
  readonly changes?: number;
}

/**
 * Port: a database that runs one statement at a time for untrusted callers. Numbers beyond 2^53 and values without a JSON form are returned
 * as texts, bytes as base64. Rejects with VALIDATION_ERROR (the statement is invalid), PERMISSION_DENIED (a forbidden change or access),
 * PAYLOAD_TOO_LARGE (more than `MAX_ANSWER_BYTES`), TIMEOUT, RESOURCE_EXCEEDED (too much memory), SERVICE_UNAVAILABLE (no connection),
 * SERVICE_REFUSED, or OUTCOME_UNKNOWN (the statement may have changed data).
 */
export interface Database {
  query(query: DatabaseQuery): Promise<DatabaseAnswer>;
}

/** Longest result of a statement, in bytes. */
export const MAX_ANSWER_BYTES = 2_097_152;

/** Returns PAYLOAD_TOO_LARGE for a result that is longer than `MAX_ANSWER_BYTES`. */
export function answerTooLarge(): AtmoError {
  return new AtmoError('PAYLOAD_TOO_LARGE', `The rows take more than ${MAX_ANSWER_BYTES} bytes; ask for fewer columns or rows`, {
    max_bytes: MAX_ANSWER_BYTES,
  });
}

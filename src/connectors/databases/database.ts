import { AtmoError } from '../../core/errors.ts';
import type { Json } from '../../core/json.ts';

/** Limits of a database: whether callers may change data, and how long a statement may run. */
export interface DatabaseBounds {
  readonly isWritable: boolean;
  readonly timeoutMs: number;
}

/** One SQL statement. The values of its parameters are passed separately and never become a part of `text`. */
export interface DatabaseQuery {
  readonly text: string;
  readonly params: readonly Json[];
  readonly maxRows: number;
  readonly signal: AbortSignal;
}

/** The result of a statement. Each row is a list of values in the order of `columns`. */
export interface DatabaseAnswer {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly Json[])[];
  /** True if the statement gives more rows than `maxRows`. The further rows are left out. */
  readonly isTruncated: boolean;
  /** Number of changed rows; absent for a statement that returns columns. */
  readonly changes?: number;
}

/**
 * Port: runs SQL of untrusted callers on a database, one statement per call. Integers beyond 2^53 and values without a JSON form are
 * returned as text, bytes as base64. Rejects with VALIDATION_ERROR (the statement is invalid), PERMISSION_DENIED (a forbidden change or
 * access), PAYLOAD_TOO_LARGE (more than `MAX_ANSWER_BYTES`), TIMEOUT (the statement took too long), RESOURCE_EXCEEDED (too much memory),
 * STORAGE_FAILED (the disk is full), SERVICE_UNAVAILABLE (no connection, or the database is busy), SERVICE_REFUSED (any other refusal, such
 * as a failed login), NOT_CONFIGURED (the database user has too many rights), or OUTCOME_UNKNOWN (interrupted, and data may have changed).
 */
export interface Database {
  query(query: DatabaseQuery): Promise<DatabaseAnswer>;
}

/** Maximum size of a statement's result in bytes. */
export const MAX_ANSWER_BYTES = 2_097_152;

/** Returns PAYLOAD_TOO_LARGE for a result that is longer than `MAX_ANSWER_BYTES`. */
export function answerTooLarge(): AtmoError {
  return new AtmoError('PAYLOAD_TOO_LARGE', `The rows take more than ${MAX_ANSWER_BYTES} bytes; ask for fewer columns or rows`, {
    max_bytes: MAX_ANSWER_BYTES,
  });
}

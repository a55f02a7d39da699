import { AtmoError } from '../../core/errors.ts';
import type { Json } from '../../core/json.ts';

/** One statement with values for its parameters, which never become a part of its text. */
export interface DatabaseQuery {
  readonly text: string;
  readonly params: readonly Json[];
  readonly maxRows: number;
  readonly signal: AbortSignal;
}

/** Rows as lists of values in the order of the columns. */
export interface DatabaseAnswer {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly Json[])[];
  /** There were more rows than asked for. */
  readonly isTruncated: boolean;
  /** Rows that the statement changed, where it could. */
  readonly changes?: number;
}

/**
 * Port: a database that runs one statement at a time for whom it may not trust. Numbers beyond 2^53 and what JSON has no value
 * for come as texts, bytes as base64. Errors: VALIDATION_ERROR (the statement), PERMISSION_DENIED (it would change or reach what
 * it may not), PAYLOAD_TOO_LARGE (rows of more than `MAX_ANSWER_BYTES`), TIMEOUT, RESOURCE_EXCEEDED, SERVICE_UNAVAILABLE,
 * SERVICE_REFUSED, OUTCOME_UNKNOWN (it may have changed something).
 */
export interface Database {
  query(query: DatabaseQuery): Promise<DatabaseAnswer>;
}

/** Most that the rows of an answer take. */
export const MAX_ANSWER_BYTES = 2_097_152;

/** PAYLOAD_TOO_LARGE for rows of more than that. */
export function answerTooLarge(): AtmoError {
  return new AtmoError('PAYLOAD_TOO_LARGE', `The rows take more than ${MAX_ANSWER_BYTES} bytes; ask for fewer columns or rows`, {
    max_bytes: MAX_ANSWER_BYTES,
  });
}

import { AtmoError, type ErrorCode, isErrorCode } from '../../core/errors.ts';
import { isJsonObject, type JsonObject } from '../../core/json.ts';

/** What the hub answered instead of a result, or that no hub answered (HUB_UNREACHABLE). */
export class HubError extends AtmoError {
  /** HTTP status; 0 when no answer came. */
  readonly status: number;

  constructor(code: ErrorCode, message: string, { status, details = {} }: { readonly status: number; readonly details?: JsonObject }) {
    super(code, message, details);
    this.status = status;
  }
}

/** The error of an answer: problem details (RFC 9457), or the `error` of an invoke envelope. */
export function errorOfAnswer(body: unknown, status: number): HubError {
  const told = isJsonObject(body) && isJsonObject(body.error) ? body.error : body;
  if (!isJsonObject(told)) return new HubError('INTERNAL_ERROR', `The hub answered with status ${status} and without a reason`, { status });
  const text = told.message ?? told.detail;
  const message = typeof text === 'string' ? text : `The hub answered with status ${status}`;
  return new HubError(codeOf(told.code), message, { status, details: isJsonObject(told.details) ? told.details : {} });
}

/** What a person reads of anything thrown. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}

function codeOf(code: unknown): ErrorCode {
  return isErrorCode(code) ? code : 'INTERNAL_ERROR';
}

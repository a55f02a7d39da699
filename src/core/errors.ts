import type { JsonObject } from './json.ts';

/** What a caller may do after an error: `never` repeat it, repeat it `later`, or only after it was `changed`. */
export type RetryAdvice = 'never' | 'later' | 'changed';

interface ErrorKind {
  readonly httpStatus: number;
  readonly retry: RetryAdvice;
  /** Exit code of the CLI: 1 other, 2 wrong usage, 3 refused, 4 tool or device failed, 5 no hub. */
  readonly exitCode: 1 | 2 | 3 | 4 | 5;
  readonly meaning: string;
}

/** The one table of error codes. docs/errors.md is generated from it. */
export const ERROR_CODES = {
  VALIDATION_ERROR: {
    httpStatus: 400,
    retry: 'changed',
    exitCode: 2,
    meaning: 'A parameter is missing, unknown, of the wrong type or out of range; details lists each with a JSON pointer',
  },
  UNAUTHENTICATED: { httpStatus: 401, retry: 'changed', exitCode: 3, meaning: 'No valid credential came with the request' },
  TOKEN_INVALID: {
    httpStatus: 401,
    retry: 'changed',
    exitCode: 3,
    meaning: 'The token is malformed, forged, revoked or not meant for this hub',
  },
  TOKEN_EXPIRED: { httpStatus: 401, retry: 'changed', exitCode: 3, meaning: 'The token is no longer valid' },
  PERMISSION_DENIED: { httpStatus: 403, retry: 'never', exitCode: 3, meaning: 'The caller may not do this' },
  RULE_BLOCKED: { httpStatus: 403, retry: 'never', exitCode: 3, meaning: "One of the owner's rules forbids this call" },
  APPROVAL_REQUIRED: { httpStatus: 202, retry: 'later', exitCode: 3, meaning: 'A person has to approve this call first' },
  TOOL_NOT_FOUND: {
    httpStatus: 404,
    retry: 'changed',
    exitCode: 2,
    meaning: 'No tool of this name is visible to the caller; details suggests the nearest names',
  },
  AMBIGUOUS_TOOL: { httpStatus: 409, retry: 'changed', exitCode: 2, meaning: 'The name fits several tools; details lists them' },
  DEVICE_NOT_FOUND: { httpStatus: 404, retry: 'changed', exitCode: 2, meaning: 'No device of this id or name is visible to the caller' },
  AMBIGUOUS_DEVICE: { httpStatus: 409, retry: 'changed', exitCode: 2, meaning: 'The name fits several devices; details lists their ids' },
  SENSOR_NOT_FOUND: { httpStatus: 404, retry: 'changed', exitCode: 2, meaning: 'No sensor of this id is visible to the caller' },
  JOB_NOT_FOUND: {
    httpStatus: 404,
    retry: 'never',
    exitCode: 2,
    meaning: 'No job of this id belongs to the caller, or its result has expired',
  },
  NOT_FOUND: { httpStatus: 404, retry: 'changed', exitCode: 2, meaning: 'The named thing does not exist' },
  CONFLICT: {
    httpStatus: 409,
    retry: 'changed',
    exitCode: 2,
    meaning: 'The request contradicts the present state, such as a name already taken',
  },
  IDEMPOTENCY_CONFLICT: { httpStatus: 409, retry: 'changed', exitCode: 2, meaning: 'The idempotency key was used with other parameters' },
  PAYLOAD_TOO_LARGE: { httpStatus: 413, retry: 'changed', exitCode: 2, meaning: 'The input is larger than allowed' },
  RATE_LIMITED: { httpStatus: 429, retry: 'later', exitCode: 3, meaning: 'Too many calls; details says when the next one is possible' },
  RESOURCE_EXCEEDED: { httpStatus: 503, retry: 'later', exitCode: 4, meaning: 'A bound on memory, queue or concurrency was reached' },
  DEVICE_UNREACHABLE: {
    httpStatus: 503,
    retry: 'later',
    exitCode: 4,
    meaning: 'The device did not answer and nothing was delivered to it',
  },
  SERVICE_UNAVAILABLE: {
    httpStatus: 503,
    retry: 'later',
    exitCode: 4,
    meaning: 'A service that the owner configured does not answer, and nothing was delivered to it',
  },
  SERVICE_REFUSED: {
    httpStatus: 502,
    retry: 'changed',
    exitCode: 4,
    meaning:
      'A service or program that the tool uses answered with a refusal or with nothing usable, or the tool says itself that it failed; ' +
      'details holds what is known of it, such as the status',
  },
  CLUSTER_STATUS: {
    httpStatus: 502,
    retry: 'changed',
    exitCode: 4,
    meaning: 'The device refused the interaction; details holds the Matter status code',
  },
  OUTCOME_UNKNOWN: {
    httpStatus: 504,
    retry: 'never',
    exitCode: 4,
    meaning: 'The request was sent and not acknowledged: it may or may not have taken effect; read the state before doing it again',
  },
  COMMISSIONING_FAILED: {
    httpStatus: 502,
    retry: 'changed',
    exitCode: 4,
    meaning: 'The device could not be commissioned; details holds the step and the reason',
  },
  TIMEOUT: {
    httpStatus: 504,
    retry: 'later',
    exitCode: 4,
    meaning: 'The deadline passed before the work was done and nothing was sent that could still take effect',
  },
  CANCELLED: { httpStatus: 499, retry: 'never', exitCode: 4, meaning: 'The caller cancelled the call' },
  NODE_UNAVAILABLE: { httpStatus: 503, retry: 'later', exitCode: 4, meaning: 'The hub that has the tool cannot be reached' },
  NO_CAPABLE_NODE: {
    httpStatus: 503,
    retry: 'later',
    exitCode: 4,
    meaning:
      'No reachable hub may run the call or has all that the tool needs; details lists what was tried, and `permanent` where time mends nothing',
  },
  NOT_CONFIGURED: { httpStatus: 501, retry: 'never', exitCode: 4, meaning: 'The tool needs a service that the owner has not configured' },
  NOT_SUPPORTED: { httpStatus: 501, retry: 'never', exitCode: 4, meaning: 'The device or the hub does not offer this' },
  RESULT_INVALID: { httpStatus: 502, retry: 'never', exitCode: 4, meaning: 'The tool answered with something that its own schema forbids' },
  STORAGE_FAILED: {
    httpStatus: 507,
    retry: 'later',
    exitCode: 4,
    meaning: 'The state directory cannot be written or read; the message says what to do',
  },
  SHUTTING_DOWN: { httpStatus: 503, retry: 'later', exitCode: 5, meaning: 'The hub is stopping and takes no new calls' },
  HUB_UNREACHABLE: { httpStatus: 503, retry: 'later', exitCode: 5, meaning: 'No hub answers at the address' },
  CONFIG_INVALID: {
    httpStatus: 500,
    retry: 'changed',
    exitCode: 2,
    meaning: 'A configuration, manifest or profile file has a mistake; the message names file and line',
  },
  INTERNAL_ERROR: {
    httpStatus: 500,
    retry: 'never',
    exitCode: 1,
    meaning: 'A bug in the hub or in a tool; the log has the stack under the same trace id',
  },
} as const satisfies Record<string, ErrorKind>;

/** A code of the table. */
export type ErrorCode = keyof typeof ERROR_CODES;

/** True for a code of the table; false for what else an answer may hold, such as the name of a member that every object has. */
export function isErrorCode(value: unknown): value is ErrorCode {
  return typeof value === 'string' && Object.hasOwn(ERROR_CODES, value);
}

/** What callers see of an error. */
export interface ErrorBody {
  readonly code: ErrorCode;
  readonly message: string;
  readonly details: JsonObject;
  readonly retryable: boolean;
}

/** The only error class thrown on purpose. The message says what, which, and what to do. */
export class AtmoError extends Error {
  override readonly name = 'AtmoError';
  readonly code: ErrorCode;
  readonly details: JsonObject;

  constructor(code: ErrorCode, message: string, details: JsonObject = {}, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    this.details = details;
  }

  /** The form that crosses a door: no stack, no cause. Where `details.permanent` is true, time alone mends nothing. */
  toBody(): ErrorBody {
    const isRetryable = ERROR_CODES[this.code].retry === 'later' && this.details.permanent !== true;
    return { code: this.code, message: this.message, details: this.details, retryable: isRetryable };
  }
}

/** Any thrown value as an AtmoError: a bug becomes INTERNAL_ERROR without its text, which stays in the log; `culprit` has the bug. */
export function toAtmoError(thrown: unknown, culprit = 'The hub'): AtmoError {
  if (thrown instanceof AtmoError) return thrown;
  const message = `${culprit} failed unexpectedly; the hub's log has the reason under the same trace id`;
  return new AtmoError('INTERNAL_ERROR', message, {}, { cause: thrown });
}

/** The code of an error of the system as errno(3) and Node name it (`ENOENT`, `ERR_…`); where it has none, its text. */
export function systemCode(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error);
}

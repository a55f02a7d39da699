import type { JsonObject } from './json.ts';

/** Advice to the caller after an error. `never`: do not repeat the request. `later`: repeat it later. `changed`: first change it. */
export type RetryAdvice = 'never' | 'later' | 'changed';

interface ErrorKind {
  readonly httpStatus: number;
  readonly retry: RetryAdvice;
  /** Exit code of the CLI: 1 any other error, 2 wrong usage, 3 refused, 4 failure of the tool or device, 5 no hub. */
  readonly exitCode: 1 | 2 | 3 | 4 | 5;
  readonly meaning: string;
}

function code<Status extends number>(httpStatus: Status, retry: RetryAdvice, exitCode: ErrorKind['exitCode'], meaning: string) {
  return { httpStatus, retry, exitCode, meaning } as const;
}

/** The table of all error codes, with HTTP status, retry advice, exit code and meaning. docs/errors.md is generated from it. */
export const ERROR_CODES = {
  VALIDATION_ERROR: code(
    400,
    'changed',
    2,
    'A parameter is missing, unknown, of the wrong type or out of range; details lists each with a JSON pointer',
  ),
  UNAUTHENTICATED: code(401, 'changed', 3, 'No valid credential came with the request'),
  TOKEN_INVALID: code(401, 'changed', 3, 'The token is malformed, forged, revoked or not meant for this hub'),
  TOKEN_EXPIRED: code(401, 'changed', 3, 'The token is no longer valid'),
  PERMISSION_DENIED: code(403, 'never', 3, 'The caller may not do this'),
  RULE_BLOCKED: code(403, 'never', 3, "One of the owner's rules forbids this call"),
  APPROVAL_REQUIRED: code(202, 'later', 3, 'A person has to approve this call first'),
  TOOL_NOT_FOUND: code(404, 'changed', 2, 'No tool of this name is visible to the caller; details suggests the nearest names'),
  AMBIGUOUS_TOOL: code(409, 'changed', 2, 'The name fits several tools; details lists them'),
  DEVICE_NOT_FOUND: code(404, 'changed', 2, 'No device of this id or name is visible to the caller'),
  AMBIGUOUS_DEVICE: code(409, 'changed', 2, 'The name fits several devices; details lists their ids'),
  SENSOR_NOT_FOUND: code(404, 'changed', 2, 'No sensor of this id is visible to the caller'),
  JOB_NOT_FOUND: code(404, 'never', 2, 'No job of this id belongs to the caller, or its result has expired'),
  NOT_FOUND: code(404, 'changed', 2, 'The named thing does not exist'),
  CONFLICT: code(409, 'changed', 2, 'The request contradicts the present state, such as a name already taken'),
  IDEMPOTENCY_CONFLICT: code(409, 'changed', 2, 'The idempotency key was used with other parameters'),
  PAYLOAD_TOO_LARGE: code(413, 'changed', 2, 'The input is larger than allowed'),
  RATE_LIMITED: code(429, 'later', 3, 'Too many calls; details says when the next one is possible'),
  RESOURCE_EXCEEDED: code(503, 'later', 4, 'A bound on memory, queue or concurrency was reached'),
  DEVICE_UNREACHABLE: code(503, 'later', 4, 'The device did not answer and nothing was delivered to it'),
  SERVICE_UNAVAILABLE: code(503, 'later', 4, 'A service that the owner configured does not answer, and nothing was delivered to it'),
  SERVICE_REFUSED: code(
    502,
    'changed',
    4,
    'A service or program that the tool uses answered with a refusal or with nothing usable, or the tool says itself that it failed; ' +
      'details holds what is known of it, such as the status',
  ),
  CLUSTER_STATUS: code(502, 'changed', 4, 'The device refused the interaction; details holds the Matter status code'),
  OUTCOME_UNKNOWN: code(
    504,
    'never',
    4,
    'The request was sent and not acknowledged: it may or may not have taken effect; read the state before doing it again',
  ),
  COMMISSIONING_FAILED: code(502, 'changed', 4, 'The device could not be commissioned; details holds the step and the reason'),
  TIMEOUT: code(504, 'later', 4, 'The deadline passed before the work was done; nothing was sent that must not be sent twice'),
  CANCELLED: code(499, 'never', 4, 'The caller cancelled the call'),
  NODE_UNAVAILABLE: code(503, 'later', 4, 'The hub that has the tool cannot be reached'),
  NO_CAPABLE_NODE: code(
    503,
    'later',
    4,
    'No reachable hub may run the call or has all that the tool needs; details lists what was tried, and `permanent` where time mends nothing',
  ),
  NOT_CONFIGURED: code(501, 'never', 4, 'The tool needs a service that the owner has not configured'),
  NOT_SUPPORTED: code(501, 'never', 4, 'The device or the hub does not offer this'),
  RESULT_INVALID: code(502, 'never', 4, 'The tool answered with something that its own schema forbids'),
  STORAGE_FAILED: code(507, 'later', 4, 'The state directory cannot be written or read; the message says what to do'),
  SHUTTING_DOWN: code(503, 'later', 5, 'The hub is stopping and takes no new calls'),
  HUB_UNREACHABLE: code(503, 'later', 5, 'No hub answers at the address'),
  CONFIG_INVALID: code(500, 'changed', 2, 'A configuration, manifest or profile file has a mistake; the message names file and line'),
  INTERNAL_ERROR: code(500, 'never', 1, 'A bug in the hub or a tool; the hub logs the stack with the trace id or request id of the answer'),
} as const satisfies Record<string, ErrorKind>;

/** An error code of the table. */
export type ErrorCode = keyof typeof ERROR_CODES;

/** Returns whether a value is an error code. Inherited properties of the table, such as `toString`, do not count. */
export function isErrorCode(value: unknown): value is ErrorCode {
  return typeof value === 'string' && Object.hasOwn(ERROR_CODES, value);
}

/** The error object of a response. */
export interface ErrorBody {
  readonly code: ErrorCode;
  readonly message: string;
  readonly details: JsonObject;
  readonly retryable: boolean;
}

/** The only error class that the hub throws on purpose. Its message names the problem, the affected thing and the remedy. */
export class AtmoError extends Error {
  override readonly name = 'AtmoError';
  readonly code: ErrorCode;
  readonly details: JsonObject;

  constructor(code: ErrorCode, message: string, details: JsonObject = {}, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    this.details = details;
  }

  /** Returns the error as a response contains it, without stack and cause. If `details.permanent` is true, `retryable` is false. */
  toBody(): ErrorBody {
    const isRetryable = ERROR_CODES[this.code].retry === 'later' && this.details.permanent !== true;
    return { code: this.code, message: this.message, details: this.details, retryable: isRetryable };
  }
}

/** Returns a VALIDATION_ERROR. */
export const invalidInput = (message: string): AtmoError => new AtmoError('VALIDATION_ERROR', message);

/** Returns a CONFIG_INVALID. */
export const invalidConfig = (message: string): AtmoError => new AtmoError('CONFIG_INVALID', message);

/** Returns a PERMISSION_DENIED. */
export const permissionDenied = (message: string): AtmoError => new AtmoError('PERMISSION_DENIED', message);

/** Returns an AtmoError unchanged. Any other error is a bug of `culprit`: it becomes INTERNAL_ERROR, and only the log has its text. */
export function toAtmoError(thrown: unknown, culprit = 'The hub'): AtmoError {
  if (thrown instanceof AtmoError) return thrown;
  const message = `${culprit} failed unexpectedly; the hub's log has the reason`;
  return new AtmoError('INTERNAL_ERROR', message, {}, { cause: thrown });
}

/** Returns the code of a system error (`ENOENT`, errno(3)) or a Node.js error (`ERR_…`). Returns an error without a code as text. */
export function systemCode(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error);
}

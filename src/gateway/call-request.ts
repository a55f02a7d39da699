import { AtmoError } from '../core/errors.ts';
import type { JsonObject } from '../core/json.ts';
import type { CallRequest } from '../tools/calls/call-answer.ts';
import { field } from './query.ts';
import type { DoorRequest } from './route.ts';

/** Query parameters of every route that calls a tool of the caller's choice. */
export const CALL_QUERY = {
  async: field.flag('answer 202 with a job at once'),
  timeout_ms: field.integer('deadline, at most the one of the tool; also as header X-Timeout-Ms', 1, 3_600_000),
};
const ID = /^[\x21-\x7e]{1,128}$/;

/** What to call with what. */
export interface CallWish {
  readonly tool: string;
  readonly params: JsonObject;
  readonly timeoutMs?: number | undefined;
}

/** The call that a request stands for, with its trace and the headers Idempotency-Key, X-Session-Id and X-Timeout-Ms. VALIDATION_ERROR when one is malformed. */
export function callOf(request: DoorRequest, { tool, params, timeoutMs: wishedMs }: CallWish): CallRequest {
  const idempotencyKey = idIn(request, 'Idempotency-Key');
  const sessionId = idIn(request, 'X-Session-Id');
  const timeoutMs = wishedMs ?? headerTimeoutMs(request.header('x-timeout-ms'));
  return {
    principal: request.principal,
    tool,
    params,
    requestId: request.trace.requestId,
    traceId: request.trace.traceId,
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(idempotencyKey !== undefined && { idempotencyKey }),
    ...(sessionId !== undefined && { sessionId }),
  };
}

function idIn(request: DoorRequest, header: string): string | undefined {
  const id = request.header(header.toLowerCase());
  if (id === undefined || ID.test(id)) return id;
  throw new AtmoError('VALIDATION_ERROR', `${header} has to be 1 to 128 visible ASCII characters, such as a UUID`);
}

function headerTimeoutMs(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const { parse, schema } = CALL_QUERY.timeout_ms;
  const timeoutMs = parse(text, 0);
  if (timeoutMs !== undefined) return timeoutMs;
  throw new AtmoError('VALIDATION_ERROR', `X-Timeout-Ms has to be a whole number from 1 to ${schema.maximum}`);
}

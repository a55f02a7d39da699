import { AtmoError, ERROR_CODES } from '../core/errors.ts';
import type { CallAnswer, CallRequest } from '../tools/call-answer.ts';
import { type Answer, json, problemHeaders } from './answer.ts';
import type { CallPort } from './ports.ts';
import { field, type QueryOf } from './query.ts';
import { type DoorRequest, defineRoute, type Route } from './route.ts';

const MAX_TIMEOUT_MS = 3_600_000;
const IDEMPOTENCY_KEY = /^[\x21-\x7e]{1,128}$/;
const CALL_QUERY = {
  async: field.flag('answer 202 with a job at once'),
  timeout_ms: field.integer('deadline, at most the one of the tool; also as header X-Timeout-Ms', 1, MAX_TIMEOUT_MS),
};
const ANSWERS = { 200: 'result in the invoke envelope', 202: 'job, or approval needed' };

/** Calls of tools, and commissioning, which is a call of `hub:commission_device`. */
export function callRoutes(pipeline: CallPort): readonly Route[] {
  return [
    defineRoute({
      method: 'POST',
      path: '/api/v1/tools/:id/invoke',
      summary: 'Call a tool; the body holds its parameters. Headers: Idempotency-Key, traceparent, X-Timeout-Ms',
      scope: 'invoke_tool',
      query: CALL_QUERY,
      body: { type: 'object' },
      answers: ANSWERS,
      handle: (request, query) => run(pipeline, request, { ...query, tool: request.path.id ?? '' }),
    }),
    defineRoute({
      method: 'POST',
      path: '/api/v1/commission',
      summary: 'Commission a Matter device: the call of hub:commission_device. With async=true the job tells each step',
      scope: 'invoke_tool',
      query: CALL_QUERY,
      body: { type: 'object' },
      answers: ANSWERS,
      handle: (request, query) => run(pipeline, request, { ...query, tool: 'hub:commission_device' }),
    }),
  ];
}

interface Wish extends QueryOf<typeof CALL_QUERY> {
  readonly tool: string;
}

async function run(pipeline: CallPort, request: DoorRequest, wish: Wish): Promise<Answer> {
  const call = callOf(request, wish);
  // A client that goes away ends its call; a job lives on.
  if (!wish.async) return envelope(await pipeline.call({ ...call, signal: request.signal }));
  const started = await pipeline.callAsync(call);
  if (started.kind === 'refused') return envelope(started.answer);
  const answer = json(started.job, 202);
  return { ...answer, headers: { ...answer.headers, location: `/api/v1/jobs/${started.job.job_id}` } };
}

/** The invoke envelope with the HTTP status of its error. */
function envelope(answer: CallAnswer): Answer {
  if (answer.status === 'success') return json(answer);
  const status = ERROR_CODES[answer.error.code].httpStatus;
  const { headers, ...rest } = json(answer, status);
  return { ...rest, headers: { ...headers, ...problemHeaders(answer.error, status) } };
}

function callOf(request: DoorRequest, { tool, timeout_ms: queryTimeoutMs }: Wish): CallRequest {
  const idempotencyKey = request.header('idempotency-key');
  if (idempotencyKey !== undefined && !IDEMPOTENCY_KEY.test(idempotencyKey)) {
    throw new AtmoError('VALIDATION_ERROR', 'Idempotency-Key has to be 1 to 128 visible ASCII characters, such as a UUID');
  }
  const timeoutMs = queryTimeoutMs ?? headerTimeoutMs(request.header('x-timeout-ms'));
  return {
    principal: request.principal,
    tool,
    params: request.body,
    requestId: request.trace.requestId,
    traceId: request.trace.traceId,
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(idempotencyKey !== undefined && { idempotencyKey }),
  };
}

function headerTimeoutMs(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const timeoutMs = CALL_QUERY.timeout_ms.parse(text, 0);
  if (timeoutMs !== undefined) return timeoutMs;
  throw new AtmoError('VALIDATION_ERROR', `X-Timeout-Ms has to be a whole number from 1 to ${MAX_TIMEOUT_MS}`);
}

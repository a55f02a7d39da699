import { AtmoError, ERROR_CODES } from '../../core/errors.ts';
import type { CallAnswer } from '../../tools/calls/call-answer.ts';
import { type Answer, json, problemHeaders } from '../door/answer.ts';
import type { QueryOf } from '../door/query.ts';
import { type DoorRequest, defineRoute, type Route } from '../door/route.ts';
import type { CallPort } from '../ports.ts';
import type { ToolCatalogue } from '../tools/tool-catalogue.ts';
import { CALL_QUERY, callOf, routingOf } from './call-request.ts';
import { streamedCall, streamFormatOf } from './call-stream.ts';

const ENVELOPE = { $ref: '#/components/schemas/CallAnswer' };
const FAILED = { $ref: '#/components/schemas/FailedCall' };
const ANSWERS = {
  200: {
    description: 'result in the invoke envelope, or a stream of tool_chunk and tool_response',
    media: ['application/json', 'text/event-stream', 'application/x-ndjson'],
    schema: ENVELOPE,
  },
  202: { description: 'job, or approval needed', schema: { anyOf: [{ $ref: '#/components/schemas/Job' }, FAILED] } },
};

/** Calls of tools, and commissioning, which is a call of `hub:commission_device`. */
export function callRoutes(pipeline: CallPort, catalogue?: Pick<ToolCatalogue, 'maxBodyBytes'>): readonly Route[] {
  return [
    defineRoute({
      method: 'POST',
      path: '/api/v1/tools/:id/invoke',
      summary:
        'Call a tool; the body holds its parameters. Tools with stream_supported tell partial results to who accepts text/event-stream or application/x-ndjson. Headers: Idempotency-Key, traceparent, X-Session-Id, X-Timeout-Ms, X-Hub',
      scope: 'invoke_tool',
      query: CALL_QUERY,
      body: { type: 'object' },
      answers: ANSWERS,
      ...(catalogue && { maxBodyBytes: ({ principal, path }) => catalogue.maxBodyBytes(principal, path.id ?? '') }),
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
  const call = callOf(request, { tool: wish.tool, params: request.body, timeoutMs: wish.timeout_ms, routing: routingOf(wish) });
  const format = streamFormatOf(request.header('accept')) ?? (wish.stream ? 'application/x-ndjson' : undefined);
  if (format && wish.async) {
    throw new AtmoError('NOT_SUPPORTED', 'A job is not streamed; ask for its progress at /api/v1/jobs/{id}, or call without async');
  }
  if (format) return streamedCall(pipeline, { ...call, signal: request.signal }, { format, whole: envelope });
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

import { type ParsedModelCall, parseToolCall, toolCallResult } from '../../calls/formats/model-calls.ts';
import { type CallAnswer, type CallRequest, errorAnswer, JOB_STATUSES } from '../../calls/request-and-answer.ts';
import type { Principal } from '../../core/auth/principal.ts';
import type { Clock } from '../../core/clock.ts';
import { AtmoError, ERROR_CODES } from '../../core/errors.ts';
import { isJsonObject, type JsonObject } from '../../core/json.ts';
import type { RegisteredTool } from '../../tools/definition/tool-definition.ts';
import { withoutStrictNulls } from '../../tools/formats/model-schemas.ts';
import type { CallPort, JobPort } from '../ports.ts';
import { type Answer, json, problemHeaders } from '../server/answer.ts';
import { field, type QueryOf } from '../server/query.ts';
import { defineRoute, type Route, type RouteRequest } from '../server/route.ts';
import { sseMessage, TextStream } from '../server/sse.ts';
import type { ToolCatalogue } from '../tool-catalogue.ts';
import { CALL_QUERY, callOf, routingOf } from './call-request.ts';

const ENVELOPE = { $ref: '#/components/schemas/CallAnswer' };
const FAILED = { $ref: '#/components/schemas/FailedCall' };
const INVOKE_ANSWERS = {
  200: {
    description: 'result in the invoke envelope, a stream of tool_chunk and tool_response, or with rehearse=true what the call would do',
    media: ['application/json', 'text/event-stream', 'application/x-ndjson'],
    schema: { anyOf: [ENVELOPE, { $ref: '#/components/schemas/Rehearsal' }] },
  },
  202: { description: 'job, or approval needed', schema: { anyOf: [{ $ref: '#/components/schemas/Job' }, FAILED] } },
};

/** Returns three routes: one calls any tool, one commissions a device, and one posts to a webhook of an automation. */
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
      answers: INVOKE_ANSWERS,
      ...(catalogue && { maxBodyBytes: ({ principal, path }) => catalogue.maxBodyBytes(principal, path.id ?? '') }),
      handle: (request, query) => invokeTool(pipeline, request, { ...query, tool: request.path.id ?? '' }),
    }),
    defineRoute({
      method: 'POST',
      path: '/api/v1/commission',
      summary: 'Commission a Matter device: the call of hub:commission_device. With async=true the job tells each step',
      scope: 'invoke_tool',
      query: CALL_QUERY,
      body: { type: 'object' },
      answers: INVOKE_ANSWERS,
      handle: (request, query) => invokeTool(pipeline, request, { ...query, tool: 'hub:commission_device' }),
    }),
    defineRoute({
      method: 'POST',
      path: '/api/v1/agents/:id/webhooks/:name',
      summary:
        'Set off an automation by a trigger of type webhook: the call of post_to_webhook. The body, at most 4 KB, becomes a fact of the run',
      scope: 'invoke_tool',
      query: CALL_QUERY,
      body: { type: 'object' },
      answers: INVOKE_ANSWERS,
      handle: (request, query) => {
        const { id = '', name = '' } = request.path;
        const posted = { ...request, body: { agent_id: id, webhook: name, body: request.body } };
        return invokeTool(pipeline, posted, { ...query, tool: 'core:post_to_webhook' });
      },
    }),
  ];
}

interface InvokeQuery extends QueryOf<typeof CALL_QUERY> {
  readonly tool: string;
}

async function invokeTool(pipeline: CallPort, request: RouteRequest, query: InvokeQuery): Promise<Answer> {
  const call = callOf(request, { tool: query.tool, params: request.body, timeoutMs: query.timeout_ms, routing: routingOf(query) });
  if (query.rehearse) return json(await pipeline.rehearse({ ...call, signal: request.signal }));
  const format = streamFormatOf(request.header('accept')) ?? (query.stream ? 'application/x-ndjson' : undefined);
  if (format && query.async) {
    throw new AtmoError('NOT_SUPPORTED', 'A job is not streamed; ask for its progress at /api/v1/jobs/{id}, or call without async');
  }
  if (format) return streamedCall(pipeline, { ...call, signal: request.signal }, { format, whole: envelope });
  if (query.wait_for_approval && !query.async) {
    throw new AtmoError(
      'VALIDATION_ERROR',
      'wait_for_approval is for jobs: call with async=true too, or without it and again once approved',
    );
  }
  // If the client disconnects, the signal cancels the call. A job gets no signal, so it continues.
  if (!query.async) return envelope(await pipeline.call({ ...call, signal: request.signal }));
  const started = await pipeline.callAsync({ ...call, ...(query.wait_for_approval && { waitsForApproval: true }) });
  if (started.kind === 'refused') return envelope(started.answer);
  const answer = json(started.job, 202);
  return { ...answer, headers: { ...answer.headers, location: `/api/v1/jobs/${started.job.job_id}` } };
}

function envelope(answer: CallAnswer): Answer {
  if (answer.status === 'success') return json(answer);
  const status = ERROR_CODES[answer.error.code].httpStatus;
  const { headers, ...rest } = json(answer, status);
  return { ...rest, headers: { ...headers, ...problemHeaders(answer.error, status) } };
}

/** Media types of streamed calls, each with the function that encodes a frame. */
const STREAM_FORMATS = {
  'text/event-stream': (type: string, data: object) => sseMessage(type, data),
  'application/x-ndjson': (type: string, data: object) => `${JSON.stringify({ type, ...data })}\n`,
} as const;
/** A media type in `STREAM_FORMATS`. */
type StreamFormat = keyof typeof STREAM_FORMATS;

/** Maximum number of pending bytes for a slow client. Above this limit, progress frames are omitted, but the final response is complete. */
const MAX_PENDING_BYTES = 262_144;

/** Returns the stream format that the Accept header asks for. Returns undefined if it asks for none, or if it also accepts JSON. */
function streamFormatOf(accept: string | undefined): StreamFormat | undefined {
  const wanted = accept?.split(',').map((range) => range.split(';', 1)[0]?.trim().toLowerCase());
  if (wanted?.some((range) => range === 'application/json' || range === '*/*')) return undefined;
  return (Object.keys(STREAM_FORMATS) as StreamFormat[]).find((format) => wanted?.includes(format));
}

/**
 * Runs a call and streams its progress as `tool_chunk` frames with `sequence`, `fraction`, `note` and `partial`. A last `tool_response`
 * frame contains the envelope. If the call has an answer before it starts, returns the response of `whole` instead of a stream.
 */
async function streamedCall(
  pipeline: Pick<CallPort, 'call'>,
  { signal, ...call }: CallRequest,
  { format, whole }: { readonly format: StreamFormat; readonly whole: (answer: CallAnswer) => Answer },
): Promise<Answer> {
  const gone = new AbortController();
  const stream = new TextStream(MAX_PENDING_BYTES, () => gone.abort());
  const frame = STREAM_FORMATS[format];
  let sequence = 0;
  const begun = Promise.withResolvers<'begun'>();
  const ended = pipeline.call({
    ...call,
    signal: signal ? AbortSignal.any([signal, gone.signal]) : gone.signal,
    wantsChunks: true,
    onDispatch: () => begun.resolve('begun'),
    onChunk: (chunk) => {
      const numbered = { sequence: sequence++, ...chunk };
      if (stream.canWrite) stream.write(frame('tool_chunk', numbered));
    },
  });
  const first = await Promise.race([begun.promise, ended]);
  if (first !== 'begun') return whole(first);
  void ended.then((answer) => {
    stream.write(frame('tool_response', answer));
    stream.close();
  });
  return { status: 200, headers: { 'content-type': format, 'x-accel-buffering': 'no' }, body: stream.body };
}

const MAX_CALLS = 16;
const MODEL_CALL = { $ref: '#/components/schemas/ModelCall' };
const MODEL_CALL_RESULT = { $ref: '#/components/schemas/ModelCallResult' };

interface ToolCallCollaborators {
  /** Knows only the tools that the caller may see. `resolve` throws an error for all other names. */
  readonly catalogue: {
    resolve(principal: Principal, name: string): Pick<RegisteredTool, 'definition'>;
    whole(principal: Principal, name: string): Promise<void> | undefined;
    maxBodyBytes(principal: Principal): number;
  };
  readonly pipeline: Pick<CallPort, 'call'>;
  readonly nodeId: () => string;
  readonly clock: Pick<Clock, 'now'>;
}

/** Returns the route for calls in the formats of model APIs. Each result has the same format as its call. */
export function toolCallRoutes(collaborators: ToolCallCollaborators): readonly Route[] {
  return [
    defineRoute({
      method: 'POST',
      path: '/api/v1/tool-calls',
      summary: `One tool call of a model as OpenAI or Anthropic write it, or a list of up to ${MAX_CALLS}; a failed call is a result too`,
      scope: 'invoke_tool',
      body: { anyOf: [MODEL_CALL, { type: 'array', items: MODEL_CALL, maxItems: MAX_CALLS }] },
      takes: 'object-or-list',
      maxBodyBytes: ({ principal }) => collaborators.catalogue.maxBodyBytes(principal),
      answers: {
        200: {
          description: 'a result for each call, with its id',
          schema: { anyOf: [MODEL_CALL_RESULT, { type: 'array', items: MODEL_CALL_RESULT }] },
        },
      },
      async handle(request) {
        const { list, body } = request;
        if (!list) return json(await runModelCall(parseToolCall(body), request, collaborators));
        if (list.length > MAX_CALLS) throw new AtmoError('VALIDATION_ERROR', `At most ${MAX_CALLS} calls at once, not ${list.length}`);
        // All calls are parsed before the first one runs, so that no call runs if one of them is malformed.
        const calls = list.map(parseToolCall);
        const results: JsonObject[] = [];
        // The calls run one after the other, since a call may need an earlier one: a model turns a lamp on, and then dims it.
        for (const call of calls) results.push(await runModelCall(call, request, collaborators));
        return json(results);
      },
    }),
  ];
}

async function runModelCall(
  call: ParsedModelCall,
  request: RouteRequest,
  { pipeline, nodeId, catalogue, clock }: ToolCallCollaborators,
): Promise<JsonObject> {
  if (call.request instanceof AtmoError) {
    const { requestId, traceId } = request.trace;
    const facts = { requestId, traceId, nodeId: nodeId(), nowMs: clock.now(), durationMs: 0, hops: 0 };
    return toolCallResult(call, errorAnswer(facts, call.request));
  }
  const { tool, params } = call.request;
  const { idempotencyKey, ...common } = callOf(request, { tool, params: {} });
  const answer = await pipeline.call({
    ...common,
    params: await givenParams({ tool, params }, request.principal, catalogue),
    requestId: call.id,
    signal: request.signal,
    // All calls of the request share the header. Each call adds its id, so that it has a key of its own.
    ...(idempotencyKey !== undefined && { idempotencyKey: `${idempotencyKey} ${call.id}` }),
  });
  return toolCallResult(call, answer);
}

/** Removes the nulls that strict mode adds to parameters. Does nothing for an unknown tool, since the pipeline refuses the call. */
async function givenParams(
  { tool, params }: { readonly tool: string; readonly params: unknown },
  principal: Principal,
  catalogue: ToolCallCollaborators['catalogue'],
): Promise<unknown> {
  if (!isJsonObject(params) || !JSON.stringify(params).includes('null')) return params;
  try {
    await catalogue.whole(principal, tool);
    return withoutStrictNulls(catalogue.resolve(principal, tool).definition.parameters, params);
  } catch {
    return params;
  }
}

/** Returns the routes for jobs. */
export function jobRoutes(jobs: JobPort): readonly Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/api/v1/jobs',
      summary:
        "The caller's jobs, newest first: those on this hub, then those that it started on others, with node_id; `unreachable` are those of which nothing can be told now",
      query: {
        status: field.choice('only jobs in this state', JOB_STATUSES),
        limit: field.integer('at most this many', 1, 1_000),
      },
      answers: { 200: { description: 'jobs', schema: { $ref: '#/components/schemas/Jobs' } } },
      async handle(request, query) {
        const elsewhere = await jobs.listElsewhere(request);
        const all = [...jobs.list(request.principal), ...elsewhere.jobs];
        const shown = all.filter((job) => query.status === undefined || job.status === query.status);
        const { unreachable } = elsewhere;
        return json({ jobs: shown.slice(0, query.limit ?? 100), ...(unreachable.length > 0 && { unreachable }) });
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/api/v1/jobs/:id',
      summary: 'State, progress and result of a job, on whichever hub it runs',
      answers: { 200: { description: 'job', schema: { $ref: '#/components/schemas/Job' } } },
      handle: async (request) => json(await jobs.status(request.path.id ?? '', request)),
    }),
    defineRoute({
      method: 'DELETE',
      path: '/api/v1/jobs/:id',
      summary: 'Cancel a job; what has been sent to a device may still take effect',
      scope: 'invoke_tool',
      answers: { 200: { description: 'job, as it is now', schema: { $ref: '#/components/schemas/Job' } } },
      handle: async (request) => json(await jobs.cancel(request.path.id ?? '', request)),
    }),
  ];
}

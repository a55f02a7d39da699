import type { Principal } from '../../core/access/principal.ts';
import { AtmoError } from '../../core/errors.ts';
import { isJsonObject, type JsonObject } from '../../core/json.ts';
import type { Clock } from '../../core/time/clock.ts';
import { errorAnswer } from '../../tools/calls/call-answer.ts';
import type { RegisteredTool } from '../../tools/definition/tool-definition.ts';
import { withoutStrictNulls } from '../../tools/forms/strict-schema.ts';
import { parseToolCall, type ToolCall, toolCallResult } from '../../tools/forms/tool-call-forms.ts';
import { json } from '../door/answer.ts';
import { type DoorRequest, defineRoute, type Route } from '../door/route.ts';
import type { CallPort } from '../ports.ts';
import { callOf } from './call-request.ts';

const MAX_CALLS = 16;
const CALL = { $ref: '#/components/schemas/ModelCall' };
const RESULT = { $ref: '#/components/schemas/ModelCallResult' };

interface ToolCallCollaborators {
  /** The tool of a name for a caller, and the schema of its parameters. Throws where there is none. */
  readonly catalogue: {
    resolve(principal: Principal, name: string): Pick<RegisteredTool, 'definition'>;
    whole(principal: Principal, name: string): Promise<void> | undefined;
    maxBodyBytes(principal: Principal): number;
  };
  readonly pipeline: Pick<CallPort, 'call'>;
  readonly nodeId: () => string;
  readonly clock: Pick<Clock, 'now'>;
}

/** Calls in the words of a model: what its API handed out goes in, what its API wants back comes out. */
export function toolCallRoutes(collaborators: ToolCallCollaborators): readonly Route[] {
  return [
    defineRoute({
      method: 'POST',
      path: '/api/v1/tool-calls',
      summary: `One tool call of a model as OpenAI or Anthropic write it, or a list of up to ${MAX_CALLS}; a failed call is a result too`,
      scope: 'invoke_tool',
      body: { anyOf: [CALL, { type: 'array', items: CALL, maxItems: MAX_CALLS }] },
      takes: 'object-or-list',
      maxBodyBytes: ({ principal }) => collaborators.catalogue.maxBodyBytes(principal),
      answers: {
        200: { description: 'a result for each call, with its id', schema: { anyOf: [RESULT, { type: 'array', items: RESULT }] } },
      },
      async handle(request) {
        const { list, body } = request;
        if (!list) return json(await run(parseToolCall(body), request, collaborators));
        if (list.length > MAX_CALLS) throw new AtmoError('VALIDATION_ERROR', `At most ${MAX_CALLS} calls at once, not ${list.length}`);
        // All are read before the first one acts.
        const calls = list.map(parseToolCall);
        const results: JsonObject[] = [];
        // One after the other: a model that wants a lamp on and then dim means it in this order.
        for (const call of calls) results.push(await run(call, request, collaborators));
        return json(results);
      },
    }),
  ];
}

async function run(
  call: ToolCall,
  request: DoorRequest,
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
    // The header is about the whole request, a key about one call.
    ...(idempotencyKey !== undefined && { idempotencyKey: `${idempotencyKey} ${call.id}` }),
  });
  return toolCallResult(call, answer);
}

/** A tool that cannot be found is the pipeline's to refuse. */
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

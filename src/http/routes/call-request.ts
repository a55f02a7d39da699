import type { CallAnswer, CallRequest, RoutingPreferences } from '../../calls/request-and-answer.ts';
import { AtmoError } from '../../core/errors.ts';
import type { JsonObject, JsonSchema } from '../../core/json.ts';
import type { CallPort } from '../ports.ts';
import { type Answer, json, problem } from '../server/answer.ts';
import { field, type QueryOf, type QuerySpec } from '../server/query.ts';
import { defineRoute, type Route, type RouteRequest, type Scope } from '../server/route.ts';

/** Query parameters of the routes that invoke a tool by name or commission a device. */
export const CALL_QUERY = {
  async: field.flag('answer 202 with a job at once'),
  wait_for_approval: field.flag('with async: if people have to approve the call, the job waits and runs when they approve'),
  rehearse: field.flag('only tell what the call would do: it runs nothing and asks nobody for an approval'),
  stream: field.flag('tell partial results while it runs, as the header Accept: text/event-stream or application/x-ndjson does'),
  timeout_ms: field.integer('deadline, at most the one of the tool; also as header X-Timeout-Ms', 1, 3_600_000),
  only_nodes: field.text('comma list of the only hubs that may run it, by id or name; also as header X-Hub'),
  prefer_nodes: field.text('comma list of hubs that are better than others'),
  exclude_nodes: field.text('comma list of hubs that may not run it'),
  hop_limit: field.integer('over how many hubs it may go, at most as many as tool and token allow', 0, 255),
};
const MAX_NODES = 32;
const ID = /^[\x21-\x7e]{1,128}$/;

interface CallDraft {
  readonly tool: string;
  readonly params: JsonObject;
  readonly timeoutMs?: number | undefined;
  readonly routing?: RoutingPreferences | undefined;
}

type RoutingQuery = Pick<QueryOf<typeof CALL_QUERY>, 'only_nodes' | 'prefer_nodes' | 'exclude_nodes' | 'hop_limit'>;

/** Returns the routing preferences in the query; empty if there are none. Throws VALIDATION_ERROR for an empty name or over 32 hubs. */
export function routingOf({
  only_nodes: only,
  prefer_nodes: prefer,
  exclude_nodes: exclude,
  hop_limit: hops,
}: RoutingQuery): RoutingPreferences {
  return {
    ...(only !== undefined && { only_nodes: nodesIn(only, 'only_nodes') }),
    ...(prefer !== undefined && { prefer_nodes: nodesIn(prefer, 'prefer_nodes') }),
    ...(exclude !== undefined && { exclude_nodes: nodesIn(exclude, 'exclude_nodes') }),
    ...(hops !== undefined && { hop_budget: hops }),
  };
}

/**
 * Returns the call that a request asks for. Trace, idempotency key, session, timeout and hubs come from the request's headers, but a
 * timeout or hubs in the draft take precedence. Throws VALIDATION_ERROR if a header is invalid.
 */
export function callOf(request: RouteRequest, { tool, params, timeoutMs: wishedMs, routing: wishedRoute = {} }: CallDraft): CallRequest {
  const hubs = request.header('x-hub');
  const routing = hubs === undefined ? wishedRoute : { only_nodes: nodesIn(hubs, 'X-Hub'), ...wishedRoute };
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
    ...(Object.keys(routing).length > 0 && { routing }),
  };
}

function nodesIn(text: string, name: string): readonly string[] {
  const nodes = text.split(',').map((node) => node.trim());
  if (nodes.length <= MAX_NODES && nodes.every((node) => node !== '')) return nodes;
  throw new AtmoError('VALIDATION_ERROR', `${name} has to be a comma list of 1 to ${MAX_NODES} ids or names of hubs`);
}

function idIn(request: RouteRequest, header: string): string | undefined {
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

interface ToolRouteDraft<Spec extends QuerySpec> {
  readonly method: Route['method'];
  readonly path: string;
  readonly summary: string;
  /** Name of the tool that the route calls, such as `hub:list_rules`. */
  readonly tool: string;
  /** Scope that an X-Caller-Scopes header must contain; default: `read_registry` for GET, `invoke_tool` for other methods. */
  readonly scope?: Scope;
  readonly query?: Spec;
  readonly body?: JsonSchema;
  /** HTTP status of a successful call; default: 200. */
  readonly status?: 200 | 201;
  /** Returns the parameters of the call. If this function is absent, the request body contains the parameters. */
  params?(request: RouteRequest, query: QueryOf<Spec>): JsonObject;
}

/**
 * Returns a function that makes the route of a tool. A request calls the tool, so that permissions, rules, approval and audit apply. The
 * response is the result as JSON, or problem details. Its status is 202 (APPROVAL_REQUIRED) if people must approve first.
 */
export function toolRoute<const Spec extends QuerySpec = Record<never, never>>(
  draft: ToolRouteDraft<Spec>,
): (pipeline: Pick<CallPort, 'call'>) => Route {
  const { tool, status = 200, params, ...head } = draft;
  return (pipeline) =>
    defineRoute<Spec>({
      scope: head.method === 'GET' ? 'read_registry' : 'invoke_tool',
      ...head,
      tool,
      answers: { [status]: `result of ${tool}`, 202: 'approval needed' },
      async handle(request, query) {
        const answer = await answerOfTool(pipeline, request, { tool, params: params?.(request, query) ?? request.body });
        return bareAnswer(answer, request, status);
      },
    });
}

/** Calls a tool for an HTTP request. If the client disconnects, the call is cancelled. */
export function answerOfTool(pipeline: Pick<CallPort, 'call'>, request: RouteRequest, draft: CallDraft): Promise<CallAnswer> {
  return pipeline.call({ ...callOf(request, draft), signal: request.signal });
}

/** Returns the HTTP response to a call: the bare result without an envelope, or problem details. */
export function bareAnswer(answer: CallAnswer, { trace }: RouteRequest, status = 200): Answer {
  if (answer.status === 'success') return json(answer.result, status);
  const { code, message, details } = answer.error;
  return problem(new AtmoError(code, message, details), trace);
}

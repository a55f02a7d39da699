import { AtmoError } from '../../core/errors.ts';
import type { JsonObject } from '../../core/json.ts';
import type { CallRequest } from '../../tools/calls/call-answer.ts';
import type { RoutingWish } from '../../tools/calls/routes/route-score.ts';
import { field, type QueryOf } from '../door/query.ts';
import type { DoorRequest } from '../door/route.ts';

/** Query parameters of every route that calls a tool of the caller's choice. */
export const CALL_QUERY = {
  async: field.flag('answer 202 with a job at once'),
  stream: field.flag('tell partial results while it runs, as the header Accept: text/event-stream or application/x-ndjson does'),
  timeout_ms: field.integer('deadline, at most the one of the tool; also as header X-Timeout-Ms', 1, 3_600_000),
  only_nodes: field.text('comma list of the only hubs that may run it, by id or name; also as header X-Hub'),
  prefer_nodes: field.text('comma list of hubs that are better than others'),
  exclude_nodes: field.text('comma list of hubs that may not run it'),
  hop_limit: field.integer('over how many hubs it may go, at most as many as tool and token allow', 0, 255),
};
const MAX_NODES = 32;
const ID = /^[\x21-\x7e]{1,128}$/;

/** What to call with what. */
export interface CallWish {
  readonly tool: string;
  readonly params: JsonObject;
  readonly timeoutMs?: number | undefined;
  readonly routing?: RoutingWish | undefined;
}

type RoutingQuery = Pick<QueryOf<typeof CALL_QUERY>, 'only_nodes' | 'prefer_nodes' | 'exclude_nodes' | 'hop_limit'>;

/** Where the query wants a call to run; undefined when it says nothing. VALIDATION_ERROR for too many hubs. */
export function routingOf({ only_nodes: only, prefer_nodes: prefer, exclude_nodes: exclude, hop_limit: hops }: RoutingQuery): RoutingWish {
  return {
    ...(only !== undefined && { only_nodes: nodesIn(only, 'only_nodes') }),
    ...(prefer !== undefined && { prefer_nodes: nodesIn(prefer, 'prefer_nodes') }),
    ...(exclude !== undefined && { exclude_nodes: nodesIn(exclude, 'exclude_nodes') }),
    ...(hops !== undefined && { hop_budget: hops }),
  };
}

/** The call that a request stands for, with its trace and the headers Idempotency-Key, X-Session-Id, X-Timeout-Ms and X-Hub. VALIDATION_ERROR when one is malformed. */
export function callOf(request: DoorRequest, { tool, params, timeoutMs: wishedMs, routing: wishedRoute = {} }: CallWish): CallRequest {
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

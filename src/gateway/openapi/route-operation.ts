import type { JsonSchema } from '../../core/json.ts';
import type { ToolDefinition } from '../../tools/definition/tool-definition.ts';
import type { AnswerShape, Route } from '../door/route.ts';
import { type HeaderName, headerRefs, type RefusalStatus, refusalRefs } from './components.ts';
import { operationName } from './operation-names.ts';
import { plainSchema } from './plain-schema.ts';
import { tagOf } from './tags.ts';

const JSON_TYPE = 'application/json';
const MEDIA_TYPE = /\b(?:text|image|application)\/[a-z0-9.+-]+/g;
const STREAM_EXAMPLES: Readonly<Record<string, string>> = {
  'text/event-stream': 'id: 1-7\nevent: device.changed\ndata: {"type":"device.changed","subject":"<device id>"}\n\n',
};
const OF_ALL: readonly HeaderName[] = ['traceparent', 'requestId'];
const OF_CALLS: readonly HeaderName[] = ['idempotencyKey', 'sessionId', 'timeoutMs', 'hub'];
/** Routes that answer a call in its envelope. */
const ENVELOPES: ReadonlySet<string> = new Set(['/api/v1/tools/:id/invoke', '/api/v1/commission']);
/** The same, and those that call tools in the words of a model. */
const CALLS: ReadonlySet<string> = new Set([...ENVELOPES, '/api/v1/tool-calls']);

/** A path as OpenAPI writes it. */
export function openApiPath({ path }: Pick<Route, 'path'>): string {
  return path.replace(/:(\w+)(?:\{.*?\})?/g, '{$1}');
}

/** What one line of the route table says of itself; `tool` is the one that it calls, if it does. */
export function routeOperation(route: Route, tool: ToolDefinition | undefined): object {
  const body = bodySchema(route, tool);
  return {
    operationId: operationName(route.method, openApiPath(route)),
    summary: route.summary,
    tags: [tagOf(route.path)],
    ...(route.access === 'public' && { security: [] }),
    parameters: [...pathParameters(route), ...queryParameters(route), ...headerRefs(headersOf(route))],
    ...(body && { requestBody: { required: false, content: { [JSON_TYPE]: { schema: body } } } }),
    responses: { ...successes(route, tool), ...refusalRefs(refusalsOf(route), ENVELOPES.has(route.path) ? 'RefusedCall' : 'Refused') },
  };
}

function bodySchema({ body, tool }: Route, definition: ToolDefinition | undefined): JsonSchema | undefined {
  if (!body) return undefined;
  if (!tool || 'properties' in body) return plainSchema(body);
  return plainSchema(definition?.parameters ?? { type: 'object' });
}

function successes(route: Route, tool: ToolDefinition | undefined): Readonly<Record<string, object>> {
  const shapes = Object.entries(route.answers).map(([status, answer]): [string, object] => {
    const shape = typeof answer === 'string' ? { description: answer, media: answer.match(MEDIA_TYPE) ?? [] } : answer;
    const isResult = tool !== undefined && status !== '202' && Object.keys(tool.returns).length > 0;
    return [status, response({ ...shape, ...(isResult && { schema: tool.returns }), ...(route.tool && status === '202' && WAITS) })];
  });
  const unchanged = route.isDocument && { 304: { description: 'As it was at the ETag of If-None-Match' } };
  return { ...Object.fromEntries(shapes), ...unchanged };
}

/** A call that waits for people is a problem with a status of success: it may be asked again. */
const WAITS = { media: 'application/problem+json', schema: { $ref: '#/components/schemas/Problem' } };

function response({ description, media, schema, example }: AnswerShape): object {
  const types = [media ?? []].flat();
  const content = (types.length > 0 ? types : [JSON_TYPE]).map((type): [string, object] => [
    type,
    mediaOf(type, { ...(schema && { schema }), example }),
  ]);
  return { description, content: Object.fromEntries(content) };
}

/** A stream is text, a picture or a certificate bytes: neither is JSON, whatever its parts are. */
function mediaOf(type: string, { schema, example }: Partial<AnswerShape>): object {
  if (/[/+]json$/.test(type)) return { schema: plainSchema(schema ?? {}), ...(example !== undefined && { example }) };
  const sample = STREAM_EXAMPLES[type];
  return { schema: { type: 'string', ...(schema && { contentSchema: schema }) }, ...(sample !== undefined && { example: sample }) };
}

function headersOf({ access, path }: Route): readonly HeaderName[] {
  if (access === 'public') return OF_ALL;
  const own: readonly HeaderName[] = path === '/api/v1/events' ? ['lastEventId'] : CALLS.has(path) ? OF_CALLS : [];
  return [...OF_ALL, 'callerScopes', ...own];
}

function refusalsOf(route: Route): readonly RefusalStatus[] {
  const hasInput = route.body !== undefined || Object.keys(route.query).length > 0 || route.path.includes(':');
  return [
    ...(hasInput ? ([400] as const) : []),
    ...(route.access === 'token' ? ([401] as const) : []),
    403,
    ...(route.path.includes(':') ? ([404, 409] as const) : []),
    ...(route.body ? ([413, 415] as const) : []),
    429,
  ];
}

function pathParameters(route: Route): readonly object[] {
  return [...route.path.matchAll(/:(\w+)/g)].map((match) => ({ name: match[1], in: 'path', required: true, schema: { type: 'string' } }));
}

function queryParameters(route: Route): readonly object[] {
  return Object.entries(route.query).map(([name, { description, schema }]) => ({ name, in: 'query', description, schema }));
}

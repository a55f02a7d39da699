import { ERROR_CODES } from '../../core/errors.ts';
import type { JsonObject } from '../../core/json.ts';
import type { ToolDefinition } from '../../tools/tool-definition.ts';
import type { Route } from '../door/route.ts';

/** A tool as the document shows it. */
export interface DescribedTool {
  readonly id: string;
  readonly definition: ToolDefinition;
}

interface DocumentInfo {
  readonly version: string;
  readonly url: string;
}

/** OpenAPI 3.1 of the routes; each tool also gets its own invoke path with the schemas of its definition. */
export function openApiDocument(routes: readonly Route[], tools: readonly DescribedTool[], info: DocumentInfo): JsonObject {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const route of routes) {
    const path = openApiPath(route.path);
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operation(route) };
  }
  for (const tool of tools) paths[`/api/v1/tools/${tool.id}/invoke`] = { post: toolOperation(tool) };
  const document = {
    openapi: '3.1.0',
    info: {
      title: 'atmosphere-edge',
      version: info.version,
      description: 'Devices as typed tools. Errors are problem details (RFC 9457).',
    },
    servers: [{ url: info.url }],
    security: [{ token: [] }],
    paths,
    components: { securitySchemes: { token: TOKEN }, schemas: { Problem: PROBLEM } },
  };
  return document as unknown as JsonObject;
}

const TOKEN = {
  type: 'http',
  scheme: 'bearer',
  description:
    'A token that is bound to a key of its bearer also takes the header Atmo-Proof: a COSE_Sign1 in base64url, made with that key for this one request. It names the operation as METHOD, a space, and path with query as they are sent, and the SHA-256 of the bytes of the body.',
};
const PROBLEM = {
  type: 'object',
  required: ['type', 'title', 'status', 'detail', 'code', 'details', 'retryable'],
  properties: {
    type: { type: 'string', format: 'uri' },
    title: { type: 'string' },
    status: { type: 'integer' },
    detail: { type: 'string' },
    instance: { type: 'string' },
    code: { type: 'string', enum: Object.keys(ERROR_CODES) },
    details: { type: 'object' },
    retryable: { type: 'boolean' },
  },
};
const REFUSAL = {
  description: 'Refused or failed',
  content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
};

function openApiPath(path: string): string {
  return path.replace(/:(\w+)(?:\{.*?\})?/g, '{$1}');
}

function operation(route: Route) {
  return {
    summary: route.summary,
    ...(route.access === 'public' && { security: [] }),
    parameters: [...pathParameters(route), ...queryParameters(route)],
    ...(route.body && { requestBody: { content: { 'application/json': { schema: route.body } } } }),
    responses: {
      ...Object.fromEntries(Object.entries(route.answers).map(([status, description]) => [status, { description }])),
      default: REFUSAL,
    },
  };
}

function pathParameters(route: Route) {
  return [...route.path.matchAll(/:(\w+)/g)].map((match) => ({ name: match[1], in: 'path', required: true, schema: { type: 'string' } }));
}

function queryParameters(route: Route) {
  return Object.entries(route.query).map(([name, { description, schema }]) => ({ name, in: 'query', description, schema }));
}

function toolOperation({ id, definition }: DescribedTool) {
  return {
    operationId: id,
    summary: definition.metadata.title,
    description: definition.description,
    tags: [definition.metadata.category],
    requestBody: { content: { 'application/json': { schema: definition.parameters } } },
    responses: {
      200: {
        description: 'Result in the invoke envelope',
        content: { 'application/json': { schema: { type: 'object', properties: { result: definition.returns } } } },
      },
      default: { description: 'The invoke envelope with an error, or a problem' },
    },
  };
}

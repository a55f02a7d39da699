import type { JsonObject } from '../../core/json.ts';
import type { ToolDefinition } from '../../tools/definition/tool-definition.ts';
import type { Route } from '../door/route.ts';
import { COMPONENTS } from './components.ts';
import { openApiPath, routeOperation } from './route-operation.ts';
import { TAG_LIST } from './tags.ts';
import { type DescribedTool, toolOperation } from './tool-operation.ts';

interface DocumentParts {
  readonly routes: readonly Route[];
  /** Each gets a path of its own. */
  readonly tools: readonly DescribedTool[];
  /** The tool that a route calls, by the name that the route has for it. */
  readonly definitionOf: (name: string) => ToolDefinition | undefined;
  readonly version: string;
  readonly url: string;
}

const DESCRIPTION = `Devices as typed tools, for agents and people.

Every error has \`error\` with \`code\`, \`message\`, \`details\` and \`retryable\`: problem details (RFC 9457) where a request was refused,
the envelope of the call (\`FailedCall\`) where a call of a tool failed. A dangerous call answers 202 with code APPROVAL_REQUIRED until a person has approved it; the same
request then runs. \`?tools=true\` adds a path for each tool that the caller may call, with its own schemas.`;

/** OpenAPI 3.1 of the routes, and of tools where they are wanted. */
export function openApiDocument({ routes, tools, definitionOf, version, url }: DocumentParts): JsonObject {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const route of routes) {
    const path = openApiPath(route);
    const operation = routeOperation(route, route.tool === undefined ? undefined : definitionOf(route.tool));
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operation };
  }
  for (const tool of tools) paths[`/api/v1/tools/${tool.id}/invoke`] = { post: toolOperation(tool) };
  const document = {
    openapi: '3.1.0',
    info: {
      title: 'atmosphere-edge',
      version,
      description: DESCRIPTION,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url, description: 'This hub' }],
    security: [{ token: [] }],
    tags: TAG_LIST,
    paths,
    components: COMPONENTS,
  };
  return document as unknown as JsonObject;
}

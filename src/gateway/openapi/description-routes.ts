import type { Principal } from '../../core/access/principal.ts';
import { lazy } from '../../core/lazy.ts';
import type { ToolRegistry } from '../../tools/tool-registry.ts';
import { field } from '../door/query.ts';
import { defineRoute, type Route } from '../door/route.ts';
import type { HealthSource } from '../ports.ts';
import type { ToolCatalogue } from '../tools/tool-catalogue.ts';
import { KeptDocument } from './kept-document.ts';
import { LLMS_TEXT } from './llms-text.ts';
import type { DescribedTool } from './tool-operation.ts';

interface DescriptionCollaborators {
  readonly catalogue: ToolCatalogue;
  readonly registry: ToolRegistry;
  readonly health: HealthSource;
  /** All routes of the door, these among them. */
  routes(): readonly Route[];
  /** Where the hub answers. */
  url(): string;
}

/** What the API says of itself, for programs and for models. */
export function descriptionRoutes(collaborators: DescriptionCollaborators): readonly Route[] {
  return [llmsRoute(), openApiRoute(collaborators)];
}

function llmsRoute(): Route {
  return defineRoute({
    method: 'GET',
    path: '/llms.txt',
    summary: 'How to use this API, for models; needs no token and tells nothing of the home',
    access: 'public',
    isDocument: true,
    answers: { 200: { description: 'text in Markdown', media: 'text/plain' } },
    handle: () => ({ status: 200, headers: { 'content-type': 'text/plain; charset=utf-8' }, body: LLMS_TEXT }),
  });
}

function openApiRoute(collaborators: DescriptionCollaborators): Route {
  const textFor = documentWriter(collaborators);
  return defineRoute({
    method: 'GET',
    path: '/openapi.json',
    isDocument: true,
    summary: 'This API in OpenAPI 3.1',
    query: { tools: field.flag('add a path with its own schemas for each tool that the caller may call') },
    answers: { 200: { description: 'OpenAPI document', schema: { type: 'object' } } },
    handle: async ({ principal }, { tools = false }) => ({
      status: 200,
      headers: { 'content-type': 'application/json' },
      body: await textFor(principal, { tools }),
    }),
  });
}

/** What writes the document is loaded when somebody asks for it, as most hubs are never asked. */
function documentWriter({ catalogue, registry, health, routes, url }: DescriptionCollaborators) {
  const writer = lazy(async () => {
    const { openApiDocument } = await import('./openapi-document.ts');
    const write = (tools: readonly DescribedTool[]) =>
      openApiDocument({
        routes: routes(),
        tools,
        definitionOf: (name) => registry.find(name)?.definition,
        version: health.health().version,
        url: url(),
      });
    return { write, plain: new KeptDocument({ tools: () => registry.all(), make: () => write([]) }) };
  });
  return async (principal: Principal, { tools }: { readonly tools: boolean }): Promise<string> => {
    const { write, plain } = await writer();
    return tools ? JSON.stringify(write(catalogue.described(principal))) : plain.text;
  };
}

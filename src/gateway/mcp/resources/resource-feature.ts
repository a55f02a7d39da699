import { AtmoError } from '../../../core/errors.ts';
import type { Json, JsonObject } from '../../../core/json.ts';
import { listPage } from '../list-page.ts';
import type { McpCaller, McpFeature } from '../mcp-feature.ts';
import type { ResourceNotices } from './resource-notices.ts';
import type { ResourceContents, ResourceSource } from './resource-source.ts';

/** As many URIs as one session may wait for. */
const MAX_SUBSCRIPTIONS = 512;

interface ResourceFeatureParts {
  readonly sources: readonly ResourceSource[];
  /** What tells of changes for as long as there are clients. */
  readonly notices: Pick<ResourceNotices, 'start'> & Disposable;
}

/** `resources/…`: lists, templates, contents and, for sessions, subscriptions. */
export function resourceFeature({ sources, notices }: ResourceFeatureParts): McpFeature {
  notices.start();
  return {
    close: () => notices[Symbol.dispose](),
    capabilities: { resources: { listChanged: true, subscribe: true } },
    methods: {
      'resources/list': async ({ cursor }, caller) => list(sources, caller, cursor),
      'resources/templates/list': async ({ cursor }, caller) => listTemplates(sources, caller, cursor),
      'resources/read': async (params, caller) => {
        const contents = await contentsOf(sources, uriIn(params), caller);
        return { contents: contents.map((part) => ({ ...part })) };
      },
      'resources/subscribe': (params, caller) => subscribe(sources, uriIn(params), caller),
      'resources/unsubscribe': async (params, caller) => {
        caller.session?.subscriptions.delete(uriIn(params));
        return {};
      },
    },
  };
}

function list(sources: readonly ResourceSource[], caller: McpCaller, cursor: Json | undefined): JsonObject {
  const all = sources.flatMap((source) => source.list(caller));
  const { items, nextCursor } = listPage(all, ({ uri }) => uri, cursor);
  return { resources: items.map((entry) => ({ ...entry })), ...(nextCursor !== undefined && { nextCursor }) };
}

function listTemplates(sources: readonly ResourceSource[], caller: McpCaller, cursor: Json | undefined): JsonObject {
  const all = sources.flatMap((source) => source.templates(caller));
  const { items, nextCursor } = listPage(all, ({ uriTemplate }) => uriTemplate, cursor);
  return { resourceTemplates: items.map((template) => ({ ...template })), ...(nextCursor !== undefined && { nextCursor }) };
}

async function subscribe(sources: readonly ResourceSource[], uri: string, caller: McpCaller): Promise<JsonObject> {
  const { session } = caller;
  if (!session) throw new AtmoError('NOT_SUPPORTED', 'Only sessions have resources/subscribe; listen with subscriptions/listen instead');
  await contentsOf(sources, uri, caller);
  if (session.subscriptions.size >= MAX_SUBSCRIPTIONS && !session.subscriptions.has(uri)) {
    throw new AtmoError('RESOURCE_EXCEEDED', `A session subscribes to ${MAX_SUBSCRIPTIONS} resources at most; unsubscribe from some first`);
  }
  session.subscriptions.add(uri);
  return {};
}

/** NOT_FOUND, with the URI, for what is not there and for what the caller may not see. */
async function contentsOf(sources: readonly ResourceSource[], uri: string, caller: McpCaller): Promise<readonly ResourceContents[]> {
  for (const source of sources) {
    const contents = await source.read(uri, caller);
    if (contents) return contents;
  }
  throw new AtmoError('NOT_FOUND', `There is no resource ${JSON.stringify(uri.slice(0, 256))}; resources/list tells what there is`, {
    uri,
  });
}

function uriIn({ uri }: JsonObject): string {
  if (typeof uri === 'string' && uri !== '' && uri.length <= 2_048) return uri;
  throw new AtmoError('VALIDATION_ERROR', 'The parameter uri is missing; resources/list tells the URIs');
}

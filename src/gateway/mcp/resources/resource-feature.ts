import { AtmoError } from '../../../core/errors.ts';
import type { Json, JsonObject } from '../../../core/json.ts';
import { listPage } from '../list-page.ts';
import type { McpCaller, McpFeature, McpListener } from '../mcp-feature.ts';
import type { ResourceNotices } from './resource-notices.ts';
import type { ResourceContents, ResourceSource } from './resource-source.ts';

/** As many URIs as one session or stream may wait for. */
const MAX_SUBSCRIPTIONS = 512;
const MAX_URI = 2_048;

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
    admitSubscriptions: (uris, listener) => admit(sources, uris, listener),
    capabilities: { resources: { listChanged: true, subscribe: true } },
    methods: {
      'resources/list': async ({ cursor }, caller) => list(sources, caller, cursor),
      'resources/templates/list': async ({ cursor }, caller) => listTemplates(sources, caller, cursor),
      'resources/read': async (params, caller) => {
        const contents = await contentsOf(sources, uriIn(params), caller);
        return { contents: contents.map((part) => ({ ...part })) };
      },
      'resources/subscribe': async (params, caller) => subscribe(sources, uriIn(params), caller),
      'resources/unsubscribe': async (params, caller) => {
        caller.session?.unsubscribe(uriIn(params));
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

function subscribe(sources: readonly ResourceSource[], uri: string, caller: McpCaller): JsonObject {
  const { session } = caller;
  if (!session) throw new AtmoError('NOT_SUPPORTED', 'Only sessions have resources/subscribe; listen with subscriptions/listen instead');
  admit(sources, [uri], caller);
  if (session.subscriptions.size >= MAX_SUBSCRIPTIONS && !session.subscriptions.has(uri)) {
    throw new AtmoError('RESOURCE_EXCEEDED', `A session subscribes to ${MAX_SUBSCRIPTIONS} resources at most; unsubscribe from some first`);
  }
  session.subscribe(uri);
  return {};
}

/** Reads none of them: a client may name hundreds with one request. */
function admit(sources: readonly ResourceSource[], uris: readonly string[], listener: McpListener): void {
  if (uris.length > MAX_SUBSCRIPTIONS) {
    throw new AtmoError('RESOURCE_EXCEEDED', `A stream waits for ${MAX_SUBSCRIPTIONS} resources at most; open another for the rest`);
  }
  const isTold = sources.map((source) => source.told(listener));
  const silent = uris.find((uri) => !isTold.some((tells) => tells(uri)));
  if (silent === undefined) return;
  throw new AtmoError('NOT_FOUND', `No changes are told of ${JSON.stringify(silent.slice(0, 256))}; subscribe to a URI of resources/list`, {
    uri: silent.slice(0, MAX_URI),
  });
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
  if (typeof uri === 'string' && uri !== '' && uri.length <= MAX_URI) return uri;
  throw new AtmoError('VALIDATION_ERROR', 'The parameter uri is missing; resources/list tells the URIs');
}

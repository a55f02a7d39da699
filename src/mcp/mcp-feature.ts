import type { Principal } from '../core/auth/principal.ts';
import type { JsonObject } from '../core/json.ts';
import { field } from '../http/server/query.ts';
import type { RouteRequest, Trace } from '../http/server/route.ts';
import type { ToolCatalogue } from '../http/tool-catalogue.ts';
import type { VisibleHome } from '../http/visible-home.ts';
import type { ToolMessage } from '../tools/definition/notifications.ts';
import type { RegisteredTool, ToolAnswer, ToolQuestion } from '../tools/definition/tool-definition.ts';
import { isAreaNamed, resolveArea } from '../tools/names/resolve-names.ts';
import type { ToolDirectory } from '../tools/registry/tool-directory.ts';

/** The two versions of the protocol: `legacy` with sessions (2025-11-25 and before), `modern` with independent requests (2026-07-28). */
export type McpEra = 'legacy' | 'modern';

/** The sender of a request, with the capabilities of its client. */
export interface McpCaller {
  readonly principal: Principal;
  readonly view: McpView;
  readonly era: McpEra;
  /** Declared `ClientCapabilities`. */
  readonly clientCapabilities: JsonObject;
  readonly trace: Trace;
  /** Aborts when the client cancels or disconnects. */
  readonly signal: AbortSignal;
  /** The session of the request, for `legacy` clients. */
  readonly session?: McpSession;
  /** Unchecked answers to the questions of an `input_required` result, by key. */
  readonly inputResponses: JsonObject;
  /** Unchecked state of an `input_required` result, as the client returns it. */
  readonly requestState?: string;
  /** Sends the progress of the request, 0 to 1, to clients that have requested it. */
  progress(fraction: number, message?: string): void;
  /** Sends a message of a tool, if its severity reaches the level of the client. */
  sendMessage(message: ToolMessage): void;
  /**
   * Asks the person at the client; absent if that is impossible. Rejects with CANCELLED if the client does not show the question. The
   * signal ends the question. The answer is unchecked.
   */
  readonly ask?: (question: Required<ToolQuestion>, signal: AbortSignal) => Promise<ToolAnswer>;
}

/** The state of a session. */
export interface McpSession {
  readonly id: string;
  /** URIs of `resources/subscribe`. */
  readonly subscriptions: ReadonlySet<string>;
  subscribe(uri: string): void;
  unsubscribe(uri: string): void;
}

/** Handles one method; a thrown error becomes a JSON-RPC error. */
export type McpMethod = (params: JsonObject, caller: McpCaller) => Promise<JsonObject>;

/** A part of the server: its capabilities and methods. */
export interface McpFeature {
  /** The feature's part of `ServerCapabilities`. */
  readonly capabilities: JsonObject;
  /** Handlers by method name, such as `resources/read`. */
  readonly methods: Readonly<Record<string, McpMethod>>;
  /** Returns the schema of a tool whose arguments clients repeat in headers; calls with other header values are refused. */
  mirroredSchema?(name: string, listener: McpListener): JsonObject | undefined;
  /** Throws if the client could never receive a change of one of these resources, or if they are too many. */
  admitSubscriptions?(uris: readonly string[], listener: McpListener): void;
  /** Removes the feature's event listeners. */
  close?(): void;
}

/** A receiver of change notifications. */
export type McpListener = Pick<McpCaller, 'principal' | 'view'>;

/** Sends change notifications to open sessions and subscriptions. */
export interface McpNotifier {
  /** Notifies the clients for which `concerns` returns true; without `concerns`, all clients. */
  toolsChanged(concerns?: (listener: McpListener) => boolean): void;
  resourcesChanged(concerns?: (listener: McpListener) => boolean): void;
  /** Notifies subscribers of this URI for whom `mayRead` returns true; all subscribers when it is absent. */
  resourceUpdated(uri: string, mayRead?: (principal: Principal) => boolean): void;
}

/**
 * The view of a client: the set of tools that it is offered. It depends only on the URL, so that earlier requests never change a list.
 * `isFull` adds output schemas and icons, a large part of a list of tools that few models need.
 */
export type McpView =
  /** `/mcp`: a dozen tools that find and run all others. */
  | { readonly kind: 'home' }
  /** `/mcp/devices`: every tool of every device, typed, in pages. */
  | { readonly kind: 'devices'; readonly isFull?: true }
  /** `/mcp/areas/{area}`: the view of one area. */
  | { readonly kind: 'area'; readonly area: string; readonly isFull?: true };

/** Query parameters of every URL of the MCP server. */
export const VIEW_QUERY = { schemas: field.choice('full: the list of tools with schemas of their answers and icons', ['full']) };

/** Returns the view for a request. */
export type ViewOf = (request: RouteRequest, parts: AreaParts) => McpView;
/** The views by path. */
export const VIEWS: Readonly<Record<string, ViewOf>> = {
  '/mcp': () => ({ kind: 'home' }),
  '/mcp/devices': ({ request }) => ({ kind: 'devices', ...fullness(request) }),
  '/mcp/areas/:area': ({ path, principal, request }, parts) => ({
    kind: 'area',
    area: areaOfView(path.area ?? '', principal, parts),
    ...fullness(request),
  }),
};

/** Returns whether two views offer the same tools. */
export function isSameView(a: McpView, b: McpView): boolean {
  return a.kind === b.kind && (a.kind !== 'area' || (b.kind === 'area' && a.area === b.area));
}

/** Reads `?schemas=full`, which adds output schemas and icons. */
function fullness({ url }: Request): { readonly isFull?: true } {
  return new URL(url).searchParams.get('schemas') === 'full' ? { isFull: true } : {};
}

/** The parts of the hub that have the areas, of this hub and of other hubs. */
export interface AreaParts {
  readonly home: VisibleHome;
  readonly tools: Pick<ToolDirectory, 'all'>;
  readonly catalogue: Pick<ToolCatalogue, 'visibleTo'>;
}

/** Returns the area in the URL of a view. Throws NOT_FOUND or AMBIGUOUS_DEVICE with the areas that the caller may see. */
function areaOfView(text: string, principal: Principal, { home, tools, catalogue }: AreaParts): string {
  const here = home.areas(principal);
  if (here.some((area) => isAreaNamed(text, area, home.names))) return resolveArea(text, here, home.names);
  // The areas of other hubs are known only from their tools.
  const isVisible = catalogue.visibleTo(principal);
  const elsewhere = tools.all().filter((tool) => tool.definition.metadata.area !== undefined && isVisible(tool));
  return resolveArea(text, [...here, ...elsewhere.map((tool) => tool.definition.metadata.area)], home.names);
}

/** A tool with the parameters of a call. */
export interface ToolRun {
  readonly tool: RegisteredTool;
  readonly params: JsonObject;
  /** `typed` when the client has an output schema for the result. */
  readonly listing: 'typed' | 'open';
}

/** Runs a tool for a client; resolves with the `CallToolResult`, also for a failed call, or the form of the client's version. */
export type ToolRunner = (run: ToolRun, caller: McpCaller) => Promise<JsonObject>;

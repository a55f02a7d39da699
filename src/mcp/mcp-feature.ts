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

/** Generations of the protocol: `legacy` (MCP 2025-11-25 and before) has sessions, `modern` (MCP 2026-07-28) independent requests. */
export type McpEra = 'legacy' | 'modern';

/** The sender of a request, and the capabilities of its client. */
export interface McpCaller {
  readonly principal: Principal;
  readonly view: McpView;
  readonly era: McpEra;
  /** The `ClientCapabilities` that the client has declared. */
  readonly clientCapabilities: JsonObject;
  readonly trace: Trace;
  /** Signal that aborts when the client cancels or disconnects. */
  readonly signal: AbortSignal;
  /** The session of the request; absent for `modern` clients. */
  readonly session?: McpSession;
  /** The client's answers to questions of an `input_required` result, by key. They are not checked yet. */
  readonly inputResponses: JsonObject;
  /** The state from an `input_required` result that the client sent back. It is not checked yet. */
  readonly requestState?: string;
  /** Sends the progress of the request, from 0 to 1, to a client that asked for progress. */
  progress(fraction: number, message?: string): void;
  /** Sends a tool's message if its severity reaches the client's log level. */
  sendMessage(message: ToolMessage): void;
  /**
   * Asks the person at the client. The function is absent if the client cannot be asked. It rejects with CANCELLED if the client does not
   * show the question. `signal` withdraws the question. The caller must check the answer.
   */
  readonly ask?: (question: Required<ToolQuestion>, signal: AbortSignal) => Promise<ToolAnswer>;
}

/** The state of a session. */
export interface McpSession {
  readonly id: string;
  /** URIs to which the client has subscribed by `resources/subscribe`. */
  readonly subscriptions: ReadonlySet<string>;
  subscribe(uri: string): void;
  unsubscribe(uri: string): void;
}

/** Handles requests of one method. A thrown error becomes a JSON-RPC error. */
type McpMethod = (params: JsonObject, caller: McpCaller) => Promise<JsonObject>;

/** A part of the MCP server: some capabilities, and the methods for them. */
export interface McpFeature {
  /** The feature's entries in `ServerCapabilities`. */
  readonly capabilities: JsonObject;
  /** Functions that handle requests, by method name such as `resources/read`. */
  readonly methods: Readonly<Record<string, McpMethod>>;
  /** Returns a tool's parameter schema if clients repeat arguments in headers. A call is refused if a header differs from the argument. */
  mirroredSchema?(name: string, listener: McpListener): JsonObject | undefined;
  /** Throws an error if this client would never be notified of one of these resources, or if there are too many resources. */
  admitSubscriptions?(uris: readonly string[], listener: McpListener): void;
  /** Removes the feature's event listeners. */
  close?(): void;
}

/** A client that can receive change notifications. */
export type McpListener = Pick<McpCaller, 'principal' | 'view'>;

/** Sends change notifications to open sessions and subscriptions. */
export interface McpNotifier {
  /** Notifies clients that their list of tools has changed. `concerns` selects the clients; default: all. */
  toolsChanged(concerns?: (listener: McpListener) => boolean): void;
  resourcesChanged(concerns?: (listener: McpListener) => boolean): void;
  /** Notifies subscribers that the resource with this URI has changed. `mayRead` selects the subscribers; default: all. */
  resourceUpdated(uri: string, mayRead?: (principal: Principal) => boolean): void;
}

/** What the URL of a list of tools may switch on. */
interface ListOptions {
  readonly isFull?: true;
  /** Calls of dangerous tools wait for approval as jobs, as `wait_for_approval` of `sensitive_tool` says for one call. */
  readonly waits?: true;
}

/**
 * The view of a client decides which tools the client is offered. The view depends only on the URL, so earlier requests never change a
 * list. With `isFull`, lists also contain output schemas and icons, which are long and needed by few models.
 */
export type McpView =
  /** `/mcp`: a dozen tools that find and run all other tools. */
  | { readonly kind: 'home' }
  /** `/mcp/devices`: every tool of every device, with typed parameters. Clients read the list page by page. */
  | ({ readonly kind: 'devices' } & ListOptions)
  /** `/mcp/areas/{area}`: the tools of one area. */
  | ({ readonly kind: 'area'; readonly area: string } & ListOptions);

/** Query parameters of the URLs with lists of typed tools; `/mcp` takes them without effect. */
export const VIEW_QUERY = {
  schemas: field.choice('full: the list of tools with schemas of their answers and icons', ['full']),
  approvals: field.choice('wait: dangerous calls of a list wait as jobs until a person approves them', ['wait']),
};

/** Returns the view that a request asks for. */
export type ViewOf = (request: RouteRequest, parts: AreaParts) => McpView;
/** Functions that return the view of a request, by the path of the route. */
export const VIEWS: Readonly<Record<string, ViewOf>> = {
  '/mcp': () => ({ kind: 'home' }),
  '/mcp/devices': ({ request }) => ({ kind: 'devices', ...listOptions(request) }),
  '/mcp/areas/:area': ({ path, principal, request }, parts) => ({
    kind: 'area',
    area: areaOfView(path.area ?? '', principal, parts),
    ...listOptions(request),
  }),
};

/** Returns whether two views offer the same tools. */
export function isSameView(a: McpView, b: McpView): boolean {
  return a.kind === b.kind && (a.kind !== 'area' || (b.kind === 'area' && a.area === b.area));
}

function listOptions({ url }: Request): ListOptions {
  const { searchParams: query } = new URL(url);
  return { ...(query.get('schemas') === 'full' && { isFull: true }), ...(query.get('approvals') === 'wait' && { waits: true }) };
}

/** The parts of the hub that know the areas of this hub and of other hubs. */
export interface AreaParts {
  readonly home: VisibleHome;
  readonly tools: Pick<ToolDirectory, 'all'>;
  readonly catalogue: Pick<ToolCatalogue, 'visibleTo'>;
}

/** Returns the area in a view's URL. Throws NOT_FOUND if the caller may see no such area, AMBIGUOUS_DEVICE if several areas match. */
function areaOfView(text: string, principal: Principal, { home, tools, catalogue }: AreaParts): string {
  const here = home.areas(principal);
  if (here.some((area) => isAreaNamed(text, area, home.names))) return resolveArea(text, here, home.names);
  // Areas of other hubs are known only from the tools of those hubs.
  const isVisible = catalogue.visibleTo(principal);
  const elsewhere = tools.all().filter((tool) => tool.definition.metadata.area !== undefined && isVisible(tool));
  return resolveArea(text, [...here, ...elsewhere.map((tool) => tool.definition.metadata.area)], home.names);
}

/** A tool and the parameters of a call. */
export interface ToolRun {
  readonly tool: RegisteredTool;
  readonly params: JsonObject;
  /** `typed` if the client has seen an output schema for the result, otherwise `open`. */
  readonly listing: 'typed' | 'open';
  /** If people have to approve the call, it waits as a job and runs when they approve. Otherwise, the client has to repeat it. */
  readonly waitsForApproval?: true;
}

/** Runs a tool for a client. Resolves with a `CallToolResult` (also if the tool fails), an `input_required` result or a `task` result. */
export type ToolRunner = (run: ToolRun, caller: McpCaller) => Promise<JsonObject>;

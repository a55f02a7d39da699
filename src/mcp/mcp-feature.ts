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

/** The two ways in which clients of today speak: with a handshake (2025-11-25 and before), or statement by statement (2026-07-28). */
export type McpEra = 'legacy' | 'modern';

/** Who asks, and what its client can do. */
export interface McpCaller {
  readonly principal: Principal;
  readonly view: McpView;
  readonly era: McpEra;
  /** `ClientCapabilities` as the client declared them. */
  readonly clientCapabilities: JsonObject;
  readonly trace: Trace;
  /** Aborts when the client cancels or goes away. */
  readonly signal: AbortSignal;
  /** The session of the handshake era that the request is part of. */
  readonly session?: McpSession;
  /** What the client answered to the questions of an `input_required` result, by their keys; nothing of it is checked yet. */
  readonly inputResponses: JsonObject;
  /** The state that an `input_required` result gave the client, as it came back; nothing of it is checked yet. */
  readonly requestState?: string;
  /** Tells how far the request is, 0 to 1; nothing happens where the client wants to hear none. */
  progress(fraction: number, message?: string): void;
  /** Tells the client what a tool has to say; nothing happens where it wants to hear nothing as mild as that. */
  sendMessage(message: ToolMessage): void;
  /**
   * Asks the person at the client; absent where that cannot be. CANCELLED when the client does not put the question to anybody.
   * The signal ends the question. What is answered is not checked yet.
   */
  readonly ask?: (question: Required<ToolQuestion>, signal: AbortSignal) => Promise<ToolAnswer>;
}

/** What a session of the handshake era remembers. */
export interface McpSession {
  readonly id: string;
  /** URIs of `resources/subscribe`. */
  readonly subscriptions: ReadonlySet<string>;
  subscribe(uri: string): void;
  unsubscribe(uri: string): void;
}

/** Answers one method; what it throws becomes a JSON-RPC error. */
export type McpMethod = (params: JsonObject, caller: McpCaller) => Promise<JsonObject>;

/** A part of the server: what it declares, and the requests that it answers. */
export interface McpFeature {
  /** Its part of `ServerCapabilities`. */
  readonly capabilities: JsonObject;
  /** By method name, such as `resources/read`. */
  readonly methods: Readonly<Record<string, McpMethod>>;
  /** The schema of a tool of this name whose arguments a client repeats in headers; what does not agree is refused before the call. */
  mirroredSchema?(name: string, listener: McpListener): JsonObject | undefined;
  /** Throws where a client would never hear of one of these resources, or they are too many. */
  admitSubscriptions?(uris: readonly string[], listener: McpListener): void;
  /** Lets go of what it listens to. */
  close?(): void;
}

/** Somebody who is told of changes. */
export type McpListener = Pick<McpCaller, 'principal' | 'view'>;

/** What open sessions and subscriptions are told of. */
export interface McpNotifier {
  /** Those whose list it is about; everybody where `concerns` is absent. */
  toolsChanged(concerns?: (listener: McpListener) => boolean): void;
  resourcesChanged(concerns?: (listener: McpListener) => boolean): void;
  /** Only those hear it who asked for this very URI and of whom `mayRead` holds now; everybody where it is absent. */
  resourceUpdated(uri: string, mayRead?: (principal: Principal) => boolean): void;
}

/**
 * What a client gets to see: by address only, so that a list never changes because of what was asked before. `isFull` shows the schemas
 * of answers and icons as well, which are much of a list of tools and which few models need.
 */
export type McpView =
  /** `/mcp`: a dozen tools that find and run all others. */
  | { readonly kind: 'home' }
  /** `/mcp/devices`: every tool of every device, typed, in pages. */
  | { readonly kind: 'devices'; readonly isFull?: true }
  /** `/mcp/areas/{area}`: the same for one area. */
  | { readonly kind: 'area'; readonly area: string; readonly isFull?: true };

/** What every address of the server may be asked with. */
export const VIEW_QUERY = { schemas: field.choice('full: the list of tools with schemas of their answers and icons', ['full']) };

export type ViewOf = (request: RouteRequest, parts: AreaParts) => McpView;
/** The views by the path that shows them. */
export const VIEWS: Readonly<Record<string, ViewOf>> = {
  '/mcp': () => ({ kind: 'home' }),
  '/mcp/devices': ({ request }) => ({ kind: 'devices', ...fullness(request) }),
  '/mcp/areas/:area': ({ path, principal, request }, parts) => ({
    kind: 'area',
    area: areaOfView(path.area ?? '', principal, parts),
    ...fullness(request),
  }),
};

export function isSameView(a: McpView, b: McpView): boolean {
  return a.kind === b.kind && (a.kind !== 'area' || (b.kind === 'area' && a.area === b.area));
}

/** `?schemas=full` at the address asks for the schemas of answers and for icons. */
function fullness({ url }: Request): { readonly isFull?: true } {
  return new URL(url).searchParams.get('schemas') === 'full' ? { isFull: true } : {};
}

/** What tells which areas there are, here and on other hubs. */
export interface AreaParts {
  readonly home: VisibleHome;
  readonly tools: Pick<ToolDirectory, 'all'>;
  readonly catalogue: Pick<ToolCatalogue, 'visibleTo'>;
}

/** The area that the address of a view names. NOT_FOUND and AMBIGUOUS_DEVICE with those that the caller knows of. */
function areaOfView(text: string, principal: Principal, { home, tools, catalogue }: AreaParts): string {
  const here = home.areas(principal);
  if (here.some((area) => isAreaNamed(text, area, home.names))) return resolveArea(text, here, home.names);
  // Of other hubs only the tools are known.
  const isVisible = catalogue.visibleTo(principal);
  const elsewhere = tools.all().filter((tool) => tool.definition.metadata.area !== undefined && isVisible(tool));
  return resolveArea(text, [...here, ...elsewhere.map((tool) => tool.definition.metadata.area)], home.names);
}

/** A tool, and what to call it with. */
export interface ToolRun {
  readonly tool: RegisteredTool;
  readonly params: JsonObject;
  /** `typed` where the client was given an output schema to hold the result against. */
  readonly listing: 'typed' | 'open';
}

/** Runs a tool for a client and answers the `CallToolResult`, or what the client's era has instead of one. A failed call is a result too. */
export type ToolRunner = (run: ToolRun, caller: McpCaller) => Promise<JsonObject>;

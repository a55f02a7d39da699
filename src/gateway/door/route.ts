import type { Principal } from '../../core/access/principal.ts';
import type { Json, JsonObject, JsonSchema } from '../../core/json.ts';
import type { Answer } from './answer.ts';
import type { BodyFault } from './json-body.ts';
import type { QueryOf, QuerySpec } from './query.ts';
import type { Trace } from './trace.ts';

/** What a route gets to know of a request. */
export interface DoorRequest {
  /** `nobody` on public routes. */
  readonly principal: Principal;
  /** Path parameters, decoded. */
  readonly path: Readonly<Record<string, string>>;
  /** Empty where the route takes none. */
  readonly body: JsonObject;
  /** The body of a route that also takes a list, when one came. */
  readonly list?: readonly Json[];
  readonly trace: Trace;
  /** As it came; its body was read already. */
  readonly request: Request;
  /** Aborts when the client goes away before the answer. */
  readonly signal: AbortSignal;
  header(name: string): string | undefined;
}

/** Scopes of source 003 §Endpoints: `X-Caller-Scopes` may narrow a call to some of them, never widen it. */
export type Scope = 'read_registry' | 'invoke_tool';

/** Below this path stand the documents that tell how routes are protected (RFC 9728 §3). */
export const RESOURCE_METADATA = '/.well-known/oauth-protected-resource';

/** A successful answer as the OpenAPI document tells it. */
export interface AnswerShape {
  readonly description: string;
  /** `application/json` when absent; several where the Accept header decides. */
  readonly media?: string | readonly string[];
  /** Schema of the body, by reference to one of the document where it has a name; anything when absent. */
  readonly schema?: JsonSchema;
  readonly example?: unknown;
}

interface RouteHead {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** Path with `:name` parameters; `:name{.+}` spans slashes. */
  readonly path: string;
  readonly summary: string;
  /** Public routes answer without a token. */
  readonly access: 'public' | 'token';
  readonly scope: Scope;
  /** Schema of the body, for OpenAPI; absent = the route takes no body. */
  readonly body?: JsonSchema;
  readonly takes: 'object' | 'object-or-list';
  /** A list or document without secrets: callers may keep it, ask whether it changed (ETag), and get it compressed. */
  readonly isDocument?: true;
  /** Successful answers by status, for OpenAPI. */
  readonly answers: Readonly<Record<number, string | AnswerShape>>;
  /** A document tells how the route is protected, at its path below /.well-known/oauth-protected-resource (RFC 9728). */
  readonly hasResourceMetadata?: true;
  /** The answer to a body that came whole and cannot be taken, in the words of the route's protocol; a problem when absent. */
  readonly refuseBody?: (fault: BodyFault) => Answer;
  /** Largest body for this caller in bytes, asked when one comes that is above the common bound; such a route takes few at once. */
  readonly maxBodyBytes?: (asking: Asking) => number;
  /** The tool that the route is one call of: its schemas are those of body and answer. */
  readonly tool?: string;
}

/** Who asks, and for which path, before the body was read. */
export type Asking = Pick<DoorRequest, 'principal' | 'path'>;

/** One line of the table from which the door, its OpenAPI document and its 405 answers are made. */
export interface Route extends RouteHead {
  readonly query: QuerySpec;
  handle(request: DoorRequest, query: Readonly<Record<string, unknown>>): Promise<Answer> | Answer;
}

interface RouteDraft<Spec extends QuerySpec> extends Omit<RouteHead, 'access' | 'scope' | 'takes'> {
  readonly takes?: RouteHead['takes'];
  readonly access?: RouteHead['access'];
  readonly scope?: Scope;
  readonly query?: Spec;
  handle(request: DoorRequest, query: QueryOf<Spec>): Promise<Answer> | Answer;
}

/** A route whose handler sees its query parameters with their types. Token and `read_registry` unless it says otherwise. */
export function defineRoute<const Spec extends QuerySpec = Record<never, never>>(draft: RouteDraft<Spec>): Route {
  return {
    access: 'token',
    scope: 'read_registry',
    takes: 'object',
    ...draft,
    query: draft.query ?? {},
    // The door parses the query by this very spec before it calls.
    handle: (request, query) => draft.handle(request, query as QueryOf<Spec>),
  };
}

import { randomUUID } from 'node:crypto';
import type { Principal } from '../../core/auth/principal.ts';
import type { Json, JsonObject, JsonSchema } from '../../core/json.ts';
import type { Answer } from './answer.ts';
import type { QueryOf, QuerySpec } from './query.ts';
import type { BodyFault } from './request-body.ts';

/** The request as a route's handler receives it. */
export interface RouteRequest {
  /** The authenticated caller; `nobody` on public routes. */
  readonly principal: Principal;
  /** Path parameters, decoded. */
  readonly path: Readonly<Record<string, string>>;
  /** The request's body; empty if the route has none. */
  readonly body: JsonObject;
  /** The body if it is a list, on routes that also accept a list. */
  readonly list?: readonly Json[];
  readonly trace: Trace;
  /** The original request; its body has been read. */
  readonly request: Request;
  /** Aborts when the client disconnects before the response. */
  readonly signal: AbortSignal;
  header(name: string): string | undefined;
}

/** Scopes of the HTTP tool service: `X-Caller-Scopes` may narrow a call to some of them, never widen it. */
export type Scope = 'read_registry' | 'invoke_tool';

/** Path of the metadata documents for protected resources (RFC 9728 §3). */
export const RESOURCE_METADATA = '/.well-known/oauth-protected-resource';

/** A successful response in the OpenAPI document. */
export interface AnswerShape {
  readonly description: string;
  /** `application/json` when absent; several where the Accept header decides. */
  readonly media?: string | readonly string[];
  /** Schema of the body, a reference where the document names it; any JSON when absent. */
  readonly schema?: JsonSchema;
  readonly example?: unknown;
}

interface RouteHead {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** Path with `:name` parameters; `:name{.+}` spans slashes. */
  readonly path: string;
  readonly summary: string;
  readonly access: 'public' | 'token';
  readonly scope: Scope;
  /** Schema of the body, for OpenAPI; absent = the route takes no body. */
  readonly body?: JsonSchema;
  readonly takes: 'object' | 'object-or-list';
  /** A list or document without secrets: the response may be cached, has an ETag and may be compressed. */
  readonly isDocument?: true;
  /** Successful responses by status, for OpenAPI. */
  readonly answers: Readonly<Record<number, string | AnswerShape>>;
  /** The route has a metadata document at its path below /.well-known/oauth-protected-resource (RFC 9728). */
  readonly hasResourceMetadata?: true;
  /** Returns the error of the route's protocol for a complete but invalid body; problem details when absent. */
  readonly refuseBody?: (fault: BodyFault) => Answer;
  /** Returns the largest body for this caller in bytes; called for bodies above the common limit, of which few are read at once. */
  readonly maxBodyBytes?: (head: RequestHead) => number;
  /** The tool that the route calls: body and response have its schemas. */
  readonly tool?: string;
}

/** The caller and path of a request before its body is read. */
export type RequestHead = Pick<RouteRequest, 'principal' | 'path'>;

/** A row of the table that defines the HTTP server, its OpenAPI document and its 405 responses. */
export interface Route extends RouteHead {
  readonly query: QuerySpec;
  handle(request: RouteRequest, query: Readonly<Record<string, unknown>>): Promise<Answer> | Answer;
}

interface RouteDraft<Spec extends QuerySpec> extends Omit<RouteHead, 'access' | 'scope' | 'takes'> {
  readonly takes?: RouteHead['takes'];
  readonly access?: RouteHead['access'];
  readonly scope?: Scope;
  readonly query?: Spec;
  handle(request: RouteRequest, query: QueryOf<Spec>): Promise<Answer> | Answer;
}

/** Returns a route with typed query parameters. By default it requires a token and the scope `read_registry`. */
export function defineRoute<const Spec extends QuerySpec = Record<never, never>>(draft: RouteDraft<Spec>): Route {
  return {
    access: 'token',
    scope: 'read_registry',
    takes: 'object',
    ...draft,
    query: draft.query ?? {},
    // The server parses the query with this spec before it calls the handler.
    handle: (request, query) => draft.handle(request, query as QueryOf<Spec>),
  };
}

/** The identifiers of a request and its trace. */
export interface Trace {
  readonly requestId: string;
  /** Trace id: 32 hex digits (W3C Trace Context). */
  readonly traceId: string;
  /** The response header, with the span of this hub. */
  readonly traceparent: string;
}

const TRACEPARENT = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-([0-9a-f]{2})$/;
const REQUEST_ID = /^[A-Za-z0-9_.-]{1,64}$/;

/** Continues the caller's trace or starts a trace; malformed headers are replaced, as W3C Trace Context §3.2 requires. */
export function traceOf(headers: { get(name: string): string | null }): Trace {
  const given = headers.get('x-request-id');
  const requestId = given !== null && REQUEST_ID.test(given) ? given : randomUUID();
  const parent = TRACEPARENT.exec(headers.get('traceparent') ?? '');
  const traceId = parent?.[1] ?? randomHex();
  return { requestId, traceId, traceparent: `00-${traceId}-${randomHex().slice(0, 16)}-${parent?.[2] ?? '01'}` };
}

/** Returns 32 hex digits. Node draws UUIDs from a pool; `randomBytes` makes a system call each time. */
function randomHex(): string {
  return randomUUID().replaceAll('-', '');
}

import { randomUUID } from 'node:crypto';
import type { Principal } from '../../core/auth/principal.ts';
import type { Json, JsonObject, JsonSchema } from '../../core/json.ts';
import type { Answer } from './answer.ts';
import type { QueryOf, QuerySpec } from './query.ts';
import type { BodyFault } from './request-body.ts';

/** A request in the form that a route's handler receives. */
export interface RouteRequest {
  /** The authenticated caller, or `nobody` on public routes. */
  readonly principal: Principal;
  /** Decoded path parameters by name. */
  readonly path: Readonly<Record<string, string>>;
  /** The request's body if it is an object; otherwise empty. */
  readonly body: JsonObject;
  /** The request's body if it is a list. Only some routes accept a list. */
  readonly list?: readonly Json[];
  readonly trace: Trace;
  /** Where the request comes from, as the lockouts count it: an address, a network, `local` for this machine, or `proxy`. */
  readonly source: string;
  /** Origin of the URL under which the client reached the hub, which may be that of a reverse proxy. */
  readonly origin: string;
  /** The original request, whose body has already been read. */
  readonly request: Request;
  /** Signal that aborts if the client disconnects before the response. */
  readonly signal: AbortSignal;
  header(name: string): string | undefined;
}

/** Scopes of the HTTP tool service. The `X-Caller-Scopes` header can limit a request to some scopes, but cannot add any. */
export type Scope = 'read_registry' | 'invoke_tool';

/** Path prefix of the metadata documents of protected resources (RFC 9728 §3). */
export const RESOURCE_METADATA = '/.well-known/oauth-protected-resource';

/** A successful response, as the OpenAPI document describes it. */
export interface AnswerShape {
  readonly description: string;
  /** Media type; default: `application/json`. A list means that the client chooses one of the types by its Accept header. */
  readonly media?: string | readonly string[];
  /** Schema of the body, or a reference to a named schema; default: any JSON. */
  readonly schema?: JsonSchema;
  readonly example?: unknown;
}

interface RouteHead {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Path pattern with `:name` parameters. A parameter `:name{.+}` also matches slashes. */
  readonly path: string;
  readonly summary: string;
  readonly access: 'public' | 'token';
  readonly scope: Scope;
  /** Schema of the body for OpenAPI; absent if the route has no body. */
  readonly body?: JsonSchema;
  /** `form`: parameters as application/x-www-form-urlencoded, each at most once. All others are JSON. */
  readonly takes: 'object' | 'object-or-list' | 'form';
  /** True if the query is not parsed, because another program writes it and a page reads it. */
  readonly takesAnyQuery?: true;
  /** True for a list or document without secrets. Its response has an ETag, and may be cached and compressed. */
  readonly isDocument?: true;
  /** Successful responses by status. A string is a description, which may contain media types. */
  readonly answers: Readonly<Record<number, string | AnswerShape>>;
  /** True if the route has a metadata document below /.well-known/oauth-protected-resource (RFC 9728). */
  readonly hasResourceMetadata?: true;
  /** Returns the route's own error response for an invalid body; default: problem details. */
  readonly refuseBody?: (fault: BodyFault) => Answer;
  /** Returns the limit in bytes for this caller's body. Called only for a body above the default limit; few of these are read at once. */
  readonly maxBodyBytes?: (head: UnreadRequest) => number;
  /** Name of the tool that the route calls. The schemas of body and response come from this tool. */
  readonly tool?: string;
}

/** The caller and path of a request before its body is read. */
export type UnreadRequest = Pick<RouteRequest, 'principal' | 'path'>;

/** A route of the HTTP server. The server, the OpenAPI document and the 405 responses use the same table of routes. */
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

/** Returns a route with typed query parameters. Defaults: access by token, the scope `read_registry`, and an object as body. */
export function defineRoute<const Spec extends QuerySpec = Record<never, never>>(draft: RouteDraft<Spec>): Route {
  return {
    access: 'token',
    scope: 'read_registry',
    takes: 'object',
    ...draft,
    query: draft.query ?? {},
    // The cast is safe: the server parses the query by this specification before it calls the handler.
    handle: (request, query) => draft.handle(request, query as QueryOf<Spec>),
  };
}

/** The identifiers of a request and its trace. */
export interface Trace {
  readonly requestId: string;
  /** Trace id of 32 hex digits (W3C Trace Context). */
  readonly traceId: string;
  /** Value of the response header `traceparent`. It contains the id of this hub's span. */
  readonly traceparent: string;
}

const TRACEPARENT = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-([0-9a-f]{2})$/;
const REQUEST_ID = /^[A-Za-z0-9_.-]{1,64}$/;

/** Continues the caller's trace. Starts a new one if the header is missing or, as W3C Trace Context §3.2 requires, malformed. */
export function traceOf(headers: { get(name: string): string | null }): Trace {
  const given = headers.get('x-request-id');
  const requestId = given !== null && REQUEST_ID.test(given) ? given : randomUUID();
  const parent = TRACEPARENT.exec(headers.get('traceparent') ?? '');
  const traceId = parent?.[1] ?? randomHex();
  return { requestId, traceId, traceparent: `00-${traceId}-${randomHex().slice(0, 16)}-${parent?.[2] ?? '01'}` };
}

/** Returns a random UUID as 32 hex digits. Node.js takes UUIDs from a pool; `randomBytes` would make a system call each time. */
function randomHex(): string {
  return randomUUID().replaceAll('-', '');
}

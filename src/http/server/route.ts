import { randomUUID } from 'node:crypto';
import type { Principal } from '../../core/auth/principal.ts';
import type { Json, JsonObject, JsonSchema } from '../../core/json.ts';
import type { Answer } from './answer.ts';
import type { QueryOf, QuerySpec } from './query.ts';
import type { BodyFault } from './request-body.ts';

/** What a route gets to know of a request. */
export interface RouteRequest {
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

/** Scopes of the HTTP tool service: `X-Caller-Scopes` may narrow a call to some of them, never widen it. */
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
  readonly maxBodyBytes?: (asking: RequestHead) => number;
  /** The tool that the route is one call of: its schemas are those of body and answer. */
  readonly tool?: string;
}

/** Who asks, and for which path, before the body was read. */
export type RequestHead = Pick<RouteRequest, 'principal' | 'path'>;

/** One line of the table from which the door, its OpenAPI document and its 405 answers are made. */
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

/** Who asked for what within which trace. */
export interface Trace {
  readonly requestId: string;
  /** 32 hex digits (W3C Trace Context). */
  readonly traceId: string;
  /** The header for the answer, with the span of this hub. */
  readonly traceparent: string;
}

const TRACEPARENT = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-([0-9a-f]{2})$/;
const REQUEST_ID = /^[A-Za-z0-9_.-]{1,64}$/;

/** Continues the caller's trace, or begins one; malformed headers are replaced, as W3C Trace Context §3.2 wants. */
export function traceOf(headers: { get(name: string): string | null }): Trace {
  const given = headers.get('x-request-id');
  const requestId = given !== null && REQUEST_ID.test(given) ? given : randomUUID();
  const parent = TRACEPARENT.exec(headers.get('traceparent') ?? '');
  const traceId = parent?.[1] ?? randomHex();
  return { requestId, traceId, traceparent: `00-${traceId}-${randomHex().slice(0, 16)}-${parent?.[2] ?? '01'}` };
}

/** 32 hex digits; Node keeps a pool for these, `randomBytes` asks the system each time. */
function randomHex(): string {
  return randomUUID().replaceAll('-', '');
}

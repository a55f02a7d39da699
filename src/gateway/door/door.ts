import { type Context, Hono } from 'hono';
import type { Clock } from '../../core/clock.ts';
import { nearestTexts } from '../../core/edit-distance.ts';
import { AtmoError, ERROR_CODES, toAtmoError } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import type { Authenticated, Authenticator } from '../../core/principal.ts';
import { type Answer, httpErrors, problem } from './answer.ts';
import { credentialsOf } from './credentials.ts';
import { type BodyOrRefusal, readJsonBody, requireContent } from './json-body.ts';
import { refuseAddressing } from './loopback.ts';
import { parseQuery } from './query.ts';
import type { DoorRequest, Route, Scope } from './route.ts';
import { type Trace, traceOf } from './trace.ts';

/** What the door asks and tells. */
export interface DoorCollaborators {
  readonly authenticator: Authenticator;
  readonly logger: Logger;
  readonly clock: Clock;
  /** Hears every answer, for the metrics. `route` is the pattern, never the caller's text. */
  onAnswer(method: string, route: string, status: number): void;
  /** The port that clients have to name in Host and Origin. */
  port(): number;
}

const NOBODY: Authenticated = { principal: { id: 'nobody', kind: 'agent', permissions: [] } };
const NOTHING = new Uint8Array();
const SECURITY_HEADERS = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
};

/**
 * The HTTP application over a table of routes. Every request passes, in this order: Host and Origin, route, token, scope,
 * query, body, handler. Refusals are RFC 9457 problems.
 */
export function createDoor(routes: readonly Route[], collaborators: DoorCollaborators): Hono {
  const door = new Door(routes, collaborators);
  const app = new Hono();
  app.use('*', async (context, next) => door.gate(context) ?? (await next()));
  for (const route of routes) app.on(route.method, route.path, (context) => door.answer(route, context));
  for (const path of new Set(routes.map((route) => route.path))) app.all(path, (context) => door.wrongMethod(path, context));
  app.notFound((context) => door.unknownPath(context));
  return app;
}

class Door {
  readonly #routes: readonly Route[];
  readonly #collaborators: DoorCollaborators;

  constructor(routes: readonly Route[], collaborators: DoorCollaborators) {
    this.#routes = routes;
    this.#collaborators = collaborators;
  }

  gate(context: Context): Response | undefined {
    const { headers } = context.req.raw;
    const addressing = { host: headers.get('host') ?? undefined, origin: headers.get('origin') ?? undefined };
    const reason = refuseAddressing(addressing, this.#collaborators.port());
    if (reason === undefined) return undefined;
    const trace = traceOf(headers);
    return this.#send(context, 'refused', trace, problem(new AtmoError('PERMISSION_DENIED', reason), trace));
  }

  async answer(route: Route, context: Context): Promise<Response> {
    const trace = traceOf(context.req.raw.headers);
    try {
      return this.#send(context, route.path, trace, await this.#run(route, context, trace));
    } catch (thrown) {
      const error = toAtmoError(thrown);
      this.#logFailure(route, trace, error);
      return this.#send(context, route.path, trace, problem(error, trace));
    }
  }

  wrongMethod(path: string, context: Context): Response {
    const allowed = this.#routes.filter((route) => route.path === path).map((route) => route.method);
    const trace = traceOf(context.req.raw.headers);
    const answer = problem(httpErrors.method(context.req.method, allowed), { ...trace, status: 405 });
    return this.#send(context, path, trace, { ...answer, headers: { ...answer.headers, allow: allowed.join(', ') } });
  }

  unknownPath(context: Context): Response {
    const trace = traceOf(context.req.raw.headers);
    const candidates = nearestTexts(context.req.path, [...new Set(this.#routes.map((route) => route.path.replace(/\{.*?\}/g, '')))]);
    const hint = candidates.length > 0 ? `; near it are ${candidates.join(', ')}` : '; GET /openapi.json lists what there is';
    const error = new AtmoError('NOT_FOUND', `There is no ${JSON.stringify(context.req.path.slice(0, 128))}${hint}`, {
      nearest: [...candidates],
    });
    return this.#send(context, 'unknown', trace, problem(error, trace));
  }

  async #run(route: Route, context: Context, trace: Trace): Promise<Answer> {
    const request = context.req.raw;
    // Before the body is read: who has no token costs no more than its headers.
    const { principal, contentSha256 } = await this.#authenticate(route, request);
    requireScope(request.headers.get('x-caller-scopes'), route.scope);
    const query = parseQuery(searchOf(request.url), route.query, this.#collaborators.clock.now());
    const parsed = await bodyOf(route, request, { requestId: trace.requestId, contentSha256 });
    if ('refusal' in parsed) return parsed.refusal;
    const doorRequest: DoorRequest = {
      principal,
      path: context.req.param(),
      ...parsed,
      trace,
      request,
      // A getter: the adaptor makes an AbortController only for those who ask.
      get signal() {
        return request.signal;
      },
      header: (name) => request.headers.get(name) ?? undefined,
    };
    return route.handle(doorRequest, query);
  }

  async #authenticate(route: Route, request: Request): Promise<Authenticated> {
    if (route.access === 'public') return NOBODY;
    return this.#collaborators.authenticator.authenticate(credentialsOf(request));
  }

  #logFailure(route: Route, trace: Trace, error: AtmoError): void {
    if (ERROR_CODES[error.code].httpStatus !== 500) return;
    const reason = error.cause instanceof Error ? (error.cause.stack ?? error.cause.message) : error.message;
    this.#collaborators.logger.error('http.failed', { route: route.path, traceId: trace.traceId, requestId: trace.requestId, reason });
  }

  #send(context: Context, route: string, trace: Trace, answer: Answer): Response {
    this.#collaborators.onAnswer(context.req.method, route, answer.status);
    // A plain header object keeps the adaptor on its short path: no Headers, no stream.
    return new Response(answer.status === 304 ? null : answer.body, {
      status: answer.status,
      headers: { ...SECURITY_HEADERS, ...answer.headers, 'x-request-id': trace.requestId, traceparent: trace.traceparent },
    });
  }
}

interface BodyContext {
  readonly requestId: string;
  readonly contentSha256: string | undefined;
}

async function bodyOf(route: Route, request: Request, context: BodyContext): Promise<BodyOrRefusal> {
  if (route.body !== undefined) return readJsonBody(request, { ...context, takes: route.takes });
  requireContent(NOTHING, context.contentSha256);
  return { body: {} };
}

function requireScope(header: string | null, needed: Scope): void {
  if (header === null) return;
  const scopes = header.split(',').map((scope) => scope.trim());
  if (scopes.includes(needed)) return;
  throw new AtmoError('PERMISSION_DENIED', `X-Caller-Scopes leaves out ${needed}, which this route needs`, { required: [needed] });
}

function searchOf(url: string): URLSearchParams {
  const mark = url.indexOf('?');
  return new URLSearchParams(mark === -1 ? '' : url.slice(mark + 1));
}

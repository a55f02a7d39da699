import type { HttpBindings } from '@hono/node-server';
import { type Context, Hono } from 'hono';
import { familyOf } from '../../core/access/agent-id.ts';
import { type Authenticated, type Authenticator, principalKey } from '../../core/access/principal.ts';
import { nearestTexts } from '../../core/edit-distance.ts';
import { AtmoError, ERROR_CODES, toAtmoError } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import type { Clock } from '../../core/time/clock.ts';
import { pollSockets } from '../../core/time/standstill.ts';
import { isAcceptable, mediaOf } from './accept.ts';
import { refuseAbsolute, refuseAddressing } from './addressing.ts';
import { type Answer, httpErrors, problem } from './answer.ts';
import { credentialsOf } from './credentials.ts';
import { documentAnswer } from './document.ts';
import type { GuessGuard } from './guess-guard.ts';
import { type BodyOrRefusal, MAX_BODY_BYTES, readJsonBody, requireContent } from './json-body.ts';
import { LargeBodies } from './large-bodies.ts';
import { parseQuery } from './query.ts';
import { MAX_TARGET_CHARS, targetTooLong } from './raw-refusal.ts';
import type { ReadPace } from './read-pace.ts';
import { type Asking, type DoorRequest, RESOURCE_METADATA, type Route, type Scope } from './route.ts';
import { sourceOf } from './source-address.ts';
import { type Trace, traceOf } from './trace.ts';

/** What the door asks and tells. */
export interface DoorCollaborators {
  readonly authenticator: Pick<Authenticator, 'authenticate'>;
  readonly guesses: GuessGuard;
  readonly reads: ReadPace;
  readonly logger: Logger;
  readonly clock: Clock;
  /** Hears every answer, for the metrics. `route` is the pattern, never the caller's text. */
  onAnswer(method: string, route: string, status: number): void;
  /** The port that clients have to name in Host and Origin. */
  port(): number;
  /** True for the names and addresses, without brackets, under which the hub is reached over TLS. */
  isOwnName(name: string): boolean;
}

/** Of a request that came over a socket; tests without one have none. */
type DoorEnvironment = { readonly Bindings: Partial<HttpBindings> };
type DoorContext = Context<DoorEnvironment>;
/** The application of the door. */
export type DoorApp = Hono<DoorEnvironment>;

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
export function createDoor(routes: readonly Route[], collaborators: DoorCollaborators): DoorApp {
  const door = new Door(routes, collaborators);
  const app = new Hono<DoorEnvironment>();
  app.use('*', async (context, next) => door.gate(context) ?? (await next()));
  for (const route of routes) {
    const media = mediaOf(route);
    app.on(route.method, route.path, (context) => door.answer({ route, media }, context));
  }
  for (const path of new Set(routes.map((route) => route.path))) app.all(path, (context) => door.wrongMethod(path, context));
  app.notFound((context) => door.unknownPath(context));
  return app;
}

/** A route, and the media types of its answers. */
interface Served {
  readonly route: Route;
  readonly media: readonly string[];
}

class Door {
  readonly #routes: readonly Route[];
  readonly #collaborators: DoorCollaborators;
  readonly #largeBodies = new LargeBodies();

  constructor(routes: readonly Route[], collaborators: DoorCollaborators) {
    this.#routes = routes;
    this.#collaborators = collaborators;
  }

  gate(context: DoorContext): Response | undefined {
    const { headers, url } = context.req.raw;
    const { incoming } = context.env ?? {};
    const addressing = { host: headers.get('host') ?? undefined, origin: headers.get('origin') ?? undefined };
    const { isOwnName, port } = this.#collaborators;
    const scheme = isEncrypted(incoming, url) ? 'https' : 'http';
    const reason = refuseAddressing(addressing, { scheme, port: port(), isOwnName }) ?? refuseAbsolute(incoming?.url, addressing.host);
    if (reason !== undefined) return this.#refuse(context, new AtmoError('PERMISSION_DENIED', reason));
    if (url.length > MAX_TARGET_CHARS) return this.#refuse(context, targetTooLong(), 414);
    return undefined;
  }

  async answer({ route, media }: Served, context: DoorContext): Promise<Response> {
    const { headers } = context.req.raw;
    const trace = traceOf(headers);
    try {
      const answer = await this.#run(route, context, { trace, media });
      const isDocument = route.isDocument === true && route.method === 'GET';
      return this.#send(context, route.path, trace, isDocument ? await documentAnswer(answer, headers) : answer);
    } catch (thrown) {
      const error = toAtmoError(thrown);
      this.#logFailure(route, trace, error);
      const metadata = route.hasResourceMetadata && { resourceMetadata: metadataOf(context.req.raw.url) };
      return this.#send(context, route.path, trace, problem(error, { ...trace, ...metadata }));
    }
  }

  /** What the path can do (RFC 9110 §9.3.7), or 405. */
  wrongMethod(path: string, context: DoorContext): Response {
    const methods = this.#routes.filter((route) => route.path === path).map((route) => route.method);
    const allowed = [...methods.flatMap((method) => (method === 'GET' ? [method, 'HEAD'] : [method])), 'OPTIONS'];
    const trace = traceOf(context.req.raw.headers);
    const isAsked = context.req.method === 'OPTIONS';
    const answer = isAsked ? NO_CONTENT : problem(httpErrors.method(context.req.method, allowed), { ...trace, status: 405 });
    return this.#send(context, path, trace, { ...answer, headers: { ...answer.headers, allow: allowed.join(', ') } });
  }

  unknownPath(context: DoorContext): Response {
    const trace = traceOf(context.req.raw.headers);
    const candidates = nearestTexts(context.req.path, [...new Set(this.#routes.map((route) => route.path.replace(/\{.*?\}/g, '')))]);
    const hint = candidates.length > 0 ? `; near it are ${candidates.join(', ')}` : '; GET /openapi.json lists what there is';
    const error = new AtmoError('NOT_FOUND', `There is no ${JSON.stringify(context.req.path.slice(0, 128))}${hint}`, {
      nearest: [...candidates],
    });
    return this.#send(context, 'unknown', trace, problem(error, trace));
  }

  async #run(route: Route, context: DoorContext, { trace, media }: RunContext): Promise<Answer> {
    const request = context.req.raw;
    // Before the body is read: who has no token costs no more than its headers.
    const { principal, contentSha256 } = await this.#authenticate(route, context);
    requireScope(request.headers.get('x-caller-scopes'), route.scope);
    if (route.method === 'GET' && route.access === 'token') this.#collaborators.reads.take(principal);
    if (!isAcceptable(request.headers.get('accept'), media)) return problem(httpErrors.notAcceptable(media), { ...trace, status: 406 });
    const query = parseQuery(searchOf(request.url), route.query, this.#collaborators.clock.now());
    const path = context.req.param();
    // A large body counts until its request is answered.
    using place = new DisposableStack();
    const largeBound = () => this.#largeBound(route, { principal, path }, place);
    const parsed = await bodyOf(route, request, { requestId: trace.requestId, contentSha256, largeBound });
    if ('refusal' in parsed) return (parsed.fault && route.refuseBody?.(parsed.fault)) ?? parsed.refusal;
    if (route.method !== 'GET') await requireClient(context.env?.incoming);
    const doorRequest: DoorRequest = {
      principal,
      path,
      ...parsed,
      trace,
      request,
      // A getter: the adaptor makes an AbortController only for those who ask.
      get signal() {
        return request.signal;
      },
      header: (name) => request.headers.get(name) ?? undefined,
    };
    return await route.handle(doorRequest, query);
  }

  /** How long a body may be that is above the common bound; takes a place for it. */
  #largeBound(route: Route, asking: Asking, place: DisposableStack): number {
    const maxBytes = route.maxBodyBytes?.(asking) ?? MAX_BODY_BYTES;
    if (maxBytes > MAX_BODY_BYTES) place.use(this.#largeBodies.enter(asking.principal, maxBytes));
    return maxBytes;
  }

  async #authenticate(route: Route, context: DoorContext): Promise<Authenticated> {
    if (route.access === 'public') return NOBODY;
    const { authenticator, guesses } = this.#collaborators;
    const credentials = credentialsOf(context.req.raw);
    const { bearer } = credentials;
    if (bearer === undefined) return authenticator.authenticate(credentials);
    const source = sourceOf(context.env?.incoming?.socket.remoteAddress);
    const lock = this.#lockOn(source, bearer);
    // All programs of this machine are one source: a wrong one may not keep out those who have just been given a token.
    if (lock && source !== 'local') throw lock;
    try {
      const authenticated = await authenticator.authenticate(credentials);
      guesses.succeeded(bearer, familyOf(principalKey(authenticated.principal)));
      return authenticated;
    } catch (thrown) {
      if (thrown instanceof AtmoError && thrown.code === 'TOKEN_INVALID') guesses.failed(source, bearer);
      throw lock ?? thrown;
    }
  }

  /** Why a source is locked out; undefined where it is not. */
  #lockOn(source: string, bearer: string): AtmoError | undefined {
    try {
      this.#collaborators.guesses.admit(source, bearer);
      return undefined;
    } catch (thrown) {
      return toAtmoError(thrown);
    }
  }

  #logFailure(route: Route, trace: Trace, error: AtmoError): void {
    if (error.code === 'CANCELLED') this.#collaborators.logger.debug('http.client_gone', { route: route.path, requestId: trace.requestId });
    if (ERROR_CODES[error.code].httpStatus !== 500) return;
    const reason = error.cause instanceof Error ? (error.cause.stack ?? error.cause.message) : error.message;
    this.#collaborators.logger.error('http.failed', { route: route.path, traceId: trace.traceId, requestId: trace.requestId, reason });
  }

  #refuse(context: DoorContext, error: AtmoError, status?: number): Response {
    const trace = traceOf(context.req.raw.headers);
    return this.#send(context, 'refused', trace, problem(error, { ...trace, ...(status !== undefined && { status }) }));
  }

  #send(context: DoorContext, route: string, trace: Trace, answer: Answer): Response {
    const { method } = context.req;
    this.#collaborators.onAnswer(method, route, answer.status);
    const { status, body, headers } = method === 'HEAD' ? withoutBody(answer) : answer;
    // A plain header object keeps the adaptor on its short path: no Headers, no stream.
    return new Response(status === 304 || status === 204 ? null : body, {
      status,
      headers: { ...SECURITY_HEADERS, ...headers, 'x-request-id': trace.requestId, traceparent: trace.traceparent },
    });
  }
}

/** Between host and path (RFC 9728 §3.1). */
function metadataOf(url: string): string {
  const { origin, pathname } = new URL(url);
  return `${origin}${RESOURCE_METADATA}${pathname}`;
}

/** The connection tells, not the request: a whole URL as its target can claim any scheme. */
function isEncrypted(incoming: DoorEnvironment['Bindings']['incoming'], url: string): boolean {
  return incoming ? 'encrypted' in incoming.socket && incoming.socket.encrypted === true : url.startsWith('https:');
}

interface RunContext {
  readonly trace: Trace;
  readonly media: readonly string[];
}

const NO_CONTENT: Answer = { status: 204, headers: {}, body: '' };

/** As long as the answer would be (RFC 9110 §9.3.2); a stream ends before it begins. */
function withoutBody({ status, headers, body }: Answer): Answer {
  if (body instanceof ReadableStream) {
    void body.cancel();
    return { status, headers, body: '' };
  }
  return { status, headers: { ...headers, 'content-length': String(Buffer.byteLength(body)) }, body: '' };
}

/**
 * CANCELLED where the client has gone already. A request and the end of its connection may have come long ago, while the hub stood
 * still: Node tells of the request first, and would let it run.
 */
async function requireClient(incoming: DoorEnvironment['Bindings']['incoming']): Promise<void> {
  if (!incoming) return;
  await pollSockets(1);
  const { socket } = incoming;
  if (socket.destroyed || socket.readableEnded) throw new AtmoError('CANCELLED', 'The client was gone before its request could run');
}

interface BodyContext {
  readonly requestId: string;
  readonly contentSha256: string | undefined;
  readonly largeBound: () => number;
}

async function bodyOf(route: Route, request: Request, context: BodyContext): Promise<BodyOrRefusal> {
  if (route.body !== undefined) return readJsonBody(request, { ...context, takes: route.takes });
  requireContent(NOTHING, context.contentSha256);
  return { body: {} };
}

/** PERMISSION_DENIED when X-Caller-Scopes leaves out what is needed. */
export function requireScope(header: string | null | undefined, needed: Scope): void {
  if (header === null || header === undefined) return;
  const scopes = header.split(',').map((scope) => scope.trim());
  if (scopes.includes(needed)) return;
  throw new AtmoError('PERMISSION_DENIED', `X-Caller-Scopes leaves out ${needed}, which this route needs`, { required: [needed] });
}

function searchOf(url: string): URLSearchParams {
  const mark = url.indexOf('?');
  return new URLSearchParams(mark === -1 ? '' : url.slice(mark + 1));
}

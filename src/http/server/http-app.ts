import { hash } from 'node:crypto';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import type { HttpBindings } from '@hono/node-server';
import { type Context, Hono } from 'hono';
import { type Authenticated, type Authenticator, type Credentials, principalKey, rootAgentOf } from '../../core/auth/principal.ts';
import type { HubContext } from '../../core/context.ts';
import { nearestTexts } from '../../core/edit-distance.ts';
import { AtmoError, ERROR_CODES, toAtmoError } from '../../core/errors.ts';
import { pollSockets } from '../../core/health.ts';
import { isProxied, proxiedSource, refuseAbsolute, refuseAddressing, sourceOf, wasForwarded } from './addresses.ts';
import { type Answer, httpErrors, MAX_TARGET_CHARS, problem, targetTooLong } from './answer.ts';
import { parseQuery } from './query.ts';
import type { ReadRateLimiter, TokenGuessLockout } from './rate-limits.ts';
import { type BodyOrRefusal, LargeBodySlots, MAX_BODY_BYTES, readBody, requireContent } from './request-body.ts';
import { RESOURCE_METADATA, type Route, type RouteRequest, type Scope, type Trace, traceOf, type UnreadRequest } from './route.ts';

/** The parts of the hub that the HTTP application uses. */
export interface HttpAppCollaborators extends Pick<HubContext, 'clock' | 'logger'> {
  readonly authenticator: Pick<Authenticator, 'authenticate'>;
  readonly guesses: TokenGuessLockout;
  readonly reads: ReadRateLimiter;
  /** Called with every response, for metrics. `route` is the pattern of the route, so it contains no text from the caller. */
  onAnswer(method: string, route: string, status: number): void;
  /** Returns the port that the Host and Origin headers must contain. */
  port(): number;
  /** Returns whether clients may use this name or address (without brackets) for the hub over TLS. */
  isOwnName(name: string): boolean;
  /** URL at which a reverse proxy on this machine offers the hub; undefined without one. */
  readonly proxy: URL | undefined;
}

/** The request and response objects of Node.js. They are absent in tests without a socket. */
type HonoEnvironment = { readonly Bindings: Partial<HttpBindings> };
type HonoContext = Context<HonoEnvironment>;
/** The HTTP application of the hub. */
export type HttpApp = Hono<HonoEnvironment>;

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
 * Returns the HTTP application for a table of routes. It checks a request in this order: Host and Origin, route, token, scope, query, body.
 * Then it runs the handler. A refused request gets problem details (RFC 9457).
 */
export function createHttpApp(routes: readonly Route[], collaborators: HttpAppCollaborators): HttpApp {
  const dispatcher = new RouteDispatcher(routes, collaborators);
  const app = new Hono<HonoEnvironment>();
  app.use('*', async (context, next) => dispatcher.refuseAddress(context) ?? (await next()));
  for (const route of routes) {
    const media = mediaOf(route);
    app.on(route.method, route.path, (context) => dispatcher.answer({ route, media }, context));
  }
  for (const path of new Set(routes.map((route) => route.path))) app.all(path, (context) => dispatcher.wrongMethod(path, context));
  app.notFound((context) => dispatcher.unknownPath(context));
  return app;
}

class RouteDispatcher {
  readonly #routes: readonly Route[];
  readonly #collaborators: HttpAppCollaborators;
  readonly #largeBodies = new LargeBodySlots();

  constructor(routes: readonly Route[], collaborators: HttpAppCollaborators) {
    this.#routes = routes;
    this.#collaborators = collaborators;
  }

  refuseAddress(context: HonoContext): Response | undefined {
    const { headers, url } = context.req.raw;
    const { incoming } = context.env ?? {};
    const [host, origin] = [headers.get('host') ?? undefined, headers.get('origin') ?? undefined];
    const { isOwnName, port, proxy } = this.#collaborators;
    const scheme = isEncrypted(incoming, url) ? 'https' : 'http';
    const reason =
      refuseAddressing({ host, origin, isForwarded: wasForwarded(headers) }, { scheme, port: port(), isOwnName, proxy }) ??
      refuseAbsolute(incoming?.url, host);
    if (reason !== undefined) return this.#refuse(context, new AtmoError('PERMISSION_DENIED', reason));
    if (url.length > MAX_TARGET_CHARS) return this.#refuse(context, targetTooLong(), 414);
    return undefined;
  }

  async answer({ route, media }: { readonly route: Route; readonly media: readonly string[] }, context: HonoContext): Promise<Response> {
    const { headers } = context.req.raw;
    const trace = traceOf(headers);
    try {
      const answer = await this.#run(route, context, { trace, media });
      const isDocument = route.isDocument === true && route.method === 'GET';
      return this.#send(context, route.path, trace, isDocument ? await documentAnswer(answer, headers) : answer);
    } catch (thrown) {
      const error = toAtmoError(thrown);
      this.#logFailure(route, trace, error);
      const metadata = route.hasResourceMetadata && { resourceMetadata: this.#metadataOf(context) };
      return this.#send(context, route.path, trace, problem(error, { ...trace, ...metadata }));
    }
  }

  /** Responds to a method that no route of the path has. OPTIONS gets the allowed methods (RFC 9110 §9.3.7), any other method gets 405. */
  wrongMethod(path: string, context: HonoContext): Response {
    const methods = this.#routes.filter((route) => route.path === path).map((route) => route.method);
    const allowed = [...methods.flatMap((method) => (method === 'GET' ? [method, 'HEAD'] : [method])), 'OPTIONS'];
    const trace = traceOf(context.req.raw.headers);
    const isAsked = context.req.method === 'OPTIONS';
    const answer = isAsked ? NO_CONTENT : problem(httpErrors.method(context.req.method, allowed), { ...trace, status: 405 });
    return this.#send(context, path, trace, { ...answer, headers: { ...answer.headers, allow: allowed.join(', ') } });
  }

  unknownPath(context: HonoContext): Response {
    const trace = traceOf(context.req.raw.headers);
    const candidates = nearestTexts(context.req.path, [...new Set(this.#routes.map((route) => route.path.replace(/\{.*?\}/g, '')))]);
    const hint = candidates.length > 0 ? `; near it are ${candidates.join(', ')}` : '; GET /openapi.json lists what there is';
    const error = new AtmoError('NOT_FOUND', `There is no ${JSON.stringify(context.req.path.slice(0, 128))}${hint}`, {
      nearest: [...candidates],
    });
    return this.#send(context, 'unknown', trace, problem(error, trace));
  }

  async #run(route: Route, context: HonoContext, { trace, media }: RouteRun): Promise<Answer> {
    const request = context.req.raw;
    // The token is checked before the body is read, so that a request without a token costs little.
    const { principal, contentSha256 } = await this.#authenticate(route, context);
    requireScope(request.headers.get('x-caller-scopes'), route.scope);
    if (route.method === 'GET' && route.access === 'token') this.#collaborators.reads.take(principal);
    if (!isAcceptable(request.headers.get('accept'), media)) return problem(httpErrors.notAcceptable(media), { ...trace, status: 406 });
    const query = route.takesAnyQuery ? {} : parseQuery(searchOf(request.url), route.query, this.#collaborators.clock.now());
    const path = context.req.param();
    // A large body occupies a slot until the response is ready.
    using place = new DisposableStack();
    const largeBound = () => this.#largeBound(route, { principal, path }, place);
    const parsed = await bodyOf(route, request, { requestId: trace.requestId, contentSha256, largeBound });
    if ('refusal' in parsed) return (parsed.fault && route.refuseBody?.(parsed.fault)) ?? parsed.refusal;
    if (route.method !== 'GET') await requireClient(context.env?.incoming);
    const originOf = () => this.#originOf(context);
    const routeRequest: RouteRequest = {
      principal,
      path,
      ...parsed,
      trace,
      source: this.#sourceOf(context),
      // Only few routes read it.
      get origin() {
        return originOf();
      },
      request,
      // This is a getter, because the adaptor creates an AbortController when the signal is first read.
      get signal() {
        return request.signal;
      },
      header: (name) => request.headers.get(name) ?? undefined,
    };
    return await route.handle(routeRequest, query);
  }

  /** Returns the route's limit for a body. If this limit is above the default limit, also takes a slot for large bodies. */
  #largeBound(route: Route, asking: UnreadRequest, place: DisposableStack): number {
    const maxBytes = route.maxBodyBytes?.(asking) ?? MAX_BODY_BYTES;
    if (maxBytes > MAX_BODY_BYTES) place.use(this.#largeBodies.acquire(asking.principal, maxBytes));
    return maxBytes;
  }

  async #authenticate(route: Route, context: HonoContext): Promise<Authenticated> {
    if (route.access === 'public') return NOBODY;
    const { authenticator, guesses } = this.#collaborators;
    const credentials = credentialsOf(context.req.raw);
    const { bearer } = credentials;
    if (bearer === undefined) return authenticator.authenticate(credentials);
    const source = this.#sourceOf(context);
    const lock = this.#lockOn(source, bearer);
    // All programs on this machine share the source `local`. While this source is locked out, valid tokens of its programs still work.
    // Otherwise one program with a wrong token would lock out all others. A wrong token gets the error in `lock` (see `catch`).
    if (lock && source !== 'local') throw lock;
    try {
      const authenticated = await authenticator.authenticate(credentials);
      guesses.succeeded(bearer, rootAgentOf(principalKey(authenticated.principal)));
      return authenticated;
    } catch (thrown) {
      // Who has the token of an application guesses nothing, even at an address for which the token is not good.
      const isGuess = thrown instanceof AtmoError && thrown.code === 'TOKEN_INVALID' && thrown.details.good_for === undefined;
      if (isGuess) guesses.failed(source, bearer);
      throw lock ?? thrown;
    }
  }

  #isProxied(context: HonoContext): boolean {
    const { proxy } = this.#collaborators;
    if (!proxy) return false;
    const { headers, url } = context.req.raw;
    const scheme = isEncrypted(context.env?.incoming, url) ? 'https' : 'http';
    return isProxied(headers.get('host') ?? undefined, { scheme, proxy });
  }

  #sourceOf(context: HonoContext): string {
    if (this.#isProxied(context)) return proxiedSource(context.req.raw.headers.get('x-forwarded-for'));
    return sourceOf(context.env?.incoming?.socket.remoteAddress);
  }

  #originOf(context: HonoContext): string {
    const { proxy } = this.#collaborators;
    return proxy && this.#isProxied(context) ? proxy.origin : new URL(context.req.raw.url).origin;
  }

  /** Returns the URL of the resource metadata. It has the well-known path between host and path (RFC 9728 §3.1). */
  #metadataOf(context: HonoContext): string {
    return `${this.#originOf(context)}${RESOURCE_METADATA}${new URL(context.req.raw.url).pathname}`;
  }

  /** Returns the error if the source is locked out. Returns undefined if it is not, or if the token was valid before. */
  #lockOn(source: string, bearer: string): AtmoError | undefined {
    try {
      this.#collaborators.guesses.admit(source, bearer);
      return undefined;
    } catch (thrown) {
      return toAtmoError(thrown);
    }
  }

  #logFailure(route: Route, { traceId, requestId }: Trace, error: AtmoError): void {
    const { logger } = this.#collaborators;
    if (error.code === 'CANCELLED') logger.debug('http.client_disconnected', { route: route.path, requestId });
    if (ERROR_CODES[error.code].httpStatus !== 500) return;
    const reason = error.cause instanceof Error ? (error.cause.stack ?? error.cause.message) : error.message;
    logger.error('http.request_failed', { route: route.path, traceId, requestId, reason });
  }

  #refuse(context: HonoContext, error: AtmoError, status?: number): Response {
    const trace = traceOf(context.req.raw.headers);
    return this.#send(context, 'refused', trace, problem(error, { ...trace, ...(status !== undefined && { status }) }));
  }

  #send(context: HonoContext, route: string, trace: Trace, answer: Answer): Response {
    const { method } = context.req;
    this.#collaborators.onAnswer(method, route, answer.status);
    const { status, body, headers } = method === 'HEAD' ? withoutBody(answer) : answer;
    // With a plain object as headers, the adaptor takes its fast path, which creates no Headers object and no stream.
    return new Response(status === 304 || status === 204 ? null : body, {
      status,
      headers: { ...SECURITY_HEADERS, ...headers, 'x-request-id': trace.requestId, traceparent: trace.traceparent },
    });
  }
}

/** Returns whether the connection is encrypted. The URL does not show this: a client can send an absolute URL with any scheme. */
function isEncrypted(incoming: HonoEnvironment['Bindings']['incoming'], url: string): boolean {
  return incoming ? 'encrypted' in incoming.socket && incoming.socket.encrypted === true : url.startsWith('https:');
}

interface RouteRun {
  readonly trace: Trace;
  readonly media: readonly string[];
}

const NO_CONTENT: Answer = { status: 204, headers: {}, body: '' };

/** Returns the response to a HEAD request: without the body, but with its length (RFC 9110 §9.3.2). A stream is cancelled. */
function withoutBody({ status, headers, body }: Answer): Answer {
  if (body instanceof ReadableStream) {
    void body.cancel();
    return { status, headers, body: '' };
  }
  return { status, headers: { ...headers, 'content-length': String(Buffer.byteLength(body)) }, body: '' };
}

/**
 * Rejects with CANCELLED if the client has disconnected. While the process is suspended, a request and its client's disconnection may both
 * arrive; Node.js then reports the request first. Without this check, such a request would run although its client is gone.
 */
async function requireClient(incoming: HonoEnvironment['Bindings']['incoming']): Promise<void> {
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
  if (route.body !== undefined) return readBody(request, { ...context, takes: route.takes });
  requireContent(NOTHING, context.contentSha256);
  return { body: {} };
}

/** Throws PERMISSION_DENIED if there is an X-Caller-Scopes header that does not contain the scope. */
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

/** Matches a bearer token. The limit of 4,096 characters is enough for a token with the whole chain of its parent tokens. */
const BEARER = /^Bearer +([\x21-\x7e]{1,4096})$/i;
const PROOF = /^[A-Za-z0-9_-]{1,2048}$/;

/** Header with the proof that the caller has the key to which its token is bound: a COSE_Sign1 in base64url, at most 2 KiB. */
const PROOF_HEADER = 'atmo-proof';

/**
 * Returns the credentials of a request. Throws UNAUTHENTICATED if the Authorization header is not a valid Bearer header (RFC 6750 §2.1),
 * and TOKEN_INVALID if the proof is malformed. Ignores tokens in the query and the body.
 */
function credentialsOf({ method, url, headers }: Request): Credentials {
  const operation = `${method} ${targetOf(url)}`;
  const header = headers.get('authorization');
  if (header === null) return { operation };
  const bearer = BEARER.exec(header)?.[1];
  if (bearer === undefined) throw new AtmoError('UNAUTHENTICATED', 'The Authorization header has to be "Bearer TOKEN"');
  const proof = headers.get(PROOF_HEADER);
  if (proof === null) return { bearer, operation };
  if (PROOF.test(proof)) return { bearer, proof, operation };
  throw new AtmoError('TOKEN_INVALID', `The ${PROOF_HEADER} header has to be a COSE_Sign1 in base64url of at most 2048 characters`);
}

/** Returns the path and query exactly as sent, without percent-decoding, since the caller's proof names them in this form. */
function targetOf(url: string): string {
  return url.slice(url.indexOf('/', url.indexOf('//') + 2));
}

const JSON_TYPE = 'application/json';
const MEDIA_TYPE = /\b(?:application|text|image)\/[a-z0-9.+-]+/g;

/** Returns the media types in which a route can respond: always JSON, and the types of its successful responses. */
export function mediaOf({ answers }: Pick<Route, 'answers'>): readonly string[] {
  const named = Object.values(answers).flatMap((answer) => (typeof answer === 'string' ? [answer] : (answer.media ?? [])));
  return [...new Set([JSON_TYPE, ...named.flatMap((text) => text.match(MEDIA_TYPE) ?? [])])];
}

/** Returns whether an Accept header allows one of the types (RFC 9110 §12.5.1). A malformed header allows all types. */
export function isAcceptable(accept: string | null, types: readonly string[]): boolean {
  if (accept === null || accept.includes('*/*') || accept.includes(JSON_TYPE)) return true;
  const ranges = accept.split(',').map(parseRange);
  const wanted = ranges.filter((range) => range !== undefined);
  if (wanted.length === 0) return true;
  return types.some((type) => wanted.some(({ range, quality }) => quality > 0 && matches(type, range)));
}

function parseRange(text: string): { readonly range: string; readonly quality: number } | undefined {
  const [range = '', ...parameters] = text.split(';').map((part) => part.trim().toLowerCase());
  if (!/^[a-z0-9.+-]+\/([a-z0-9.+-]+|\*)$/.test(range)) return undefined;
  const quality = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2);
  return { range, quality: quality === undefined ? 1 : Number(quality) || 0 };
}

function matches(type: string, range: string): boolean {
  return range.endsWith('/*') ? type.startsWith(range.slice(0, -1)) : type === range;
}

const MIN_COMPRESSED_BYTES = 1_400;
const CACHING = { 'cache-control': 'private, no-cache', vary: 'Authorization, Accept-Encoding' };
const compressors = {
  br: (text: string) => promisify(brotliCompress)(text, { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } }),
  gzip: (text: string) => promisify(gzip)(text, { level: 6 }),
};

/**
 * Returns a list or document with an ETag, compressed if the caller accepts that. Returns 304 if the caller already has it (RFC 9110
 * §13.1.2). Use it only for responses without secrets: a cache may keep them, and a compressed size reveals something about the content.
 */
async function documentAnswer(answer: Answer, headers: Pick<Headers, 'get'>): Promise<Answer> {
  if (answer.status !== 200 || typeof answer.body !== 'string') return answer;
  const etag = `W/"${hash('sha1', answer.body, 'base64url')}"`;
  const kept = { ...answer.headers, ...CACHING, etag };
  if (isKnown(headers.get('if-none-match'), etag)) return { status: 304, headers: { ...CACHING, etag }, body: '' };
  const coding = codingFor(headers.get('accept-encoding'));
  if (coding === undefined || answer.body.length < MIN_COMPRESSED_BYTES) return { ...answer, headers: kept };
  const bytes = await compressors[coding](answer.body);
  return { status: 200, headers: { ...kept, 'content-encoding': coding, 'content-length': String(bytes.length) }, body: bytes };
}

/** Returns whether If-None-Match contains the tag. The comparison is weak (RFC 9110 §8.8.3.2), since all our tags are weak. */
function isKnown(header: string | null, etag: string): boolean {
  if (header === null) return false;
  const opaque = etag.slice(2);
  return header.trim() === '*' || header.split(',').some((tag) => tag.trim().replace(/^W\//, '') === opaque);
}

function codingFor(header: string | null): keyof typeof compressors | undefined {
  const codings = (header ?? '').split(',').map((text) => text.trim().toLowerCase());
  const isWanted = (name: string) => codings.some((coding) => coding.split(';')[0]?.trim() === name && !/;\s*q=0(\.0*)?\s*$/.test(coding));
  if (isWanted('br')) return 'br';
  return isWanted('gzip') ? 'gzip' : undefined;
}

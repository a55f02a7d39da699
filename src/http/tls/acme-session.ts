import { createHash, createPublicKey, type KeyObject, sign } from 'node:crypto';
import { AtmoError, type ErrorCode } from '../../core/errors.ts';
import { type JsonObject, objectOf, objectsOf, tryParseJson } from '../../core/json.ts';
import { visibleLine, visibleText } from '../../core/untrusted-text.ts';

/** A request to the authority. */
interface AcmeRequest {
  readonly url: string;
  readonly method: 'GET' | 'HEAD' | 'POST';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
  readonly signal: AbortSignal;
  readonly maxBytes: number;
}

interface AcmeResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Uint8Array;
}

/** Port: sends a request and resolves with the response, whatever its status. Rejects if there is no connection. */
export type AcmeFetch = (request: AcmeRequest) => Promise<AcmeResponse>;

/** A successful response of the authority. */
export interface AcmeAnswer {
  readonly json: JsonObject;
  readonly text: string;
  /** URL of the resource that the request made (RFC 8555 §7.4). */
  readonly location: string | undefined;
  /** When the authority wants to be asked again, in milliseconds from now. */
  readonly retryAfterMs: number | undefined;
}

interface SessionParts {
  readonly fetch: AcmeFetch;
  /** P-256 key of the account. */
  readonly key: KeyObject;
  /** Time in milliseconds since 1970, for a Retry-After that is a date. */
  readonly time: { now(): number };
  readonly signal: AbortSignal;
}

interface Account {
  /** URL of the authority's directory. */
  readonly directory: string;
  readonly email: string | undefined;
}

/** Longest response in bytes. A chain of certificates has about 6 KB. */
const MAX_BYTES = 262_144;
/** How often a request is repeated with a new nonce. An authority may refuse a nonce at any time (RFC 8555 §6.5). */
const NONCE_TRIES = 8;
const MAX_DETAIL = 400;
const PROBLEM = 'urn:ietf:params:acme:error:';

/** Signed requests of one account to an ACME authority (RFC 8555 §6). */
export class AcmeSession {
  readonly #parts: SessionParts;
  readonly #jwk: Readonly<Record<string, string>>;
  #directory: JsonObject = {};
  #account: string | undefined;
  #nonce: string | undefined;

  private constructor(parts: SessionParts) {
    this.#parts = parts;
    this.#jwk = publicJwk(parts.key);
  }

  /**
   * Reads the directory, and makes the account or finds it. Rejects with SERVICE_UNAVAILABLE (no connection), SERVICE_REFUSED (a refusal, or
   * no ACME directory) or RATE_LIMITED, like all requests of the session.
   */
  static async open(parts: SessionParts, { directory, email }: Account): Promise<AcmeSession> {
    const session = new AcmeSession(parts);
    session.#directory = (await session.#read({ url: directory, method: 'GET' })).json;
    const contact = email === undefined ? {} : { contact: [`mailto:${email}`] };
    const answer = await session.post(session.resource('newAccount'), { termsOfServiceAgreed: true, ...contact });
    session.#account = answer.location;
    return session;
  }

  /** Returns the URL of a resource of the directory, such as `newOrder`. Throws SERVICE_REFUSED if the directory does not have it. */
  resource(name: string): string {
    const url = this.#directory[name];
    if (typeof url === 'string') return url;
    throw new AtmoError('SERVICE_REFUSED', `That is no ACME directory (no ${name}); check http.tls.acme.directory`);
  }

  /** Returns the key authorization of a challenge (RFC 8555 §8.1). */
  keyAuthorization(token: string): string {
    return `${token}.${createHash('sha256').update(JSON.stringify(this.#jwk)).digest('base64url')}`;
  }

  /** Sends a signed request. Without a payload, it only reads the resource (POST-as-GET, RFC 8555 §6.3). */
  async post(url: string, payload?: JsonObject): Promise<AcmeAnswer> {
    for (let tries = 1; ; tries++) {
      const body = Buffer.from(JSON.stringify(this.#signed(url, payload, await this.#takeNonce())));
      try {
        return await this.#read({ url, method: 'POST', headers: { 'content-type': 'application/jose+json' }, body });
      } catch (thrown) {
        if (tries >= NONCE_TRIES || !isBadNonce(thrown)) throw thrown;
      }
    }
  }

  #signed(url: string, payload: JsonObject | undefined, nonce: string): JsonObject {
    const who = this.#account === undefined ? { jwk: this.#jwk } : { kid: this.#account };
    const head = base64url(JSON.stringify({ alg: 'ES256', nonce, url, ...who }));
    const content = payload === undefined ? '' : base64url(JSON.stringify(payload));
    const signature = sign('sha256', Buffer.from(`${head}.${content}`), { key: this.#parts.key, dsaEncoding: 'ieee-p1363' });
    return { protected: head, payload: content, signature: signature.toString('base64url') };
  }

  /** Returns the nonce of the last response, or fetches one. Each is used once. */
  async #takeNonce(): Promise<string> {
    if (this.#nonce === undefined) await this.#read({ url: this.resource('newNonce'), method: 'HEAD' });
    const nonce = this.#nonce;
    this.#nonce = undefined;
    if (nonce !== undefined) return nonce;
    throw new AtmoError('SERVICE_REFUSED', 'The authority gave no nonce for the next request (RFC 8555 §7.2)');
  }

  async #read(request: Pick<AcmeRequest, 'url' | 'method' | 'headers' | 'body'>): Promise<AcmeAnswer> {
    const { fetch, signal, time } = this.#parts;
    const { status, headers, body } = await fetch({ ...request, signal, maxBytes: MAX_BYTES });
    this.#nonce = headers.get('replay-nonce') ?? this.#nonce;
    const text = new TextDecoder().decode(body);
    const json = objectOf(tryParseJson(text));
    const retryAfterMs = retryAfter(headers.get('retry-after'), time.now());
    if (status < 200 || status > 299) throw refusal(status, json, retryAfterMs);
    return { json, text, location: headers.get('location') ?? undefined, retryAfterMs };
  }
}

/** Returns the members of the key in the order that its thumbprint needs (RFC 7638 §3.2). */
function publicJwk(key: KeyObject): Readonly<Record<string, string>> {
  const { crv = '', kty = '', x = '', y = '' } = createPublicKey(key).export({ format: 'jwk' });
  return { crv, kty, x, y };
}

function base64url(text: string): string {
  return Buffer.from(text).toString('base64url');
}

/** Returns the milliseconds from now that Retry-After asks for: seconds or a date (RFC 9110 §10.2.3). */
function retryAfter(text: string | null, nowMs: number): number | undefined {
  if (text === null) return undefined;
  const ms = /^\d{1,8}$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - nowMs;
  return Number.isNaN(ms) ? undefined : Math.max(0, ms);
}

/** Returns the error for a response that is none of success. It quotes the authority's problem document (RFC 7807). */
function refusal(status: number, problem: JsonObject, retryAfterMs: number | undefined): AtmoError {
  const kind = String(problem.type ?? '').replace(PROBLEM, '');
  const said = reasonOf(problem);
  const message = `The authority answered ${status}${said === '' ? '' : `: ${said}`}`;
  return new AtmoError(codeOf(status, kind), message, {
    status,
    ...(kind !== '' && { reason: visibleText(kind, 60) }),
    ...(retryAfterMs !== undefined && { retry_after_ms: retryAfterMs }),
  });
}

function codeOf(status: number, kind: string): ErrorCode {
  if (status === 429 || kind === 'rateLimited') return 'RATE_LIMITED';
  return status >= 500 ? 'SERVICE_UNAVAILABLE' : 'SERVICE_REFUSED';
}

/** Returns what a problem document says, with the reasons for the single names (RFC 8555 §6.7.1). */
export function reasonOf(problem: JsonObject): string {
  const details = [problem, ...objectsOf(problem.subproblems)].map(({ detail }) => (typeof detail === 'string' ? detail : ''));
  return visibleLine(details.filter((detail) => detail !== '').join('; '), MAX_DETAIL);
}

function isBadNonce(thrown: unknown): boolean {
  return thrown instanceof AtmoError && thrown.details.reason === 'badNonce';
}

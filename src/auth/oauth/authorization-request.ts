import { hash } from 'node:crypto';
import { MAX_AUTHORIZATION_QUERY, type OAuthForm, oauthError, plainDescription, type RequestedAccess } from '../../core/auth/oauth.ts';
import { type AtmoError, toAtmoError } from '../../core/errors.ts';
import { redirectWith } from './redirect-uri.ts';
import { requestedAccessOf } from './requested-access.ts';

const MAX_STATE_LENGTH = 2_048;
/** SHA-256 of the verifier in base64url (RFC 7636 §4.2). */
const CHALLENGE = /^[A-Za-z0-9_-]{43}$/;
const VERIFIER = /^[A-Za-z0-9\-._~]{43,128}$/;
/** Addresses of the hub that a token can be good for. The whole hub means its MCP endpoints and its API. */
const RESOURCE_PATH = /^(?:\/mcp(?:\/devices|\/areas\/[^/]{1,200})?|\/api(?:\/v1)?)$/;
const DEFAULT_PATH = '/mcp';
const WHOLE_HUB = ['/mcp', '/api'];

/** What an authorization request asks for, after every check (RFC 6749 §4.1.1, RFC 7636 §4.3, RFC 8707 §2). */
export interface AuthorizationRequest {
  readonly redirectUri: string;
  readonly state?: string;
  readonly challenge: string;
  readonly resource: ProtectedResource;
  readonly requested: RequestedAccess;
}

/** An address of the hub that a token is good for, and the paths below which it is. */
export interface ProtectedResource {
  readonly address: string;
  readonly paths: readonly string[];
}

/** The parameters of a query. Throws `invalid_request` if the query is too long. */
export class AuthorizationQuery {
  readonly #parameters: URLSearchParams;

  constructor(query: string) {
    if (query.length > MAX_AUTHORIZATION_QUERY) throw oauthError('invalid_request', 'The address of the request is too long');
    this.#parameters = new URLSearchParams(query);
  }

  /** Returns a parameter that must occur exactly once, else throws `invalid_request`. Without it, no redirect address can be trusted. */
  required(name: 'client_id' | 'redirect_uri'): string {
    const [value, ...more] = this.#parameters.getAll(name);
    if (value === undefined || value === '' || more.length > 0)
      throw oauthError('invalid_request', `${name} has to be there once; ask the application for a new link`);
    return value;
  }

  /**
   * Returns the request for a client's redirect address, or the redirect that reports the first mistake to the client (RFC 6749 §4.1.2.1).
   */
  requestTo(redirectUri: string, issuer: string): AuthorizationRequest | { readonly redirectTo: string } {
    const state = this.#state();
    try {
      const challenge = this.#challenge();
      const requested = requestedAccessOf(this.#parameters.get('scope') ?? undefined);
      return { redirectUri, ...(state !== undefined && { state }), challenge, resource: this.#resource(issuer), requested };
    } catch (thrown) {
      return { redirectTo: errorRedirect({ redirectUri, state, issuer }, toAtmoError(thrown)) };
    }
  }

  #challenge(): string {
    for (const name of new Set(this.#parameters.keys()))
      if (this.#parameters.getAll(name).length > 1) refuse(`${name} is there more than once`);
    if (this.#parameters.get('response_type') !== 'code') {
      throw oauthError('unsupported_response_type', 'response_type has to be code');
    }
    if ((this.#parameters.get('response_mode') ?? 'query') !== 'query') refuse('response_mode has to be query');
    if (this.#parameters.has('request') || this.#parameters.has('request_uri')) refuse('Requests in objects are not supported');
    if ((this.#parameters.get('state')?.length ?? 0) > MAX_STATE_LENGTH) refuse(`state may have at most ${MAX_STATE_LENGTH} characters`);
    if (this.#parameters.get('code_challenge_method') !== 'S256') refuse('code_challenge_method has to be S256 (RFC 7636)');
    const challenge = this.#parameters.get('code_challenge') ?? '';
    return CHALLENGE.test(challenge) ? challenge : refuse('code_challenge has to be a SHA-256 in base64url (RFC 7636)');
  }

  #resource(issuer: string): ProtectedResource {
    return protectedResource(this.#parameters.get('resource') ?? undefined, issuer);
  }

  #state(): string | undefined {
    const [state, ...more] = this.#parameters.getAll('state');
    return more.length === 0 && state !== undefined && state.length <= MAX_STATE_LENGTH ? state : undefined;
  }
}

/** Returns the resource with this address; `/mcp` of the hub if no address is named. Throws `invalid_target` for any other address. */
export function protectedResource(address: string | undefined, issuer: string): ProtectedResource {
  if (address === undefined) return { address: `${issuer}${DEFAULT_PATH}`, paths: [DEFAULT_PATH] };
  const url = URL.parse(address);
  const path = url?.pathname.replace(/\/$/, '') ?? '';
  const isOwn = url?.origin === issuer && url.username === '' && url.password === '' && !address.includes('#');
  if (isOwn && path === '') return { address: issuer, paths: WHOLE_HUB };
  if (isOwn && RESOURCE_PATH.test(path)) return { address: `${issuer}${path}`, paths: [path] };
  throw oauthError('invalid_target', `resource has to be an address of this hub: ${issuer}${DEFAULT_PATH}, one below it, or ${issuer}/api`);
}

/** Returns whether a code verifier belongs to a challenge (RFC 7636 §4.6). */
export function isVerifierOf(challenge: string, verifier: string): boolean {
  return VERIFIER.test(verifier) && hash('sha256', verifier, 'base64url') === challenge;
}

/** Returns the redirect that reports an error to the client. It names the issuer (RFC 9207 §2). */
export function errorRedirect(
  { redirectUri, state, issuer }: { readonly redirectUri: string; readonly state?: string | undefined; readonly issuer: string },
  { details, message }: AtmoError,
): string {
  const error = typeof details.oauth_error === 'string' ? details.oauth_error : 'server_error';
  return redirectWith(redirectUri, { error, error_description: plainDescription(message), state, iss: issuer });
}

/** Returns a parameter of a form. Throws `invalid_request` if it is missing, empty or too long. */
export function formText(form: OAuthForm, name: string): string {
  const value = form[name];
  if (typeof value === 'string' && value !== '' && value.length <= MAX_STATE_LENGTH) return value;
  throw oauthError('invalid_request', `${name} is missing, or too long`);
}

function refuse(message: string): never {
  throw oauthError('invalid_request', message);
}

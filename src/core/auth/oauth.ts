import { AtmoError } from '../errors.ts';
import type { Json, JsonObject } from '../json.ts';
import type { SignInProof } from './people.ts';
import type { Principal } from './principal.ts';

/** Error codes of OAuth (RFC 6749 §4.1.2.1 and §5.2, RFC 7591 §3.2.2, RFC 8628 §3.5, RFC 8707 §2). */
const OAUTH_ERRORS = [
  ...(['invalid_request', 'invalid_client', 'invalid_grant', 'unsupported_grant_type', 'unsupported_response_type'] as const),
  ...(['invalid_scope', 'invalid_target', 'invalid_redirect_uri', 'invalid_client_metadata', 'temporarily_unavailable'] as const),
  ...(['unauthorized_client', 'access_denied', 'authorization_pending', 'slow_down', 'expired_token'] as const),
] as const;
export type OAuthErrorCode = (typeof OAUTH_ERRORS)[number];

/** Grant types that the token endpoint knows (RFC 6749 §4.1.3 and §6, RFC 8628 §3.4). */
export const CODE_GRANT = 'authorization_code';
export const REFRESH_GRANT = 'refresh_token';
export const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code';
export const OAUTH_GRANT_TYPES: readonly string[] = [CODE_GRANT, REFRESH_GRANT, DEVICE_GRANT];
/** Scopes that a client can name. They only decide what the page proposes: the person chooses, in rooms and kinds. */
export const OAUTH_SCOPES: readonly string[] = ['device:read:*', 'device:control:*', 'sensor:read:*'];
/** Characters of the query of an authorization request at most. */
export const MAX_AUTHORIZATION_QUERY = 8_192;

/** Returns an error that a client of OAuth gets with the code `error`. The message becomes the `error_description`. */
export function oauthError(error: OAuthErrorCode, message: string, details: JsonObject = {}): AtmoError {
  const code = error === 'temporarily_unavailable' ? 'RATE_LIMITED' : 'VALIDATION_ERROR';
  return new AtmoError(code, message, { ...details, oauth_error: error });
}

/** Returns the OAuth error code of an error; undefined for an error that was not made by `oauthError`. */
export function oauthErrorOf({ details }: Pick<AtmoError, 'details'>): OAuthErrorCode | undefined {
  return OAUTH_ERRORS.find((known) => known === details.oauth_error);
}

/** Returns a message in the characters that an error description may have (RFC 6749 §5.2). */
export function plainDescription(message: string): string {
  return message
    .replaceAll('"', "'")
    .replace(/[^\x20-\x21\x23-\x5b\x5d-\x7e]/g, ' ')
    .slice(0, 300);
}

/** Parameters of a form (application/x-www-form-urlencoded), each at most once. */
export type OAuthForm = Readonly<Record<string, Json | undefined>>;

/** Where a request of a client came from. */
export interface OAuthSource {
  /** Origin under which the client reached the hub. It is the issuer (RFC 8414 §2). */
  readonly issuer: string;
  /** Address or network that limits apply to. */
  readonly source: string;
}

/** The answer of the token endpoint (RFC 6749 §5.1). */
export interface OAuthTokens {
  readonly accessToken: string;
  readonly expiresInSeconds: number;
  readonly refreshToken: string;
  readonly permissions: readonly string[];
}

/** The answer of the device authorization endpoint (RFC 8628 §3.2). */
export interface OAuthDeviceCodes {
  readonly deviceCode: string;
  /** Eight letters in two groups, such as `WDJB-MJHT`. */
  readonly userCode: string;
  readonly expiresInSeconds: number;
  readonly intervalSeconds: number;
}

/** A client that was registered (RFC 7591 §3.2.1). */
export interface OAuthRegistration {
  readonly clientId: string;
  readonly name: string;
  readonly redirectUris: readonly string[];
  readonly grantTypes: readonly string[];
  readonly issuedAtMs: number;
}

/** Port: what clients of OAuth ask for. Methods throw errors of `oauthError`, or STORAGE_FAILED. */
export interface OAuthEndpoints {
  register(metadata: JsonObject, source: string): Promise<OAuthRegistration>;
  token(form: OAuthForm, at: OAuthSource): Promise<OAuthTokens>;
  /** Ends the grant of a refresh token or access token. An unknown token is no error (RFC 7009 §2.2). */
  revoke(form: OAuthForm): Promise<void>;
  authorizeDevice(form: OAuthForm, at: OAuthSource): Promise<OAuthDeviceCodes>;
}

/** What a person chooses to grant. */
export interface ConsentChoice {
  /** Keys of areas (`areaKey`), or all areas of the person. */
  readonly areas: 'all' | readonly string[];
  /** Families of devices without locks and valves, or all harmless ones. */
  readonly kinds: 'all' | readonly string[];
  readonly control: boolean;
  readonly readings: boolean;
  /** Whether locks are included in what `control` and `readings` say. */
  readonly locks: boolean;
  readonly valves: boolean;
  readonly administration: boolean;
  /** End of the grant, milliseconds since 1970. */
  readonly untilMs: number;
}

/** What a client asks for by its scopes: to control devices, and to read their values. */
export interface RequestedAccess {
  readonly control: boolean;
  readonly readings: boolean;
}

/** What a person can choose. */
export interface ConsentChoices {
  readonly kinds: readonly { readonly id: string; readonly isHarmless: boolean }[];
  readonly canLock: boolean;
  readonly canValve: boolean;
  readonly canAdminister: boolean;
  readonly defaultUntilMs: number;
  readonly maxUntilMs: number;
}

/** A client as a person is shown it. Its name is what the client calls itself. */
export interface OAuthClientView {
  readonly name: string;
  /** Host of the client's metadata document, or of the https address that gets the answer; absent for a device and for other addresses. */
  readonly host?: string;
  readonly kind: 'metadata_document' | 'registered';
  readonly registeredAtMs?: number;
}

/** A request that waits for the consent of the person who opened it. */
export interface ConsentRequest {
  readonly id: string;
  readonly client: OAuthClientView;
  /** Host or scheme of the address that gets the answer; absent for a device. */
  readonly redirectHost?: string;
  /** Address that the token would be good for. */
  readonly resource: string;
  readonly expiresAtMs: number;
  /** What the page proposes first; the person can choose more or less. */
  readonly requested: RequestedAccess;
  readonly choices: ConsentChoices;
}

/** Address to which the browser goes; absent for a device, which polls. */
export interface ConsentAnswer {
  readonly redirectTo?: string;
}

/** What a choice would grant. */
export interface ConsentPreview {
  readonly permissions: readonly string[];
  readonly untilMs: number;
}

/** A grant that a person gave to a client. */
export interface OAuthGrantView {
  readonly id: string;
  readonly clientName: string;
  readonly clientHost?: string;
  readonly agentId: string;
  readonly person: string;
  readonly permissions: readonly string[];
  readonly createdAtMs: number;
  readonly lastUsedAtMs?: number;
  readonly expiresAtMs: number;
}

/** What a person was shown when the person allowed a request. */
export interface ShownConsent {
  readonly choice: ConsentChoice;
  readonly permissions: readonly string[];
  /** Signature over `consentSubject` by the key of the person's sign-in; absent for a caller without a sign-in. */
  readonly proof?: SignInProof;
}

/**
 * Port: the consent of persons. Every method rejects with PERMISSION_DENIED for a caller that is no person, and with NOT_FOUND for a request
 * or grant that is not the caller's.
 */
export interface OAuthConsent {
  /**
   * Opens the request in the query of the authorization address. Resolves with a redirect for a mistake that OAuth reports to the client.
   * Rejects with VALIDATION_ERROR if the client or its redirect address is unknown: nobody may be sent there.
   */
  open(query: string, at: OAuthSource, caller: Principal): Promise<ConsentRequest | { readonly redirectTo: string }>;
  /** Opens the request of a device. Rejects with NOT_FOUND for a wrong code. */
  openDevice(userCode: string, at: OAuthSource, caller: Principal): Promise<ConsentRequest>;
  preview(requestId: string, choice: ConsentChoice, caller: Principal): ConsentPreview;
  /**
   * Grants what the choice gives. Rejects with CONFLICT if these are not exactly the permissions that were shown, and with PERMISSION_DENIED if
   * the caller has a sign-in whose key has not signed them.
   */
  allow(requestId: string, shown: ShownConsent, caller: Principal): Promise<ConsentAnswer>;
  deny(requestId: string, caller: Principal): Promise<ConsentAnswer>;
  /** Returns the caller's grants, or those of all persons for a caller with `admin:token`. */
  grants(caller: Principal): readonly OAuthGrantView[];
  endGrant(id: string, caller: Principal): Promise<void>;
}

/** Port: the OAuth 2.1 authorization server of this hub. */
export interface AuthorizationServer {
  readonly endpoints: OAuthEndpoints;
  readonly consent: OAuthConsent;
}

import {
  type AuthorizationServer,
  CODE_GRANT,
  type ConsentAnswer,
  type ConsentChoice,
  type ConsentRequest,
  MAX_AUTHORIZATION_QUERY,
  OAUTH_GRANT_TYPES,
  OAUTH_SCOPES,
  type OAuthErrorCode,
  type OAuthGrantView,
  type OAuthRegistration,
  type OAuthSource,
  type OAuthTokens,
  oauthErrorOf,
  plainDescription,
} from '../../core/auth/oauth.ts';
import type { SignInProof } from '../../core/auth/people.ts';
import type { Principal } from '../../core/auth/principal.ts';
import { isoTime, parseIsoTime } from '../../core/clock.ts';
import { areaKey } from '../../core/devices/device-names.ts';
import { AtmoError, ERROR_CODES, invalidInput, toAtmoError } from '../../core/errors.ts';
import { isJsonObject, type Json, type JsonObject, type JsonSchema, objectOf, present, textsOf } from '../../core/json.ts';
import { type Answer, json } from '../server/answer.ts';
import type { TokenGuessLockout } from '../server/rate-limits.ts';
import { defineRoute, type Route, type RouteRequest } from '../server/route.ts';
import type { VisibleHome } from '../visible-home.ts';

const SERVER_METADATA = '/.well-known/oauth-authorization-server';
const MAX_CODE_LENGTH = 64;
const MAX_PROOF_LENGTH = 256;
const TEXT = { type: 'string' } as const;
const TEXTS = { type: 'array', items: TEXT } as const;
const COUNT = { type: 'integer', minimum: 0 } as const;

/** Returns the schema of an object that has all of these properties. */
function recordOf(properties: JsonSchema): JsonSchema {
  return { type: 'object', required: Object.keys(properties), properties };
}

interface OAuthRouteCollaborators {
  readonly server: AuthorizationServer;
  readonly home: Pick<VisibleHome, 'devices'>;
  /** Locks out who guesses the codes of devices. */
  readonly guesses: Pick<TokenGuessLockout, 'admit' | 'failed'>;
}

/** Returns the routes of the authorization server: those for clients, and those with which the page asks a person. */
export function oauthRoutes(collaborators: OAuthRouteCollaborators): readonly Route[] {
  return [
    ...metadataRoutes(),
    ...clientRoutes(collaborators.server),
    ...consentRoutes(collaborators),
    ...grantRoutes(collaborators.server),
  ];
}

/** Some clients insert the path of the MCP endpoint into the address of the metadata (RFC 8414 §3.1); the issuer is the whole hub. */
function metadataRoutes(): readonly Route[] {
  return [SERVER_METADATA, `${SERVER_METADATA}/:path{.+}`].map((path) =>
    defineRoute({
      method: 'GET',
      path,
      summary: 'The authorization server of the hub (RFC 8414)',
      access: 'public',
      answers: { 200: { description: 'metadata', schema: { type: 'object' } } },
      handle: ({ origin }) => json(serverMetadata(origin)),
    }),
  );
}

function serverMetadata(issuer: string): JsonObject {
  return {
    issuer,
    authorization_endpoint: `${issuer}/oauth/authorize`,
    token_endpoint: `${issuer}/oauth/token`,
    registration_endpoint: `${issuer}/oauth/register`,
    revocation_endpoint: `${issuer}/oauth/revoke`,
    device_authorization_endpoint: `${issuer}/oauth/device_authorization`,
    scopes_supported: OAUTH_SCOPES,
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: OAUTH_GRANT_TYPES,
    token_endpoint_auth_methods_supported: ['none'],
    revocation_endpoint_auth_methods_supported: ['none'],
    code_challenge_methods_supported: ['S256'],
    authorization_response_iss_parameter_supported: true,
    client_id_metadata_document_supported: true,
  };
}

function clientRoutes({ endpoints }: AuthorizationServer): readonly Route[] {
  const form = { method: 'POST', access: 'public', takes: 'form', body: { type: 'object' }, refuseBody: unreadable } as const;
  return [
    defineRoute({
      method: 'POST',
      path: '/oauth/register',
      summary: 'Register a client (RFC 7591); all clients are public',
      access: 'public',
      body: { type: 'object', properties: { redirect_uris: TEXTS, client_name: TEXT, grant_types: TEXTS } },
      answers: { 201: { description: 'the client', schema: { type: 'object', required: ['client_id'], properties: { client_id: TEXT } } } },
      refuseBody: () => oauthAnswer('invalid_client_metadata', 'The body is not a JSON object'),
      handle: ({ body, source }) => withOAuthErrors(async () => json(registrationJson(await endpoints.register(body, source)), 201)),
    }),
    defineRoute({
      ...form,
      path: '/oauth/token',
      summary: 'Tokens for a code, a refresh token or the code of a device (RFC 6749, RFC 8628)',
      answers: {
        200: {
          description: 'an access token for at most an hour, and the next refresh token',
          schema: recordOf({ access_token: TEXT, token_type: TEXT, expires_in: COUNT, refresh_token: TEXT, scope: TEXT }),
        },
      },
      handle: (request) => withOAuthErrors(async () => json(tokensJson(await endpoints.token(request.body, sourceOf(request))))),
    }),
    defineRoute({
      ...form,
      path: '/oauth/revoke',
      summary: 'End the access that a token belongs to (RFC 7009)',
      answers: { 200: 'ended, or unknown' },
      handle: (request) =>
        withOAuthErrors(async () => {
          await endpoints.revoke(request.body);
          return json({});
        }),
    }),
    defineRoute({
      ...form,
      path: '/oauth/device_authorization',
      summary: 'Codes for a device without a browser (RFC 8628)',
      answers: {
        200: {
          description: 'codes for ten minutes',
          schema: recordOf({ device_code: TEXT, user_code: TEXT, verification_uri: TEXT, expires_in: COUNT, interval: COUNT }),
        },
      },
      handle: (request) =>
        withOAuthErrors(async () => {
          const { deviceCode, userCode, expiresInSeconds, intervalSeconds } = await endpoints.authorizeDevice(
            request.body,
            sourceOf(request),
          );
          const page = `${request.origin}/oauth/device`;
          const codes = { device_code: deviceCode, user_code: userCode, expires_in: expiresInSeconds, interval: intervalSeconds };
          return json({ ...codes, verification_uri: page, verification_uri_complete: `${page}?user_code=${userCode}` });
        }),
    }),
  ];
}

const CONSENT_REQUEST = {
  description: 'what the person is asked, or `redirect_to` for a mistake that goes to the client',
  schema: {
    type: 'object',
    properties: {
      request_id: TEXT,
      client: { type: 'object' },
      asks_for: { type: 'object' },
      choices: { type: 'object' },
      redirect_to: TEXT,
    },
  },
} as const;
const CHOICE = { type: 'object', description: 'docs/oauth.md' } as const;
const AGREEMENT = {
  type: 'object',
  description: 'signature of the key of the sign-in, which callers with a sign-in have to send',
  required: ['challenge', 'signature'],
  properties: { challenge: TEXT, signature: TEXT },
} as const;
const CONSENT_ANSWER = {
  description: '`redirect_to`, or `done` for a device',
  schema: { type: 'object', properties: { redirect_to: TEXT, done: { type: 'boolean' } } },
} as const;

function consentRoutes(collaborators: OAuthRouteCollaborators): readonly Route[] {
  return [...openingRoutes(collaborators), ...answerRoutes(collaborators.server)];
}

function openingRoutes({ server: { consent }, home, guesses }: OAuthRouteCollaborators): readonly Route[] {
  const shown = (request: ConsentRequest, caller: Principal) => json(requestJson(request, areasOf(home, caller)));
  return [
    defineRoute({
      method: 'POST',
      path: '/api/v1/oauth/requests',
      summary: 'Open the request of an application for access; for persons alone',
      body: { type: 'object', required: ['query'], properties: { query: { type: 'string', description: 'Query of /oauth/authorize' } } },
      answers: { 200: CONSENT_REQUEST },
      async handle(request) {
        const opened = await consent.open(textIn(request.body, 'query', MAX_AUTHORIZATION_QUERY), sourceOf(request), request.principal);
        return 'redirectTo' in opened ? json({ redirect_to: opened.redirectTo }) : shown(opened, request.principal);
      },
    }),
    defineRoute({
      method: 'POST',
      path: '/api/v1/oauth/device-codes',
      summary: 'Open the request of a device by the code that it shows; for persons alone',
      body: { type: 'object', required: ['user_code'], properties: { user_code: TEXT } },
      answers: { 200: CONSENT_REQUEST },
      async handle(request) {
        const code = textIn(request.body, 'user_code', MAX_CODE_LENGTH);
        const opened = await withGuessLockout(guesses, { request, code }, () =>
          consent.openDevice(code, sourceOf(request), request.principal),
        );
        return shown(opened, request.principal);
      },
    }),
  ];
}

function answerRoutes({ consent }: AuthorizationServer): readonly Route[] {
  return [
    defineRoute({
      method: 'POST',
      path: '/api/v1/oauth/requests/:id/preview',
      summary: 'What a choice would grant; nothing is granted',
      body: { type: 'object', required: ['choice'], properties: { choice: CHOICE } },
      answers: { 200: { description: 'permissions', schema: { type: 'object', properties: { permissions: TEXTS, until: TEXT } } } },
      handle({ path, body, principal }) {
        const { permissions, untilMs } = consent.preview(path.id ?? '', choiceIn(body), principal);
        return json({ permissions, until: isoTime(untilMs) });
      },
    }),
    defineRoute({
      method: 'POST',
      path: '/api/v1/oauth/requests/:id/allow',
      summary: 'Grant what was shown; it is a conflict if the choice gives anything else now',
      body: { type: 'object', required: ['choice', 'permissions'], properties: { choice: CHOICE, permissions: TEXTS, proof: AGREEMENT } },
      answers: { 200: CONSENT_ANSWER },
      async handle({ path, body, principal }) {
        const shownToPerson = { choice: choiceIn(body), permissions: textsOf(body.permissions), ...present({ proof: proofIn(body) }) };
        return json(answerJson(await consent.allow(path.id ?? '', shownToPerson, principal)));
      },
    }),
    defineRoute({
      method: 'POST',
      path: '/api/v1/oauth/requests/:id/deny',
      summary: 'Refuse the request of an application',
      body: { type: 'object' },
      answers: { 200: CONSENT_ANSWER },
      handle: async ({ path, principal }) => json(answerJson(await consent.deny(path.id ?? '', principal))),
    }),
  ];
}

function sourceOf({ origin, source }: RouteRequest): OAuthSource {
  return { issuer: origin, source };
}

/** Opens the request of a device. Who sends wrong codes too often is locked out for some time, by address and by person. */
async function withGuessLockout(
  guesses: OAuthRouteCollaborators['guesses'],
  { request: { source, principal }, code }: { readonly request: RouteRequest; readonly code: string },
  work: () => Promise<ConsentRequest>,
): Promise<ConsentRequest> {
  const sources = [source, `person ${principal.id}`];
  for (const one of sources) guesses.admit(one, code);
  try {
    return await work();
  } catch (thrown) {
    if (thrown instanceof AtmoError && thrown.code === 'NOT_FOUND') for (const one of sources) guesses.failed(one, code);
    throw thrown;
  }
}

function grantRoutes({ consent }: AuthorizationServer): readonly Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/api/v1/oauth/grants',
      summary: 'The access that the caller has given to applications; of all persons with admin:token',
      answers: {
        200: { description: 'grants', schema: { type: 'object', required: ['grants'], properties: { grants: { type: 'array' } } } },
      },
      handle: ({ principal }) => json({ grants: consent.grants(principal).map(grantJson) }),
    }),
    defineRoute({
      method: 'DELETE',
      path: '/api/v1/oauth/grants/:id',
      summary: 'End the access of an application, with its tokens, at once',
      answers: { 200: 'ended' },
      async handle({ path, principal }) {
        await consent.endGrant(path.id ?? '', principal);
        return json({ ended: true });
      },
    }),
  ];
}

/** Runs a handler for clients. Errors become answers in the form that clients of OAuth expect (RFC 6749 §5.2, RFC 7591 §3.2.2). */
async function withOAuthErrors(work: () => Promise<Answer>): Promise<Answer> {
  try {
    return await work();
  } catch (thrown) {
    const { message, details, code } = toAtmoError(thrown);
    const { httpStatus } = ERROR_CODES[code];
    // The server logs what must not happen at all.
    if (httpStatus === 500) throw thrown;
    const answer = oauthAnswer(oauthErrorOf({ details }) ?? (httpStatus > 500 ? 'temporarily_unavailable' : 'invalid_request'), message);
    const waitMs = details.retry_after_ms;
    if (typeof waitMs !== 'number') return answer;
    return { ...answer, headers: { ...answer.headers, 'retry-after': String(Math.ceil(waitMs / 1000)) } };
  }
}

function oauthAnswer(error: OAuthErrorCode, message: string): Answer {
  const status = error === 'invalid_client' ? 401 : error === 'temporarily_unavailable' ? 429 : 400;
  return json({ error, error_description: plainDescription(message) }, status);
}

function unreadable(): Answer {
  return oauthAnswer('invalid_request', 'The body has to be a form with each parameter once');
}

function registrationJson({ clientId, name, redirectUris, grantTypes, issuedAtMs }: OAuthRegistration): JsonObject {
  return {
    client_id: clientId,
    client_id_issued_at: Math.floor(issuedAtMs / 1000),
    client_name: name,
    redirect_uris: redirectUris,
    grant_types: grantTypes,
    response_types: grantTypes.includes(CODE_GRANT) ? ['code'] : [],
    token_endpoint_auth_method: 'none',
  };
}

function tokensJson({ accessToken, expiresInSeconds, refreshToken, permissions }: OAuthTokens): JsonObject {
  return {
    access_token: accessToken,
    token_type: 'Bearer',
    expires_in: expiresInSeconds,
    refresh_token: refreshToken,
    scope: permissions.join(' '),
  };
}

type Area = { readonly slug: string; readonly name: string };

function areasOf(home: Pick<VisibleHome, 'devices'>, caller: Principal): readonly Area[] {
  const names = home.devices(caller).flatMap(({ area }) => area ?? []);
  const areas = new Map(names.map((name) => [areaKey(name), { slug: areaKey(name), name }]));
  return [...areas.values()].sort((a, b) => a.name.localeCompare(b.name));
}

function requestJson(request: ConsentRequest, areas: readonly Area[]): JsonObject {
  const { id, client, redirectHost, resource, expiresAtMs, requested, choices } = request;
  const { name, host, kind, registeredAtMs } = client;
  return {
    request_id: id,
    client: {
      name,
      host: host ?? null,
      kind,
      ...present({ registered_at: registeredAtMs === undefined ? undefined : isoTime(registeredAtMs) }),
    },
    ...present({ redirect_host: redirectHost }),
    is_device: redirectHost === undefined,
    resource,
    expires_at: isoTime(expiresAtMs),
    asks_for: { control: requested.control, readings: requested.readings },
    choices: {
      areas: areas.map(({ slug, name: title }) => ({ slug, name: title })),
      kinds: choices.kinds.map(({ id: kindId, isHarmless }) => ({ id: kindId, is_harmless: isHarmless })),
      can_lock: choices.canLock,
      can_valve: choices.canValve,
      can_admin: choices.canAdminister,
      default_until: isoTime(choices.defaultUntilMs),
      max_until: isoTime(choices.maxUntilMs),
    },
  };
}

const SWITCHES = ['control', 'readings', 'locks', 'valves', 'administration'] as const;
const CHOICE_MEMBERS: readonly string[] = ['areas', 'kinds', 'until', ...SWITCHES];

function choiceIn({ choice }: JsonObject): ConsentChoice {
  if (!isJsonObject(choice)) throw invalidInput('choice has to be an object (docs/oauth.md)');
  const unknown = Object.keys(choice).find((name) => !CHOICE_MEMBERS.includes(name));
  if (unknown !== undefined) throw invalidInput(`choice has ${JSON.stringify(unknown.slice(0, 32))}, which is not known`);
  const [control, readings, locks, valves, administration] = SWITCHES.map((name) => flagIn(choice, name));
  const { until } = choice;
  if (typeof until !== 'string') throw invalidInput('choice.until has to be a time such as 2027-01-31T12:00:00Z');
  return {
    areas: namesIn(choice, 'areas'),
    kinds: namesIn(choice, 'kinds'),
    control: control === true,
    readings: readings === true,
    locks: locks === true,
    valves: valves === true,
    administration: administration === true,
    untilMs: parseIsoTime(until, 'choice.until'),
  };
}

function flagIn(choice: JsonObject, name: (typeof SWITCHES)[number]): boolean {
  const value = choice[name];
  if (typeof value === 'boolean') return value;
  throw invalidInput(`choice.${name} has to be true or false`);
}

function namesIn(choice: JsonObject, name: 'areas' | 'kinds'): 'all' | readonly string[] {
  const value: Json | undefined = choice[name];
  if (value === 'all') return value;
  const names = Array.isArray(value) ? value.filter((one) => typeof one === 'string') : [];
  if (Array.isArray(value) && names.length === value.length) return names;
  throw invalidInput(`choice.${name} has to be "all" or a list of names`);
}

function proofIn({ proof }: JsonObject): SignInProof | undefined {
  if (proof === undefined) return undefined;
  const { challenge, signature } = objectOf(proof);
  if (typeof challenge === 'string' && typeof signature === 'string' && Math.max(challenge.length, signature.length) <= MAX_PROOF_LENGTH) {
    return { challenge, signature };
  }
  throw invalidInput(`proof has to have a challenge and a signature of at most ${MAX_PROOF_LENGTH} characters`);
}

function answerJson({ redirectTo }: ConsentAnswer): JsonObject {
  return redirectTo === undefined ? { done: true } : { redirect_to: redirectTo };
}

function grantJson(grant: OAuthGrantView): JsonObject {
  return {
    id: grant.id,
    client_name: grant.clientName,
    client_host: grant.clientHost ?? null,
    agent_id: grant.agentId,
    person: grant.person,
    permissions: grant.permissions,
    created_at: isoTime(grant.createdAtMs),
    last_used_at: grant.lastUsedAtMs === undefined ? null : isoTime(grant.lastUsedAtMs),
    expires_at: isoTime(grant.expiresAtMs),
  };
}

function textIn(body: JsonObject, field: string, maxLength: number): string {
  const value = body[field];
  if (typeof value === 'string' && value !== '' && value.length <= maxLength) return value;
  throw invalidInput(`${field} has to be a text of 1 to ${maxLength} characters`);
}

import type { JsonSchema } from '../../core/json.ts';
import { oncePerObject } from '../../core/lifecycle.ts';
import { mapSchema } from '../../tools/schema/schema-walk.ts';
import { CALL_SCHEMAS, HOME_SCHEMAS, TOOL_SCHEMAS } from './schemas.ts';

/** Returns a schema for other programs. It has no `x-…` keywords of the hub, and marks open objects with `additionalProperties`. */
export const publicSchema = oncePerObject(
  (schema: JsonSchema): JsonSchema =>
    mapSchema(schema, (child) => ({
      ...Object.fromEntries(Object.entries(child).filter(([keyword]) => !keyword.startsWith('x-'))),
      ...(isOpenObject(child) && { additionalProperties: true }),
    })),
);

/** Returns whether a schema has the type `object` but does not say which properties are allowed. Client generators would allow none. */
function isOpenObject({ type, properties, additionalProperties }: JsonSchema): boolean {
  return type === 'object' && properties === undefined && additionalProperties === undefined;
}

const TOKEN = {
  type: 'http',
  scheme: 'bearer',
  description:
    'A token that is bound to a key of its bearer also takes the header Atmo-Proof: a COSE_Sign1 in base64url, made with that key for this one request. It names the operation as METHOD, a space, and path with query as they are sent, and the SHA-256 of the bytes of the body.',
};

/** Request headers by key. All routes take `traceparent` and `requestId`. All routes that need a token also take `callerScopes`. */
const HEADERS = {
  traceparent: header('traceparent', 'Trace of the caller (W3C Trace Context); it goes on to the journal and to other hubs', {
    pattern: '^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$',
  }),
  requestId: header('X-Request-ID', 'Id of the request, for log and journal', { maxLength: 64 }),
  callerScopes: header('X-Caller-Scopes', 'Comma list of read_registry and invoke_tool; narrows what this request may do', {
    maxLength: 256,
  }),
  idempotencyKey: header('Idempotency-Key', 'A repeat with the same key and parameters answers without acting twice', { maxLength: 128 }),
  sessionId: header('X-Session-Id', 'Session that the call is counted in', { maxLength: 128 }),
  timeoutMs: header('X-Timeout-Ms', 'Deadline in milliseconds, at most that of the tool', { pattern: '^[0-9]+$' }),
  hub: header('X-Hub', 'Comma list of the only hubs that may run it', { maxLength: 1_024 }),
  lastEventId: header('Last-Event-ID', 'Id of the last event that was heard; what came after it comes first', { maxLength: 256 }),
};
/** The key of a header in `HEADERS`, such as `requestId`. */
export type HeaderName = keyof typeof HEADERS;

const PROBLEM = { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } };
const REFUSALS: Readonly<Record<string, string>> = {
  400: 'A parameter is missing, unknown or wrong; details name each',
  401: 'No token that counts here; WWW-Authenticate says what is wanted',
  403: 'Not allowed: the token, a rule of the owner, or the Host or Origin that was asked from',
  404: 'There is nothing of this name for the caller; details name what is near',
  409: 'It contradicts the present state, or the name fits several',
  413: 'The body is too large',
  415: 'The body is of another type than this takes',
  429: 'Too many requests; Retry-After says when the next one is possible',
};
/** The HTTP status of a refused request. */
export type RefusalStatus = 400 | 401 | 403 | 404 | 409 | 413 | 415 | 429;

/**
 * Form of an error response. `Refused`: problem details. `RefusedCall`: problem details, or the envelope of the failed call. `RefusedRpc`:
 * problem details, or the error of JSON-RPC. `RefusedOAuth`: problem details, or the error of OAuth.
 */
export type RefusalForm = 'Refused' | 'RefusedCall' | 'RefusedRpc' | 'RefusedOAuth';
const CONTENTS: Readonly<Record<RefusalForm, object>> = {
  Refused: PROBLEM,
  RefusedCall: { ...PROBLEM, 'application/json': { schema: { $ref: '#/components/schemas/FailedCall' } } },
  RefusedRpc: { ...PROBLEM, 'application/json': { schema: { $ref: '#/components/schemas/RpcFailure' } } },
  RefusedOAuth: { ...PROBLEM, 'application/json': { schema: { $ref: '#/components/schemas/OAuthFailure' } } },
};
/** Statuses that no endpoint for clients of OAuth has. */
const NOT_OF_OAUTH = ['404', '409'];
const OTHERWISE = 'Refused or failed; the status is that of the code';

/** The `components` section of the OpenAPI document. */
export const COMPONENTS = {
  securitySchemes: { token: TOKEN },
  parameters: HEADERS,
  responses: Object.fromEntries(
    Object.entries(CONTENTS).flatMap(([form, content]) =>
      Object.entries({ ...REFUSALS, Otherwise: OTHERWISE })
        .filter(([status]) => form !== 'RefusedOAuth' || !NOT_OF_OAUTH.includes(status))
        .map(([status, description]) => [`${form}${status}`, { description, content }]),
    ),
  ),
  schemas: Object.fromEntries(
    Object.entries({ ...CALL_SCHEMAS, ...TOOL_SCHEMAS, ...HOME_SCHEMAS }).map(([name, schema]) => [name, publicSchema(schema)]),
  ),
};

/** Returns a `$ref` object for each header. */
export function headerRefs(names: readonly HeaderName[]): readonly object[] {
  return names.map((name) => ({ $ref: `#/components/parameters/${name}` }));
}

/** Returns a `$ref` object for each status of a refused request, and a `default` for all other failures. */
export function refusalRefs(statuses: readonly RefusalStatus[], form: RefusalForm = 'Refused'): Readonly<Record<string, object>> {
  const refer = (name: string | number) => ({ $ref: `#/components/responses/${form}${name}` });
  return { ...Object.fromEntries(statuses.map((status) => [String(status), refer(status)])), default: refer('Otherwise') };
}

function header(name: string, description: string, rules: JsonSchema) {
  return { name, in: 'header', description, schema: { type: 'string', ...rules } };
}

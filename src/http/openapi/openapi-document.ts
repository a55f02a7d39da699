import type { JsonObject, JsonSchema } from '../../core/json.ts';
import type { ToolDefinition } from '../../tools/definition/tool-definition.ts';
import type { AnswerShape, Route } from '../server/route.ts';
import { COMPONENTS, type HeaderName, headerRefs, publicSchema, type RefusalForm, type RefusalStatus, refusalRefs } from './components.ts';

interface OpenApiSources {
  readonly routes: readonly Route[];
  readonly tools: readonly DescribedTool[];
  readonly definitionOf: (name: string) => ToolDefinition | undefined;
  readonly version: string;
  readonly url: string;
}

const DESCRIPTION = `Devices as typed tools, for agents and people.

Every error has \`error\` with \`code\`, \`message\`, \`details\` and \`retryable\` (\`Failure\`): problem details (RFC 9457) where a request was refused,
the envelope of the call (\`FailedCall\`) where a call of a tool failed. Errors of JSON-RPC at the MCP endpoints have the same in \`error.data\`; clients of OAuth get \`OAuthFailure\` (RFC 6749). A dangerous call answers 202 with code APPROVAL_REQUIRED until a person has approved it; the same
request then runs. \`?tools=true\` adds a path for each tool that the caller may call, with its own schemas.`;

/** Returns an OpenAPI 3.1 document. It describes the routes, and has a path for each of the tools. */
export function openApiDocument({ routes, tools, definitionOf, version, url }: OpenApiSources): JsonObject {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const route of routes) {
    const path = openApiPath(route);
    const operation = routeOperation(route, route.tool === undefined ? undefined : definitionOf(route.tool));
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operation };
  }
  for (const tool of tools) paths[`/api/v1/tools/${tool.id}/invoke`] = { post: toolOperation(tool) };
  const document = {
    openapi: '3.1.0',
    info: {
      title: 'atmosphere-edge',
      version,
      description: DESCRIPTION,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url, description: 'This hub' }],
    security: [{ token: [] }],
    tags: TAG_LIST,
    paths,
    components: COMPONENTS,
  };
  return document as unknown as JsonObject;
}

const JSON_TYPE = 'application/json';
const FORM_TYPE = 'application/x-www-form-urlencoded';
const MEDIA_TYPE = /\b(?:text|image|application)\/[a-z0-9.+-]+/g;
const STREAM_EXAMPLES: Readonly<Record<string, string>> = {
  'text/event-stream': 'id: 1-7\nevent: device.changed\ndata: {"type":"device.changed","subject":"<device id>"}\n\n',
};
const COMMON_HEADERS: readonly HeaderName[] = ['traceparent', 'requestId'];
const CALL_HEADERS: readonly HeaderName[] = ['idempotencyKey', 'sessionId', 'timeoutMs', 'hub'];
/** Routes that respond with the envelope of a call. */
const ENVELOPE_PATHS: ReadonlySet<string> = new Set(['/api/v1/tools/:id/invoke', '/api/v1/commission']);
/** Routes that take the headers of a call: the routes of ENVELOPE_PATHS, and the route for calls in the formats of model APIs. */
const CALL_PATHS: ReadonlySet<string> = new Set([...ENVELOPE_PATHS, '/api/v1/tool-calls']);

function openApiPath({ path }: Pick<Route, 'path'>): string {
  return path.replace(/:(\w+)(?:\{.*?\})?/g, '{$1}');
}

/** Returns the OpenAPI operation of a route. `tool` is the tool that the route calls, if any. */
function routeOperation(route: Route, tool: ToolDefinition | undefined): object {
  const body = bodySchema(route, tool);
  return {
    operationId: operationName(route.method, openApiPath(route)),
    summary: route.summary,
    tags: [tagOf(route.path)],
    ...(route.access === 'public' && { security: [] }),
    parameters: [...pathParameters(route), ...queryParameters(route), ...headerRefs(headersOf(route))],
    ...(body && { requestBody: { required: false, content: { [route.takes === 'form' ? FORM_TYPE : JSON_TYPE]: { schema: body } } } }),
    responses: { ...successes(route, tool), ...refusalRefs(refusalsOf(route), refusalForm(route)) },
  };
}

function refusalForm({ path, access, body }: Route): RefusalForm {
  if (ENVELOPE_PATHS.has(path)) return 'RefusedCall';
  if (path.startsWith('/oauth/') && access === 'public' && body) return 'RefusedOAuth';
  return tagOf(path) === 'mcp' ? 'RefusedRpc' : 'Refused';
}

function bodySchema({ body, tool }: Route, definition: ToolDefinition | undefined): JsonSchema | undefined {
  if (!body) return undefined;
  if (!tool || 'properties' in body) return publicSchema(body);
  return publicSchema(definition?.parameters ?? { type: 'object' });
}

function successes(route: Route, tool: ToolDefinition | undefined): Readonly<Record<string, object>> {
  const shapes = Object.entries(route.answers).map(([status, answer]): [string, object] => {
    const shape = typeof answer === 'string' ? { description: answer, media: answer.match(MEDIA_TYPE) ?? [] } : answer;
    const isResult = tool !== undefined && status !== '202' && Object.keys(tool.returns).length > 0;
    return [
      status,
      response({ ...shape, ...(isResult && { schema: tool.returns }), ...(route.tool && status === '202' && APPROVAL_PENDING) }),
    ];
  });
  const unchanged = route.isDocument && { 304: { description: 'As it was at the ETag of If-None-Match' } };
  return { ...Object.fromEntries(shapes), ...unchanged };
}

/** Response to a call that waits for approval: problem details, but with the success status 202. The client repeats the call later. */
const APPROVAL_PENDING = { media: 'application/problem+json', schema: { $ref: '#/components/schemas/Problem' } };

function response({ description, media, schema, example }: AnswerShape): object {
  const types = [media ?? []].flat();
  const content = (types.length > 0 ? types : [JSON_TYPE]).map((type): [string, object] => [
    type,
    mediaOf(type, { ...(schema && { schema }), example }),
  ]);
  return { description, content: Object.fromEntries(content) };
}

/** Returns a media type object. For a type other than JSON, such as a stream or a picture, its schema has the type `string`. */
function mediaOf(type: string, { schema, example }: Partial<AnswerShape>): object {
  if (/[/+]json$/.test(type)) return { schema: publicSchema(schema ?? {}), ...(example !== undefined && { example }) };
  const sample = STREAM_EXAMPLES[type];
  return { schema: { type: 'string', ...(schema && { contentSchema: schema }) }, ...(sample !== undefined && { example: sample }) };
}

function headersOf({ access, path }: Route): readonly HeaderName[] {
  if (access === 'public') return COMMON_HEADERS;
  const own: readonly HeaderName[] = path === '/api/v1/events' ? ['lastEventId'] : CALL_PATHS.has(path) ? CALL_HEADERS : [];
  return [...COMMON_HEADERS, 'callerScopes', ...own];
}

function refusalsOf(route: Route): readonly RefusalStatus[] {
  const hasInput = route.body !== undefined || Object.keys(route.query).length > 0 || route.path.includes(':');
  return [
    ...(hasInput ? ([400] as const) : []),
    ...(route.access === 'token' || refusalForm(route) === 'RefusedOAuth' ? ([401] as const) : []),
    403,
    ...(route.path.includes(':') ? ([404, 409] as const) : []),
    ...(route.body ? ([413, 415] as const) : []),
    429,
  ];
}

function pathParameters(route: Route): readonly object[] {
  return [...route.path.matchAll(/:(\w+)/g)].map((match) => ({ name: match[1], in: 'path', required: true, schema: { type: 'string' } }));
}

function queryParameters(route: Route): readonly object[] {
  return Object.entries(route.query).map(([name, { description, schema }]) => ({ name, in: 'query', description, schema }));
}

/** A tool that the OpenAPI document describes. */
export interface DescribedTool {
  readonly id: string;
  readonly definition: ToolDefinition;
  readonly modelName: string;
}

/** Returns the OpenAPI operation of a tool, with the schemas from its definition. */
function toolOperation({ definition, modelName }: DescribedTool): object {
  const { description, parameters, returns, metadata } = definition;
  const examples = metadata.examples.map((example, index): [string, object] => [
    `example${index + 1}`,
    { summary: example.description || metadata.title, value: example.params },
  ]);
  return {
    operationId: `call_${modelName}`,
    summary: metadata.title,
    description,
    tags: ['tools'],
    parameters: headerRefs(['traceparent', 'requestId', 'callerScopes', 'idempotencyKey', 'sessionId', 'timeoutMs', 'hub']),
    requestBody: {
      content: {
        'application/json': { schema: publicSchema(parameters), ...(examples.length > 0 && { examples: Object.fromEntries(examples) }) },
      },
    },
    responses: {
      200: { description: 'The invoke envelope with the result', content: { 'application/json': { schema: envelopeOf(returns) } } },
      202: { description: 'A person has to approve it first', content: { 'application/json': { schema: FAILED } } },
      ...refusalRefs([400, 401, 403, 404, 409, 413, 415, 429], 'RefusedCall'),
    },
  };
}

const ENVELOPE = { $ref: '#/components/schemas/CallAnswer' };
const FAILED = { $ref: '#/components/schemas/FailedCall' };

function envelopeOf(returns: ToolDefinition['returns']): object {
  return { allOf: [ENVELOPE, { type: 'object', properties: { result: publicSchema(returns) } }] };
}

/** Operation ids of routes. Client generators use them as function names, so never change them. Other routes get an id from their path. */
const NAMES: Readonly<Record<string, string>> = {
  'GET /': 'getPage',
  'GET /assets/{name}': 'getPageAsset',
  'GET /healthz': 'getHealth',
  'GET /metrics': 'getMetrics',
  'GET /llms.txt': 'getModelGuide',
  'GET /openapi.json': 'getOpenApiDocument',
  'GET /ca.crt': 'getAuthorityCertificate',
  'GET /api/v1/tls': 'getTls',
  'GET /api/v1/clock': 'getClock',
  'POST /api/v1/clock': 'setClock',
  'GET /api/v1/tools': 'listTools',
  'POST /api/v1/tools': 'registerTool',
  'GET /api/v1/tools/{id}': 'getTool',
  'DELETE /api/v1/tools/{id}': 'removeTool',
  'POST /api/v1/tools/discover': 'discoverTools',
  'POST /api/v1/tools/{id}/invoke': 'invokeTool',
  'POST /api/v1/tool-calls': 'callToolsOfModel',
  'GET /api/v1/capabilities': 'listCapabilities',
  'GET /api/v1/jobs': 'listJobs',
  'GET /api/v1/jobs/{id}': 'getJob',
  'DELETE /api/v1/jobs/{id}': 'cancelJob',
  'POST /api/v1/commission': 'commissionDevice',
  'POST /api/v1/agents/{id}/webhooks/{name}': 'triggerWebhook',
  'GET /api/v1/devices': 'listDevices',
  'GET /api/v1/devices/{id}': 'getDevice',
  'POST /api/v1/devices/{id}/rename': 'renameDevice',
  'POST /api/v1/devices/{id}/restore': 'restoreDevice',
  'POST /api/v1/devices/{id}/replace': 'replaceDevice',
  'GET /api/v1/device-names': 'listDeviceNames',
  'POST /api/v1/device-names/free': 'freeDeviceName',
  'GET /api/v1/recognised-devices': 'listRecognisedDevices',
  'GET /api/v1/areas': 'listAreas',
  'POST /api/v1/areas/{area}/rename': 'renameArea',
  'GET /api/v1/sensors': 'listSensors',
  'GET /api/v1/sensors/{id}/readings': 'getReadings',
  'GET /api/v1/events': 'streamEvents',
  'GET /api/v1/approvals': 'listApprovals',
  'GET /api/v1/approvals/{id}': 'getApproval',
  'POST /api/v1/approvals/{id}': 'decideApproval',
  'GET /api/v1/people': 'listPeople',
  'POST /api/v1/people': 'addPerson',
  'POST /api/v1/people/{name}': 'changePerson',
  'DELETE /api/v1/people/{name}': 'removePerson',
  'POST /api/v1/people/{name}/invitation': 'invitePerson',
  'GET /api/v1/sign-ins': 'listSignIns',
  'POST /api/v1/sign-ins': 'signIn',
  'POST /api/v1/sign-ins/challenge': 'makeChallenge',
  'POST /api/v1/sign-ins/renew': 'renewSignIn',
  'DELETE /api/v1/sign-ins/{id}': 'endSignIn',
  'GET /api/v1/me': 'showCaller',
  'GET /api/v1/approver-keys': 'listOfferedKeys',
  'POST /api/v1/approver-keys': 'offerApproverKey',
  'POST /api/v1/approver-keys/{id}': 'confirmApproverKey',
  'DELETE /api/v1/approver-keys/{id}': 'refuseApproverKey',
  'GET /api/v1/approvers': 'listApprovers',
  'POST /api/v1/approvers': 'enrollApprover',
  'DELETE /api/v1/approvers/{id}': 'removeApprover',
  'DELETE /api/v1/standing-answers/{id}': 'removeStandingAnswer',
  'GET /api/v1/tokens': 'listTokens',
  'POST /api/v1/tokens': 'mintToken',
  'DELETE /api/v1/tokens/{id}': 'revokeToken',
  'POST /api/v1/tokens/inspect': 'inspectToken',
  'POST /api/v1/tokens/preview': 'previewToken',
  'POST /api/v1/tokens/rotate-owner': 'rotateOwnerToken',
  'GET /oauth/authorize': 'getConsentPage',
  'GET /oauth/device': 'getDevicePage',
  'POST /oauth/register': 'registerClient',
  'POST /oauth/token': 'getOAuthToken',
  'POST /oauth/revoke': 'revokeOAuthToken',
  'POST /oauth/device_authorization': 'authorizeDevice',
  'POST /api/v1/oauth/requests': 'openConsentRequest',
  'POST /api/v1/oauth/device-codes': 'openDeviceRequest',
  'POST /api/v1/oauth/requests/{id}/preview': 'previewConsent',
  'POST /api/v1/oauth/requests/{id}/allow': 'allowConsent',
  'POST /api/v1/oauth/requests/{id}/deny': 'denyConsent',
  'GET /api/v1/oauth/grants': 'listOAuthGrants',
  'DELETE /api/v1/oauth/grants/{id}': 'endOAuthGrant',
  'GET /api/v1/rules': 'listRules',
  'POST /api/v1/rules/test': 'testRules',
  'GET /api/v1/audit': 'listAudit',
  'GET /api/v1/audit/head': 'getAuditHead',
  'POST /api/v1/audit/verify': 'verifyAudit',
  'POST /api/v1/audit/replay': 'replayAudit',
  'GET /api/v1/mesh': 'getMesh',
  'POST /api/v1/mesh/create': 'createMesh',
  'POST /api/v1/mesh/invites': 'inviteHub',
  'POST /api/v1/mesh/join': 'joinMesh',
  'POST /api/v1/mesh/leave': 'leaveMesh',
  'POST /api/v1/mesh/renew': 'renewMeshCertificate',
  'DELETE /api/v1/mesh/peers/{id}': 'forgetHub',
  'POST /api/v1/mesh/peers/{id}/revoke': 'revokeHub',
  'POST /api/v1/mesh/peers/{id}/delegate': 'delegateToHub',
  'POST /api/v1/mesh/root/export': 'exportMeshRoot',
  'POST /api/v1/mesh/root/import': 'importMeshRoot',
  'GET /api/v1/questions/{id}': 'getQuestion',
  'POST /api/v1/questions/{id}/answer': 'answerQuestion',
  'GET /api/v1/notices': 'listNotices',
  'POST /api/v1/notices/read': 'markNoticesRead',
  'GET /api/v1/notices/settings': 'getNoticeSettings',
  'POST /api/v1/notices/settings': 'setNoticeSettings',
  'GET /api/v1/push/key': 'getPushKey',
  'GET /api/v1/push/subscriptions': 'listPushSubscriptions',
  'POST /api/v1/push/subscriptions': 'addPushSubscription',
  'DELETE /api/v1/push/subscriptions/{id}': 'removePushSubscription',
  'GET /api/v1/scenes': 'listScenes',
  'POST /api/v1/bridge': 'bridgeDevice',
  'DELETE /api/v1/bridge/{id}': 'unbridgeDevice',
  'POST /api/v1/bridge/open': 'openBridge',
  'DELETE /api/v1/ecosystems/{ecosystem}': 'removeEcosystem',
  'POST /api/v1/scenes': 'saveScene',
  'POST /api/v1/scenes/{scene}/change': 'changeScene',
  'POST /api/v1/scenes/{scene}/run': 'runScene',
  'DELETE /api/v1/scenes/{scene}': 'removeScene',
  'POST /api/v1/areas/order': 'orderAreas',
  'POST /api/v1/areas/{area}/describe': 'describeArea',
  'GET /api/v1/page-preferences': 'getPagePreferences',
  'PUT /api/v1/page-preferences': 'replacePagePreferences',
  'GET /api/tools': 'listMonitorTools',
  'GET /api/tools/usage': 'getMonitorUsage',
  'POST /mcp': 'sendMcp',
  'GET /mcp': 'streamMcp',
  'DELETE /mcp': 'endMcp',
  'POST /mcp/devices': 'sendDevicesMcp',
  'GET /mcp/devices': 'streamDevicesMcp',
  'DELETE /mcp/devices': 'endDevicesMcp',
  'POST /mcp/areas/{area}': 'sendAreaMcp',
  'GET /mcp/areas/{area}': 'streamAreaMcp',
  'DELETE /mcp/areas/{area}': 'endAreaMcp',
  'GET /.well-known/oauth-authorization-server': 'getAuthorizationServer',
  'GET /.well-known/oauth-authorization-server/{path}': 'getAuthorizationServerOfPath',
  'GET /.well-known/oauth-protected-resource': 'getProtectedResource',
  'GET /.well-known/oauth-protected-resource/mcp': 'getMcpResource',
  'GET /.well-known/oauth-protected-resource/mcp/devices': 'getDevicesMcpResource',
  'GET /.well-known/oauth-protected-resource/mcp/areas/{area}': 'getAreaMcpResource',
};

/** Returns the operation id of a route, such as `invokeTool` for `POST /api/v1/tools/{id}/invoke`. */
function operationName(method: string, path: string): string {
  return NAMES[`${method} ${path}`] ?? nameOfPath(method, path);
}

function nameOfPath(method: string, path: string): string {
  const parts = path.split('/').filter((part) => part !== '' && part !== 'api' && part !== 'v1');
  const words = parts.flatMap((part) => (part.startsWith('{') ? ['By', part.slice(1, -1)] : part.split(/[^A-Za-z0-9]+/)));
  return method.toLowerCase() + words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('');
}

/** Tags that group operations. The first part of an operation's path selects its tag. */
const TAGS = {
  tools: 'What the hub and its devices can do: list, search, describe, register, call',
  jobs: 'Calls that go on after their request',
  devices: 'Devices with what they have and say',
  sensors: 'Readings, now and over time',
  approvals: 'Dangerous calls that wait for people, and the people who may approve',
  notices: 'What persons of the household should know, and how they are told',
  people: 'The household: persons, invitations and sign-ins',
  tokens: 'Who may call what',
  audit: 'The journal of calls, and rules over them',
  mesh: 'Other hubs',
  events: 'What happens, as a stream',
  mcp: 'Model Context Protocol',
  monitor: 'The page for people and its lists',
  hub: 'The hub itself: health, time, certificates, metrics, this document',
} as const;
type Tag = keyof typeof TAGS;

const BY_PART: Readonly<Record<string, Tag>> = {
  'tool-calls': 'tools',
  commission: 'devices',
  agents: 'tools',
  areas: 'devices',
  scenes: 'devices',
  'device-names': 'devices',
  'recognised-devices': 'devices',
  approvers: 'approvals',
  'approver-keys': 'approvals',
  'sign-ins': 'people',
  me: 'people',
  push: 'notices',
  questions: 'notices',
  oauth: 'tokens',
  rules: 'audit',
  assets: 'monitor',
  'page-preferences': 'monitor',
  '': 'monitor',
};

function tagOf(path: string): Tag {
  if (path.startsWith('/api/') && !path.startsWith('/api/v1/')) return 'monitor';
  const part = path.replace(/^\/api\/v1/, '').split('/')[1] ?? '';
  const own = Object.hasOwn(TAGS, part) ? (part as Tag) : undefined;
  return own ?? BY_PART[part] ?? 'hub';
}

/** All tags in the form of the OpenAPI document. */
const TAG_LIST: readonly object[] = Object.entries(TAGS).map(([name, description]) => ({ name, description }));

import { generateKeyPairSync } from 'node:crypto';
import { signChild, signRoot, tokenText } from '../../../src/auth/tokens/token-chain.ts';
import { splitText } from '../../../src/connectors/collections/rag-tools.ts';
import { openChannel } from '../../../src/connectors/messages/notification-channels.ts';
import type { Clock } from '../../../src/core/clock.ts';
import { type Json, objectOf } from '../../../src/core/json.ts';
import { orderCertificate } from '../../../src/http/tls/acme-order.ts';
import { AcmeSession } from '../../../src/http/tls/acme-session.ts';
import { CredentialSetStore } from '../../../src/matter/commissioning/network-credentials.ts';
import { FrameDecoder } from '../../../src/mesh/transport/libp2p-connection.ts';
import { parseAnswer } from '../../../src/tools/definition/elicitation.ts';
import { parseProgramOutput } from '../../../src/tools/programs/program-tool.ts';
import { copyJsonObject } from '../../../src/tools/schema/plain-json.ts';
import { SchemaValidator } from '../../../src/tools/schema/schema-validator.ts';
import { boundedSchema } from '../../../src/tools/schema/schema-walk.ts';
import { keyPair, tokenServices } from '../../auth/tokens/token-fixture.ts';
import { HOST, makeDevice, makeHttpApi, makeReading, TOKEN } from '../../http/http-fixture.ts';
import { ManualClock } from '../../manual-clock.ts';
import { MemoryKeyValueStore } from '../../memory-key-value-store.ts';
import { BrokenPromise, bytesTarget, jsonTarget, requireSame, type Target, textTarget, unlessRefused } from '../target.ts';

const setup = makeHttpApi();
setup.directory.devices = [makeDevice('lamp'), makeDevice('lock')];
setup.readings.readings = [makeReading('lamp/power', 3, 1_000)];
setup.addTool({ name: 'typed', parameters: { type: 'object', properties: { level: { type: 'integer' } }, required: ['level'] } });
/** Statuses that no input of a client may bring about. */
const BUGS = [500, 502, 507];

const PATIENCE_MS = 200;
const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'];

/** A request as a client sends it: method, path, headers and body. Headers that no HTTP parser lets through are left out. */
async function checkRequest(value: Json): Promise<void> {
  const { method: named = 'GET', path = '/', headers, body } = objectOf(value);
  const method = METHODS.find((one) => one === named);
  const url = URL.parse(typeof path === 'string' ? path : '', `http://${HOST}`);
  if (!url || url.host !== HOST || !method) return;
  const given = Object.entries(objectOf(headers)).filter(
    ([name, text]) => /^[\w-]+$/.test(name) && typeof text === 'string' && /^[\t\x20-\x7e]*$/.test(text),
  );
  const hasBody = body !== undefined && method !== 'GET' && method !== 'HEAD';
  // Some requests may wait for what happens later.
  const leaving = new AbortController();
  const timer = setTimeout(() => leaving.abort(), PATIENCE_MS);
  const response = await setup.httpApi.app.request(url, {
    signal: leaving.signal,
    method,
    headers: { host: HOST, authorization: `Bearer ${TOKEN}`, ...(Object.fromEntries(given) as Record<string, string>) },
    ...(hasBody && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  clearTimeout(timer);
  await response.body?.cancel();
  if (BUGS.includes(response.status)) throw new BrokenPromise(`a request is answered with ${response.status}`);
}

const JSON_HEADERS = { 'content-type': 'application/json' };
const MCP_HEADERS = { ...JSON_HEADERS, accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2025-11-25' };
const rpc = (method: string, params: Json) => ({
  method: 'POST',
  path: '/mcp',
  headers: MCP_HEADERS,
  body: { jsonrpc: '2.0', id: 1, method, params },
});
const REQUESTS = [
  { path: '/api/v1/tools?limit=5&category=x' },
  {
    path: '/api/v1/devices/lamp',
    headers: { 'if-none-match': 'W/"x"', 'accept-encoding': 'gzip;q=0, br', accept: 'text/html;q=0.5, */*' },
  },
  { path: '/api/v1/sensors/lamp%2Fpower/history?from=24h&every=5m' },
  {
    path: '/api/v1/events?types=sensor.reading',
    headers: { 'last-event-id': '1-2', traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' },
  },
  {
    method: 'POST',
    path: '/api/v1/tools/typed/invoke',
    headers: { ...JSON_HEADERS, 'idempotency-key': 'k', 'x-timeout-ms': '5' },
    body: { level: 3 },
  },
  { method: 'POST', path: '/oauth/register', headers: JSON_HEADERS, body: { redirect_uris: ['http://127.0.0.1/cb'], client_name: 'App' } },
  {
    method: 'POST',
    path: '/oauth/token',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: 'grant_type=refresh_token&refresh_token=x',
  },
];
const MCP_REQUESTS = [
  rpc('initialize', { protocolVersion: '2025-11-25', capabilities: { elicitation: {} }, clientInfo: { name: 'c', version: '1' } }),
  rpc('tools/list', { cursor: 'x' }),
  rpc('tools/call', { name: 'typed', arguments: { level: 1 }, _meta: { progressToken: 1 } }),
  rpc('resources/read', { uri: 'atmo://devices/lamp' }),
  rpc('completion/complete', { ref: { type: 'ref/prompt', name: 'x' }, argument: { name: 'a', value: 'l' } }),
  rpc('prompts/get', { name: 'x', arguments: { a: 'b' } }),
];

const services = await tokenServices();
const agent = keyPair();
const root = signRoot(services.rootClaims({ key: agent.publicKey, maxHops: 3 }), services.hub.privateKey);
const TOKENS = [
  root,
  signChild(root, services.rootClaims({ issuer: 'light-agent', subject: 'light-agent/helper', maxHops: 2 }), agent.privateKey),
].map((token) => Uint8Array.from(token));
const SOUND = new Set(TOKENS.map((token) => tokenText(token)));

/** Tokens are used as text; a changed token is refused. */
function checkToken(input: Uint8Array): void {
  const text = tokenText(input);
  services.verifier.verify(text);
  if (!SOUND.has(text)) throw new BrokenPromise('a changed token is refused');
}

/** Time passes at once. */
const HURRIED: Clock = {
  now: () => 0,
  after: (_delayMs: number, callback: () => void) => {
    const turn = setImmediate(callback);
    return () => clearImmediate(turn);
  },
} as Clock;
const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });

/** The value is what an authority answers, by the path of the request. */
async function checkAuthority(value: Json): Promise<void> {
  const answers = objectOf(value);
  const fetch = async ({ url }: { readonly url: string }) => {
    const { status = 200, body = {}, location, retry = null } = objectOf(answers[URL.parse(url)?.pathname ?? '']);
    const headers = new Headers({
      'replay-nonce': 'n',
      location: `https://ca.example${location === undefined ? '/me' : encodeURI(String(location).toWellFormed())}`,
    });
    if (typeof retry === 'number') headers.set('retry-after', String(retry));
    return { status: Number(status), headers, body: Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)) };
  };
  const { signal } = new AbortController();
  const session = await AcmeSession.open(
    { fetch, key: privateKey, time: { now: () => 0 }, signal },
    { directory: 'https://ca.example/directory', email: 'a@b.c' },
  );
  const dns = { add: async () => undefined, remove: async () => undefined };
  await orderCertificate(
    { session, dns, clock: HURRIED, signal, onRecordLeft: () => undefined } as never,
    { names: ['hub.example.org'], propagationMs: 1 } as never,
  );
}

const AUTHORITY = {
  '/directory': {
    body: { newNonce: 'https://ca.example/nonce', newAccount: 'https://ca.example/account', newOrder: 'https://ca.example/new' },
  },
  '/new': { status: 201, location: '/order', body: { status: 'pending', authorizations: ['https://ca.example/authz'] } },
  '/order': { body: { status: 'valid', finalize: 'https://ca.example/finalize', certificate: 'https://ca.example/certificate' } },
  '/authz': {
    retry: 1,
    body: {
      status: 'valid',
      identifier: { value: 'hub.example.org' },
      challenges: [{ type: 'dns-01', token: 't', url: 'https://ca.example/challenge', error: { detail: 'x' } }],
    },
  },
  '/certificate': { body: '-----BEGIN CERTIFICATE-----\n' },
};

const clock = new ManualClock();
const credentials = new CredentialSetStore({ store: new MemoryKeyValueStore(clock) });
const DATASET =
  '0e080000000000010000000300000f35060004001fffe00208111111112222222207080000000000000000051000112233445566778899aabbccddeeff030474657374010212340410445f2b5ca6f2a93a55ce570a70efeecb0c0402a0f7f8';

const validator = new SchemaValidator({ maxCompiled: 20, rotateAfter: 200 });
const SCHEMA = {
  schema: {
    type: 'object',
    properties: {
      a: { type: 'string', pattern: '^[a-z]{2,5}$', format: 'date-time', maxLength: 5 },
      b: { type: 'array', items: { anyOf: [{ type: 'integer', multipleOf: 2 }, { $ref: '#/$defs/x' }] }, uniqueItems: true, default: [] },
    },
    required: ['a'],
    additionalProperties: false,
    $defs: { x: { enum: ['x', null] } },
  },
  value: { a: 'abc', b: [2, 'x'] },
};

/** Schemas of others are bounded before a value is checked. */
function checkSchema(value: Json): void {
  const { schema, value: checked } = objectOf(value);
  validator.check(boundedSchema(copyJsonObject(schema)), checked);
}

/** The configuration takes only addresses that begin like this. */
function checkChannel(url: string): void {
  if (!/^https?:\/\//.test(url) || !URL.canParse(url)) return;
  for (const kind of ['ntfy', 'webhook', 'apprise'] as const)
    unlessRefused(() => openChannel('x', { [kind]: { url } } as never, { env: {} } as never));
}

/** Frames are the same however their bytes are cut. */
function checkFrames(input: Uint8Array): void {
  const framesOf = (size: number) => {
    const frames: string[] = [];
    const decoder = new FrameDecoder(300, (frame) => frames.push(Buffer.from(frame).toString('hex')));
    for (let at = 0; at < input.length; at += size) if (!decoder.push(input.subarray(at, at + size))) break;
    return frames;
  };
  requireSame(framesOf(3), framesOf(input.length || 1), 'frames are the same however their bytes are cut');
}

const QUESTION = {
  schema: { type: 'object', properties: { name: { type: 'string', maxLength: 5 }, many: { type: 'integer' } }, required: ['name'] },
};

/** Whole requests, and what comes as an answer to what the hub asked for. */
export const REQUEST_TARGETS: readonly Target[] = [
  jsonTarget('http-request', 'http/server/http-app.ts', { run: checkRequest, seeds: REQUESTS }),
  jsonTarget('mcp-request', 'mcp/mcp-endpoint.ts', { run: checkRequest, seeds: MCP_REQUESTS }),
  bytesTarget('token', 'auth/tokens/token-claims.ts', { run: checkToken, seeds: TOKENS, maxBytes: 4_096 }),
  jsonTarget('acme', 'http/tls/acme-session.ts', { run: checkAuthority, seeds: [AUTHORITY] }),
  textTarget('thread-dataset', 'matter/commissioning/network-credentials.ts', {
    run: (text) => credentials.setThread('x', text),
    seeds: [DATASET],
    maxBytes: 600,
  }),
  jsonTarget('json-schema', 'tools/schema/schema-validator.ts', {
    run: checkSchema,
    seeds: [SCHEMA],
    words: [
      '$ref',
      '$dynamicRef',
      'if',
      'then',
      'not',
      'oneOf',
      'patternProperties',
      'dependentSchemas',
      'unevaluatedProperties',
      'contains',
      'const',
    ],
  }),
  textTarget('notify-address', 'connectors/messages/notification-channels.ts', {
    run: checkChannel,
    seeds: ['https://ntfy.sh/anna%20x', 'http://a:1@b/c/d?e=%zz#f'],
    maxBytes: 1_000,
  }),
  bytesTarget('mesh-frames', 'mesh/transport/libp2p-connection.ts', {
    run: checkFrames,
    seeds: [Uint8Array.of(0, 0, 0, 2, 1, 2, 0, 0, 0, 0, 0, 0, 0, 1, 9)],
  }),
  jsonTarget('answer', 'tools/definition/elicitation.ts', {
    run: (value) => parseAnswer(QUESTION, value),
    seeds: [{ action: 'accept', content: { name: 'x', many: 1 } }],
  }),
  textTarget('program-output', 'tools/programs/program-tool.ts', {
    run: (text) => parseProgramOutput(text),
    seeds: ['log\n{"a":1}\n[1]\n', '5', 'text'],
    maxBytes: 65_536,
  }),
  textTarget('document', 'connectors/collections/rag-tools.ts', {
    run: splitText,
    seeds: ['A b. C d!\n\nE, f; g? h '.repeat(60)],
    maxBytes: 300_000,
  }),
];

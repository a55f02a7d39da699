import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { beforeAll, describe, expect, test } from 'vitest';
import { ERROR_CODES } from '../../../src/core/errors.ts';
import { ask, HOST, makeHttpApi } from '../http-fixture.ts';

type Answer = Awaited<ReturnType<typeof ask>>;
interface Operation {
  readonly operationId: string;
  readonly security?: readonly unknown[];
  readonly requestBody?: unknown;
  readonly responses: Readonly<Record<string, { readonly $ref?: string }>>;
}

/** A request that is refused before the handler of the route runs. */
interface Refusal {
  readonly name: string;
  readonly fits: (operation: Operation) => boolean;
  readonly send: (path: string, method: string) => Promise<Answer>;
}

const { httpApi } = makeHttpApi();
const takesToken = (operation: Operation) => operation.security === undefined;
const send = (path: string, asked: Parameters<typeof ask>[2]) => ask(httpApi, path, asked);
const REFUSALS: readonly Refusal[] = [
  { name: 'without a token', fits: takesToken, send: (path, method) => send(path, { method, token: null }) },
  { name: 'with a wrong token', fits: takesToken, send: (path, method) => send(path, { method, token: 'guess' }) },
  { name: 'from another site', fits: () => true, send: (path, method) => send(path, { method, headers: { origin: 'http://evil' } }) },
  { name: 'by a method that it lacks', fits: () => true, send: (path) => send(path, { method: 'PATCH' }) },
  {
    name: 'with an unknown parameter',
    // Applications write the query of these pages, and only the page reads it.
    fits: ({ operationId }) => !['getConsentPage', 'getDevicePage'].includes(operationId),
    send: (path, method) => send(`${path}?colour=red`, { method }),
  },
  {
    name: 'for a type that it lacks',
    fits: takesToken,
    send: (path, method) => send(path, { method, headers: { accept: 'audio/ogg' } }),
  },
  {
    name: 'with a scope that is too narrow',
    fits: takesToken,
    send: (path, method) => send(path, { method, headers: { 'x-caller-scopes': 'none' } }),
  },
  {
    name: 'with a body that is no JSON',
    fits: ({ requestBody }) => requestBody !== undefined,
    send: (path, method) => send(path, { method, body: '{"half' }),
  },
  {
    name: 'with a body of another type',
    fits: ({ requestBody }) => requestBody !== undefined,
    send: (path, method) => send(path, { method, body: 'a=b', headers: { 'content-type': 'text/plain' } }),
  },
  {
    name: 'at a path that is too long',
    fits: () => true,
    send: (path, method) => send(`${path}?q=${'x'.repeat(9_000)}`, { method }),
  },
];

/** Paths with a value for each parameter that no device, tool or person has. */
const concrete = (path: string) => path.replace(/\{\w+\}/g, 'no-such-thing');

/** The one place where a client reads what was refused: `error`, or its `data` where the error is one of JSON-RPC. */
function errorOf({ json }: Answer): unknown {
  return typeof json?.error?.code === 'number' ? json.error.data : json?.error;
}

const ERROR = {
  code: expect.toSatisfy((code: unknown) => Object.hasOwn(ERROR_CODES, String(code))),
  message: expect.stringMatching(/\w/),
  details: expect.any(Object),
  retryable: expect.any(Boolean),
};

describe('every refusal of every operation', () => {
  let document: { readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>> };
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  beforeAll(async () => {
    document = (await ask(httpApi, '/openapi.json')).json;
    addFormats.default(ajv);
    ajv.addSchema(document, 'hub');
  });

  test.each(REFUSALS)('$name has code, message, details and retryable in one place, as the document says', async ({ fits, send: sent }) => {
    let count = 0;
    for (const [path, methods] of Object.entries(document.paths)) {
      for (const [method, operation] of Object.entries(methods)) {
        if (!fits(operation)) continue;
        const answer = await sent(concrete(path), method.toUpperCase());
        const place = `${method} ${path}: ${answer.status} ${answer.text.slice(0, 200)}`;
        expect(answer.status, place).toBeGreaterThanOrEqual(400);
        // Clients of OAuth find the code of their standard there (RFC 6749 §5.2, RFC 7591 §3.2.2).
        const isOfOAuth = path.startsWith('/oauth/') && typeof answer.json?.error === 'string';
        if (!isOfOAuth) expect(errorOf(answer), place).toEqual(ERROR);
        expect(problemsOf(operation, answer), place).toEqual([]);
        count++;
      }
    }
    expect(count).toBeGreaterThan(20);
  });

  function problemsOf({ responses }: Operation, { status, headers, json }: Answer): readonly unknown[] {
    const reference = (responses[status] ?? responses.default)?.$ref;
    const type = encodeURIComponent((headers.get('content-type') ?? '').replaceAll('/', '~1'));
    const validate = ajv.compile({ $ref: `hub${reference}/content/${type}/schema` });
    validate(json);
    return validate.errors ?? [];
  }

  test.each([
    ['without a session', 'POST', { jsonrpc: '2.0', id: 1, method: 'tools/list' }, {}],
    ['of an ended session', 'POST', { jsonrpc: '2.0', id: 1, method: 'tools/list' }, { 'mcp-session-id': 'ended' }],
    ['of a version that is none', 'POST', { jsonrpc: '2.0', id: 1, method: 'ping' }, { 'mcp-protocol-version': '1999-01-01' }],
    ['with a body that is no message', 'POST', [], {}],
    ['that wants a stream and has no session', 'GET', undefined, { accept: 'text/event-stream' }],
    ['that ends no session', 'DELETE', undefined, {}],
  ])('a request to /mcp %s has them in the data of its error', async (_, method, body, headers) => {
    const accept = { accept: 'application/json, text/event-stream' };
    const answer = await send('/mcp', { method, headers: { ...accept, ...headers }, ...(body && { body }) });
    expect(answer.json, answer.text).toMatchObject({ jsonrpc: '2.0', error: { code: expect.any(Number) } });
    expect(errorOf(answer)).toMatchObject(ERROR);
    const operation = document.paths['/mcp']?.[method.toLowerCase()];
    expect(operation && problemsOf(operation, answer)).toEqual([]);
  });

  test('a hub that is stopping says so at /healthz, with the time after which to ask again', async () => {
    const facts = { nodeId: 'hub-1', version: '1', startedAtMs: 0, problems: [] };
    const stopping = makeHttpApi({ health: { health: () => ({ status: 'stopping', ...facts }) } });
    const answer = await ask(stopping.httpApi, '/healthz', { token: null });
    expect([answer.status, answer.headers.get('retry-after'), answer.json.status]).toEqual([503, '5', 'stopping']);
    expect(errorOf(answer)).toEqual({ ...ERROR, code: 'SHUTTING_DOWN', retryable: true });
  });

  test('of a path that is not there, of a name of another host and of a file of the page are of the same form', async () => {
    const answers = [
      await send('/nowhere', {}),
      await send('/assets/none.js', { token: null }),
      await send('/healthz', { headers: { host: 'evil.example' } }),
      await send('/api/v1/events', { headers: { 'last-event-id': '\u00e9' }, token: 'guess' }),
    ];
    for (const answer of answers) expect(errorOf(answer), answer.text).toEqual(ERROR);
    expect(HOST).not.toContain('evil');
  });
});

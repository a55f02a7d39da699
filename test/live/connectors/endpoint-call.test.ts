import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTcpServer } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runTool } from '../../../scripts/network-lab/run-tool.ts';
import { callEndpoint, type EndpointCall, jsonOf } from '../../../src/connectors/http-client/endpoint-call.ts';
import { publicFetch } from '../../../src/connectors/web/public-fetch.ts';
import { INVOCATION_POLICY } from '../../../src/tools/definition/invocation-policy.ts';
import { type LoopbackServer, onLoopback } from './loopback-server.ts';

let server: LoopbackServer;
const ROUTES: Readonly<Record<string, (response: ServerResponse, request: IncomingMessage) => unknown>> = {
  '/ok': (response, request) => request.pipe(response.writeHead(201, { 'x-method': request.method ?? '' })),
  '/html': (response) => response.end('<html>'),
  '/packed': (response, { headers }) =>
    response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(headers['content-type'] ?? '')),
  '/no': (response) => response.writeHead(400).end('  name is\n missing  '),
  '/busy': (response) => response.writeHead(429, { 'retry-after': '7' }).end(),
  '/down': (response) => response.writeHead(503).end('later'),
  '/gateway': (response) => response.writeHead(504).end(),
  '/moved': (response) => response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end(),
  '/long': (response) => response.end('x'.repeat(2_000_000)),
  '/cut': (response) => response.writeHead(200, { 'content-length': '100' }).write('x', () => response.destroy()),
  '/reset': ({ socket }) => {
    socket?.write('HTTP/1.1 200 OK\r\n\r\nhalf of it');
    setTimeout(() => socket?.resetAndDestroy(), 20);
  },
  '/hang-up': (response) => response.destroy(),
  '/silent': () => {},
};

beforeAll(async () => {
  server = await onLoopback(createServer((request, response) => ROUTES[request.url ?? '']?.(response, request)));
});

afterAll(() => server[Symbol.asyncDispose]());

function call(path: string, options: Partial<EndpointCall> = {}) {
  const url = new URL(path, server.url);
  return callEndpoint({ service: 'The server', url, method: 'GET', isActing: false, signal: new AbortController().signal, ...options });
}

const acting = { isActing: true, method: 'POST', body: '{}' } as const;

test('an answer has status, headers and body', async () => {
  const answer = await call('/ok', { method: 'PUT', body: '{"a":1}' });
  expect(answer.status).toBe(201);
  expect(answer.headers.get('x-method')).toBe('PUT');
  expect(jsonOf({ service: 'The server' }, answer)).toEqual({ a: 1 });
});

test('the body of a request has the form and the media type that it says, and an answer is heard unpacked while it arrives', async () => {
  const form = new FormData();
  form.set('name', 'garden');
  const sent = await call('/ok', { method: 'POST', body: form });
  expect(new TextDecoder().decode(sent.body)).toContain('name="name"\r\n\r\ngarden');
  const parts: string[] = [];
  const packed = await call('/packed', { method: 'POST', body: form, onPart: (part) => parts.push(new TextDecoder().decode(part)) });
  expect(new TextDecoder().decode(packed.body)).toMatch(/^multipart\/form-data; boundary=/);
  expect(parts.join('')).toBe(new TextDecoder().decode(packed.body));
});

describe('a refusal', () => {
  test.each([
    ['/no', 'SERVICE_REFUSED', { status: 400 }],
    ['/busy', 'RATE_LIMITED', { status: 429, retry_after: '7' }],
    ['/down', 'SERVICE_UNAVAILABLE', { status: 503 }],
    ['/gateway', 'SERVICE_REFUSED', { status: 504 }],
    ['/moved', 'SERVICE_REFUSED', { status: 302 }],
  ])('%s is %s', async (path, code, details) => {
    await expect(call(path)).rejects.toMatchObject({ code, details });
  });

  test('tells the beginning of what the service said in one line', async () => {
    await expect(call('/no')).rejects.toThrow('The server answered 400: name is missing');
  });

  test('of a httpApi leaves open what became of a request that acts', async () => {
    await expect(call('/gateway', acting)).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' });
    await expect(call('/no', acting)).rejects.toMatchObject({ code: 'SERVICE_REFUSED' });
  });
});

describe('an answer that does not come', () => {
  test('because nobody is there was never sent, acting or not', async () => {
    const gone = await onLoopback(createServer());
    const url = new URL(gone.url);
    await gone[Symbol.asyncDispose]();
    for (const options of [{}, acting]) {
      await expect(call('/', { ...options, url })).rejects.toMatchObject({
        code: 'SERVICE_UNAVAILABLE',
        details: { reason: 'ECONNREFUSED' },
      });
    }
  });

  test.each(['/hang-up', '/cut', '/reset'])('as a whole (%s) is no answer, and unknown for what acts', async (path) => {
    await expect(call(path)).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
    await expect(call(path, acting)).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' });
  });

  test('in time ends as the caller says, and is unknown for what acts', async () => {
    const enough = new Error('enough');
    const soon = () => {
      const caller = new AbortController();
      setTimeout(() => caller.abort(enough), 30);
      return caller.signal;
    };
    await expect(call('/silent', { signal: soon() })).rejects.toBe(enough);
    await expect(call('/silent', { ...acting, signal: soon() })).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' });
    await expect(call('/silent', { ...acting, signal: AbortSignal.abort(enough) })).rejects.toBe(enough);
  });

  test('within its size is too large', async () => {
    await expect(call('/long')).rejects.toMatchObject({ code: 'PAYLOAD_TOO_LARGE' });
    expect((await call('/long', { maxBytes: 2_000_000 })).body).toHaveLength(2_000_000);
  });

  test('as JSON is no JSON', async () => {
    const answer = await call('/html');
    expect(() => jsonOf({ service: 'The server' }, answer)).toThrow(expect.objectContaining({ code: 'SERVICE_REFUSED' }));
  });
});

test('an address that swallows packets is given up in the time that a connection may take, and nothing was sent', async () => {
  await runTool('ip', ['neigh', 'replace', '10.77.255.1', 'lladdr', '02:00:00:00:00:09', 'dev', 'eth0']);
  const startMs = performance.now();
  const url = new URL('http://10.77.255.1/');
  await expect(call('/', { ...acting, url })).rejects.toMatchObject({
    code: 'SERVICE_UNAVAILABLE',
    details: { reason: 'CONNECT_TIMEOUT' },
  });
  const fetchPublic = publicFetch({ allowedHosts: ['10.77.255.1'] });
  const signal = new AbortController().signal;
  await expect(fetchPublic({ url: url.href, signal, maxBytes: 1 })).rejects.toMatchObject({
    code: 'SERVICE_UNAVAILABLE',
    details: { reason: 'CONNECT_TIMEOUT' },
  });
  expect(performance.now() - startMs).toBeLessThan(2 * INVOCATION_POLICY.connectTimeoutMs + 4_000);
});

test('the handshake of TLS counts to the time that a connection may take', async () => {
  await using silent = await onLoopback(createTcpServer());
  await expect(call('/', { ...acting, url: new URL(silent.url.replace('http:', 'https:')) })).rejects.toMatchObject({
    code: 'SERVICE_UNAVAILABLE',
    details: { reason: 'CONNECT_TIMEOUT' },
  });
});

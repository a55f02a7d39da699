import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer as createPlainServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { hubFetch } from '../../src/cli/hub/hub-fetch.ts';
import { OwnCertificates, TlsFiles } from '../../src/http/tls/own-certificates.ts';

/** How a server answers, by path. */
const ANSWERS: Readonly<Record<string, (request: IncomingMessage, response: ServerResponse) => void>> = {
  '/echo': async (request, response) => {
    const body = await text(request);
    response.writeHead(201, { 'content-type': 'application/json', 'x-many': ['a', 'b'] });
    response.end(JSON.stringify({ method: request.method, body, authorization: request.headers.authorization }));
  },
  '/redirect': (_request, response) => response.writeHead(307, { location: '/echo' }).end(),
  '/odd': (_request, response) => response.writeHead(799).end(),
  '/nothing': (_request, response) => response.writeHead(204).end(),
  '/stream': (_request, response) => void response.writeHead(200).write('one'),
  '/cut': (request, response) => response.writeHead(200).write('one', () => setImmediate(() => request.socket.destroy())),
};

let dir: string;
let server: Server;
let origin: string;
const certificatesIn = (state: string) =>
  new OwnCertificates(new TlsFiles(join(dir, state, 'tls'), () => {}), { all: () => ['localhost', '127.0.0.1'], configured: [] }).current(
    Date.now(),
  );
/** `fetch` of a user for whom the authority in this state directory is the one to trust. */
const fetchTrusting = (state: string) => hubFetch({ HOME: dir, ATMO_STATE_DIR: join(dir, state) });

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'hub-fetch-'));
  const { chain, key } = certificatesIn('hub');
  certificatesIn('stranger');
  server = createServer({ cert: chain, key }, (request, response) => ANSWERS[request.url ?? '']?.(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  origin = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  rmSync(dir, { recursive: true });
});

describe('a request to a hub whose authority is pinned', () => {
  test('has method, headers and body, and the answer has its status, headers and JSON', async () => {
    const init = { method: 'POST', headers: { authorization: 'Bearer x' }, body: '{"a":1}' };
    const answer = await fetchTrusting('hub')(`${origin}/echo`, init);
    expect([answer.status, answer.ok, answer.headers.get('x-many')]).toEqual([201, true, 'a, b']);
    expect(await answer.json()).toEqual({ method: 'POST', body: '{"a":1}', authorization: 'Bearer x' });
  });

  test('is not sent where another authority signed the certificate', async () => {
    const refused = fetchTrusting('stranger')(`${origin}/echo`, { method: 'GET' });
    await expect(refused).rejects.toMatchObject({ name: 'TypeError', cause: { code: expect.stringMatching(/UNABLE_TO_|SELF_SIGNED/) } });
  });

  test('is not sent to a stranger either where the environment switches off the check of certificates', async () => {
    vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0');
    for (const state of ['stranger', 'none']) {
      const refused = fetchTrusting(state)(`${origin}/echo`, { method: 'GET' });
      await expect(refused).rejects.toMatchObject({ name: 'TypeError', cause: { code: expect.stringMatching(/UNABLE_TO_|SELF_SIGNED/) } });
    }
    vi.unstubAllEnvs();
  });

  test('fails where the status of the answer is none of HTTP', async () => {
    await expect(fetchTrusting('hub')(`${origin}/odd`, {})).rejects.toMatchObject({ name: 'TypeError', message: 'fetch failed' });
  });

  test('follows no redirect, and takes an answer without a body', async () => {
    await expect(fetchTrusting('hub')(`${origin}/redirect`, {})).rejects.toMatchObject({ message: 'fetch failed' });
    const nothing = await fetchTrusting('hub')(`${origin}/nothing`, {});
    expect([nothing.status, nothing.body]).toEqual([204, null]);
  });

  test('ends with its signal, before the answer and while the answer is read', async () => {
    await expect(fetchTrusting('hub')(`${origin}/echo`, { signal: AbortSignal.abort() })).rejects.toMatchObject({ name: 'AbortError' });
    const controller = new AbortController();
    const answer = await fetchTrusting('hub')(`${origin}/stream`, { signal: controller.signal });
    const reading = answer.text();
    controller.abort();
    await expect(reading).rejects.toThrow();
  });

  test('can be given up while it is read, or before', async () => {
    const [whole, running] = [await fetchTrusting('hub')(`${origin}/echo`, {}), await fetchTrusting('hub')(`${origin}/stream`, {})];
    await whole.body?.cancel();
    const reader = running.body?.getReader();
    await reader?.read();
    const pending = reader?.read();
    await reader?.cancel();
    expect([await pending, await reader?.read()]).toEqual(Array(2).fill({ done: true, value: undefined }));
  });

  test('fails while it is read if the hub goes away', async () => {
    await expect(fetchTrusting('hub')(`${origin}/cut`, {}).then((answer) => answer.text())).rejects.toThrow();
  });
});

describe('a request to a hub without TLS', () => {
  const HUB_FETCH = join(import.meta.dirname, '../../src/cli/hub/hub-fetch.ts');
  /** Fetches in a process of its own: Node reads these variables only when it starts. */
  const inProxyEnvironment = async (url: string) => {
    const program = `
      import { hubFetch } from ${JSON.stringify(HUB_FETCH)};
      const ask = async (one) => (await one(${JSON.stringify(url)}, { headers: { authorization: 'Bearer x' } })).text();
      console.log(JSON.stringify([await ask(hubFetch(process.env)), await ask(fetch).catch(() => 'not reached')]));`;
    const env = { HOME: dir, NODE_USE_ENV_PROXY: '1', HTTP_PROXY: 'http://127.0.0.1:9' };
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program], { env });
    return JSON.parse(stdout);
  };

  test('does not go through the proxy of the environment, which would get the token', async () => {
    const plain = createPlainServer((request, response) => ANSWERS[request.url ?? '']?.(request, response));
    await new Promise<void>((resolve) => plain.listen(0, '127.0.0.1', resolve));
    try {
      const [asked, byNode] = await inProxyEnvironment(`http://127.0.0.1:${(plain.address() as AddressInfo).port}/echo`);
      expect(JSON.parse(asked)).toMatchObject({ method: 'GET', authorization: 'Bearer x' });
      expect(byNode).toBe('not reached');
    } finally {
      plain.closeAllConnections();
      await new Promise((resolve) => plain.close(resolve));
    }
  });
});

import { createHash } from 'node:crypto';
import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Credentials, Principal } from '../../src/core/auth/principal.ts';
import { systemClock } from '../../src/core/clock.ts';
import { AtmoError } from '../../src/core/errors.ts';
import { owner } from '../calls/pipeline-fixture.ts';
import { makeHttpApi } from '../http/http-fixture.ts';

const PATH = '/api/v1/tools/echo/invoke';

let setup: ReturnType<typeof makeHttpApi>;
let port: number;
let seen: Credentials[];
let isStillValid: boolean;
let contentSha256: string | undefined;

beforeEach(async () => {
  seen = [];
  isStillValid = true;
  contentSha256 = undefined;
  const authenticator = {
    async authenticate(credentials: Credentials): Promise<{ principal: Principal; contentSha256?: string }> {
      seen.push(credentials);
      if (credentials.bearer !== 'good') throw new AtmoError('TOKEN_INVALID', 'not a token');
      return { principal: owner, ...(contentSha256 !== undefined && { contentSha256 }) };
    },
    isStillValid: () => isStillValid,
  };
  setup = makeHttpApi({ clock: systemClock, authenticator }, { port: 0 });
  setup.addTool({
    name: 'echo',
    parameters: { type: 'object', properties: { text: { type: 'string', description: 'x' } } },
    handler: async (params) => params,
  });
  await setup.httpApi.start();
  port = Number(new URL(setup.httpApi.url).port);
});

afterEach(async () => {
  await setup.httpApi[Symbol.asyncDispose]();
});

function post(body: string, headers: Record<string, string> = {}): Promise<Response> {
  const all = { authorization: 'Bearer good', 'content-type': 'application/json', ...headers };
  return fetch(`http://127.0.0.1:${port}${PATH}`, { method: 'POST', headers: all, body });
}

describe('credentials on a real socket', () => {
  test('a proof holds for the bytes of the body, whether their length is declared or not', async () => {
    const body = '{"text":"grün"}';
    contentSha256 = createHash('sha256').update(body).digest('hex');
    expect((await post(body, { 'atmo-proof': 'p' })).status).toBe(200);
    expect((await post('{"text":"grau"}', { 'atmo-proof': 'p' })).status).toBe(401);
    const chunked = await new Promise<number>((resolve, reject) => {
      const headers = { authorization: 'Bearer good', 'content-type': 'application/json', 'atmo-proof': 'p' };
      const request = httpRequest({ port, path: PATH, method: 'POST', headers }, (answer) => resolve(answer.resume().statusCode ?? 0));
      request.on('error', reject);
      for (const part of [body.slice(0, 3), body.slice(3)]) request.write(part);
      request.end();
    });
    expect(chunked).toBe(200);
  });

  test('the operation is the request line as it came', async () => {
    const target = `/api/v1/tools?q=%41%2f..&device=a+b&q=c`;
    await new Promise<void>((resolve, reject) => {
      const headers = { authorization: 'Bearer good' };
      httpRequest({ port, path: target, headers }, (answer) => answer.resume().on('end', resolve))
        .on('error', reject)
        .end();
    });
    expect(seen.map(({ operation }) => operation)).toEqual([`GET ${target}`]);
  });

  test('a flood of bad tokens with bodies on one connection is refused one by one, each cheaply', async () => {
    const count = 500;
    const body = 'x'.repeat(1_000);
    const one = `POST ${PATH} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAuthorization: Bearer bad\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    const socket = connect(port, '127.0.0.1');
    let text = '';
    const refused = new Promise<number>((resolve) => {
      const answered = () => text.split('HTTP/1.1 401 ').length - 1;
      socket.on('data', (chunk) => {
        text += chunk;
        if (answered() === count) resolve(count);
      });
      socket.on('close', () => resolve(answered()));
    });
    const startedMs = performance.now();
    for (let sent = 0; sent < count; sent++) socket.write(one);
    expect(await refused).toBe(count);
    socket.destroy();
    expect((performance.now() - startedMs) / count).toBeLessThan(10);
    expect((await post('{}')).status).toBe(200);
  });

  test('a stream of events ends within 5 s after its token did, and says why', async () => {
    const response = await fetch(`http://127.0.0.1:${port}/api/v1/events`, { headers: { authorization: 'Bearer good' } });
    isStillValid = false;
    const startedMs = performance.now();
    const text = await response.text();
    expect(text).toMatch(/: the token has expired or was revoked/);
    expect(performance.now() - startedMs).toBeLessThan(6_000);
  });
});

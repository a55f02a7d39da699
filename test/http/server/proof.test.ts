import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { Credentials } from '../../../src/core/auth/principal.ts';
import { AtmoError, type ErrorCode } from '../../../src/core/errors.ts';
import { agent, owner } from '../../calls/pipeline-fixture.ts';
import { ask, HOST, makeHttpApi, TOKEN } from '../http-fixture.ts';

const PATH = '/api/v1/tools/echo/invoke';

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** A door whose callers all have proofs about a body with this hash. */
function makeProven(contentSha256: string) {
  const seen: Credentials[] = [];
  const authenticator = {
    async authenticate(credentials: Credentials) {
      seen.push(credentials);
      return { principal: owner, contentSha256 };
    },
    isStillValid: () => true,
  };
  const setup = makeHttpApi({ authenticator });
  const calls: unknown[] = [];
  setup.addTool({
    name: 'echo',
    parameters: { type: 'object', properties: { text: { type: 'string', description: 'x' } } },
    handler: async (params: unknown) => calls.push(params),
  });
  return { ...setup, seen, calls };
}

function makeRefusing(code: ErrorCode, details = {}) {
  return makeHttpApi({
    authenticator: {
      authenticate: async () => {
        throw new AtmoError(code, 'refused', details);
      },
      isStillValid: () => true,
    },
  });
}

describe('proof of possession', () => {
  test('reaches the authenticator with method, path and query as they were sent', async () => {
    const { httpApi, seen } = makeProven(sha256(''));
    await ask(httpApi, '/api/v1/sensors/a%2Fb/readings?since=2h&until=%31h', { headers: { 'atmo-proof': 'p-_0' } });
    await ask(httpApi, '/healthz', { headers: { 'atmo-proof': 'p' } });
    expect(seen).toEqual([{ bearer: TOKEN, proof: 'p-_0', operation: 'GET /api/v1/sensors/a%2Fb/readings?since=2h&until=%31h' }]);
  });

  test('holds for the very bytes of the body', async () => {
    const body = '{ "text":"ü" }';
    const { httpApi, calls } = makeProven(sha256(body));
    expect((await ask(httpApi, PATH, { body })).status).toBe(200);
    for (const other of ['{"text":"ü"}', '{ "text":"u" }', `${body} `, '']) {
      const answer = await ask(httpApi, PATH, { body: other });
      expect([other, answer.status, answer.json.code]).toEqual([other, 401, 'TOKEN_INVALID']);
    }
    expect(calls).toEqual([{ text: 'ü' }]);
  });

  test('of no body fits requests without one alone', async () => {
    const { httpApi, calls } = makeProven(sha256(''));
    expect((await ask(httpApi, '/api/v1/jobs')).status).toBe(200);
    expect((await ask(httpApi, PATH, { method: 'POST' })).status).toBe(200);
    expect((await ask(httpApi, PATH, { body: '{}' })).status).toBe(401);
    expect(calls).toEqual([{}]);
    const other = makeProven(sha256('{}'));
    expect((await ask(other.httpApi, '/api/v1/jobs')).status).toBe(401);
  });

  test.each(['', 'x'.repeat(2_049), 'a=b', 'a b', 'ä'])('that cannot be one is refused before anybody looks at it: %s', async (proof) => {
    const { httpApi, seen } = makeProven(sha256(''));
    const answer = await ask(httpApi, '/api/v1/jobs', { headers: { 'atmo-proof': proof } });
    expect([answer.status, answer.json.code, seen]).toEqual([401, 'TOKEN_INVALID', []]);
  });
});

describe('a refused token', () => {
  test('costs no look at the body', async () => {
    const { httpApi } = makeRefusing('TOKEN_INVALID');
    let taken = 0;
    const pull = (controller: ReadableStreamDefaultController<Uint8Array>) => {
      taken++;
      controller.enqueue(new Uint8Array(1_024));
    };
    const body = new ReadableStream<Uint8Array>({ pull }, { highWaterMark: 0 });
    const headers = { host: HOST, authorization: 'Bearer x', 'content-type': 'application/json' };
    const request = new Request(`http://${HOST}${PATH}`, { method: 'POST', headers, body, duplex: 'half' });
    expect((await httpApi.app.request(request)).status).toBe(401);
    expect(taken).toBe(0);
  });

  test.each([
    ['UNAUTHENTICATED', 'Bearer realm="atmosphere-edge"'],
    ['TOKEN_INVALID', 'Bearer realm="atmosphere-edge", error="invalid_token"'],
    ['TOKEN_EXPIRED', 'Bearer realm="atmosphere-edge", error="invalid_token", error_description="The token has expired"'],
  ] as const)('is told by the challenge of %s', async (code, challenge) => {
    const answer = await ask(makeRefusing(code).httpApi, '/api/v1/jobs');
    expect([answer.status, answer.json.code, answer.headers.get('www-authenticate')]).toEqual([401, code, challenge]);
  });

  test('of 4 KiB is looked at, a longer one is not', async () => {
    const { httpApi } = makeRefusing('TOKEN_INVALID');
    expect((await ask(httpApi, '/api/v1/jobs', { token: 'x'.repeat(4_096) })).json.code).toBe('TOKEN_INVALID');
    expect((await ask(httpApi, '/api/v1/jobs', { token: 'x'.repeat(4_097) })).json.code).toBe('UNAUTHENTICATED');
  });
});

test('a permission that is missing is named in the challenge', async () => {
  const { httpApi, addTool } = makeHttpApi({
    authenticator: { authenticate: async () => ({ principal: agent('lock:read:door') }), isStillValid: () => true },
  });
  addTool({ name: 'unlock', requires: { permissions: ['lock:open:door'] } });
  const call = await ask(httpApi, '/api/v1/tools/unlock/invoke', { body: {} });
  const metrics = await ask(httpApi, '/metrics');
  expect([call, metrics].map(({ status, headers }) => [status, headers.get('www-authenticate')])).toEqual([
    [403, 'Bearer realm="atmosphere-edge", error="insufficient_scope", scope="lock:open:door"'],
    [403, 'Bearer realm="atmosphere-edge", error="insufficient_scope", scope="admin:hub"'],
  ]);
});

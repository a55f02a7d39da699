import { describe, expect, test } from 'vitest';
import { AGENT_TOKEN, ask, makeHttpApi } from '../http-fixture.ts';

describe('who may enter', () => {
  const { httpApi } = makeHttpApi();

  test('only health answers without a token', async () => {
    expect((await ask(httpApi, '/healthz', { token: null })).json).toMatchObject({ status: 'ok', node_id: 'hub-1', version: '1.2.3' });
    for (const path of ['/metrics', '/openapi.json', '/api/v1/tools', '/api/v1/devices', '/api/v1/events', '/api/tools/usage']) {
      const answer = await ask(httpApi, path, { token: null });
      expect([path, answer.status, answer.json.code]).toEqual([path, 401, 'UNAUTHENTICATED']);
      expect(answer.headers.get('www-authenticate')).toMatch(/^Bearer/);
    }
  });

  test('a wrong token, a token in the query and another scheme are refused', async () => {
    expect((await ask(httpApi, '/api/v1/tools', { token: 'guess' })).json.code).toBe('TOKEN_INVALID');
    expect((await ask(httpApi, '/api/v1/tools?access_token=owner-secret', { token: null })).status).toBe(401);
    expect((await ask(httpApi, '/api/v1/tools', { token: null, headers: { authorization: 'Basic owner-secret' } })).status).toBe(401);
  });

  test('headers of the caller never make it somebody else, X-Caller-Scopes only narrows', async () => {
    const seen: string[] = [];
    const setup = makeHttpApi();
    setup.addTool({ name: 'who', handler: async (_params: unknown, context: { agentId: string }) => seen.push(context.agentId) });
    await ask(setup.httpApi, '/api/v1/tools/who/invoke', {
      body: {},
      token: AGENT_TOKEN,
      headers: { 'x-agent-id': 'owner', 'x-caller-scopes': 'invoke_tool' },
    });
    expect(seen).toEqual(['agent-1']);
    const narrowed = await ask(setup.httpApi, '/api/v1/tools/who/invoke', { body: {}, headers: { 'x-caller-scopes': 'read_registry' } });
    expect([narrowed.status, narrowed.json.details]).toEqual([403, { required: ['invoke_tool'] }]);
    expect((await ask(setup.httpApi, '/api/v1/tools', { headers: { 'x-caller-scopes': 'invoke_tool' } })).status).toBe(403);
    expect(seen).toHaveLength(1);
  });
});

describe('every answer', () => {
  const { httpApi } = makeHttpApi();

  test('has security headers, a request id and a trace', async () => {
    const { headers } = await ask(httpApi, '/healthz');
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('content-security-policy')).toContain("default-src 'none'");
    expect(headers.get('cache-control')).toBe('no-store');
    expect(headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
    expect(headers.get('traceparent')).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/);
  });

  test("continues the caller's trace and request id, and replaces malformed ones", async () => {
    const traceId = '0af7651916cd43dd8448eb211c80319c';
    const good = await ask(httpApi, '/healthz', {
      headers: { traceparent: `00-${traceId}-b7ad6b7169203331-00`, 'x-request-id': 'mine-1' },
    });
    expect(good.headers.get('traceparent')).toMatch(new RegExp(`^00-${traceId}-(?!b7ad6b7169203331)[0-9a-f]{16}-00$`));
    expect(good.headers.get('x-request-id')).toBe('mine-1');
    const bad = await ask(httpApi, '/healthz', {
      headers: { traceparent: `00-${'0'.repeat(32)}-b7ad6b7169203331-00`, 'x-request-id': 'a b' },
    });
    expect(bad.headers.get('traceparent')).not.toContain('0'.repeat(32));
    expect(bad.headers.get('x-request-id')).not.toBe('a b');
  });
});

describe('errors', () => {
  const { httpApi, logged } = makeHttpApi({
    health: {
      health() {
        throw new RangeError('secret detail of a bug');
      },
    },
  });

  test('are problem details with code, details and retryable', async () => {
    const answer = await ask(httpApi, '/api/v1/jobs/none', { headers: { 'x-request-id': 'r1' } });
    expect(answer.headers.get('content-type')).toBe('application/problem+json');
    expect(answer.json).toMatchObject({ status: 404, code: 'JOB_NOT_FOUND', details: {}, retryable: false, instance: 'urn:request:r1' });
    expect(answer.json.type).toContain('JOB_NOT_FOUND');
  });

  test('a bug tells its reason to the log alone', async () => {
    const answer = await ask(httpApi, '/healthz');
    expect([answer.status, answer.json.code]).toEqual([500, 'INTERNAL_ERROR']);
    expect(answer.text).not.toMatch(/secret detail|RangeError|\.ts:/);
    expect(logged.join('')).toContain('secret detail of a bug');
  });

  test('an unknown path suggests the nearest, absent doors are absent', async () => {
    const answer = await ask(httpApi, '/api/v1/tool');
    expect([answer.status, answer.json.code]).toEqual([404, 'NOT_FOUND']);
    expect(answer.json.details.nearest).toContain('/api/v1/tools');
    for (const path of ['/api/v1/audit', '/api/v1/mesh', '/api/v1/approvals']) expect((await ask(httpApi, path)).status).toBe(404);
    expect((await ask(httpApi, '/api/v1/tokens', { body: {} })).status).toBe(404);
  });

  test('a wrong method is told which are right', async () => {
    const answer = await ask(httpApi, '/api/v1/jobs/1', { method: 'PUT' });
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'GET, HEAD, DELETE, OPTIONS']);
    expect((await ask(httpApi, '/api/v1/tools', { method: 'PUT', body: {} })).status).toBe(405);
  });

  test('every mistake of a query is told at once', async () => {
    const { status, json } = await ask(httpApi, '/api/v1/tools?limit=0&colour=red&category=x&q=a&q=b');
    expect([status, json.code]).toEqual([400, 'VALIDATION_ERROR']);
    expect(json.details.problems.map((problem: { parameter: string }) => problem.parameter)).toEqual(['limit', 'colour', 'category', 'q']);
  });
});

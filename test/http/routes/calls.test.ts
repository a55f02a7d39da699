import { describe, expect, test } from 'vitest';
import { AtmoError } from '../../../src/core/errors.ts';
import type { ToolHandler } from '../../../src/tools/definition/tool-definition.ts';
import { settled } from '../../calls/pipeline-fixture.ts';
import { ask, HOST, makeHttpApi, TOKEN } from '../http-fixture.ts';

const PARAMETERS = {
  type: 'object',
  required: ['level'],
  properties: { level: { type: 'integer', minimum: 0, maximum: 100, description: 'Percent' } },
  additionalProperties: false,
};

function makeDimmer(handler: ToolHandler) {
  const setup = makeHttpApi();
  setup.addTool({
    name: 'dim',
    namespace: 'matter',
    parameters: PARAMETERS,
    execution: { async_allowed: true, side_effects: false },
    handler,
  });
  return setup;
}

describe('POST /api/v1/tools/{id}/invoke', () => {
  test('passes the body as parameters and answers the envelope', async () => {
    const { httpApi, clock } = makeDimmer(async ({ level = 0 }) => ({ level }));
    const { status, json } = await ask(httpApi, '/api/v1/tools/matter:dim@1.0.0/invoke', {
      body: { level: 40 },
      headers: { 'x-request-id': 'r-7' },
    });
    expect(status).toBe(200);
    expect(json).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      request_id: 'r-7',
      trace_id: expect.stringMatching(/^[0-9a-f]{32}$/),
      timestamp: new Date(clock.now()).toISOString(),
      status: 'success',
      result: { level: 40 },
      execution: { node_id: 'hub-1', duration_ms: expect.any(Number), hops: 0 },
      response_hash: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
  });

  test.each([
    ['VALIDATION_ERROR', 400, 'matter:dim', { level: 400 }],
    ['TOOL_NOT_FOUND', 404, 'matter:dimm', { level: 4 }],
  ])('%s comes in the envelope with HTTP %i', async (code, status, tool, body) => {
    const { httpApi } = makeDimmer(async () => ({}));
    const answer = await ask(httpApi, `/api/v1/tools/${tool}/invoke`, { body });
    expect([answer.status, answer.json.status, answer.json.error.code]).toEqual([status, 'error', code]);
    expect(answer.json.error).toEqual({ code, message: expect.any(String), details: expect.any(Object), retryable: false });
    expect(answer.json.execution).toEqual({ node_id: 'hub-1', duration_ms: expect.any(Number), hops: 0 });
  });

  test.each([
    ['DEVICE_UNREACHABLE', 503],
    ['OUTCOME_UNKNOWN', 504],
    ['CLUSTER_STATUS', 502],
    ['PERMISSION_DENIED', 403],
  ] as const)('a tool that fails with %s answers HTTP %i', async (code, status) => {
    const { httpApi } = makeDimmer(async () => {
      throw new AtmoError(code, 'It failed', { which: 'lamp' });
    });
    const answer = await ask(httpApi, '/api/v1/tools/dim/invoke', { body: { level: 4 } });
    expect([answer.status, answer.json.error.code, answer.json.error.details]).toEqual([status, code, { which: 'lamp' }]);
  });

  test('the trace reaches the tool', async () => {
    const seen: string[] = [];
    const { httpApi } = makeDimmer(async (_params, { traceId }) => seen.push(traceId));
    const traceId = '0af7651916cd43dd8448eb211c80319c';
    await ask(httpApi, '/api/v1/tools/dim/invoke', { body: { level: 1 }, headers: { traceparent: `00-${traceId}-b7ad6b7169203331-01` } });
    expect(seen).toEqual([traceId]);
  });

  test('an idempotency key makes a repeat answer without acting twice; other parameters conflict', async () => {
    let runs = 0;
    const { httpApi } = makeDimmer(async () => ({ run: ++runs }));
    const send = (level: number) => ask(httpApi, '/api/v1/tools/dim/invoke', { body: { level }, headers: { 'idempotency-key': 'k1' } });
    expect((await send(1)).json.result).toEqual({ run: 1 });
    expect((await send(1)).json.result).toEqual({ run: 1 });
    expect((await send(2)).json.error.code).toBe('IDEMPOTENCY_CONFLICT');
    expect(runs).toBe(1);
    expect((await ask(httpApi, '/api/v1/tools/dim/invoke', { body: { level: 1 }, headers: { 'idempotency-key': 'a b' } })).status).toBe(
      400,
    );
  });

  test.each([
    ['?timeout_ms=20', {}],
    ['', { 'x-timeout-ms': '20' }],
  ])('a deadline in the request holds (%s %o)', async (query, headers) => {
    const { httpApi, clock } = makeDimmer((_params, { signal }) => aborted(signal));
    const pending = ask(httpApi, `/api/v1/tools/dim/invoke${query}`, { body: { level: 1 }, headers });
    await settled();
    clock.advance(21);
    expect((await pending).status).toBe(504);
  });

  test('a session ends with its calls, and one that is named badly never begins', async () => {
    const { httpApi, addTool } = makeHttpApi({}, { pipeline: { maxCallsPerSession: 1 } });
    const sessions: string[] = [];
    addTool({ name: 'look', handler: async (_params, { sessionId }) => sessions.push(sessionId) });
    const look = async (session: string) =>
      (await ask(httpApi, '/api/v1/tools/look/invoke', { body: {}, headers: { 'x-session-id': session } })).status;
    expect(await look('chat-1')).toBe(200);
    expect(await look('chat-1')).toBe(429);
    expect(await look('chat-2')).toBe(200);
    for (const malformed of ['two words', 'ü', 'x'.repeat(129)]) expect(await look(malformed)).toBe(400);
    expect(sessions).toEqual(['chat-1', 'chat-2']);
  });

  test('a malformed deadline is refused', async () => {
    const { httpApi } = makeDimmer(async () => ({}));
    expect((await ask(httpApi, '/api/v1/tools/dim/invoke', { body: { level: 1 }, headers: { 'x-timeout-ms': 'soon' } })).status).toBe(400);
    expect((await ask(httpApi, '/api/v1/tools/dim/invoke?timeout_ms=0', { body: { level: 1 } })).status).toBe(400);
  });

  test('a client that goes away aborts the running call', async () => {
    let wasAborted = false;
    const { httpApi } = makeDimmer(async (_params, { signal }) => {
      signal.addEventListener('abort', () => {
        wasAborted = true;
      });
      return aborted(signal);
    });
    const client = new AbortController();
    const headers = { host: HOST, authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' };
    const init = { method: 'POST', headers, body: '{"level":1}', signal: client.signal };
    const pending = httpApi.app.request(new Request(`http://${HOST}/api/v1/tools/dim/invoke`, init));
    await settled();
    client.abort();
    expect((await pending).status).toBe(499);
    expect(wasAborted).toBe(true);
  });
});

describe('jobs', () => {
  test('async=true answers 202 with a job that outlives the request and can be read', async () => {
    const release = Promise.withResolvers<void>();
    const { httpApi } = makeDimmer(async ({ level = 0 }) => {
      await release.promise;
      return { level };
    });
    const started = await ask(httpApi, '/api/v1/tools/dim/invoke?async=true', { body: { level: 9 } });
    expect(started.status).toBe(202);
    const path = started.headers.get('location') ?? '';
    expect(path).toBe(`/api/v1/jobs/${started.json.job_id}`);
    expect((await ask(httpApi, path)).json.status).toMatch(/queued|running/);
    release.resolve();
    await settled();
    expect((await ask(httpApi, path)).json).toMatchObject({ status: 'succeeded', result: { level: 9 } });
    expect((await ask(httpApi, '/api/v1/jobs?status=succeeded')).json.jobs).toHaveLength(1);
    expect((await ask(httpApi, '/api/v1/jobs?status=failed')).json.jobs).toEqual([]);
  });

  test('a flag that only every object has is not a flag', async () => {
    const { httpApi } = makeDimmer(async () => ({}));
    const answer = await ask(httpApi, '/api/v1/tools/dim/invoke?async=constructor', { body: { level: 9 } });
    expect(answer.status).toBe(400);
  });

  test('DELETE cancels a running job', async () => {
    const { httpApi } = makeDimmer((_params, { signal }) => aborted(signal));
    const { json } = await ask(httpApi, '/api/v1/tools/dim/invoke?async=true', { body: { level: 9 } });
    await settled();
    expect((await ask(httpApi, `/api/v1/jobs/${json.job_id}`, { method: 'DELETE' })).status).toBe(200);
    await settled();
    expect((await ask(httpApi, `/api/v1/jobs/${json.job_id}`)).json.status).toBe('cancelled');
  });

  test('a refused call is answered at once, without a job', async () => {
    const { httpApi } = makeDimmer(async () => ({}));
    const answer = await ask(httpApi, '/api/v1/tools/dim/invoke?async=true', { body: { level: 'much' } });
    expect([answer.status, answer.json.error.code]).toEqual([400, 'VALIDATION_ERROR']);
  });
});

describe('POST /api/v1/commission', () => {
  test('is the call of hub:commission_device', async () => {
    const setup = makeHttpApi();
    const seen: unknown[] = [];
    setup.addTool({
      name: 'commission_device',
      namespace: 'hub',
      parameters: { type: 'object', properties: { code: { type: 'string', description: 'Setup code' } } },
      execution: { async_allowed: true },
      handler: async (params: unknown) => {
        seen.push(params);
        return { devices: [] };
      },
    });
    expect((await ask(setup.httpApi, '/api/v1/commission', { body: { code: 'x' } })).json.result).toEqual({ devices: [] });
    expect((await ask(setup.httpApi, '/api/v1/commission?async=true', { body: { code: 'y' } })).status).toBe(202);
    await settled();
    expect(seen).toEqual([{ code: 'x' }, { code: 'y' }]);
  });
});

/** Rejects when the signal aborts, as a device interaction does. */
function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
}

test('a call that comes too soon says in a header when to come back', async () => {
  const { httpApi, addTool } = makeHttpApi();
  const busy = () => Promise.reject(new AtmoError('RATE_LIMITED', 'The cloud wants a pause', { retry_after_ms: 1_200 }));
  addTool({ name: 'cloud', handler: busy, execution: { retries: 0 } });
  const { status, headers, json } = await ask(httpApi, '/api/v1/tools/cloud/invoke', { body: {} });
  expect([status, headers.get('retry-after'), json.error.code]).toEqual([429, '2', 'RATE_LIMITED']);
});

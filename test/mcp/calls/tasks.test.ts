import type { Client } from '@modelcontextprotocol/client';
import { describe, expect, test } from 'vitest';
import { type Clock, systemClock } from '../../../src/core/clock.ts';
import { AtmoError } from '../../../src/core/errors.ts';
import type { Json, JsonObject } from '../../../src/core/json.ts';
import type { ToolContext } from '../../../src/tools/definition/tool-definition.ts';
import { agent } from '../../calls/pipeline-fixture.ts';
import { authenticatorOf, makeHttpApi, TOKEN } from '../../http/http-fixture.ts';
import { legacyClient, modernClient } from '../mcp-clients.ts';

const TASKS = 'io.modelcontextprotocol/tasks';
const WITH_TASKS = { extensions: { [TASKS]: {} } };

/** Ten seconds are one: what waits for real answers need not wait long. */
const hastyClock: Clock = {
  now: systemClock.now,
  monotonic: () => systemClock.monotonic() * 10,
  after: (delayMs, callback) => systemClock.after(delayMs / 10, callback),
};

/** On which nobody's patience ends. */
const patientClock: Clock = { ...hastyClock, monotonic: () => 0 };

/** A hub with a tool that takes as long as the test wants. */
function makeSlowHub(returns: JsonObject = {}, clock = hastyClock) {
  const setup = makeHttpApi({ clock, authenticator: authenticatorOf({ other: agent('*') }) });
  const ends = Promise.withResolvers<Json>();
  const signals: AbortSignal[] = [];
  let progress: ToolContext['progress'] = () => {};
  setup.addTool({
    name: 'commission',
    parameters: { type: 'object', properties: { fails: { type: 'boolean' }, isSoon: { type: 'boolean' } } },
    returns,
    requires: { permissions: ['device:control'] },
    execution: { async_allowed: true, timeout_ms: 120_000, side_effects: true, idempotent: true, stream_supported: true },
    handler: async (params, context) => {
      signals.push(context.signal);
      progress = context.progress;
      const { fails, isSoon } = params as JsonObject;
      if (fails === true) throw new AtmoError('DEVICE_UNREACHABLE', 'Nobody there');
      if (isSoon === true) return { ok: true };
      return new Promise((resolve, reject) => {
        ends.promise.then(resolve, reject);
        context.signal.addEventListener('abort', () => reject(new AtmoError('CANCELLED', 'ended')), { once: true });
      });
    },
  });
  return { ...setup, ends, signals, progress: (fraction: number, note: string) => progress(fraction, note) };
}

const call = (given: JsonObject = {}) => ({ name: 'control_tool', arguments: { name: 'commission', arguments: given } });

/** What the extension's methods answer; the SDK has none of its own for them. */
async function ask(
  httpApi: ReturnType<typeof makeSlowHub>['httpApi'],
  method: string,
  params: JsonObject,
  { token = TOKEN, capabilities = WITH_TASKS as object } = {},
) {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': capabilities,
    'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
  };
  const response = await httpApi.app.request('http://127.0.0.1:8081/mcp', {
    method: 'POST',
    headers: {
      host: '127.0.0.1:8081',
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
      'mcp-name': String(params.taskId ?? params.name),
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } }),
  });
  const text = await response.text();
  const json = text.startsWith('{') ? text : (text.split('\n').findLast((line) => line.startsWith('data: ')) ?? '').slice(6);
  const { result, error } = JSON.parse(json);
  return { status: response.status, result: result as JsonObject, error: error as { code: number; message: string; data?: JsonObject } };
}

describe('a long call', () => {
  test('is announced as possible, and becomes a task for a client that takes tasks', async () => {
    const { httpApi, ends, progress } = makeSlowHub();
    const discovered = await ask(httpApi, 'server/discover', {});
    expect(discovered.result).toMatchObject({ capabilities: { extensions: { [TASKS]: {} } } });
    const { result: task } = await ask(httpApi, 'tools/call', call());
    expect(task).toMatchObject({
      resultType: 'task',
      status: 'working',
      taskId: expect.any(String),
      ttlMs: expect.any(Number),
      pollIntervalMs: 1_000,
    });
    const { taskId = '' } = task;
    progress(0.5, 'half way');
    const working = await ask(httpApi, 'tasks/get', { taskId });
    expect(working.result).toMatchObject({ resultType: 'complete', status: 'working', statusMessage: '50 %: half way' });
    expect(await ask(httpApi, 'tasks/update', { taskId, inputResponses: {} })).toMatchObject({ result: { resultType: 'complete' } });
    ends.resolve({ device: 'lamp' });
    await expect
      .poll(async () => (await ask(httpApi, 'tasks/get', { taskId })).result)
      .toMatchObject({
        status: 'completed',
        resultType: 'complete',
        result: { structuredContent: { device: 'lamp' }, content: [{ type: 'text', text: '{"device":"lamp"}' }] },
      });
  });

  test('ends with the blocks of content that its tool makes', async () => {
    const { httpApi, ends } = makeSlowHub({ 'x-content-blocks': true });
    const { taskId = '' } = (await ask(httpApi, 'tools/call', call())).result;
    const content = [{ type: 'image', data: 'aGk=', mimeType: 'image/png' }];
    ends.resolve({ content });
    await expect
      .poll(async () => (await ask(httpApi, 'tasks/get', { taskId })).result)
      .toMatchObject({ status: 'completed', result: { content } });
  });

  test('that is over soon, or fails, is answered as if it were none', async () => {
    const { httpApi } = makeSlowHub({}, patientClock);
    expect((await ask(httpApi, 'tools/call', call({ isSoon: true }))).result).toMatchObject({
      resultType: 'complete',
      structuredContent: { ok: true },
    });
    expect((await ask(httpApi, 'tools/call', call({ fails: true }))).result).toMatchObject({
      isError: true,
      structuredContent: { code: 'DEVICE_UNREACHABLE' },
    });
  });

  test('is cancelled as a task', async () => {
    const { httpApi, signals } = makeSlowHub();
    const { taskId = '' } = (await ask(httpApi, 'tools/call', call())).result;
    expect((await ask(httpApi, 'tasks/cancel', { taskId })).result).toMatchObject({ resultType: 'complete' });
    expect(signals[0]?.aborted).toBe(true);
    await expect.poll(async () => (await ask(httpApi, 'tasks/get', { taskId })).result).toMatchObject({ status: 'cancelled' });
  });

  test('exists for nobody else, and for no client that did not say so', async () => {
    const { httpApi, ends } = makeSlowHub();
    const { taskId = '' } = (await ask(httpApi, 'tools/call', call())).result;
    for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel']) {
      const foreign = await ask(httpApi, method, { taskId }, { token: 'other' });
      const absent = await ask(httpApi, method, { taskId: 'none' });
      expect([foreign.error.code, foreign.error.data?.code]).toEqual([absent.error.code, 'JOB_NOT_FOUND']);
      expect((await ask(httpApi, method, { taskId }, { capabilities: {} })).error).toMatchObject({ code: -32_021 });
    }
    ends.resolve({});
  });

  test('goes on as a job for a client without tasks only when its patience ends; one that goes away ends it', async () => {
    const { httpApi, signals } = makeSlowHub();
    const client: Client = await modernClient(httpApi);
    const leaving = new AbortController();
    const answer = client.callTool(call(), { signal: leaving.signal });
    await expect.poll(() => signals.length).toBe(1);
    leaving.abort();
    await expect(answer).rejects.toThrow();
    await expect.poll(() => signals[0]?.aborted).toBe(true);
  });

  test('tells a session how far it is', async () => {
    const { httpApi, signals, ends, progress } = makeSlowHub();
    const client = await legacyClient(httpApi);
    const told: unknown[] = [];
    const answer = client.callTool(call(), undefined, { onprogress: (step) => told.push(step) });
    await expect.poll(() => signals.length).toBe(1);
    progress(0.25, 'searching');
    await expect.poll(() => told).toContainEqual({ progress: 0.25, total: 1, message: 'searching' });
    ends.resolve({ done: true });
    expect(await answer).toMatchObject({ structuredContent: { done: true } });
  });
});

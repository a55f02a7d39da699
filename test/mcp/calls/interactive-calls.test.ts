import { ElicitRequestSchema, LoggingMessageNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { describe, expect, test } from 'vitest';
import type { Principal } from '../../../src/core/auth/principal.ts';
import type { Json, JsonObject, JsonSchema } from '../../../src/core/json.ts';
import { INTERACTIVE_LIMITS } from '../../../src/mcp/calls/interactive-calls.ts';
import type { ToolContext } from '../../../src/tools/definition/tool-definition.ts';
import { agent, settled } from '../../calls/pipeline-fixture.ts';
import { authenticatorOf, HOST, makeHttpApi, TOKEN } from '../../http/http-fixture.ts';
import { legacyClient, modernClient, resultOf } from '../mcp-clients.ts';

const PATH = '/mcp/devices';
const FORMS = { elicitation: { form: {} } };
const NAME: JsonSchema = { type: 'object', properties: { name: { type: 'string', minLength: 1 } }, required: ['name'] };
const ask = (context: ToolContext, key = 'answer') => context.ask({ key, message: `${key}: what is your name?`, schema: NAME });

/** A hub with tools that ask, tell, and count how often they were begun. */
function makeHub(principals: Readonly<Record<string, Principal>> = {}) {
  const revoked = new Set<string>();
  const setup = makeHttpApi({ authenticator: { ...authenticatorOf(principals), isStillValid: ({ id }) => !revoked.has(id) } });
  const ended: AbortSignal[] = [];
  const begun = { count: 0 };
  const addAsking = (name: string, handler: (context: ToolContext) => Promise<Json>) =>
    setup.addTool({
      name,
      parameters: { type: 'object', properties: { who: { type: 'string' } } },
      requires: { permissions: ['device:control'] },
      execution: { timeout_ms: 3_600_000, side_effects: true, idempotent: true },
      handler: async (_params, context) => {
        begun.count++;
        context.signal.addEventListener('abort', () => ended.push(context.signal));
        return handler(context);
      },
    });
  addAsking('greet', async (context) => ({ ...(await ask(context)) }));
  addAsking('greet_twice', async (context) => ({ first: { ...(await ask(context, 'a')) }, second: { ...(await ask(context, 'b')) } }));
  addAsking('greet_both', async (context) => {
    const [first, second] = await Promise.all([ask(context), ask(context)]);
    return { first: { ...first }, second: { ...second } };
  });
  addAsking('greet_and_wait', async (context) => {
    await ask(context);
    return new Promise((_resolve, reject) => context.signal.addEventListener('abort', () => reject(context.signal.reason)));
  });
  addAsking('talk', async ({ tell }) => {
    tell('debug', 'quiet');
    tell('warning', { loud: true });
    return { ok: true };
  });
  return { ...setup, begun, ended, revoked };
}

type Hub = ReturnType<typeof makeHub>;

/** A request of 2026-07-28 as it is on the wire. */
async function send(
  { httpApi }: Hub,
  name: string,
  extra: JsonObject = {},
  { token = TOKEN, capabilities = FORMS as JsonObject, ...more }: Sent = {},
) {
  const { signal, meta = {} } = more;
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': capabilities,
    ...meta,
  };
  const response = await httpApi.app.request(`http://${HOST}${PATH}`, {
    method: 'POST',
    headers: {
      host: HOST,
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': name,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: {}, ...extra, _meta } }),
    ...(signal && { signal }),
  });
  const text = await response.text();
  const messages = (
    text.startsWith('{')
      ? [text]
      : text
          .split('\n')
          .filter((line) => line.startsWith('data: '))
          .map((line) => line.slice(6))
  )
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
  return { status: response.status, messages, ...messages.at(-1) } as {
    status: number;
    messages: JsonObject[];
    result: never;
    error: never;
  };
}

interface Sent {
  readonly token?: string;
  readonly capabilities?: JsonObject;
  readonly signal?: AbortSignal;
  readonly meta?: JsonObject;
}

const stateOf = ({ result }: { readonly result: JsonObject }) => String(result.requestState);
const accept = (name: string) => ({ action: 'accept', content: { name } });
const ADA = { answer: accept('Ada') };

describe.each([
  [
    '2026-07-28',
    async (hub: Hub, answer: () => unknown) => {
      const client = await modernClient(hub.httpApi, { capabilities: FORMS });
      client.setRequestHandler('elicitation/create', async () => answer() as { action: 'accept' });
      return client;
    },
  ],
  [
    '2025-11-25',
    async (hub: Hub, answer: () => unknown) => {
      const client = await legacyClient(hub.httpApi, { capabilities: FORMS });
      client.setRequestHandler(ElicitRequestSchema, async () => answer() as { action: 'accept' });
      return client;
    },
  ],
] as const)('a tool asks the person at a client of %s', (_era, connect) => {
  const through = (client: Awaited<ReturnType<typeof connect>>, name: string) =>
    resultOf(client as never, 'control_tool', { name, arguments: {} });

  test('and runs once, with the answer', async () => {
    const hub = makeHub();
    const client = await connect(hub, () => accept('Ada'));
    expect(await through(client, 'greet')).toEqual(accept('Ada'));
    expect(hub.begun.count).toBe(1);
  });

  test('several times, one after the other and at once', async () => {
    const hub = makeHub();
    const answers = ['Ada', 'Bob', 'Cid', 'Cid'];
    const client = await connect(hub, () => accept(answers.shift() ?? ''));
    expect(await through(client, 'greet_twice')).toEqual({ first: accept('Ada'), second: accept('Bob') });
    expect(await through(client, 'greet_both')).toEqual({ first: accept('Cid'), second: accept('Cid') });
    expect(hub.begun.count).toBe(2);
  });

  test('and hears that the person would rather not', async () => {
    const client = await connect(makeHub(), () => ({ action: 'decline' }));
    expect(await through(client, 'greet')).toEqual({ action: 'decline' });
  });
});

describe('a session', () => {
  test('whose client shows no forms gets NOT_SUPPORTED with advice', async () => {
    const client = await legacyClient(makeHub().httpApi);
    expect(await resultOf(client, 'control_tool', { name: 'greet', arguments: {} })).toMatchObject({ code: 'NOT_SUPPORTED' });
  });

  test('that cannot answer makes the tool hear CANCELLED', async () => {
    const client = await legacyClient(makeHub().httpApi, { capabilities: FORMS });
    client.setRequestHandler(ElicitRequestSchema, async () => {
      throw new Error('no screen');
    });
    expect(await resultOf(client, 'control_tool', { name: 'greet', arguments: {} })).toMatchObject({
      code: 'CANCELLED',
      message: expect.stringContaining('no screen'),
    });
  });

  test('hears what tools tell from the level on that it set, each session for itself', async () => {
    const { httpApi } = makeHub();
    const talkTo = async (level: 'debug' | 'error') => {
      const client = await legacyClient(httpApi);
      const heard: unknown[] = [];
      client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => void heard.push(params));
      await client.setLoggingLevel(level);
      return { client, heard };
    };
    const [curious, calm] = [await talkTo('debug'), await talkTo('error')];
    for (const { client } of [curious, calm]) await resultOf(client, 'control_tool', { name: 'talk', arguments: {} });
    expect(curious.heard).toEqual([
      { level: 'debug', data: 'quiet' },
      { level: 'warning', data: { loud: true } },
    ]);
    expect(calm.heard).toEqual([]);
  });
});

describe('a request of 2026-07-28', () => {
  test('names what is asked, and goes on with the answers', async () => {
    const hub = makeHub();
    const asked = await send(hub, 'greet');
    expect(asked.result).toMatchObject({
      resultType: 'input_required',
      inputRequests: {
        answer: { method: 'elicitation/create', params: { mode: 'form', message: 'answer: what is your name?', requestedSchema: NAME } },
      },
    });
    const done = await send(hub, 'greet', { requestState: stateOf(asked), inputResponses: { ...ADA, other: accept('Eve') } });
    expect(done.result).toMatchObject({ structuredContent: accept('Ada') });
    expect(hub.begun.count).toBe(1);
  });

  test('is asked again for what is missing or does not fit, by the same call', async () => {
    const hub = makeHub();
    let asked = await send(hub, 'greet');
    for (const inputResponses of [{}, { other: accept('Eve') }, { answer: accept('') }, { answer: { action: 'accept' } }]) {
      const again = await send(hub, 'greet', { requestState: stateOf(asked), inputResponses });
      expect(again.result).toMatchObject({ resultType: 'input_required', inputRequests: { answer: {} } });
      expect(stateOf(again)).not.toBe(stateOf(asked));
      asked = again;
    }
    await send(hub, 'greet', { requestState: stateOf(asked), inputResponses: ADA });
    expect(hub.begun.count).toBe(1);
  });

  test('may bring the answer along at once', async () => {
    expect((await send(makeHub(), 'greet', { inputResponses: ADA })).result).toMatchObject({ structuredContent: accept('Ada') });
  });

  test('has a state that serves once, for the same call of the same principal', async () => {
    const hub = makeHub({ other: agent('*') });
    const wrong: readonly (readonly [string, JsonObject, Sent])[] = [
      ['greet', {}, { token: 'other' }],
      ['greet_twice', {}, {}],
      ['greet', { arguments: { who: 'x' } }, {}],
    ];
    for (const [name, extra, sent] of wrong) {
      const requestState = stateOf(await send(hub, 'greet'));
      const answer = await send(hub, name, { ...extra, requestState, inputResponses: ADA }, sent);
      expect(answer.error).toMatchObject({ code: -32_602, message: expect.stringContaining('requestState') });
    }
    const requestState = stateOf(await send(hub, 'greet'));
    expect((await send(hub, 'greet', { requestState: `${requestState}-x`, inputResponses: ADA })).error).toMatchObject({ code: -32_602 });
    expect((await send(hub, 'greet', { requestState, inputResponses: ADA })).result).toMatchObject({ structuredContent: accept('Ada') });
    expect((await send(hub, 'greet', { requestState, inputResponses: ADA })).error).toMatchObject({ code: -32_602 });
  });

  test('that shows no forms is told what it would have to declare', async () => {
    const answer = await send(makeHub(), 'greet', {}, { capabilities: {} });
    expect(answer).toMatchObject({ status: 400, error: { code: -32_021, data: { requiredCapabilities: { elicitation: {} } } } });
  });

  test('hears what tools tell from the level on that it names, and nothing without one', async () => {
    const hub = makeHub();
    const told = async (meta: JsonObject) =>
      (await send(hub, 'talk', {}, { meta })).messages
        .filter(({ method }) => method === 'notifications/message')
        .map(({ params }) => params);
    expect(await told({ 'io.modelcontextprotocol/logLevel': 'notice' })).toEqual([{ level: 'warning', data: { loud: true } }]);
    expect(await told({})).toEqual([]);
  });
});

describe('a call that waits for an answer', () => {
  const isEnded = async (hub: Hub) => {
    await settled();
    return hub.ended.length;
  };

  test('ends after ten minutes', async () => {
    const hub = makeHub();
    const requestState = stateOf(await send(hub, 'greet'));
    hub.clock.advance(599_000);
    expect(await isEnded(hub)).toBe(0);
    hub.clock.advance(6_000);
    expect(await isEnded(hub)).toBe(1);
    expect((await send(hub, 'greet', { requestState, inputResponses: ADA })).error).toMatchObject({ code: -32_602 });
  });

  test('ends with the token that made it', async () => {
    const hub = makeHub({ guest: { ...agent('*'), id: 'guest' } });
    await send(hub, 'greet', {}, { token: 'guest' });
    hub.clock.advance(INTERACTIVE_LIMITS.checkMs);
    expect(await isEnded(hub)).toBe(0);
    hub.revoked.add('guest');
    hub.clock.advance(INTERACTIVE_LIMITS.checkMs);
    expect(await isEnded(hub)).toBe(1);
  });

  test('ends when the client gives up the request that brings the answer', async () => {
    const hub = makeHub();
    const requestState = stateOf(await send(hub, 'greet_and_wait'));
    const gone = new AbortController();
    const answer = send(hub, 'greet_and_wait', { requestState, inputResponses: ADA }, { signal: gone.signal }).catch(() => 'gave up');
    expect(await isEnded(hub)).toBe(0);
    gone.abort();
    await answer;
    expect(await isEnded(hub)).toBe(1);
  });

  test('has a place among few of its account, and makes room for a newer one', async () => {
    const hub = makeHub({ other: { ...agent('*'), id: 'other' } });
    const states: string[] = [];
    for (let call = 0; call < INTERACTIVE_LIMITS.each; call++) states.push(stateOf(await send(hub, 'greet')));
    expect((await send(hub, 'greet', {}, { token: 'other' })).result).toMatchObject({ resultType: 'input_required' });
    expect(await isEnded(hub)).toBe(0);
    expect((await send(hub, 'greet')).result).toMatchObject({ resultType: 'input_required' });
    expect(await isEnded(hub)).toBe(1);
    const [oldest = '', second = ''] = states;
    expect((await send(hub, 'greet', { requestState: oldest, inputResponses: ADA })).error).toMatchObject({ code: -32_602 });
    expect((await send(hub, 'greet', { requestState: second, inputResponses: ADA })).result).toMatchObject({
      structuredContent: accept('Ada'),
    });
  });

  test('ends with the server', async () => {
    const hub = makeHub();
    await send(hub, 'greet');
    await hub.httpApi[Symbol.asyncDispose]();
    expect(await isEnded(hub)).toBe(1);
  });
});

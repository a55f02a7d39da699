import { ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { describe, expect, it } from 'vitest';
import { AtmoError } from '../../src/core/errors.ts';
import { createLogger } from '../../src/core/logger.ts';
import { CHANNEL_LIMITS } from '../../src/mcp/notification-channels.ts';
import { SessionStore } from '../../src/mcp/session-store.ts';
import { agent, owner, settled, withToken } from '../calls/pipeline-fixture.ts';
import { AGENT_TOKEN, ask, authenticatorOf, HOST, makeDevice, makeHttpApi, TOKEN } from '../http/http-fixture.ts';
import { legacyClient, modernClient } from './mcp-clients.ts';

const ACCEPT = { accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2025-11-25' };
const INITIALIZE = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
};
const PING = { jsonrpc: '2.0', id: 2, method: 'ping' };
const TOOL = { name: 'echo', description: 'Says what it hears' };

type Room = ReturnType<typeof makeHttpApi>;

async function initialized({ httpApi }: Room, token = TOKEN): Promise<string> {
  const answer = await ask(httpApi, '/mcp', { token, headers: ACCEPT, body: INITIALIZE });
  return answer.headers.get('mcp-session-id') ?? '';
}

/** Status of a ping within a session. */
async function pinged({ httpApi }: Room, session: string, { token = TOKEN, path = '/mcp' } = {}): Promise<number> {
  return (await ask(httpApi, path, { token, headers: { ...ACCEPT, 'mcp-session-id': session }, body: PING })).status;
}

describe('sessions of the handshake era', () => {
  it('belong to the token that began them, also beside another token of the same agent', async () => {
    const narrow = withToken(agent('sensor:read'), { id: 'aa' });
    const authenticator = authenticatorOf({ narrow, wide: withToken(agent('sensor:read', 'device:control'), { id: 'bb' }) });
    const before = makeHttpApi({ authenticator });
    const session = await initialized(before, 'narrow');
    expect(await pinged(before, session, { token: 'wide' })).toBe(404);
    await before.httpApi[Symbol.asyncDispose]();
    const after = makeHttpApi({ authenticator, store: before.store });
    expect(await pinged(after, session, { token: 'wide' })).toBe(404);
    expect(await pinged(after, session, { token: 'narrow' })).toBe(200);
  });

  it('belong to who began them: for others there is none', async () => {
    const setup = makeHttpApi();
    const session = await initialized(setup);
    expect(await pinged(setup, session)).toBe(200);
    expect(await pinged(setup, session, { token: AGENT_TOKEN })).toBe(404);
    expect(await pinged(setup, session, { path: '/mcp/devices' })).toBe(404);
    expect(await pinged(setup, 'no-such-session')).toBe(404);
  });

  it('are needed for everything but the handshake', async () => {
    const { httpApi } = makeHttpApi();
    expect((await ask(httpApi, '/mcp', { headers: ACCEPT, body: PING })).status).toBe(400);
  });

  it('end by DELETE', async () => {
    const setup = makeHttpApi();
    const session = await initialized(setup);
    const headers = { ...ACCEPT, 'mcp-session-id': session };
    expect((await ask(setup.httpApi, '/mcp', { method: 'DELETE', headers })).status).toBe(200);
    expect(await pinged(setup, session)).toBe(404);
  });

  it('end when nothing was heard for half an hour', async () => {
    const setup = makeHttpApi();
    const [used, unused] = [await initialized(setup), await initialized(setup)];
    setup.clock.advance(CHANNEL_LIMITS.idleMs - CHANNEL_LIMITS.checkMs);
    expect(await pinged(setup, used)).toBe(200);
    setup.clock.advance(2 * CHANNEL_LIMITS.checkMs);
    expect(await pinged(setup, used)).toBe(200);
    expect(await pinged(setup, unused)).toBe(404);
  });

  it('end with the token', async () => {
    let isValid = true;
    const authenticator = { ...authenticatorOf({ [AGENT_TOKEN]: agent('sensor:read') }), isStillValid: () => isValid };
    const setup = makeHttpApi({ authenticator });
    const session = await initialized(setup, AGENT_TOKEN);
    isValid = false;
    setup.clock.advance(CHANNEL_LIMITS.checkMs);
    expect(await pinged(setup, session, { token: AGENT_TOKEN })).toBe(404);
  });

  it('are bounded for each account, the one unused for longest goes first, others lose nothing', async () => {
    const setup = makeHttpApi();
    const other = await initialized(setup, AGENT_TOKEN);
    const [first = '', second = ''] = [await initialized(setup), await initialized(setup)];
    setup.clock.advance(1_000);
    expect(await pinged(setup, first)).toBe(200);
    for (let index = 0; index < CHANNEL_LIMITS.each - 1; index++) await initialized(setup);
    expect(await pinged(setup, first)).toBe(200);
    expect(await pinged(setup, second)).toBe(404);
    expect(await pinged(setup, other, { token: AGENT_TOKEN })).toBe(200);
  });

  it('of few accounts that have taken all places do not keep out who has none', async () => {
    const crowd = Array.from({ length: CHANNEL_LIMITS.all / CHANNEL_LIMITS.each }, (_, index) => `crowd-${index}`);
    const tokens = Object.fromEntries(crowd.map((id) => [id, { ...agent('sensor:read'), id }]));
    const setup = makeHttpApi({ authenticator: authenticatorOf(tokens) });
    for (const id of crowd) for (let count = 0; count < CHANNEL_LIMITS.each; count++) expect(await initialized(setup, id)).not.toBe('');
    const session = await initialized(setup);
    expect(await pinged(setup, session)).toBe(200);
    await initialized(setup, crowd[0]);
    expect(await pinged(setup, session)).toBe(200);
  });

  it('are taken from who has most when all places are taken, not from who has one', async () => {
    const crowd = Array.from({ length: CHANNEL_LIMITS.all / CHANNEL_LIMITS.each - 1 }, (_, index) => `crowd-${index}`);
    const few = Array.from({ length: CHANNEL_LIMITS.each - 1 }, (_, index) => `few-${index}`);
    const tokens = Object.fromEntries([...crowd, ...few].map((id) => [id, { ...agent('sensor:read'), id }]));
    const setup = makeHttpApi({ authenticator: authenticatorOf(tokens) });
    for (const id of crowd) for (let count = 0; count < CHANNEL_LIMITS.each; count++) await initialized(setup, id);
    for (const id of few) await initialized(setup, id);
    // One token for several programs: each begins a session of its own, and none loses one to another.
    const programs = [await initialized(setup), await initialized(setup), await initialized(setup)];
    for (const session of programs) expect(await pinged(setup, session)).toBe(200);
  });

  it('outlive a restart of the hub, with what they subscribed to, for who began them', async () => {
    const before = makeHttpApi();
    const session = await initialized(before);
    const headers = { ...ACCEPT, 'mcp-session-id': session };
    await ask(before.httpApi, '/mcp', { headers, body: { jsonrpc: '2.0', method: 'notifications/initialized' } });
    await before.httpApi[Symbol.asyncDispose]();
    const { store } = before;
    const after = makeHttpApi({ store });
    expect(await pinged(after, session, { token: AGENT_TOKEN })).toBe(404);
    expect(await pinged(after, session, { path: '/mcp/devices' })).toBe(404);
    const list = { headers, body: { jsonrpc: '2.0', method: 'tools/list', id: 3 } };
    const [ping, listed] = await Promise.all([pinged(after, session), ask(after.httpApi, '/mcp', list)]);
    expect(ping).toBe(200);
    expect(listed.text).toContain('home_overview');
  });

  it('that a hub which was cut off has lost are answered as those that ended', async () => {
    const before = makeHttpApi();
    const session = await initialized(before);
    const { httpApi } = makeHttpApi({ store: before.store });
    const answer = await ask(httpApi, '/mcp', { headers: { ...ACCEPT, 'mcp-session-id': session }, body: PING });
    expect(answer.status).toBe(404);
    expect(answer.text).toContain('begin a new one with initialize');
  });

  it('hear after a restart what they subscribed to with their last request before it', async () => {
    const before = makeHttpApi();
    const devices = [makeDevice('attic-lamp', { area: 'Attic' })];
    before.directory.devices = devices;
    let { httpApi } = before;
    const app = { request: (...sent: Parameters<typeof httpApi.app.request>) => httpApi.app.request(...sent) };
    const client = await legacyClient({ app } as never);
    await client.subscribeResource({ uri: 'atmo://devices/attic-lamp' });
    const session = client.http.sessionId ?? '';
    await before.httpApi[Symbol.asyncDispose]();
    const after = makeHttpApi({ store: before.store });
    after.directory.devices = devices;
    httpApi = after.httpApi;
    // The stream of notifier, which the client opens again after a time of its own.
    const headers = { ...ACCEPT, accept: 'text/event-stream', 'mcp-session-id': session, host: HOST, authorization: `Bearer ${TOKEN}` };
    const stream = (await httpApi.app.request(`http://${HOST}/mcp`, { headers })).body?.getReader();
    await settled();
    after.events.emit('device.reachability', 'attic-lamp', {});
    after.clock.advance(250);
    const told = new TextDecoder().decode((await stream?.read())?.value);
    expect(told).toContain('atmo://devices/attic-lamp');
    await stream?.cancel();
  });

  it('that this version of the hub cannot take up are answered as those that ended', async () => {
    const setup = makeHttpApi();
    const kept = new SessionStore({ ...setup, logger: createLogger('error') });
    kept.changed({ id: 'old', principal: owner, facts: { opening: { protocolVersion: 7 }, view: { kind: 'home' }, subscriptions: [] } });
    kept[Symbol.dispose]();
    expect(await pinged(setup, 'old')).toBe(404);
    expect(await pinged(setup, 'old')).toBe(404);
  });

  it('are not opened any more by a hub that is stopping', async () => {
    const setup = makeHttpApi();
    const session = await initialized(setup);
    await setup.httpApi[Symbol.asyncDispose]();
    expect(await pinged(setup, session)).toBe(503);
    const answer = await ask(setup.httpApi, '/mcp', { headers: ACCEPT, body: INITIALIZE });
    expect(answer).toMatchObject({ status: 503, json: { id: 1, error: { data: { code: 'SHUTTING_DOWN' } } } });
  });

  it('are begun and answered also while the disk takes no writes', async () => {
    const setup = makeHttpApi();
    setup.store.set = () => {
      throw new AtmoError('STORAGE_FAILED', 'The disk is full');
    };
    const session = await initialized(setup);
    expect(session).not.toBe('');
    expect(await pinged(setup, session)).toBe(200);
  });

  it('outlive it as the official client is, which never begins a second one', async () => {
    const before = makeHttpApi();
    before.directory.devices = [makeDevice('attic-lamp', { area: 'Attic' })];
    let { httpApi } = before;
    const client = await legacyClient({
      app: { request: (...sent: Parameters<typeof httpApi.app.request>) => httpApi.app.request(...sent) },
    } as never);
    await client.subscribeResource({ uri: 'atmo://devices/attic-lamp' });
    await before.httpApi[Symbol.asyncDispose]();
    const after = makeHttpApi({ store: before.store });
    after.directory.devices = before.directory.devices;
    httpApi = after.httpApi;
    expect((await client.listTools()).tools.length).toBeGreaterThan(5);
    await client.unsubscribeResource({ uri: 'atmo://devices/attic-lamp' });
  });

  it('that ended stay ended after a restart, and so do those of a day before', async () => {
    const before = makeHttpApi();
    const [ended, old] = [await initialized(before), await initialized(before)];
    await ask(before.httpApi, '/mcp', { method: 'DELETE', headers: { ...ACCEPT, 'mcp-session-id': ended } });
    await before.httpApi[Symbol.asyncDispose]();
    const { store } = before;
    expect(await pinged(makeHttpApi({ store }), ended)).toBe(404);
    before.clock.advance(24 * 3_600_000 + 1);
    expect(await pinged(makeHttpApi({ store }), old)).toBe(404);
  });

  it('hear once that their list of tools changed, and the default view hears nothing of devices', async () => {
    const { httpApi, addTool, clock, directory } = makeHttpApi();
    directory.devices = [makeDevice('attic-lamp', { area: 'Attic' })];
    const heard: string[] = [];
    for (const path of ['/mcp', '/mcp/devices', '/mcp/areas/Attic']) {
      const client = await legacyClient(httpApi, { path });
      client.setNotificationHandler(ToolListChangedNotificationSchema, () => void heard.push(path));
    }
    await settled();
    addTool(TOOL);
    addTool({ ...TOOL, name: 'echo_louder' });
    clock.advance(250);
    await settled();
    expect(heard).toEqual(['/mcp/devices']);
  });

  it('hear nothing more from the moment that their token ends', async () => {
    let isValid = true;
    const authenticator = { ...authenticatorOf({}), isStillValid: () => isValid };
    const { httpApi, addTool, clock } = makeHttpApi({ authenticator });
    let heard = 0;
    const client = await legacyClient(httpApi, { path: '/mcp/devices' });
    client.setNotificationHandler(ToolListChangedNotificationSchema, () => void heard++);
    await settled();
    addTool(TOOL);
    isValid = false;
    clock.advance(250);
    await settled();
    expect(heard).toBe(0);
  });

  it('hear after a cut what was told meanwhile', async () => {
    const setup = makeHttpApi();
    const session = await initialized(setup);
    const headers = { ...ACCEPT, accept: 'text/event-stream', 'mcp-session-id': session };
    const { httpApi, addTool, clock } = setup;
    const path = 'http://127.0.0.1:8081/mcp';
    const cut = new AbortController();
    const get = (lastEventId?: string) =>
      httpApi.app.request(path, {
        headers: {
          ...headers,
          host: '127.0.0.1:8081',
          authorization: `Bearer ${TOKEN}`,
          ...(lastEventId !== undefined && { 'last-event-id': lastEventId }),
        },
        signal: cut.signal,
      });
    const first = await get();
    expect(first.status).toBe(200);
    addTool({ ...TOOL, namespace: 'core', name: 'job_status' });
    clock.advance(250);
    const reader = first.body?.getReader();
    const told = new TextDecoder().decode((await reader?.read())?.value);
    expect(told).toContain('notifications/tools/list_changed');
    await reader?.cancel();
    addTool({ ...TOOL, namespace: 'core', name: 'set_cover' });
    clock.advance(250);
    await settled();
    const again = await get(/id: (\S+)/.exec(told)?.[1]);
    const missed = new TextDecoder().decode((await again.body?.getReader().read())?.value);
    expect(missed).toContain('notifications/tools/list_changed');
    expect(missed).not.toBe(told);
  });
});

describe('streams of changes of 2026-07-28', () => {
  it('tell of changed tools, and end with the token', async () => {
    let isValid = true;
    const authenticator = { ...authenticatorOf({}), isStillValid: () => isValid };
    const { httpApi, addTool, clock } = makeHttpApi({ authenticator });
    const client = await modernClient(httpApi, { path: '/mcp/devices' });
    let heard = 0;
    client.setNotificationHandler('notifications/tools/list_changed', () => void heard++);
    const subscription = await client.listen({ toolsListChanged: true });
    addTool(TOOL);
    clock.advance(250);
    await settled();
    expect(heard).toBe(1);
    isValid = false;
    clock.advance(CHANNEL_LIMITS.checkMs);
    await expect(subscription.closed).resolves.toBe('graceful');
  });

  it('have their result when the hub stops', async () => {
    const { httpApi } = makeHttpApi();
    const subscription = await (await modernClient(httpApi)).listen({ toolsListChanged: true });
    await httpApi[Symbol.asyncDispose]();
    await expect(subscription.closed).resolves.toBe('graceful');
  });

  it('are refused for a resource that is not there', async () => {
    const { httpApi, directory } = makeHttpApi();
    directory.devices = [makeDevice('attic-lamp', { area: 'Attic' })];
    const client = await modernClient(httpApi);
    const there = 'atmo://devices/attic-lamp';
    await (await client.listen({ resourceSubscriptions: [there] })).close();
    const refused = await client.listen({ resourceSubscriptions: [there, 'atmo://devices/none'] }).catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: -32_602, message: expect.stringContaining('atmo://devices/none') });
  });
});

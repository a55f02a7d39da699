import { expect, it } from 'vitest';
import { READ_RATE } from '../../src/http/server/rate-limits.ts';
import { AGENT_TOKEN, ask, makeHttpApi, TOKEN } from '../http/http-fixture.ts';

const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
};

interface Sent {
  readonly path?: string;
  readonly token?: string;
}

function send(
  { httpApi }: ReturnType<typeof makeHttpApi>,
  method: string,
  params: object,
  { path = '/mcp', token = AGENT_TOKEN }: Sent = {},
) {
  const { name } = params as { readonly name?: string };
  return ask(httpApi, path, {
    token,
    headers: {
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
      ...(name !== undefined && { 'mcp-name': name }),
    },
    body: { jsonrpc: '2.0', id: 1, method, params: { _meta: META, ...params } },
  });
}

const LIMITED = { status: 429, json: { id: 1, error: { data: { code: 'RATE_LIMITED' } } } };
const called = (name: string, given: object = {}) => ({ name, arguments: given });

it('who reads over MCP without end is slowed down as over HTTP, and may still call tools; the owner is free', async () => {
  const setup = makeHttpApi();
  setup.addTool({ name: 'echo', description: 'Says what it hears' });
  for (let count = 0; count < READ_RATE.burst; count++) expect((await send(setup, 'resources/list', {})).status).toBe(200);
  const limited = await send(setup, 'resources/list', {});
  expect(limited).toMatchObject(LIMITED);
  expect(limited.headers.get('retry-after')).toBe('1');
  expect(await send(setup, 'tools/list', {}, { path: '/mcp/devices' })).toMatchObject(LIMITED);
  const echo = { json: { result: { structuredContent: { ok: true } } } };
  expect(await send(setup, 'tools/call', called('echo'), { path: '/mcp/devices' })).toMatchObject(echo);
  expect(await send(setup, 'tools/call', called('read_tool', { name: 'echo' }))).toMatchObject(echo);
  expect((await send(setup, 'resources/list', {}, { token: TOKEN })).status).toBe(200);
  setup.clock.advance(1_000);
  expect((await send(setup, 'resources/list', {})).status).toBe(200);
});

it('each message of a batch counts', async () => {
  const setup = makeHttpApi();
  const body = Array.from({ length: READ_RATE.burst + 1 }, (_, id) => ({ jsonrpc: '2.0', id, method: 'ping' }));
  const headers = { accept: 'application/json, text/event-stream' };
  expect((await ask(setup.httpApi, '/mcp', { token: AGENT_TOKEN, headers, body })).status).toBe(429);
});

it('so are searches, and calls of tools that are not there, which look for what was meant', async () => {
  const setup = makeHttpApi();
  const limited = { json: { result: { structuredContent: { code: 'RATE_LIMITED' } } } };
  for (let count = 0; count < READ_RATE.burst; count++) await send(setup, 'tools/call', called('read_tool', { name: 'nothing' }));
  expect(await send(setup, 'tools/call', called('control_tool', { name: 'nothing' }))).toMatchObject(limited);
  expect(await send(setup, 'tools/call', called('search_tools', { query: 'light' }))).toMatchObject(limited);
  expect(await send(setup, 'tools/call', called('home_overview'))).toMatchObject(limited);
  const direct = await send(setup, 'tools/call', called('nothing'), { path: '/mcp/devices' });
  expect(direct.json).toMatchObject({ error: { data: { code: 'RATE_LIMITED' } } });
});

import { execFile, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { Client as ModernClient, StreamableHTTPClientTransport as ModernHttp, auth as modernAuth } from '@modelcontextprotocol/client';
import { auth as legacyAuth } from '@modelcontextprotocol/sdk/client/auth.js';
import { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as LegacyHttp } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { JsonObject } from '../../src/core/json.ts';
import { MAIN } from './main-program.ts';
import { conformanceProgram, MISSING_CHECKS } from './mcp/foreign-checks.ts';
import { RunningHub } from './running-hub.ts';

const CALLBACK = 'http://127.0.0.1:9/callback';
const ABOUT = { name: 'live-test', version: '1.0.0' };
let dir: string;
let hub: RunningHub;

/** The hub keeps its port over a restart, as one that is installed does: the port is a part of the issuer. */
let port = 0;
const startHub = () =>
  RunningHub.start({
    stateDir: join(dir, 'hub'),
    config: { matter: { enabled: false }, sensors: { discover: false } },
    env: { ATMO_HTTP_PORT: String(port) },
  });

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'oauth-'));
  port = await freePort();
  hub = await startHub();
});
afterAll(async () => {
  await hub?.[Symbol.asyncDispose]();
  rmSync(dir, { recursive: true, force: true });
});

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port: found } = server.address() as { readonly port: number };
  await new Promise((resolve) => server.close(resolve));
  return found;
}

async function post(path: string, body: unknown): Promise<JsonObject> {
  const response = await hub.request(path, {
    method: 'POST',
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json' },
  });
  expect(response.status, `${path}: ${await response.clone().text()}`).toBe(200);
  return (await response.json()) as JsonObject;
}

/** What the page does for the owner, who allows what is chosen there at first; the address to which the browser is sent. */
async function consentTo(authorization: URL): Promise<URL> {
  const opened = await post('/api/v1/oauth/requests', { query: authorization.search.slice(1) });
  const { default_until: until } = opened.choices as JsonObject;
  const switches = { control: true, readings: true, locks: false, valves: false, administration: false };
  const choice = { areas: 'all', kinds: 'all', ...switches, until };
  const path = `/api/v1/oauth/requests/${opened.request_id}`;
  const { permissions } = await post(`${path}/preview`, { choice });
  return new URL(String((await post(`${path}/allow`, { choice, permissions })).redirect_to));
}

/** Keeps what a client of the SDK has to remember, and the address to which it sends its person. */
class Memory {
  client: { client_id: string } | undefined;
  saved: { access_token: string; refresh_token?: string | undefined; token_type: string } | undefined;
  verifier = '';
  sentTo: URL | undefined;
  readonly redirectUrl = CALLBACK;
  readonly clientMetadata = { client_name: 'Claude AI', redirect_uris: [CALLBACK] };
  clientInformation = () => this.client;
  saveClientInformation = (client: { client_id: string }) => {
    this.client = client;
  };
  tokens = () => this.saved;
  saveTokens = (tokens: NonNullable<Memory['saved']>) => {
    this.saved = tokens;
  };
  saveCodeVerifier = (verifier: string) => {
    this.verifier = verifier;
  };
  codeVerifier = () => this.verifier;
  redirectToAuthorization = (url: URL) => {
    this.sentTo = url;
  };
}

/** What both SDKs' `auth()` answers and takes. */
type Auth = (
  memory: Memory,
  options: { readonly serverUrl: string; readonly authorizationCode?: string; readonly iss?: string },
) => Promise<string>;

const SDKS: readonly (readonly [string, Auth, (memory: Memory) => Promise<readonly string[]>])[] = [
  ['@modelcontextprotocol/client', (memory, options) => modernAuth(memory, options), modernTools],
  ['@modelcontextprotocol/sdk', (memory, options) => legacyAuth(memory, options), legacyTools],
];

async function modernTools(memory: Memory): Promise<readonly string[]> {
  const client = new ModernClient(ABOUT);
  await client.connect(new ModernHttp(new URL(`${hub.url}/mcp`), { authProvider: memory }));
  const { tools } = await client.listTools();
  await client.close();
  return tools.map(({ name }) => name);
}

async function legacyTools(memory: Memory): Promise<readonly string[]> {
  const client = new LegacyClient(ABOUT);
  await client.connect(new LegacyHttp(new URL(`${hub.url}/mcp`), { authProvider: memory }));
  const { tools } = await client.listTools();
  await client.close();
  return tools.map(({ name }) => name);
}

describe.each(SDKS)('the client of %s', (_name, auth, toolsFor) => {
  const memory = new Memory();

  test('finds the authorization server, registers, and gets a token after a person has consented', async () => {
    const serverUrl = `${hub.url}/mcp`;
    expect(await auth(memory, { serverUrl })).toBe('REDIRECT');
    const { searchParams } = await consentTo(memory.sentTo ?? new URL('about:blank'));
    expect(searchParams.get('iss')).toBe(hub.url);
    const answer = { authorizationCode: searchParams.get('code') ?? '', iss: searchParams.get('iss') ?? '' };
    expect(await auth(memory, { serverUrl, ...answer })).toBe('AUTHORIZED');
    expect(await toolsFor(memory)).toContain('home_overview');
  });

  test('renews its token, also after the hub was killed', async () => {
    const before = memory.saved;
    await hub.kill();
    hub = await startHub();
    expect(await toolsFor(memory)).toContain('search_tools');
    expect(await auth(memory, { serverUrl: `${hub.url}/mcp` })).toBe('AUTHORIZED');
    expect(memory.saved?.refresh_token).not.toBe(before?.refresh_token);
    expect(await toolsFor(memory)).toContain('read_sensor');
  });

  test('has no access from the moment at which a person ends it', async () => {
    const { grants } = (await hub.get('/api/v1/oauth/grants')) as { grants: readonly { id: string; client_name: string }[] };
    expect(grants[0]?.client_name).toBe('Claude AI');
    const ended = await hub.request(`/api/v1/oauth/grants/${grants[0]?.id}`, { method: 'DELETE' });
    expect(ended.status).toBe(200);
    const headers = { authorization: `Bearer ${memory.saved?.access_token}`, 'content-type': 'application/json' };
    const refused = await fetch(`${hub.url}/mcp`, { method: 'POST', headers, body: '{"jsonrpc":"2.0","id":1,"method":"ping"}' });
    expect(refused.status).toBe(401);
    expect(refused.headers.get('www-authenticate')).toContain('resource_metadata=');
  });
});

test('the command line shows the client of each token, and ending the token ends the access', async () => {
  const memory = new Memory();
  const serverUrl = `${hub.url}/mcp`;
  await legacyAuth(memory, { serverUrl });
  const { searchParams } = await consentTo(memory.sentTo ?? new URL('about:blank'));
  await legacyAuth(memory, { serverUrl, authorizationCode: searchParams.get('code') ?? '' });
  const env = { ...process.env, ATMO_STATE_DIR: join(dir, 'hub'), ATMO_HTTP_PORT: String(port) };
  const atmo = async (...words: readonly string[]) => (await promisify(execFile)(process.execPath, [MAIN, ...words], { env })).stdout;
  const row = (await atmo('tokens')).split('\n').find((line) => line.includes('Claude AI') && line.includes('valid'));
  expect(row).toMatch(/^[0-9a-f]+ +monitor\/claude-ai/);
  await atmo('token', 'revoke', row?.split(' ')[0] ?? '');
  const gone = await fetch(`${hub.url}/oauth/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'refresh_token',
      client_id: memory.client?.client_id ?? '',
      refresh_token: memory.saved?.refresh_token ?? '',
    }),
  });
  expect([gone.status, ((await gone.json()) as JsonObject).error]).toEqual([400, 'invalid_grant']);
});

describe.skipIf(MISSING_CHECKS !== undefined)('the conformance suite', () => {
  test('finds an authorization server that gives codes as OAuth 2.1 wants it', { timeout: 120_000 }, async () => {
    const callbackPort = await freePort();
    const redirect = `http://127.0.0.1:${callbackPort}/callback`;
    const registered = await fetch(`${hub.url}/oauth/register`, {
      method: 'POST',
      body: JSON.stringify({ client_name: 'Conformance', redirect_uris: [redirect] }),
      headers: { 'content-type': 'application/json' },
    });
    const { client_id: clientId } = (await registered.json()) as { readonly client_id: string };
    const words = ['authorization', '--url', hub.url, '--client-id', clientId, '--port', String(callbackPort)];
    const resource = ['--resource', `${hub.url}/mcp`, '--output-dir', join(dir, 'conformance')];
    const child = spawn(process.execPath, [conformanceProgram(), ...words, ...resource], { stdio: ['ignore', 'pipe', 'pipe'] });
    const said: string[] = [];
    createInterface({ input: child.stderr }).on('line', (line) => said.push(line));
    createInterface({ input: child.stdout }).on('line', (line) => {
      said.push(line);
      if (line.startsWith(`${hub.url}/oauth/authorize`)) void consentTo(new URL(line)).then((location) => fetch(location));
    });
    const code = await new Promise((resolve) => child.once('close', resolve));
    const text = said.join('\n');
    expect(code, text).toBe(0);
    expect(text).toContain('authorization-code-grant');
    expect(text).not.toMatch(/[1-9]\d* failed|FAILURE|SKIPPED/);
  });
});

import { execFile, spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isJsonObject, type Json } from '../../../src/core/json.ts';
import { type AgentSnippet, agentSnippets } from '../../../src/web/pages/agent-snippets.ts';
import { RunningHub } from '../running-hub.ts';

const ROOT = join(import.meta.dirname, '../../..');
const INITIALIZE = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
};
/** The addresses at which these clients take the answer, as their makers document them. */
const REDIRECT_URIS: Readonly<Record<string, string>> = {
  'claude.ai': 'https://claude.ai/api/mcp/auth_callback',
  ChatGPT: 'https://chatgpt.com/connector_platform_oauth_redirect',
  'Claude Code': 'http://localhost:54212/callback',
  'VS Code': 'http://127.0.0.1:33418/',
  Cursor: 'cursor://anysphere.cursor-mcp/oauth/callback',
  'OpenAI Codex': 'http://127.0.0.1:1455/callback/abc',
};

let dir: string;
let hub: RunningHub;
let snippets: readonly AgentSnippet[];

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'snippets-'));
  for (const folder of ['home', 'bin']) mkdirSync(join(dir, folder), { mode: 0o700 });
  symlinkSync(join(ROOT, 'scripts/atmo'), join(dir, 'bin/atmo'));
  hub = await RunningHub.start({ stateDir: join(dir, 'state'), config: { matter: { enabled: false } } });
  const { token } = await hub.result('hub:mint_token', { agent_id: 'pasted', permissions: ['device:read:*', 'sensor:read:*'] });
  snippets = agentSnippets({ hubUrl: hub.url, token: String(token) });
});
afterAll(async () => {
  await hub?.[Symbol.asyncDispose]();
  rmSync(dir, { recursive: true, force: true });
});

/** A machine with `atmo` and `claude` on its path, where the owner may ask the hub. */
function environment(more: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv {
  return {
    HOME: join(dir, 'home'),
    PATH: [join(dir, 'bin'), process.env.PATH].join(delimiter),
    ATMO_STATE_DIR: join(dir, 'state'),
    ...more,
  };
}

interface ServerEntry {
  readonly command?: string;
  readonly args?: readonly string[];
  readonly env?: Record<string, string>;
  readonly url?: string;
  readonly headers?: Record<string, string>;
}

/** What a client makes of a text: how to start the server, or where it is. */
function entryOf({ format, text }: AgentSnippet): ServerEntry {
  if (format === 'json')
    return Object.values(Object.values(JSON.parse(text) as Record<string, Record<string, ServerEntry>>)[0] ?? {})[0] ?? {};
  if (format === 'toml') return entryOfToml(text);
  const [, command] = text.split(' -- ');
  if (command !== undefined)
    return { command: 'atmo', args: command.split(' ').slice(1), env: { ATMO_URL: /ATMO_URL=(\S+)/.exec(text)?.[1] ?? '' } };
  if (format === 'address') return { url: text };
  const [, name = '', value = ''] = /--header '([^:]+): ([^']+)'/.exec(text) ?? [];
  return { url: /https?:\S+/.exec(text)?.[0] ?? '', headers: { [name]: value } };
}

/** Strings, lists and inline tables of strings: what TOML and JSON write alike, but for `=`. */
function entryOfToml(text: string): ServerEntry {
  const members = text
    .split('\n')
    .slice(1)
    .map((line) => line.split(/ = (.*)/, 2) as [string, string]);
  const values = members.map(([key, value]) => [
    key === 'http_headers' ? 'headers' : key,
    JSON.parse(value.replaceAll(/(\w+) = /g, '"$1": ')) as Json,
  ]);
  return Object.fromEntries(values) as ServerEntry;
}

/** Two answers over stdio, as a client begins: who is there, and which tools. */
async function toolsOverStdio({ command = '', args = [], env }: ServerEntry): Promise<readonly string[]> {
  const child = spawn(command, args, { env: environment(env), stdio: ['pipe', 'pipe', 'pipe'] });
  const complaints: string[] = [];
  createInterface({ input: child.stderr }).on('line', (line) => complaints.push(line));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const say = (message: object) => child.stdin.write(`${JSON.stringify(message)}\n`);
  const hear = async () => {
    const { value, done } = await lines.next();
    if (done) expect.unreachable(complaints.join('\n'));
    return JSON.parse(value) as unknown;
  };
  say(INITIALIZE);
  const first = await hear();
  say({ jsonrpc: '2.0', method: 'notifications/initialized' });
  say({ jsonrpc: '2.0', id: 2, method: 'tools/list', params: {} });
  const second = await hear();
  child.stdin.end();
  expect(first).toMatchObject({ id: 1, result: { serverInfo: {} } });
  return toolNames(second);
}

async function toolsOverHttp({ url = '', headers = {} }: ServerEntry): Promise<readonly string[]> {
  const ask = async (message: object, more: Record<string, string> = {}) =>
    fetch(url, {
      method: 'POST',
      body: JSON.stringify(message),
      headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers, ...more },
    });
  const first = await ask(INITIALIZE);
  expect(messageIn(await first.text())).toMatchObject({ id: 1, result: { serverInfo: {} } });
  const session = { 'mcp-session-id': first.headers.get('mcp-session-id') ?? '', 'mcp-protocol-version': '2025-11-25' };
  await ask({ jsonrpc: '2.0', method: 'notifications/initialized' }, session);
  return toolNames(messageIn(await (await ask({ jsonrpc: '2.0', id: 2, method: 'tools/list', params: {} }, session)).text()));
}

/** The message of an answer, plain or as an event. */
function messageIn(text: string): unknown {
  const json = text.startsWith('{')
    ? text
    : text
        .split('\n')
        .findLast((line) => line.startsWith('data: {'))
        ?.slice('data: '.length);
  return JSON.parse(json ?? 'null');
}

function toolNames(message: unknown): readonly string[] {
  const { result } = message as { result?: { tools?: readonly { name: string }[] } };
  return (result?.tools ?? []).map(({ name }) => name);
}

const bySort = (way: AgentSnippet['way']) => agentSnippets({ hubUrl: 'http://127.0.0.1:1' }).filter((snippet) => snippet.way === way);

describe('what the page says to paste', () => {
  test.for(bySort('command').map(({ client }) => client))('starts a server for %s that lists the tools', async (client, { expect }) => {
    const snippet = snippets.find((one) => one.client === client && one.way === 'command') ?? expect.unreachable();
    expect(await toolsOverStdio(entryOf(snippet))).toContain('search_tools');
  });

  test.for(
    bySort('http')
      .map(({ client }) => client)
      .filter((client) => client !== 'curl' && client !== 'OpenAI functions'),
  )('reaches the hub for %s with the token alone', async (client, { expect }) => {
    const snippet = snippets.find((one) => one.client === client && one.way === 'http') ?? expect.unreachable();
    expect(await toolsOverHttp(entryOf(snippet))).toContain('search_tools');
    const { headers, ...stranger } = entryOf(snippet);
    expect(headers).toHaveProperty('Authorization');
    await expect(toolsOverHttp(stranger)).rejects.toThrow();
  });

  test.for(bySort('sign-in').map(({ client }) => client))(
    'lets %s find where to sign in, and register with its own address',
    async (client, { expect }) => {
      const snippet = snippets.find((one) => one.client === client && one.way === 'sign-in') ?? expect.unreachable();
      const { url = '' } = entryOf(snippet);
      const refused = await fetch(url, {
        method: 'POST',
        body: JSON.stringify(INITIALIZE),
        headers: { 'content-type': 'application/json' },
      });
      const [, metadata = ''] = /resource_metadata="([^"]+)"/.exec(refused.headers.get('www-authenticate') ?? '') ?? [];
      const { authorization_servers: servers } = (await (await fetch(metadata)).json()) as { authorization_servers: readonly string[] };
      const server = (await (await fetch(`${servers[0]}/.well-known/oauth-authorization-server`)).json()) as Record<string, string>;
      const registered = await fetch(server.registration_endpoint ?? '', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ client_name: client, redirect_uris: [REDIRECT_URIS[client]], token_endpoint_auth_method: 'none' }),
      });
      expect([refused.status, registered.status]).toEqual([401, 201]);
    },
  );

  test.skipIf(!existsSync('/usr/bin/curl'))(
    'works in a shell: curl is answered by the server, and the functions are what a model API takes',
    async () => {
      const run = async (client: string) => {
        const { text } = snippets.find((one) => one.client === client) ?? expect.unreachable();
        return (await promisify(execFile)('sh', ['-c', text], { env: environment(), timeout: 60_000 })).stdout;
      };
      expect(messageIn(await run('curl'))).toMatchObject({ id: 1, result: { serverInfo: {} } });
      const { tools } = JSON.parse(await run('OpenAI functions')) as { tools: readonly Json[] };
      expect(tools.length).toBeGreaterThan(0);
      for (const tool of tools) expect(isJsonObject(tool) && tool.type).toBe('function');
    },
  );
});

import { text } from '../texts/text.ts';

/** The format of a snippet. The tests parse each snippet in its format. */
type SnippetFormat = 'json' | 'toml' | 'shell' | 'address';

/** A text that a person pastes into the configuration of a client, so that the client's agent can use this hub. */
export interface AgentSnippet {
  readonly client: string;
  /**
   * With `command`, the client starts `atmo mcp` on its own machine. With `sign-in`, the client calls the hub's URL and gets its token by OAuth.
   * With `http`, the client calls the hub's URL with a token from the snippet.
   */
  readonly way: 'command' | 'sign-in' | 'http';
  /** The file, menu or terminal in which the text must be pasted. */
  readonly place: string;
  readonly format: SnippetFormat;
  readonly text: string;
}

/** The values that are inserted into the snippets. */
export interface SnippetFacts {
  /** Origin of the hub as seen by this page, such as `http://127.0.0.1:8081`. */
  readonly hubUrl: string;
  /** The agent's own token. Without it the snippets contain TOKEN_PLACEHOLDER. */
  readonly token?: string;
}

/** The text in a snippet that a person must replace by the token. */
export const TOKEN_PLACEHOLDER = 'PASTE-THE-TOKEN-HERE';
/** The name of the hub's server in every client, as in docs/connect.md. */
const NAME = 'home';

/** Clients whose servers call the hub from the Internet, whatever machine the person uses. */
const CLOUD_CLIENTS: readonly string[] = ['claude.ai', 'ChatGPT'];

/** Returns the snippets for all supported clients. `command` snippets come first, because they work without a network. */
export function agentSnippets(facts: SnippetFacts): readonly AgentSnippet[] {
  return [...commandSnippets(facts), ...signInSnippets(facts), ...httpSnippets(facts)];
}

/** Returns whether the client reaches only hubs with a public HTTPS address and a certificate that everybody trusts. */
export function needsPublicAddress({ client }: AgentSnippet): boolean {
  return CLOUD_CLIENTS.includes(client);
}

type Row = readonly [client: string, place: string, format: SnippetFormat, snippet: string];

function snippets(way: AgentSnippet['way'], rows: readonly Row[]): readonly AgentSnippet[] {
  return rows.map(([client, place, format, snippet]) => ({ client, way, place, format, text: snippet }));
}

function commandSnippets({ hubUrl }: SnippetFacts): readonly AgentSnippet[] {
  const env = { ATMO_URL: hubUrl };
  const server = (agent: string) => ({ command: 'atmo', args: ['mcp', '--agent', agent], env });
  const claude = pretty({ mcpServers: { [NAME]: server('claude-desktop') } });
  const claudeCode = `claude mcp add --env ATMO_URL=${hubUrl} --transport stdio ${NAME} -- atmo mcp --agent claude-code`;
  const codex = ['command = "atmo"', 'args = ["mcp", "--agent", "codex"]', `env = { ATMO_URL = ${JSON.stringify(hubUrl)} }`];
  return snippets('command', [
    ['Claude Desktop', text('agents.place_claude_desktop'), 'json', claude],
    ['Claude Code', text('agents.place_terminal_or_file'), 'shell', claudeCode],
    ['VS Code', '.vscode/mcp.json', 'json', pretty({ servers: { [NAME]: { type: 'stdio', ...server('vscode') } } })],
    ['Cursor', '~/.cursor/mcp.json', 'json', pretty({ mcpServers: { [NAME]: server('cursor') } })],
    ['OpenAI Codex', '~/.codex/config.toml', 'toml', [`[mcp_servers.${NAME}]`, ...codex].join('\n')],
  ]);
}

function signInSnippets({ hubUrl }: SnippetFacts): readonly AgentSnippet[] {
  const url = `${hubUrl}/mcp`;
  const codex = [`codex mcp add ${NAME} --url ${url}`, `codex mcp login ${NAME}`].join('\n');
  return snippets('sign-in', [
    ['claude.ai', text('agents.place_claude_ai'), 'address', url],
    ['ChatGPT', text('agents.place_chatgpt'), 'address', url],
    ['Claude Code', text('agents.place_claude_code'), 'shell', `claude mcp add --transport http ${NAME} ${url}`],
    ['VS Code', '.vscode/mcp.json', 'json', pretty({ servers: { [NAME]: { type: 'http', url } } })],
    ['Cursor', '~/.cursor/mcp.json', 'json', pretty({ mcpServers: { [NAME]: { url } } })],
    ['OpenAI Codex', text('agents.place_terminal'), 'shell', codex],
  ]);
}

function httpSnippets({ hubUrl, token = TOKEN_PLACEHOLDER }: SnippetFacts): readonly AgentSnippet[] {
  const url = `${hubUrl}/mcp`;
  const bearer = `Bearer ${token}`;
  const headers = { Authorization: bearer };
  const header = quoted(`Authorization: ${bearer}`);
  const claudeCode = `claude mcp add --transport http ${NAME} ${url} --header ${header}`;
  const codex = [`url = ${JSON.stringify(url)}`, `http_headers = { Authorization = ${JSON.stringify(bearer)} }`];
  const functions = `curl -sS -H ${header} ${quoted(`${hubUrl}/api/v1/tools?format=openai`)}`;
  return snippets('http', [
    ['Claude Code', text('agents.place_terminal'), 'shell', claudeCode],
    ['VS Code', '.vscode/mcp.json', 'json', pretty({ servers: { [NAME]: { type: 'http', url, headers } } })],
    ['Cursor', '~/.cursor/mcp.json', 'json', pretty({ mcpServers: { [NAME]: { url, headers } } })],
    ['OpenAI Codex', '~/.codex/config.toml', 'toml', [`[mcp_servers.${NAME}]`, ...codex].join('\n')],
    ['OpenAI functions', text('agents.place_functions'), 'shell', functions],
    ['curl', text('agents.place_terminal'), 'shell', curlInitialize(url, bearer)],
  ]);
}

function curlInitialize(url: string, bearer: string): string {
  const clientInfo = { name: 'curl', version: '1' };
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params });
  const headers = [`Authorization: ${bearer}`, 'Content-Type: application/json', 'Accept: application/json, text/event-stream'];
  return ['curl -sS', ...headers.map((header) => `-H ${quoted(header)}`), `-d ${quoted(body)}`, url].join(' \\\n  ');
}

/** Returns the text in single quotes, for a shell. The texts in snippets contain no single quotes. */
function quoted(words: string): string {
  return `'${words}'`;
}

function pretty(value: object): string {
  return JSON.stringify(value, null, 2);
}

/** How other machines reach the hub: the result of `GET /api/v1/tls`. */
export interface TlsView {
  readonly enabled: boolean;
  readonly url: string;
  readonly source?: string;
  readonly fingerprint_sha256?: string;
}

/**
 * Returns the fingerprint of the hub's certificate authority, and the command with which another machine trusts that authority. Returns
 * undefined without HTTPS. Also returns undefined if the owner provided the certificate: other machines may already trust it.
 */
export function trustSteps({ source, fingerprint_sha256: fingerprint }: TlsView, origin: string) {
  if (source !== 'own_authority' || fingerprint === undefined || !origin.startsWith('https:')) return undefined;
  return { fingerprint, command: `ATMO_URL=${origin} atmo tls trust ${fingerprint}` };
}

/** How the text is to be read: it is also how the tests parse it. */
export type SnippetFormat = 'json' | 'toml' | 'shell';

/** What has to be pasted where, so that an agent uses this hub. */
export interface AgentSnippet {
  readonly client: string;
  /** `command` starts `atmo mcp` beside the hub; `http` speaks to the hub's address with a token. */
  readonly way: 'command' | 'http';
  /** The file, menu or terminal that it belongs in. */
  readonly place: string;
  readonly format: SnippetFormat;
  readonly text: string;
}

export interface SnippetFacts {
  /** Origin under which this page reached the hub, such as `http://127.0.0.1:8081`. */
  readonly hubUrl: string;
  /** The agent's own token; without it the texts hold TOKEN_PLACE where it belongs. */
  readonly token?: string;
}

/** Stands in the texts where the token has to be put. */
export const TOKEN_PLACEHOLDER = 'PASTE-THE-TOKEN-HERE';
const NAME = 'atmosphere-edge';

/** The ways to connect of every client that we know, commands first: they need no token to be copied. */
export function agentSnippets(facts: SnippetFacts): readonly AgentSnippet[] {
  return [...commandSnippets(facts), ...httpSnippets(facts)];
}

function commandSnippets({ hubUrl }: SnippetFacts): readonly AgentSnippet[] {
  const env = { ATMO_URL: hubUrl };
  const server = (agent: string) => ({ command: 'atmo', args: ['mcp', '--agent', agent], env });
  const command = { way: 'command' } as const;
  return [
    {
      ...command,
      client: 'Claude Desktop',
      place: 'claude_desktop_config.json (Settings › Developer › Edit Config)',
      format: 'json',
      text: pretty({ mcpServers: { [NAME]: server('claude-desktop') } }),
    },
    {
      ...command,
      client: 'Claude Code',
      place: 'a terminal, or the same entry in .mcp.json',
      format: 'shell',
      text: `claude mcp add --env ATMO_URL=${hubUrl} --transport stdio ${NAME} -- atmo mcp --agent claude-code`,
    },
    {
      ...command,
      client: 'VS Code',
      place: '.vscode/mcp.json',
      format: 'json',
      text: pretty({ servers: { [NAME]: { type: 'stdio', ...server('vs-code') } } }),
    },
    {
      ...command,
      client: 'Cursor',
      place: '~/.cursor/mcp.json',
      format: 'json',
      text: pretty({ mcpServers: { [NAME]: server('cursor') } }),
    },
    {
      ...command,
      client: 'OpenAI Codex',
      place: '~/.codex/config.toml',
      format: 'toml',
      text: [
        `[mcp_servers.${NAME}]`,
        'command = "atmo"',
        'args = ["mcp", "--agent", "codex"]',
        `env = { ATMO_URL = ${JSON.stringify(hubUrl)} }`,
      ].join('\n'),
    },
  ];
}

function httpSnippets({ hubUrl, token = TOKEN_PLACEHOLDER }: SnippetFacts): readonly AgentSnippet[] {
  const url = `${hubUrl}/mcp`;
  const bearer = `Bearer ${token}`;
  const headers = { Authorization: bearer };
  const http = { way: 'http' } as const;
  return [
    {
      ...http,
      client: 'Claude Code',
      place: 'a terminal',
      format: 'shell',
      text: `claude mcp add --transport http ${NAME} ${url} --header ${quoted(`Authorization: ${bearer}`)}`,
    },
    {
      ...http,
      client: 'VS Code',
      place: '.vscode/mcp.json',
      format: 'json',
      text: pretty({ servers: { [NAME]: { type: 'http', url, headers } } }),
    },
    { ...http, client: 'Cursor', place: '~/.cursor/mcp.json', format: 'json', text: pretty({ mcpServers: { [NAME]: { url, headers } } }) },
    {
      ...http,
      client: 'OpenAI Codex',
      place: '~/.codex/config.toml',
      format: 'toml',
      text: [`[mcp_servers.${NAME}]`, `url = ${JSON.stringify(url)}`, `http_headers = { Authorization = ${JSON.stringify(bearer)} }`].join(
        '\n',
      ),
    },
    {
      ...http,
      client: 'OpenAI functions',
      place: 'a terminal: the list is what `tools` of a request takes',
      format: 'shell',
      text: `curl -sS -H ${quoted(`Authorization: ${bearer}`)} ${quoted(`${hubUrl}/api/v1/tools?format=openai`)}`,
    },
    { ...http, client: 'curl', place: 'a terminal', format: 'shell', text: curlInitialize(url, bearer) },
  ];
}

function curlInitialize(url: string, bearer: string): string {
  const clientInfo = { name: 'curl', version: '1' };
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params });
  const headers = [`Authorization: ${bearer}`, 'Content-Type: application/json', 'Accept: application/json, text/event-stream'];
  return ['curl -sS', ...headers.map((header) => `-H ${quoted(header)}`), `-d ${quoted(body)}`, url].join(' \\\n  ');
}

/** No text of ours holds a quote of this kind. */
function quoted(text: string): string {
  return `'${text}'`;
}

function pretty(value: object): string {
  return JSON.stringify(value, null, 2);
}

/** How other machines reach the hub, as `GET /api/v1/tls` tells it. */
export interface TlsView {
  readonly enabled: boolean;
  readonly url: string;
  readonly source?: string;
  readonly fingerprint_sha256?: string;
}

/** What another machine has to be told before it believes the hub at `origin`. */
export interface TrustSteps {
  readonly fingerprint: string;
  /** One line for a terminal of that machine. */
  readonly command: string;
}

/** Undefined where the hub is reached in clear, or its certificate is the owner's own, which all may know. */
export function trustSteps({ source, fingerprint_sha256: fingerprint }: TlsView, origin: string): TrustSteps | undefined {
  if (source !== 'own_authority' || fingerprint === undefined || !origin.startsWith('https:')) return undefined;
  return { fingerprint, command: `ATMO_URL=${origin} atmo tls trust ${fingerprint}` };
}

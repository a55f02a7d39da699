import { describe, expect, test } from 'vitest';
import { agentSnippets } from '../../src/web/pages/agent-snippets.ts';
import { readPage } from './page-commands.ts';

const HUB = 'http://127.0.0.1:8081';
const CLIENTS = ['Claude Code', 'VS Code', 'Cursor', 'Claude Desktop', 'claude.ai', 'ChatGPT'] as const;

/** The lines about a client below "Connect an agent", without empty ones. */
function linesOf(client: string): readonly string[] {
  const [, section = ''] = readPage('README.md').split('## Connect an agent\n');
  const [, rest = ''] = section.split(`\n- **${client}**`);
  const [item = ''] = rest.split(/\n(?=- \*\*|\S)/);
  return item.split('\n').filter((line) => line.trim() !== '');
}

/** What the page Agents has for the client, on the machine of the hub. */
const snippetOf = (client: string, way: 'sign-in' | 'command') =>
  agentSnippets({ hubUrl: HUB }).find((one) => one.client === client && one.way === way)?.text ?? '';

/** The server of the page Agents as applications need it whose PATH has neither `node` nor `atmo`. */
function withPaths(client: string) {
  const [servers] = Object.values(JSON.parse(snippetOf(client, 'command')) as Record<string, { home: { args: readonly string[] } }>);
  return { command: '/FULL/PATH/node', args: ['/FULL/PATH/atmo', ...(servers?.home.args ?? [])] };
}

const settingsIn = (lines: readonly string[]) => JSON.parse(/`(\{.*\})`/.exec(lines.join(' '))?.[1] ?? 'null');

describe('the README connects', () => {
  test.each(CLIENTS)('%s in at most three lines', (client) => {
    expect([1, 2, 3]).toContain(linesOf(client).length);
  });

  test('Claude Code with the line of the page Agents', () => {
    expect(linesOf('Claude Code').map((line) => line.trim())).toContain(snippetOf('Claude Code', 'sign-in'));
  });

  test.each(['VS Code', 'Cursor'])('%s with the settings of the page Agents', (client) => {
    expect(settingsIn(linesOf(client))).toEqual(JSON.parse(snippetOf(client, 'sign-in')));
  });

  test('Claude Desktop with the settings of the page Agents, without the address, which the login knows, and with whole paths', () => {
    expect(settingsIn(linesOf('Claude Desktop'))).toEqual({ mcpServers: { home: withPaths('Claude Desktop') } });
  });

  test.each(['claude.ai', 'ChatGPT'])('%s with the path of the page Agents, at a public address', (client) => {
    expect(linesOf(client).join(' ')).toContain(`\`${snippetOf(client, 'sign-in').replace(HUB, 'https://hub.example.org')}\``);
  });
});

describe('docs/connect.md', () => {
  test.each(['Claude Desktop', 'VS Code', 'Cursor'])('gives %s the server of the page Agents with whole paths', (client) => {
    const [, row = ''] = new RegExp(`^\\| ${client} \\|(.*)$`, 'm').exec(readPage('docs/connect.md')) ?? [];
    const settings = [...row.matchAll(/`(\{[^`]*\})`/g)].map(([, json = '']) => JSON.parse(json) as Record<string, { home: unknown }>);
    expect(settings.flatMap((one) => Object.values(one).map(({ home }) => home))).toContainEqual(withPaths(client));
  });
});

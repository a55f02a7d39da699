import { describe, expect, test } from 'vitest';
import { agentSnippets, needsPublicAddress, TOKEN_PLACEHOLDER } from '../../../src/web/pages/agent-snippets.ts';

const FACTS = { hubUrl: 'https://hub.local:8443', token: 'at1.secret' };

describe('the texts with which agents connect', () => {
  test.for(agentSnippets(FACTS).filter(({ format }) => format === 'json'))('for $client ($way) are valid JSON', ({ text }, { expect }) => {
    expect(Object.keys(JSON.parse(text) as object)).toHaveLength(1);
  });

  test.for(agentSnippets(FACTS).filter(({ format }) => format === 'toml'))(
    'for $client ($way) are tables with quoted values',
    ({ text }, { expect }) => {
      const [head, ...entries] = text.split('\n');
      expect(head).toBe('[mcp_servers.home]');
      for (const entry of entries) expect(entry).toMatch(/^[a-z_]+ = (?:"[^"]*"|\["[^\]]*"\]|\{ [A-Za-z_]+ = "[^"]*" \})$/);
    },
  );

  test('name the hub that the page came from, and no other', () => {
    for (const { text } of agentSnippets(FACTS)) {
      expect(text).toContain(FACTS.hubUrl);
      expect(text).not.toContain('127.0.0.1');
    }
  });

  test('hold the token only for HTTP, and a placeholder without a token', () => {
    for (const { way, text } of agentSnippets(FACTS)) expect(text.includes(FACTS.token)).toBe(way === 'http');
    for (const { way, text } of agentSnippets({ hubUrl: FACTS.hubUrl })) expect(text.includes(TOKEN_PLACEHOLDER)).toBe(way === 'http');
  });

  test('say of clients in the cloud alone that they need a public address, and give them the address of the hub', () => {
    const cloud = agentSnippets(FACTS).filter(needsPublicAddress);
    expect(cloud.map(({ client, text }) => [client, text])).toEqual([
      ['claude.ai', `${FACTS.hubUrl}/mcp`],
      ['ChatGPT', `${FACTS.hubUrl}/mcp`],
    ]);
  });

  test('exist for every documented client', () => {
    const clients = new Set(agentSnippets(FACTS).map(({ client }) => client));
    expect([...clients]).toEqual(
      expect.arrayContaining([
        'Claude Desktop',
        'claude.ai',
        'ChatGPT',
        'Claude Code',
        'VS Code',
        'Cursor',
        'OpenAI Codex',
        'OpenAI functions',
        'curl',
      ]),
    );
  });
});

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { openWeb } from '../../../src/connectors/web/web-connector.ts';
import type { JsonObject } from '../../../src/core/json.ts';
import { agent, makePipeline, owner } from '../../calls/pipeline-fixture.ts';

const OFF = { enabled: false, allowedHosts: [] };

function fixture(config: Partial<Parameters<typeof openWeb>[1]> = {}, env: NodeJS.ProcessEnv = {}) {
  const {
    tools,
    aliases = {},
    capabilities = [],
  } = openWeb({ env, stateDir: import.meta.dirname }, { web: { enabled: true, allowedHosts: [] }, ...config });
  const hub = makePipeline({ capabilities: () => capabilities.map(({ type }) => type) });
  const findings = tools.flatMap((tool) => hub.registry.register(tool));
  for (const [alias, name] of Object.entries(aliases)) hub.registry.alias(alias, name);
  const call = (tool: string, params: JsonObject, principal = owner) => hub.pipeline.call({ principal, tool, params });
  return { call, findings, tools, capabilities };
}

describe('switched off', () => {
  test('pages and searches are not configured, and the hub has no internet', async () => {
    const { call, findings, capabilities } = fixture({ web: OFF });
    expect(findings).toEqual([]);
    expect(capabilities).toEqual([]);
    for (const tool of ['fetch_url', 'http_get', 'tool_http_get', 'fetch', 'html_scraper']) {
      expect(await call(tool, { url: 'http://example.org/' })).toMatchObject({ error: { code: 'NOT_CONFIGURED' } });
    }
    expect(await call('search_web', { query: 'beans' })).toMatchObject({ error: { code: 'NOT_CONFIGURED' } });
  });

  test('texts are worked on all the same', async () => {
    const { call } = fixture({ web: OFF });
    expect(await call('tool_json_parse', { text: '{"a":[1]}' })).toMatchObject({ result: { json: '{\n  "a": [\n    1\n  ]\n}' } });
    expect(await call('text_search', { text: 'a1 B2', pattern: '[ab]\\d', ignore_case: true })).toMatchObject({
      result: { matches: ['a1', 'B2'], truncated: false },
    });
  });
});

describe('as a hub starts without settings', () => {
  test('pages are fetched with the permission net:read, and private hosts are refused', async () => {
    const { call, capabilities } = fixture();
    expect(capabilities.map(({ type }) => type)).toEqual(['internet']);
    expect(await call('http_get', { url: 'http://127.0.0.1/' }, agent('web:search'))).toMatchObject({
      error: { code: 'TOOL_NOT_FOUND' },
    });
    expect(await call('http_get', { url: 'http://127.0.0.1/' }, agent('net:read'))).toMatchObject({
      error: { code: 'PERMISSION_DENIED', message: expect.stringContaining('connectors.web.allowed_hosts') },
    });
  });

  test('a search server alone brings the internet, and its secret has to be there', () => {
    const search = { url: 'http://127.0.0.1:8888', token: 'env:SEARCH_TOKEN' };
    expect(fixture({ web: OFF, search }, { SEARCH_TOKEN: 'x' }).capabilities).toHaveLength(1);
    expect(() => fixture({ search })).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }));
  });
});

describe('a text', () => {
  test('is given as text, as stdin, or as a file that the caller may read', async () => {
    const home = mkdtempSync(join(tmpdir(), 'texts-'));
    writeFileSync(join(home, 'list.json'), '[1]');
    const { call } = fixture({ files: { roots: { notes: { path: home, writable: false } } } });
    for (const params of [{ text: '[1]' }, { stdin: '[1]' }, { file: 'notes/list.json' }]) {
      expect(await call('json_parse', params)).toMatchObject({ result: { json: '[\n  1\n]' } });
      expect(await call('text_search', { ...params, pattern: '\\d' })).toMatchObject({ result: { matches: ['1'] } });
    }
    const stranger = agent('net:read');
    expect(await call('json_parse', { file: 'notes/list.json' }, stranger)).toMatchObject({ error: { code: 'PERMISSION_DENIED' } });
    expect(await call('json_parse', { stdin: '[1]' }, stranger)).toMatchObject({ status: 'success' });
    rmSync(home, { recursive: true });
  });

  test('is one: none and several are refused', async () => {
    const { call } = fixture();
    for (const params of [{}, { text: '1', stdin: '1' }]) {
      expect(await call('json_parse', params)).toMatchObject({
        error: { code: 'VALIDATION_ERROR', message: 'Give one of text, stdin and file' },
      });
    }
  });
});

describe('text_search', () => {
  const { call } = fixture();

  test('names the place where a pattern is malformed', async () => {
    expect(await call('text_search', { pattern: '(', text: 'x' })).toMatchObject({ error: { code: 'VALIDATION_ERROR' } });
  });

  test('ends when a pattern takes for ever, and the hub works on meanwhile', async () => {
    let turns = 0;
    const timer = setInterval(() => turns++, 10);
    const answer = await call('text_search', { pattern: '^(a+)+$', text: `${'a'.repeat(40)}b` });
    clearInterval(timer);
    expect(answer).toMatchObject({ error: { code: 'RESOURCE_EXCEEDED', retryable: false } });
    // Of a hub that stands still the timer fires once at most.
    expect(turns).toBeGreaterThan(2);
  });

  test('returns at most the requested number, and whether there are more', async () => {
    expect(await call('text_search', { pattern: '^.', text: 'a\nb\nc', limit: 2 })).toMatchObject({
      result: { matches: ['a', 'b'], truncated: true },
    });
    expect(await call('text_search', { pattern: 'x*', text: 'ab', limit: 5 })).toMatchObject({ result: { matches: ['', '', ''] } });
  });
});

test('json_parse names the malformed place, however deep it is', async () => {
  const { call } = fixture();
  expect(await call('json_parse', { text: '{"a":}' })).toMatchObject({ error: { code: 'VALIDATION_ERROR' } });
  const deep = await call('json_parse', { text: '['.repeat(20_000) + ']'.repeat(20_000) });
  expect(deep).toMatchObject({ error: { code: 'VALIDATION_ERROR' } });
});

import { createServer } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openWeb } from '../../../src/connectors/web/web-connector.ts';
import type { JsonObject } from '../../../src/core/json.ts';
import { makePipeline, owner } from '../../calls/pipeline-fixture.ts';
import { HostileSite } from './hostile-site.ts';
import { type LoopbackServer, onLoopback } from './loopback-server.ts';

let site: HostileSite;
let searxng: LoopbackServer;
const searches: URL[] = [];

beforeAll(async () => {
  site = await HostileSite.start();
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '', 'http://searxng');
    searches.push(url);
    if (url.searchParams.get('q') === 'html only') return response.writeHead(403).end('Forbidden');
    if (url.searchParams.get('q') === 'garbage') return response.end('<html>');
    if (url.searchParams.get('q') === 'other json') return response.end('[]');
    return response.end(JSON.stringify(pageOf(Number(url.searchParams.get('pageno')))));
  });
  searxng = await onLoopback(server);
});

afterAll(async () => {
  await site?.[Symbol.asyncDispose]();
  await searxng?.[Symbol.asyncDispose]();
});

/** Three pages of results: 4, 3 and the same 3 again. */
function pageOf(page: number): JsonObject {
  const result = (n: number) => ({ title: `Bean\n ${n}`, url: `https://beans.example/${n}`, content: `All about bean ${n}`, engine: 'x' });
  const numbers = page === 1 ? [1, 2, 3] : [4, 5, 6];
  const odd = { title: 'no link', url: 'javascript:evil()', content: '' };
  return { query: 'beans', number_of_results: 0, results: [...numbers.map(result), ...(page === 1 ? [odd, null] : [])] };
}

function call(tool: string, params: JsonObject) {
  const url = `${searxng.url}/sub`;
  const config = { web: { enabled: true, allowedHosts: ['127.0.0.1'] }, search: { url, language: 'de', token: 'env:SEARCH' } };
  const { tools } = openWeb({ env: { SEARCH: 'hush' }, stateDir: '/nowhere' }, config);
  const setup = makePipeline({ capabilities: () => ['internet'] });
  for (const each of tools) setup.registry.register(each);
  return setup.pipeline.call({ principal: owner, tool, params });
}

const at = (path: string) => ({ url: site.url(path, '127.0.0.1') });

describe('fetch_url', () => {
  test.each([
    ['markdown', '# Beds\n\nSeven **tall** beans.'],
    ['text', 'Beds\n\nSeven tall beans.'],
  ])('as %s', async (mode, content) => {
    expect(await call('fetch_url', { ...at('/page'), extract_mode: mode })).toMatchObject({
      result: { content, content_type: 'text/html', status: 200, truncated: false },
    });
  });

  test('raw, and what is no page in its own charset', async () => {
    expect(await call('fetch_url', { ...at('/page'), extract_mode: 'raw' })).toMatchObject({
      result: { content: expect.stringContaining('<script>evil()</script>') },
    });
    expect(await call('fetch_url', at('/latin1'))).toMatchObject({ result: { content: 'Käse' } });
  });

  test('cut where the caller says', async () => {
    const { result } = (await call('fetch_url', { ...at('/page'), max_characters: 100, extract_mode: 'raw' })) as { result: JsonObject };
    expect(result).toMatchObject({ truncated: true });
    expect(String(result.content)).toHaveLength(100);
  });

  test('tells what cannot be read', async () => {
    expect(await call('fetch_url', at('/picture'))).toMatchObject({ error: { code: 'NOT_SUPPORTED' } });
    expect(await call('fetch_url', at('/nothing'))).toMatchObject({ error: { code: 'SERVICE_REFUSED', details: { status: 404 } } });
    expect(await call('fetch_url', at('/endless'))).toMatchObject({ error: { code: 'PAYLOAD_TOO_LARGE' } });
  });
});

test('http_get tells status and body as they are', async () => {
  expect(await call('http_get', at('/nothing'))).toMatchObject({ result: { status: 404, body: 'no such page' } });
  expect(await call('http_get', at('/picture'))).toMatchObject({ result: { status: 200, body: '', size_bytes: 300 } });
});

test('fetch gives text, the value of JSON, and the size of all else', async () => {
  expect(await call('fetch', at('/json'))).toMatchObject({ result: { content: { beds: 7 }, content_type: 'application/json' } });
  expect(await call('fetch', at('/gzip'))).toMatchObject({ result: { content: 'packed well', size_bytes: 11 } });
  const { result } = (await call('fetch', at('/picture'))) as { result: JsonObject };
  expect(result).toEqual({ status: 200, content_type: 'image/png', url: site.url('/picture', '127.0.0.1'), size_bytes: 300 });
});

test('html_scraper finds elements', async () => {
  expect(await call('html_scraper', { ...at('/page'), selectors: ['p b'] })).toMatchObject({
    result: { items: [{ tag: 'b', text: 'tall', attributes: {} }] },
  });
  expect(await call('html_scraper', { ...at('/page'), selectors: ['p['] })).toMatchObject({ error: { code: 'VALIDATION_ERROR' } });
});

describe('search_web', () => {
  test('asks page after page until there is no more, and tells each result once', async () => {
    searches.length = 0;
    const { result } = (await call('search_web', { query: 'beans', count: 50, freshness: 'week' })) as { result: JsonObject };
    expect(result.total_results).toBe(6);
    expect(result.results).toHaveLength(6);
    expect(result.results).toContainEqual({ title: 'Bean 1', url: 'https://beans.example/1', snippet: 'All about bean 1' });
    expect(searches.map(({ searchParams }) => searchParams.get('pageno'))).toEqual(['1', '2', '3']);
    expect(searches[0]?.pathname).toBe('/sub/search');
    expect(Object.fromEntries(searches[0]?.searchParams ?? [])).toMatchObject({
      time_range: 'week',
      safesearch: '1',
      language: 'de',
      format: 'json',
    });
  });

  test('asks no more than it needs', async () => {
    searches.length = 0;
    const params = { query: 'beans', count: 2, safe_search: false };
    expect(await call('search_web', params)).toMatchObject({ result: { results: [{ title: 'Bean 1' }, { title: 'Bean 2' }] } });
    expect(searches).toHaveLength(1);
    expect(searches[0]?.searchParams.get('safesearch')).toBe('0');
    expect(searches[0]?.searchParams.has('time_range')).toBe(false);
  });

  test('tells what is wrong with the server', async () => {
    expect(await call('search_web', { query: 'html only' })).toMatchObject({
      error: { code: 'SERVICE_REFUSED', message: expect.stringContaining('search.formats') },
    });
    expect(await call('search_web', { query: 'garbage' })).toMatchObject({ error: { code: 'SERVICE_REFUSED' } });
    expect(await call('search_web', { query: 'other json' })).toMatchObject({ error: { code: 'SERVICE_REFUSED' } });
  });
});

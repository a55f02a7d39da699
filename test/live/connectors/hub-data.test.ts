import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { RunningHub } from '../running-hub.ts';
import { HostileSite } from './hostile-site.ts';

let folder: string;
let site: HostileSite;
let hub: RunningHub;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'hub-data-'));
  for (const name of ['state', 'notes']) mkdirSync(join(folder, name), { mode: 0o700 });
  const database = new DatabaseSync(join(folder, 'energy.db'));
  database.exec("CREATE TABLE day (date TEXT, kwh REAL); INSERT INTO day VALUES ('2026-01-31', 4.5)");
  database.close();
  site = await HostileSite.start();
  const connectors = {
    web: { allowed_hosts: [`127.0.0.1:${site.port}`] },
    files: { roots: { notes: { path: join(folder, 'notes'), writable: true } } },
    databases: { energy: { sqlite: join(folder, 'energy.db') } },
  };
  writeFileSync(join(folder, 'config.json'), JSON.stringify({ matter: { enabled: false }, connectors }));
  hub = await start();
});

afterAll(async () => {
  await hub?.[Symbol.asyncDispose]();
  await site?.[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

function start(): Promise<RunningHub> {
  return RunningHub.start({ stateDir: join(folder, 'state'), env: { ATMO_CONFIG: join(folder, 'config.json') } });
}

test('a hub fetches what its owner allows and nothing else of the private network', async () => {
  const url = site.url('/page', '127.0.0.1');
  expect(await hub.result('fetch_url', { url })).toMatchObject({ content: '# Beds\n\nSeven **tall** beans.' });
  expect(await hub.result('tool_http_get', { url: site.url('/json', '127.0.0.1') })).toMatchObject({ status: 200, body: '{"beds":7}' });
  expect(await hub.result('tool_html_scraper', { url, selectors: ['b'] })).toMatchObject({ items: [{ text: 'tall' }] });
  expect(await hub.call('fetch', { url: `${hub.url}/healthz` })).toMatchObject({ error: { code: 'PERMISSION_DENIED' } });
  expect(await hub.call('search_web', { query: 'x' })).toMatchObject({ error: { code: 'NOT_CONFIGURED' } });
});

test('files and databases are there under their names', async () => {
  await hub.result('tool_file_write', { path: 'notes/May list.txt', content: 'peas' });
  expect(readFileSync(join(folder, 'notes/May list.txt'), 'utf8')).toBe('peas');
  expect(await hub.result('tool_ls', { path: 'notes' })).toMatchObject({ entries: [{ path: 'notes/May+20list.txt' }] });
  const query = { database: 'energy', query: 'SELECT kwh FROM day WHERE date = ?', params: ['2026-01-31'] };
  expect(await hub.result('query_database', query)).toEqual({ columns: ['kwh'], rows: [[4.5]], truncated: false });
});

test('what was stored is there after a power cut', async () => {
  await hub.result('store_data', { key: 'notes/oven', value: { on: true } });
  await hub.kill();
  hub = await start();
  expect(await hub.result('get_data', { key: 'notes/oven' })).toEqual({ exists: true, value: { on: true } });
});

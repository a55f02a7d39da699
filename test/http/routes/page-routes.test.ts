import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { AtmoError } from '../../../src/core/errors.ts';
import { consentPageRoutes, PageFiles, pageRoutes } from '../../../src/http/routes/page-routes.ts';

const SCRIPT = 'main-ABCD1234.js';
let dir = '';

beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'page-'));
  mkdirSync(join(dir, 'assets'));
  writeFileSync(join(dir, 'index.html'), '<!doctype html>');
  writeFileSync(join(dir, 'manifest.webmanifest'), '{}');
  writeFileSync(join(dir, 'service-worker.js'), 'let b;');
  writeFileSync(join(dir, 'inputs.json'), '[]');
  writeFileSync(join(dir, 'assets', SCRIPT), 'let a;');
  writeFileSync(join(dir, 'assets', `${SCRIPT}.gz`), gzipSync('let a;'));
});
afterAll(() => rmSync(dir, { recursive: true }));

async function ask(path: string, headers: Readonly<Record<string, string>> = {}) {
  const routes = [...pageRoutes(new PageFiles(dir)), ...consentPageRoutes(new PageFiles(dir))];
  const route = routes.find((one) => one.path === path) ?? routes.find((one) => one.path === '/assets/:name');
  if (!route) throw new AtmoError('INTERNAL_ERROR', 'there is a route for assets');
  expect(route.access).toBe('public');
  const request = new Request(`http://127.0.0.1${path}`, { headers });
  const answer = await route.handle(
    {
      principal: { id: 'nobody', kind: 'agent', permissions: [] },
      path: { name: path.replace('/assets/', '') },
      body: {},
      source: 'local',
      origin: 'http://127.0.0.1:8081',
      trace: { requestId: 'r', traceId: 't', traceparent: 'p' },
      request,
      signal: request.signal,
      header: (name) => request.headers.get(name) ?? undefined,
    },
    {},
  );
  const bytes = new Uint8Array(await new Response(answer.body).arrayBuffer());
  return { status: answer.status, headers: answer.headers, bytes };
}

describe('the page at the door', () => {
  test.each(['/oauth/authorize', '/oauth/device'])(
    'at %s is kept nowhere, is in no frame, and lets the popup of an application know its opener',
    async (path) => {
      const { headers } = await ask(path);
      expect(headers['content-security-policy']).toContain("frame-ancestors 'none'");
      expect(headers).toMatchObject({ 'x-frame-options': 'DENY', 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' });
      expect([headers['cross-origin-opener-policy'], (await ask('/')).headers['cross-origin-opener-policy']]).toEqual([
        'unsafe-none',
        'same-origin',
      ]);
    },
  );

  test('is told what it may load, and is asked for anew each time', async () => {
    const { status, headers, bytes } = await ask('/');
    expect(status).toBe(200);
    expect(Buffer.from(bytes).toString()).toBe('<!doctype html>');
    const policy = headers['content-security-policy'] ?? '';
    expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).toContain("require-trusted-types-for 'script'; trusted-types lit-html service-worker");
    expect(policy).toContain("base-uri 'none'; form-action 'none'");
    expect(policy).not.toMatch(/unsafe|https?:|\*/);
    expect(headers).toMatchObject({ 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-cache', 'x-frame-options': 'DENY' });
    expect(headers['permissions-policy']).toBe('camera=(self), geolocation=(), microphone=()');
  });

  test('sends the manifest and the service worker, which may load nothing from elsewhere', async () => {
    const manifest = await ask('/manifest.webmanifest');
    expect(manifest.headers).toMatchObject({ 'content-type': 'application/manifest+json', 'cache-control': 'no-cache' });
    const worker = await ask('/service-worker.js');
    expect(worker.headers).toMatchObject({ 'content-type': 'text/javascript; charset=utf-8', 'cache-control': 'no-cache' });
    expect(worker.headers['content-security-policy']).toBe("default-src 'none'; connect-src 'self'");
    expect(Buffer.from(worker.bytes).toString()).toBe('let b;');
  });

  test('sends what was compressed when it was built, to those who take it', async () => {
    const packed = await ask(`/assets/${SCRIPT}`, { 'accept-encoding': 'br, gzip' });
    expect(packed.headers).toMatchObject({
      'content-encoding': 'gzip',
      vary: 'accept-encoding',
      'cache-control': 'public, max-age=31536000, immutable',
    });
    expect(gunzipSync(packed.bytes).toString()).toBe('let a;');
    for (const header of ['identity', 'gzip;q=0']) {
      const plain = await ask(`/assets/${SCRIPT}`, { 'accept-encoding': header });
      expect(plain.headers['content-encoding']).toBeUndefined();
      expect(Buffer.from(plain.bytes).toString()).toBe('let a;');
    }
  });

  test('sends nothing that the browser has', async () => {
    const { headers } = await ask('/');
    const again = await ask('/', { 'if-none-match': `"other", W/${headers.etag}` });
    expect([again.status, again.bytes.length]).toEqual([304, 0]);
    expect((await ask('/', { 'if-none-match': '"other"' })).status).toBe(200);
  });

  test.each(['main-NOTTHERE.js', '../index.html', '..%2Finputs.json', `${SCRIPT}.gz`, 'inputs.json', ''])(
    'has no file %j',
    async (name) => {
      await expect(ask(`/assets/${name}`)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    },
  );

  test('says what to do where it was never built', async () => {
    await expect(new PageFiles(join(dir, 'nowhere')).root('index.html', undefined)).rejects.toMatchObject({ code: 'NOT_CONFIGURED' });
  });
});

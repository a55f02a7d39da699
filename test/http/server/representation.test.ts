import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { isAcceptable, mediaOf } from '../../../src/http/server/http-app.ts';
import { ask, HOST, makeDevice, makeHttpApi, TOKEN } from '../http-fixture.ts';

describe('a list or document', () => {
  const { httpApi, directory } = makeHttpApi();

  test('has a tag; who knows it is told that nothing changed, until it did', async () => {
    const first = await ask(httpApi, '/api/v1/devices');
    const etag = first.headers.get('etag') ?? '';
    expect(etag).toMatch(/^W\/"[\w-]{27}"$/);
    expect(first.headers.get('cache-control')).toBe('private, no-cache');
    expect(first.headers.get('vary')).toBe('Authorization, Accept-Encoding');
    for (const tag of [etag, `"x", ${etag}`, etag.slice(2), '*']) {
      const again = await ask(httpApi, '/api/v1/devices', { headers: { 'if-none-match': tag } });
      expect([tag, again.status, again.text, again.headers.get('etag')]).toEqual([tag, 304, '', etag]);
    }
    directory.devices = [makeDevice('lamp')];
    const changed = await ask(httpApi, '/api/v1/devices', { headers: { 'if-none-match': etag } });
    expect(changed.status).toBe(200);
    expect(changed.headers.get('etag')).not.toBe(etag);
  });

  test('comes compressed to who takes that, and is the same', async () => {
    const raw = async (coding?: string) => {
      const headers = { host: HOST, authorization: `Bearer ${TOKEN}`, ...(coding !== undefined && { 'accept-encoding': coding }) };
      const response = await httpApi.app.request(`http://${HOST}/openapi.json`, { headers });
      return {
        coding: response.headers.get('content-encoding'),
        bytes: Buffer.from(await response.arrayBuffer()),
        length: response.headers.get('content-length'),
      };
    };
    const plain = await raw();
    const [br, gz, none] = [await raw('gzip, deflate, br'), await raw('br;q=0, gzip'), await raw('deflate, br;q=0.0')];
    expect([plain.coding, br.coding, gz.coding, none.coding]).toEqual([null, 'br', 'gzip', null]);
    expect(brotliDecompressSync(br.bytes).equals(plain.bytes)).toBe(true);
    expect(gunzipSync(gz.bytes).equals(plain.bytes)).toBe(true);
    expect(br.length).toBe(String(br.bytes.length));
    expect(br.bytes.length).toBeLessThan(plain.bytes.length / 3);
  });

  test('that cannot be told is a problem, which nobody keeps', async () => {
    const { status, headers } = await ask(httpApi, '/api/v1/devices?limit=none', { headers: { 'if-none-match': '*' } });
    expect([status, headers.get('etag'), headers.get('cache-control')]).toEqual([400, null, 'no-store']);
    for (const asked of [{ path: '/api/v1/tools?device=nowhere' }, { path: '/api/v1/tools', headers: { accept: 'text/html' } }]) {
      const refused = await ask(httpApi, asked.path, asked);
      expect([refused.headers.get('etag'), refused.headers.get('cache-control')]).toEqual([null, 'no-store']);
    }
  });

  test('is told only to who may see it, whatever tag he names', async () => {
    expect((await ask(httpApi, '/openapi.json', { token: null, headers: { 'if-none-match': '*' } })).status).toBe(401);
  });
});

describe('anything else', () => {
  const { httpApi, addTool } = makeHttpApi();
  addTool({ name: 'long', handler: async () => 'x'.repeat(10_000) });

  test('is never kept and never compressed: its length would tell of secrets in it', async () => {
    const answer = await ask(httpApi, '/api/v1/tools/long/invoke', { body: {}, headers: { 'accept-encoding': 'br' } });
    expect([answer.status, answer.headers.get('content-encoding'), answer.headers.get('etag')]).toEqual([200, null, null]);
    expect(answer.headers.get('cache-control')).toBe('no-store');
  });
});

describe('methods', () => {
  const { httpApi } = makeHttpApi();

  test('HEAD has the length of GET and no body', async () => {
    for (const path of ['/api/v1/tools', '/openapi.json', '/metrics']) {
      const [get, head] = [await ask(httpApi, path), await ask(httpApi, path, { method: 'HEAD' })];
      expect([path, head.status, head.text]).toEqual([path, 200, '']);
      expect(Number(head.headers.get('content-length'))).toBeGreaterThan(0);
      if (path !== '/metrics') expect(Number(head.headers.get('content-length'))).toBe(Buffer.byteLength(get.text));
    }
  });

  test('HEAD of the events leaves no listener behind', async () => {
    for (let count = 0; count < 20; count++) expect((await ask(httpApi, '/api/v1/events', { method: 'HEAD' })).status).toBe(200);
  });

  test('OPTIONS tells what a path can do, and no other origin gets leave', async () => {
    const answer = await ask(httpApi, '/api/v1/jobs/1', { method: 'OPTIONS', token: null });
    expect([answer.status, answer.headers.get('allow')]).toEqual([204, 'GET, HEAD, DELETE, OPTIONS']);
    expect(answer.headers.get('access-control-allow-origin')).toBeNull();
  });
});

describe('what a caller accepts', () => {
  const { httpApi } = makeHttpApi();

  test.each([undefined, '*/*', 'application/json', 'application/*', 'text/html, application/json;q=0.1', 'nonsense'])(
    '%s gets JSON',
    async (accept) => {
      const headers = accept === undefined ? {} : { accept };
      expect((await ask(httpApi, '/api/v1/tools', { headers })).status).toBe(200);
    },
  );

  test.each(['text/html', 'image/*', 'application/xml', 'text/event-stream', 'application/*;q=0'])(
    '%s is refused before anything is done',
    async (accept) => {
      const answer = await ask(httpApi, '/api/v1/tools', { headers: { accept } });
      expect([answer.status, answer.json.code, answer.json.details.types]).toEqual([406, 'NOT_SUPPORTED', ['application/json']]);
    },
  );

  test('a route that tells something else says so in its answers', () => {
    expect(mediaOf({ answers: { 200: 'text/event-stream', 202: { description: 'x', media: ['text/plain'] } } })).toEqual([
      'application/json',
      'text/event-stream',
      'text/plain',
    ]);
    expect(isAcceptable('text/plain;version=0.0.4;q=0.5', ['text/plain'])).toBe(true);
  });
});

test('a target that is too long is refused with 414', async () => {
  const { httpApi } = makeHttpApi();
  const answer = await ask(httpApi, `/api/v1/tools?q=${'x'.repeat(9_000)}`);
  expect([answer.status, answer.json.code]).toEqual([414, 'PAYLOAD_TOO_LARGE']);
});

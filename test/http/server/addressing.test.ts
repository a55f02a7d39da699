import { describe, expect, test } from 'vitest';
import { isLoopback, proxiedSource, refuseAbsolute, refuseAddressing, wasForwarded } from '../../../src/http/server/addresses.ts';
import { requireTls } from '../../../src/http/server/http-server.ts';
import { ask, HOST, makeHttpApi, PORT } from '../http-fixture.ts';

const ROUTES = [
  ['GET', '/healthz'],
  ['GET', '/metrics'],
  ['GET', '/openapi.json'],
  ['GET', '/api/v1/tools'],
  ['GET', '/api/v1/devices'],
  ['GET', '/api/v1/sensors'],
  ['GET', '/api/v1/jobs'],
  ['GET', '/api/v1/events'],
  ['GET', '/api/tools'],
  ['POST', '/api/v1/tools/probe/invoke'],
  ['POST', '/api/v1/commission'],
  ['DELETE', '/api/v1/jobs/1'],
  ['GET', '/no/such/route'],
  ['OPTIONS', '/api/v1/tools'],
] as const;
const FOREIGN_HOSTS = [
  'evil.example',
  `evil.example:${PORT}`,
  '127.0.0.1',
  '127.0.0.1:80',
  'localhost:9999',
  '0.0.0.0:8081',
  `192.168.1.5:${PORT}`,
];
const MORE_FOREIGN_HOSTS = [
  `127.0.0.1.evil.example:${PORT}`,
  `localhost.:${PORT}`,
  `user@127.0.0.1:${PORT}`,
  '',
  `127.0.0.1:${PORT}, evil`,
];
const FOREIGN_ORIGINS = [
  'http://evil.example',
  'null',
  `https://${HOST}`,
  'http://127.0.0.1',
  `http://localhost:${PORT}`,
  `http://${HOST}.evil.example`,
];

describe('the Host and Origin of every route', () => {
  const { httpApi } = makeHttpApi();

  test.each(ROUTES)('%s %s refuses every foreign Host', async (method, path) => {
    for (const host of [...FOREIGN_HOSTS, ...MORE_FOREIGN_HOSTS]) {
      const answer = await ask(httpApi, path, { method, headers: { host } });
      expect([host, answer.status, answer.json.code]).toEqual([host, 403, 'PERMISSION_DENIED']);
    }
  });

  test.each(ROUTES)('%s %s refuses every foreign Origin', async (method, path) => {
    for (const origin of FOREIGN_ORIGINS) {
      const answer = await ask(httpApi, path, { method, headers: { origin } });
      expect([origin, answer.status]).toEqual([origin, 403]);
      expect(answer.headers.get('access-control-allow-origin')).toBeNull();
    }
  });

  test.each([HOST, `localhost:${PORT}`, `LOCALHOST:${PORT}`, `[::1]:${PORT}`, `127.0.0.2:${PORT}`])(
    '%s is an own name, with and without its Origin',
    async (host) => {
      expect((await ask(httpApi, '/healthz', { headers: { host } })).status).toBe(200);
      expect((await ask(httpApi, '/healthz', { headers: { host, origin: `http://${host}` } })).status).toBe(200);
    },
  );

  test('what came in the clear is no page of https, whatever its target claims', async () => {
    const socket = (facts: object) => ({ incoming: { socket: facts, url: '/healthz' } });
    const asked = (facts: object, origin: string) =>
      httpApi.app.request(`https://${HOST}/healthz`, { headers: { host: HOST, origin } }, socket(facts));
    expect((await asked({}, `https://${HOST}`)).status).toBe(403);
    expect((await asked({}, `http://${HOST}`)).status).toBe(200);
    expect((await asked({ encrypted: true }, `https://${HOST}`)).status).toBe(200);
  });

  test('a request without a Host is refused', async () => {
    const response = await httpApi.app.request(`http://${HOST}/healthz`);
    expect(response.status).toBe(403);
  });
});

describe('a name of the certificate', () => {
  const entrance = (scheme: 'http' | 'https') => ({ scheme, port: PORT, isOwnName: (name: string) => name === 'attic.local' });
  const addressing = { host: `attic.local:${PORT}`, origin: undefined, isForwarded: false };

  test('counts over TLS alone: over plain HTTP any page could have it resolved to this machine', () => {
    expect(refuseAddressing(addressing, entrance('https'))).toBeUndefined();
    expect(refuseAddressing(addressing, entrance('http'))).toContain('loopback');
  });

  test('is the only origin that its pages have', () => {
    const from = (origin: string) => refuseAddressing({ ...addressing, origin }, entrance('https'));
    expect(from(`https://attic.local:${PORT}`)).toBeUndefined();
    expect([from(`http://attic.local:${PORT}`), from('https://attic.local')]).toEqual([expect.any(String), expect.any(String)]);
  });
});

describe('a reverse proxy on this machine', () => {
  const proxy = new URL('https://hub.example.org/');
  const entrance = (scheme: 'http' | 'https') => ({ scheme, port: PORT, isOwnName: () => false, proxy });
  const addressing = { host: 'hub.example.org', origin: undefined, isForwarded: true };

  test('passes on requests for its own name alone, and only over plain HTTP, which no other machine can use', () => {
    expect(refuseAddressing(addressing, entrance('http'))).toBeUndefined();
    expect(refuseAddressing({ ...addressing, host: 'HUB.example.org' }, entrance('http'))).toBeUndefined();
    expect(refuseAddressing(addressing, entrance('https'))).toContain('Host');
    for (const host of [undefined, 'hub.example.org:8081', 'evil.example', 'hub.example.org.evil.example']) {
      expect([host, refuseAddressing({ ...addressing, host }, entrance('http'))]).toEqual([host, expect.stringContaining('Host')]);
    }
  });

  test.each([HOST, `localhost:${PORT}`, `[::1]:${PORT}`])('that passes on the Host %s of a client does not make it local', (host) => {
    expect(refuseAddressing({ ...addressing, host }, entrance('http'))).toContain('let the proxy always send hub.example.org');
    expect(refuseAddressing({ ...addressing, host, isForwarded: false }, entrance('http'))).toBeUndefined();
    expect(refuseAddressing({ ...addressing, host }, { ...entrance('http'), proxy: undefined })).toBeUndefined();
  });

  test.each(['X-Forwarded-For', 'X-Real-IP', 'Forwarded'])('is known by %s', async (name) => {
    const { httpApi } = makeHttpApi({}, { proxyUrl: proxy.href });
    expect((await ask(httpApi, '/api/v1/tools')).status).toBe(200);
    const answer = await ask(httpApi, '/api/v1/tools', { headers: { [name]: '192.0.2.7' } });
    expect([answer.status, answer.json.detail]).toEqual([403, expect.stringContaining('http.proxy_url')]);
    expect((await ask(httpApi, '/api/v1/tools', { headers: { host: proxy.host, [name]: '192.0.2.7' } })).status).toBe(200);
    expect(wasForwarded(new Headers({ host: HOST }))).toBe(false);
  });

  test('is the only origin of its pages', () => {
    const from = (origin: string) => refuseAddressing({ ...addressing, origin }, entrance('http'));
    expect(from('https://hub.example.org')).toBeUndefined();
    for (const origin of ['http://hub.example.org', `http://${HOST}`, 'https://evil.example', 'null']) {
      expect([origin, from(origin)]).toEqual([origin, expect.stringContaining('Origin')]);
    }
  });

  test.each([
    ['192.0.2.7', '192.0.2.7'],
    ['127.0.0.1, 192.0.2.7', '192.0.2.7'],
    ['192.0.2.8,  2001:db8:1:2:3::4', '2001:db8:1:2::/64'],
    ['192.0.2.7, 127.0.0.1', 'proxy'],
    ['192.0.2.7, unknown', 'proxy'],
    ['192.0.2.7:4711', 'proxy'],
    ['', 'proxy'],
    [null, 'proxy'],
  ])('that sends X-Forwarded-For: %s has a client at %s', (header, source) => {
    expect(proxiedSource(header)).toBe(source);
  });
});

describe('a whole URL as the target of a request', () => {
  test.each([`http://${HOST}/healthz`, '/healthz', undefined])('%s is taken', (target) => {
    expect(refuseAbsolute(target, HOST)).toBeUndefined();
  });

  test.each(['http://evil.example/healthz', `http://${HOST}.evil.example/`, '*', `${HOST}`, 'http:///'])('%s is refused', (target) => {
    expect(refuseAbsolute(target, HOST)).toContain('no proxy');
  });
});

describe('the address to listen on', () => {
  test.each(['127.0.0.1', '127.9.9.9', '::1', 'localhost'])('%s is loopback', (host) => {
    expect(isLoopback(host)).toBe(true);
  });

  test.each(['0.0.0.0', '::', '192.168.1.5', 'fe80::1', 'hub.local', '127.0.0.1.evil.example', ''])(
    '%s is refused with what to do instead',
    (host) => {
      expect(() => requireTls(host)).toThrow(
        expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringContaining('ATMO_HTTP_HOST') }),
      );
    },
  );
});

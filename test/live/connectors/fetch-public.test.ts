import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { embeddedIpv4 } from '../../../src/connectors/web/address-policy.ts';
import { publicFetch } from '../../../src/connectors/web/public-fetch.ts';
import { HostileSite } from './hostile-site.ts';
import { SmallDns } from './small-dns.ts';

const NOT_OURS = '93.184.215.14';
let site: HostileSite;
let dns: SmallDns;

beforeAll(async () => {
  site = await HostileSite.start();
  dns = await SmallDns.start({
    'site.test': [['127.0.0.1']],
    'private.test': [['127.0.0.1']],
    'both.test': [[NOT_OURS, '127.0.0.1']],
    'rebinding.test': [[NOT_OURS], ['127.0.0.1']],
  });
});

afterAll(async () => {
  await site?.[Symbol.asyncDispose]();
  await dns?.[Symbol.asyncDispose]();
});

function get(url: string, { maxBytes = 100_000, timeoutMs = 5_000, signal = new AbortController().signal } = {}) {
  return publicFetch({ allowedHosts: ['site.test'], resolve: dns.resolve, timeoutMs })({ url, maxBytes, signal });
}

const textOf = async (path: string) => new TextDecoder().decode((await get(site.url(path))).body);
const refusedWith = (code: string) => expect.objectContaining({ code });

describe('a page', () => {
  test('comes with status, headers and the address that it came from', async () => {
    const answer = await get(site.url('/moved?to=/json'));
    expect(answer).toMatchObject({ status: 200, url: site.url('/json') });
    expect(answer.headers.get('content-type')).toBe('application/json');
    expect(new TextDecoder().decode(answer.body)).toBe('{"beds":7}');
  });

  test('may be packed', async () => {
    expect(await textOf('/gzip')).toBe('packed well');
    expect(await textOf('/brotli')).toBe('packed better');
  });

  test('may end with its connection', async () => {
    expect(await textOf('/to-end')).toBe('all of it');
  });

  test('that is not there is an answer too', async () => {
    expect(await get(site.url('/nothing'))).toMatchObject({ status: 404 });
  });

  test('is not fetched by HEAD', async () => {
    const head = publicFetch({ allowedHosts: ['site.test'], resolve: dns.resolve });
    const answer = await head({ url: site.url('/json'), method: 'HEAD', maxBytes: 1, signal: new AbortController().signal });
    expect(answer).toMatchObject({ status: 200, body: new Uint8Array() });
  });
});

describe('what is private', () => {
  test.each([
    '127.0.0.1',
    '0x7f.1',
    '2130706433',
    '127.1',
    '[::1]',
    '[::ffff:127.0.0.1]',
    '0.0.0.0',
    'localhost',
    'private.test',
    'both.test',
  ])('is not asked for as %s', async (host) => {
    const before = site.asked.length;
    const resolve = host === 'localhost' ? {} : { resolve: dns.resolve };
    const fetched = publicFetch(resolve)({ url: site.url('/json', host), maxBytes: 10, signal: new AbortController().signal });
    await expect(fetched).rejects.toThrow(refusedWith('PERMISSION_DENIED'));
    expect(site.asked.length).toBe(before);
  });

  test.each(['192.168.1.1', '169.254.169.254'])('is not asked for as %s behind a translator of the network', async (ipv4) => {
    const translation = async () => embeddedIpv4([{ network: '2a00:64::', prefix: 96 }]);
    const fetched = publicFetch({ translation })({ url: `http://[2a00:64::${ipv4}]/`, maxBytes: 10, signal: new AbortController().signal });
    await expect(fetched).rejects.toThrow(refusedWith('PERMISSION_DENIED'));
  });

  test.each(['127.0.0.1', 'private.test'])('is not asked for as %s behind a redirect', async (host) => {
    const target = site.url('/json', host);
    await expect(get(site.url(`/moved?to=${encodeURIComponent(target)}`))).rejects.toThrow(refusedWith('PERMISSION_DENIED'));
    expect(site.asked.at(-1)).toContain('/moved');
  });

  test('is not reached by a name that changes its mind after it was judged', async () => {
    const before = site.asked.length;
    await expect(get(site.url('/json', 'rebinding.test'), { timeoutMs: 500 })).rejects.toThrow();
    expect(dns.asked('rebinding.test')).toBe(1);
    await expect(get(site.url('/json', 'rebinding.test'))).rejects.toThrow(refusedWith('PERMISSION_DENIED'));
    expect(site.asked.length).toBe(before);
  });
});

describe('a hostile site', () => {
  test.each(['ftp://site.test/', 'file:///etc/passwd', 'gopher://site.test/', 'nonsense', 'http://user:secret@site.test/'])(
    'is not asked by %s',
    async (url) => {
      await expect(get(url)).rejects.toThrow(refusedWith('VALIDATION_ERROR'));
    },
  );

  test('sends nobody on to a file', async () => {
    await expect(get(site.url('/moved?to=file:///etc/passwd'))).rejects.toThrow(refusedWith('VALIDATION_ERROR'));
  });

  test('that sends on in a circle is given up after the fifth time', async () => {
    const before = site.asked.length;
    await expect(get(site.url('/round'))).rejects.toThrow(refusedWith('SERVICE_REFUSED'));
    expect(site.asked.length - before).toBe(6);
  });

  test('fills no memory, whether its body is endless or unpacks without end', async () => {
    const before = process.memoryUsage().rss;
    await expect(get(site.url('/endless'), { maxBytes: 1_000_000 })).rejects.toThrow(refusedWith('PAYLOAD_TOO_LARGE'));
    await expect(get(site.url('/bomb'), { maxBytes: 1_000_000 })).rejects.toThrow(refusedWith('PAYLOAD_TOO_LARGE'));
    expect(process.memoryUsage().rss - before).toBeLessThan(100_000_000);
  });

  test.each(['/drip', '/drip-to-end', '/silent'])('that takes its time (%s) has the time that there is for all of it', async (path) => {
    const started = performance.now();
    await expect(get(site.url(path), { timeoutMs: 300 })).rejects.toThrow(refusedWith('TIMEOUT'));
    // Without a limit of its own it would have 30 s.
    expect(performance.now() - started).toBeLessThan(10_000);
  });

  test('that becomes another protocol is no answer, and no wait without end', async () => {
    await expect(get(site.url('/other-protocol'))).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
  });

  test.each(['/cut', '/reset-to-end', '/half-packed', '/own-packing'])('with a broken body (%s) is told from a short one', async (path) => {
    await expect(get(site.url(path))).rejects.toThrow(refusedWith('SERVICE_REFUSED'));
  });

  test.each(['/drip', '/drip-to-end'])('ends when its caller does (%s)', async (path) => {
    const caller = new AbortController();
    const fetched = get(site.url(path), { signal: caller.signal });
    setTimeout(() => caller.abort(new Error('enough')), 50);
    await expect(fetched).rejects.toThrow('enough');
  });

  test('that is not there, or has no name, is told apart from a refusal', async () => {
    await expect(get('http://site.test:1/')).rejects.toThrow(refusedWith('SERVICE_UNAVAILABLE'));
    await expect(get('http://nowhere.test/')).rejects.toThrow(refusedWith('SERVICE_UNAVAILABLE'));
  });
});

import { createPrivateKey, X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { Agent, request as httpsRequest } from 'node:https';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer, connect as tlsConnect } from 'node:tls';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { makeServerCertificate } from '../../src/http/tls/x509.ts';
import { makeHttpApi, TOKEN } from '../http/http-fixture.ts';
import { ManualClock } from '../manual-clock.ts';

/** Address of this host in the private network: who calls it comes from another machine, as far as the hub can tell. */
const LAN = '10.77.0.1';
const DAY_MS = 86_400_000;

let directory: string;
let clock: ManualClock;
let setup: ReturnType<typeof makeHttpApi>;
let port: number;
let aheadMs: number;
const sockets: Socket[] = [];

async function open(host: string) {
  clock = new ManualClock(Date.now());
  aheadMs = 0;
  const time = { now: () => clock.now() + aheadMs };
  setup = makeHttpApi({ clock, time }, { host, port: 0, tls: { directory: join(directory, 'tls'), names: ['hub.example'] } });
  await setup.httpApi.start();
  port = Number(new URL(setup.httpApi.url).port);
}

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'tls-'));
});

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await setup.httpApi[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true });
});

interface Ask {
  readonly ca?: string;
  readonly host?: string;
  readonly headers?: Record<string, string>;
  readonly servername?: string;
  readonly checkServerIdentity?: () => undefined;
}

function ask(path: string, { ca, host = LAN, headers = {}, ...tls }: Ask = {}): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const options = { host, port, path, headers, agent: false, ...(ca !== undefined && { ca }), ...tls };
    const outgoing = httpsRequest(options, async (response) => {
      let text = '';
      for await (const chunk of response) text += chunk;
      resolve({ status: response.statusCode ?? 0, text });
    });
    outgoing.on('error', reject);
    outgoing.end();
  });
}

async function authority(): Promise<string> {
  const response = await fetch(`${setup.httpApi.localUrl}/ca.crt`);
  expect(response.status).toBe(200);
  return response.text();
}

/** What a client that trusts the hub's authority says to a server with a certificate that the authority signed for these names. */
async function reached(names: readonly string[]): Promise<string> {
  const root = await authority();
  const issuer = {
    name: new X509Certificate(root).subject.replace(/^CN=/, ''),
    key: createPrivateKey(readFileSync(join(directory, 'tls/ca.key'))),
  };
  const made = makeServerCertificate(issuer, names, { fromMs: Date.now() - DAY_MS, untilMs: Date.now() + DAY_MS });
  const server = createServer({ cert: `${made.certificate}${root}`, key: made.key }, (socket) => socket.end());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = tlsConnect({ host: '127.0.0.1', port: (server.address() as AddressInfo).port, servername: names[0] ?? '', ca: root });
  sockets.push(client);
  const outcome = await once(client, 'secureConnect').then(
    () => 'trusted',
    (error: Error) => error.message,
  );
  server.close();
  return outcome;
}

function rawSocket(host: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, host, () => resolve(socket));
    socket.on('error', reject);
    sockets.push(socket);
  });
}

async function exchange(host: string, text: string): Promise<string> {
  const socket = await rawSocket(host);
  socket.write(text);
  let answer = '';
  for await (const chunk of socket) answer += chunk;
  return answer;
}

describe('a door that listens on the network', () => {
  test('is reached over TLS by who trusts its authority, and by nobody else', async () => {
    await open('0.0.0.0');
    expect(setup.httpApi.url).toBe(`https://${LAN}:${port}`);
    await expect(ask('/healthz')).rejects.toMatchObject({ code: 'SELF_SIGNED_CERT_IN_CHAIN' });
    const ca = await authority();
    expect(await ask('/healthz', { ca })).toMatchObject({ status: 200 });
    expect(await ask('/healthz', { ca, servername: 'hub.example', headers: { host: `hub.example:${port}` } })).toMatchObject({
      status: 200,
    });
    const origin = { origin: `https://${LAN}:${port}`, authorization: `Bearer ${TOKEN}` };
    expect(JSON.parse((await ask('/api/v1/tls', { ca, headers: origin })).text)).toMatchObject({ enabled: true, source: 'own_authority' });
    for (const headers of [
      { host: `evil.example:${port}` },
      { host: LAN },
      { origin: `http://${LAN}:${port}` },
      { origin: 'https://evil.example' },
    ]) {
      const { status } = await ask('/healthz', { ca, headers, checkServerIdentity: () => undefined });
      expect([headers, status]).toEqual([headers, 403]);
    }
    for (const file of ['ca.key', 'server.key']) expect(statSync(join(directory, 'tls', file)).mode & 0o777).toBe(0o600);
  });

  test.each(['0.0.0.0', LAN, '::'])('on %s plain HTTP is for this machine alone', async (host) => {
    await open(host);
    const request = `GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nConnection: close\r\n\r\n`;
    expect(await exchange('127.0.0.1', request)).toMatch(/^HTTP\/1.1 200 /);
    expect(await exchange(LAN, request)).toMatch(/^HTTP\/1.1 400 .*https:\/\//s);
    expect((await fetch(`${setup.httpApi.localUrl}/healthz`)).status).toBe(200);
    const lan = await exchange('127.0.0.1', request.replace('127.0.0.1', LAN));
    expect(lan).toMatch(/^HTTP\/1.1 403 /);
  });

  test('bodies, streams and connections that are kept work over TLS as they do in clear', async () => {
    await open('0.0.0.0');
    const ca = await authority();
    setup.addTool({
      name: 'echo_size',
      handler: async (params: unknown) => ({ size: (params as { text: string }).text.length }),
      parameters: {
        type: 'object',
        properties: { text: { type: 'string' } },
        required: ['text'],
      },
    });
    const agent = new Agent({ keepAlive: true, maxSockets: 1, ca });
    const call = (size: number) =>
      new Promise((resolve, reject) => {
        const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' };
        const outgoing = httpsRequest(
          { host: LAN, port, agent, method: 'POST', path: '/api/v1/tools/echo_size/invoke', headers },
          async (response) => {
            let text = '';
            for await (const chunk of response) text += chunk;
            resolve({ ...JSON.parse(text).result, reused: outgoing.reusedSocket });
          },
        );
        outgoing.on('error', reject);
        outgoing.end(JSON.stringify({ text: 'x'.repeat(size) }));
      });
    expect(await call(60_000)).toEqual({ size: 60_000, reused: false });
    expect(await call(10)).toEqual({ size: 10, reused: true });
    agent.destroy();
  });

  test('another certificate is served without a restart, and what is open goes on', async () => {
    await open('0.0.0.0');
    const ca = await authority();
    const before = tlsConnect({ host: LAN, port, ca, ALPNProtocols: ['h2', 'http/1.1'] });
    await new Promise((resolve) => before.once('secureConnect', resolve));
    sockets.push(before);
    const serial = before.getPeerCertificate().serialNumber;
    aheadMs = 380 * DAY_MS;
    clock.advance(60_000);
    const after = tlsConnect({ host: LAN, port, ca, checkServerIdentity: () => undefined, rejectUnauthorized: false });
    sockets.push(after);
    await new Promise((resolve) => after.once('secureConnect', resolve));
    expect(after.getPeerCertificate().serialNumber).not.toBe(serial);
    expect(await authority()).toBe(ca);
    before.write(`GET /healthz HTTP/1.1\r\nHost: ${LAN}:${port}\r\nConnection: close\r\n\r\n`);
    let answer = '';
    for await (const chunk of before) answer += chunk;
    expect(answer).toMatch(/^HTTP\/1.1 200 /);
  });

  test('what is no TLS and no HTTP, or breaks off, harms nobody', async () => {
    await open('0.0.0.0');
    const ca = await authority();
    const halves = [
      Buffer.from([0x16]),
      Buffer.from([0x16, 3, 1, 0xff, 0xff, 1, 2, 3]),
      Buffer.alloc(70_000, 0x16),
      Buffer.from('SSH-2.0-x\r\n'),
    ];
    for (const bytes of halves) {
      const socket = await rawSocket(LAN);
      socket.on('error', () => {});
      socket.write(bytes);
      if (bytes.length > 5) await new Promise((resolve) => socket.once('close', resolve).resume());
      else socket.destroy();
    }
    const reset = await rawSocket(LAN);
    reset.resetAndDestroy();
    expect((await ask('/healthz', { ca })).status).toBe(200);
  });

  test('its end does not wait for sockets that never said anything', async () => {
    await open('0.0.0.0');
    const silent = await rawSocket(LAN);
    const half = await rawSocket(LAN);
    half.write(Buffer.from([0x16, 3, 1]));
    const closed = Promise.all(
      [silent, half].map(
        (socket) =>
          new Promise((resolve) =>
            socket
              .once('close', resolve)
              .resume()
              .on('error', () => {}),
          ),
      ),
    );
    const startedMs = performance.now();
    await setup.httpApi[Symbol.asyncDispose]();
    await closed;
    expect(performance.now() - startedMs).toBeLessThan(5_000);
  });
});

test('without TLS no other address is listened on', async () => {
  setup = makeHttpApi({}, { host: LAN, port: 0 });
  await expect(setup.httpApi.start()).rejects.toMatchObject({ code: 'CONFIG_INVALID', message: expect.stringContaining('TLS') });
});

test('whoever takes the key of the authority cannot pretend to be a site that is none of this home', async () => {
  await open(LAN);
  expect(await reached(['other.local', '192.168.9.9'])).toBe('trusted');
  expect(await reached(['sub.hub.example'])).toBe('trusted');
  expect(await reached(['bank.example'])).toBe('permitted subtree violation');
  expect(await reached(['other.local', '8.8.8.8'])).toBe('permitted subtree violation');
});

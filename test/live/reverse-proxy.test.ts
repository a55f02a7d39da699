import { createPrivateKey } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runIp } from '../../scripts/network-lab/run-tool.ts';
import { makeAuthority, makeServerCertificate } from '../../src/http/tls/x509.ts';
import { blocksOf } from '../scripts/page-commands.ts';
import { type StartedServer, startServer } from './connectors/started-server.ts';
import { RunningHub } from './running-hub.ts';

const NAME = 'hub.example.org';
const ORIGIN = `https://${NAME}`;
const HUB_PORT = 8081;
/** Port of a server that passes on what clients send as Host. */
const LAX_PORT = 8443;
/** Two clients of the proxy. */
const [PHONE, STRANGER] = ['10.77.0.50', '10.77.0.66'] as const;
const DAY_MS = 86_400_000;

let folder: string;
let ca: string;
let hub: RunningHub;
let proxy: StartedServer;
let token: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'atmo-proxy-'));
  await runIp(
    'hub',
    [PHONE, STRANGER].map((address) => `addr add ${address}/16 dev eth0`),
  );
  const stateDir = join(folder, 'state');
  mkdirSync(stateDir);
  const config = { http: { proxy_url: ORIGIN }, matter: { enabled: false } };
  hub = await RunningHub.start({ stateDir, config, env: { ATMO_HTTP_PORT: String(HUB_PORT) }, origin: `http://127.0.0.1:${HUB_PORT}` });
  token = String((await hub.result('hub:mint_token', { agent_id: 'phone', permissions: ['*'] })).token);
  ca = writeCertificates();
  proxy = await startServer('nginx', ['-p', folder, '-e', 'stderr', '-c', writeNginxConfig()], { port: 443 });
});

afterAll(async () => {
  await proxy.stop();
  await hub.stop();
  rmSync(folder, { recursive: true });
});

function writeCertificates(): string {
  const validity = { fromMs: Date.now() - DAY_MS, untilMs: Date.now() + DAY_MS };
  const authority = makeAuthority('an authority', [NAME], validity);
  const made = makeServerCertificate({ name: 'an authority', key: createPrivateKey(authority.key) }, [NAME], validity);
  writeFileSync(join(folder, 'hub.crt'), made.certificate);
  writeFileSync(join(folder, 'hub.key'), made.key);
  return authority.certificate;
}

/** The server of the page docs/trusted-certificate.md, word for word but for the places of its files, and beside it one that is lax. */
function writeNginxConfig(): string {
  const [server = ''] = blocksOf('docs/trusted-certificate.md', ['nginx']);
  expect(server).toContain('proxy_pass');
  const places = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${join(folder, name)};`);
  const file = join(folder, 'nginx.conf');
  const main = `daemon off;\nuser root;\npid ${join(folder, 'nginx.pid')};\nevents {}\n`;
  const servers = `${server}\n${laxOf(server)}`.replaceAll('/etc/ssl/', `${folder}/`);
  writeFileSync(file, `${main}http {\naccess_log off;\n${places.join('\n')}\n${servers}\n}\n`);
  return file;
}

function laxOf(server: string): string {
  const lax = server.replace('listen 443', `listen ${LAX_PORT}`).replace(`Host ${NAME};`, 'Host $http_host;');
  expect(lax).toContain('proxy_set_header Host $http_host;');
  return lax;
}

interface Ask {
  readonly port?: number;
  readonly from?: string;
  readonly headers?: Record<string, string>;
  readonly method?: string;
  readonly body?: string;
}

/** Asks as a browser at one of the clients does, which trusts the authority of the proxy. */
async function opened(path: string, { port = 443, from = PHONE, headers = {}, method = 'GET', body }: Ask = {}): Promise<IncomingMessage> {
  const sent = { host: NAME, authorization: `Bearer ${token}`, ...headers };
  const outgoing = request({
    host: '10.77.0.1',
    port,
    servername: NAME,
    ca,
    localAddress: from,
    agent: false,
    method,
    path,
    headers: sent,
  });
  outgoing.end(body);
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
  return response;
}

async function asked(path: string, ask: Ask = {}): Promise<{ status: number; text: string }> {
  const response = await opened(path, ask);
  return { status: response.statusCode ?? 0, text: await text(response) };
}

const post = (headers: Record<string, string>) =>
  asked('/api/v1/tools/core:echo/invoke', {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: '{"value":"x"}',
  });

describe('a hub behind the nginx of docs/trusted-certificate.md', () => {
  test('shows its page and answers calls of its own page', async () => {
    const page = await asked('/', { headers: { accept: 'text/html' } });
    expect([page.status, page.text]).toEqual([200, expect.stringContaining('<script')]);
    expect((await asked('/api/v1/me', { headers: { origin: ORIGIN } })).status).toBe(200);
    expect((await post({ origin: ORIGIN })).status).toBe(200);
  });

  test('refuses pages of other sites', async () => {
    for (const origin of ['https://evil.example', `http://${NAME}`, `${ORIGIN}:8081`, `http://127.0.0.1:${HUB_PORT}`, 'null']) {
      expect([origin, (await post({ origin })).status]).toEqual([origin, 403]);
    }
  });

  test('never takes a client of the proxy for a program on its own machine, even if the proxy passes on what the client sends', async () => {
    const loopback = ['127.0.0.1', 'localhost', '[::1]'].map((host) => `${host}:${HUB_PORT}`);
    for (const host of [...loopback, 'evil.example', `${NAME}:${HUB_PORT}`, `${NAME}.evil.example`]) {
      expect([host, (await asked('/api/v1/me', { port: LAX_PORT, headers: { host } })).status]).toEqual([host, 403]);
      const whole = `http://${host}/api/v1/me`;
      expect([whole, (await asked(whole, { port: LAX_PORT, headers: { host } })).status]).toEqual([whole, 403]);
    }
    expect((await asked('/api/v1/me', { port: LAX_PORT })).status).toBe(200);
  });

  test('lets events through as they happen', async () => {
    const stream = await opened('/api/v1/events', { headers: { accept: 'text/event-stream', origin: ORIGIN } });
    expect(stream.headers['content-type']).toContain('text/event-stream');
    let heard = '';
    stream.on('data', (part: Buffer) => {
      heard += part.toString();
    });
    expect((await post({ origin: ORIGIN })).status).toBe(200);
    await expect.poll(() => heard).toMatch(/^event: agi\.tool\.invoked$/m);
    stream.destroy();
  });

  test('tells its clients the address of the proxy', async () => {
    expect(await hub.get('/api/v1/tls')).toEqual({ enabled: true, url: ORIGIN, source: 'proxy' });
    expect(JSON.parse((await asked('/.well-known/oauth-protected-resource/mcp')).text)).toMatchObject({ resource: `${ORIGIN}/mcp` });
    const unknown = await opened('/mcp', { headers: { authorization: 'none' }, method: 'POST' });
    expect(unknown.headers['www-authenticate']).toContain(`${ORIGIN}/.well-known/oauth-protected-resource/mcp`);
    unknown.destroy();
  });

  test('locks out who guesses tokens, whatever that client writes into Host and X-Forwarded-For, and nobody else', async () => {
    const guess = (number: number, from: string) =>
      asked('/api/v1/me', {
        from,
        headers: {
          host: `127.0.0.1:${HUB_PORT}`,
          authorization: `Bearer wrong-${number}`,
          'x-forwarded-for': `192.0.2.${number}, 127.0.0.1`,
        },
      });
    for (let number = 0; number < 100; number++) expect((await guess(number, STRANGER)).status).toBe(401);
    expect((await guess(100, STRANGER)).status).toBe(429);
    expect((await guess(101, PHONE)).status).toBe(401);
    expect((await asked('/api/v1/me')).status).toBe(200);
    const local = await fetch(`http://127.0.0.1:${HUB_PORT}/api/v1/me`, {
      headers: { authorization: 'Bearer wrong-102' },
    });
    expect(local.status).toBe(401);
  });
});

import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type TLSSocket } from 'node:tls';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { publicFetch } from '../../src/connectors/web/public-fetch.ts';
import type { JsonObject } from '../../src/core/json.ts';
import { DnsCommand } from '../../src/http/tls/dns-command.ts';
import { makeHttpApi } from '../http/http-fixture.ts';
import { ManualClock } from '../manual-clock.ts';
import { AcmeAuthority } from './acme-authority.ts';
import { RunningHub } from './running-hub.ts';

const LAN = '10.77.0.1';
const NAME = 'hub.example.org';
const DAY_MS = 86_400_000;

let authority: AcmeAuthority;
let directory: string;
const sockets: TLSSocket[] = [];

beforeAll(async () => {
  authority = await AcmeAuthority.start();
});
afterAll(() => authority[Symbol.asyncDispose]());
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'name-'));
});
afterEach(() => {
  hangUp();
  rmSync(directory, { recursive: true });
});

function hangUp(): void {
  for (const socket of sockets.splice(0)) socket.destroy();
}

/** Connects as a browser does that trusts this authority alone; rejects if the certificate is not trusted for the name. */
async function connected(port: number, { ca, servername }: { readonly ca: string; readonly servername?: string }): Promise<TLSSocket> {
  const socket = connect({ host: LAN, port, ca, ...(servername !== undefined && { servername }) });
  sockets.push(socket);
  await once(socket, 'secureConnect');
  return socket;
}

async function answerOf(socket: TLSSocket, host: string): Promise<string> {
  socket.write(`GET /healthz HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
  let answer = '';
  for await (const chunk of socket) answer += chunk;
  return answer;
}

function configOf({ directory: url, caFile, dnsCommand }: AcmeAuthority, names: readonly string[]): JsonObject {
  const acme = { names, directory: url, agree_to_terms: true, ca_file: caFile, dns_command: dnsCommand, dns_wait_seconds: 0 };
  return { http: { host: '0.0.0.0', tls: { acme } }, matter: { enabled: false } };
}

describe('a hub in its own process', () => {
  test('gets a certificate for its name, and keeps it when the authority is away', async () => {
    let hub = await RunningHub.start({ stateDir: directory, config: configOf(authority, [NAME]) });
    try {
      expect(await hub.get('/api/v1/tls')).toMatchObject({ source: 'own_authority' });
      await expect.poll(() => hub.get('/api/v1/tls'), { timeout: 100_000 }).toMatchObject({ source: 'acme' });
      const port = Number(new URL(hub.url).port);
      const facts = await hub.get('/api/v1/tls');
      expect(facts).toMatchObject({ url: `https://${NAME}:${port}`, issuer: expect.stringContaining('Pebble Intermediate') });
      expect(facts).not.toHaveProperty('problem');
      expect((facts as JsonObject).names).toEqual(expect.arrayContaining([NAME, LAN]));

      const root = await authority.root();
      expect(await answerOf(await connected(port, { ca: root, servername: NAME }), `${NAME}:${port}`)).toMatch(/^HTTP\/1.1 200 /);
      await expect(connected(port, { ca: root })).rejects.toMatchObject({ code: expect.stringMatching(/SELF_SIGNED|UNABLE/) });
      const own = readFileSync(join(directory, 'tls/ca.crt'), 'utf8');
      expect(await answerOf(await connected(port, { ca: own }), `${LAN}:${port}`)).toMatch(/^HTTP\/1.1 200 /);
      expect(await authority.proofs(NAME)).toEqual([]);
      for (const file of ['acme.pem', 'acme-account.key']) expect(statSync(join(directory, 'tls', file)).mode & 0o777).toBe(0o600);

      await hub.stop();
      await authority.stop();
      hub = await RunningHub.start({ stateDir: directory, config: configOf(authority, [NAME, `second.${NAME}`]) });
      await expect
        .poll(() => hub.get('/api/v1/tls'), { timeout: 100_000 })
        .toMatchObject({
          source: 'acme',
          problem: expect.stringMatching(
            /^The certificate for hub\.example\.org, second\.hub\.example\.org could not be renewed: .*ECONNREFUSED/,
          ),
        });
      const again = Number(new URL(hub.url).port);
      expect(await answerOf(await connected(again, { ca: root, servername: NAME }), `${NAME}:${again}`)).toMatch(/^HTTP\/1.1 200 /);
      const { checks } = await hub.result('hub:check_health');
      expect(checks).toContainEqual(expect.objectContaining({ check: 'TLS certificate', state: 'warning' }));
      await expect
        .poll(async () => JSON.stringify(await hub.result('hub:list_notices')), { timeout: 100_000 })
        .toContain('A certificate was not renewed');
    } finally {
      await hub.stop();
      await authority[Symbol.asyncDispose]();
      authority = await AcmeAuthority.start();
    }
  });
});

describe('a certificate of which a third is left', () => {
  test('is renewed under way: new connections get the new one, and those that are open go on', async () => {
    const clock = new ManualClock(Date.now());
    let aheadMs = 0;
    const { directory: url, caFile, dnsCommand } = authority;
    const config = { names: [NAME], directory: url, agreeToTerms: true, dnsCommand, dnsWaitSeconds: 0 } as const;
    const fetch = publicFetch({ allowedHosts: ['127.0.0.1'], caFile });
    const acme = { config, fetch, dns: new DnsCommand({ command: dnsCommand, env: process.env }) };
    const tls = { directory: join(directory, 'tls'), names: [], acme };
    const setup = makeHttpApi({ clock, time: { now: () => clock.now() + aheadMs } }, { host: '0.0.0.0', port: 0, tls });
    await setup.httpApi.start();
    try {
      const end = () => setup.httpApi.certificate();
      const advanced = () => {
        clock.advance(2_000);
        return end();
      };
      await expect.poll(advanced, { timeout: 100_000, interval: 200 }).toMatchObject({ source: 'acme' });
      const port = Number(new URL(setup.httpApi.url).port);
      const ca = await authority.root();
      const before = await connected(port, { ca, servername: NAME });
      const serial = before.getPeerCertificate().serialNumber;
      const { validFrom, validTo } = new X509Certificate(before.getPeerX509Certificate()?.raw ?? '');
      const lastsMs = Date.parse(validTo) - Date.parse(validFrom);

      aheadMs = (lastsMs * 2) / 3 - DAY_MS;
      for (let second = 0; second < 90; second++) clock.advance(1_000);
      expect((await connected(port, { ca, servername: NAME })).getPeerCertificate().serialNumber).toBe(serial);

      aheadMs += 2 * DAY_MS;
      const renewed = async () => {
        clock.advance(2_000);
        return (await connected(port, { ca, servername: NAME })).getPeerCertificate().serialNumber;
      };
      await expect.poll(renewed, { timeout: 100_000, interval: 200 }).not.toBe(serial);
      expect(await answerOf(before, `${NAME}:${port}`)).toMatch(/^HTTP\/1.1 200 /);
    } finally {
      hangUp();
      await setup.httpApi[Symbol.asyncDispose]();
    }
  });

  test('stays when the command for DNS records fails, and the hub says what the command said', async () => {
    const clock = new ManualClock(Date.now());
    const { directory: url, caFile } = authority;
    const dnsCommand = ['sh', '-c', 'echo "no such zone" >&2; exit 3'];
    const config = { names: ['other.example.org'], directory: url, agreeToTerms: true, dnsCommand, dnsWaitSeconds: 0 } as const;
    const fetch = publicFetch({ allowedHosts: ['127.0.0.1'], caFile });
    const acme = { config, fetch, dns: new DnsCommand({ command: dnsCommand, env: process.env }) };
    const setup = makeHttpApi({ clock }, { host: '0.0.0.0', port: 0, tls: { directory: join(directory, 'tls'), names: [], acme } });
    await setup.httpApi.start();
    try {
      clock.advance(10_000);
      await expect
        .poll(() => setup.httpApi.certificate())
        .toMatchObject({
          source: 'own-authority',
          problem: expect.stringMatching(
            /^The hub got no certificate for other\.example\.org: .*add _acme-challenge\.other.*ended with 3: no such zone$/,
          ),
        });
    } finally {
      await setup.httpApi[Symbol.asyncDispose]();
    }
  });
});

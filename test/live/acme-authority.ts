import { createPrivateKey } from 'node:crypto';
import { Resolver } from 'node:dns/promises';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { makeAuthority, makeServerCertificate } from '../../src/http/tls/x509.ts';
import { freePort, type StartedServer, startServer } from './connectors/started-server.ts';

const DAY_MS = 86_400_000;
/** The owner's command for DNS records, for the DNS server of the test. */
const DNS_COMMAND = `
const { ATMO_DNS_ACTION, ATMO_DNS_NAME, ATMO_DNS_VALUE } = process.env;
const path = ATMO_DNS_ACTION === 'add' ? 'set-txt' : 'clear-txt';
const body = JSON.stringify({ host: ATMO_DNS_NAME + '.', value: ATMO_DNS_VALUE });
const response = await fetch(process.argv[2] + '/' + path, { method: 'POST', body });
if (!response.ok) throw new Error('the DNS server answered ' + response.status);
`;

interface Ports {
  readonly directory: number;
  readonly management: number;
  readonly dns: number;
}

/** An ACME authority (Pebble) with a DNS server where it looks for proofs, on loopback. It refuses every other nonce. */
export class AcmeAuthority implements AsyncDisposable {
  readonly directory: string;
  /** File with the certificate of the authority that signed the directory's own. */
  readonly caFile: string;
  readonly dnsCommand: readonly string[];
  readonly #folder: string;
  readonly #ports: Ports;
  readonly #directoryCa: string;
  readonly #servers: readonly StartedServer[];

  private constructor(parts: {
    readonly folder: string;
    readonly ports: Ports;
    readonly ca: string;
    readonly dnsCommand: readonly string[];
    readonly servers: readonly StartedServer[];
  }) {
    this.#folder = parts.folder;
    this.#ports = parts.ports;
    this.#directoryCa = parts.ca;
    this.#servers = parts.servers;
    this.dnsCommand = parts.dnsCommand;
    this.directory = `https://127.0.0.1:${parts.ports.directory}/dir`;
    this.caFile = join(parts.folder, 'ca.crt');
  }

  static async start(): Promise<AcmeAuthority> {
    const folder = mkdtempSync(join(tmpdir(), 'atmo-acme-'));
    const [directory, management, dns, control] = [await freePort(), await freePort(), await freePort(), await freePort()];
    const ports = { directory, management, dns };
    const ca = writeCertificates(folder);
    writeFileSync(join(folder, 'pebble.json'), JSON.stringify({ pebble: pebbleConfig(folder, ports) }));
    writeFileSync(join(folder, 'dns.mjs'), DNS_COMMAND);
    const off = ['http01', 'https01', 'tlsalpn01'].flatMap((name) => [`-${name}`, '']);
    const dnsArgs = ['-dns01', `127.0.0.1:${dns}`, '-management', `127.0.0.1:${control}`, ...off];
    const servers = [
      await startServer('pebble-challtestsrv', dnsArgs, { port: control }),
      await startServer('pebble', ['-config', join(folder, 'pebble.json'), '-dnsserver', `127.0.0.1:${dns}`], {
        port: directory,
        env: { PEBBLE_VA_NOSLEEP: '1', PEBBLE_WFE_NONCEREJECT: '50' },
      }),
    ];
    const dnsCommand = [process.execPath, join(folder, 'dns.mjs'), `http://127.0.0.1:${control}`];
    return new AcmeAuthority({ folder, ports, ca, dnsCommand, servers });
  }

  /** The certificate that a client has to trust, made anew at each start of the authority. */
  async root(): Promise<string> {
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    const options = { host: '127.0.0.1', port: this.#ports.management, path: '/roots/0', ca: this.#directoryCa, agent: false };
    request(options, (response) => resolve(text(response)))
      .on('error', reject)
      .end();
    return promise;
  }

  /** The proofs that stand in the DNS for a name. */
  async proofs(name: string): Promise<readonly string[]> {
    const resolver = new Resolver();
    resolver.setServers([`127.0.0.1:${this.#ports.dns}`]);
    return (await resolver.resolveTxt(`_acme-challenge.${name}`).catch(() => [])).flat();
  }

  async stop(): Promise<void> {
    for (const server of this.#servers) await server.stop();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

function writeCertificates(folder: string): string {
  const validity = { fromMs: Date.now() - DAY_MS, untilMs: Date.now() + DAY_MS };
  const ca = makeAuthority('directory authority', ['127.0.0.1/32'], validity);
  const own = makeServerCertificate({ name: 'directory authority', key: createPrivateKey(ca.key) }, ['127.0.0.1'], validity);
  writeFileSync(join(folder, 'ca.crt'), ca.certificate);
  writeFileSync(join(folder, 'own.crt'), own.certificate);
  writeFileSync(join(folder, 'own.key'), own.key);
  return ca.certificate;
}

function pebbleConfig(folder: string, { directory, management }: Ports) {
  return {
    listenAddress: `127.0.0.1:${directory}`,
    managementListenAddress: `127.0.0.1:${management}`,
    certificate: join(folder, 'own.crt'),
    privateKey: join(folder, 'own.key'),
    httpPort: 5002,
    tlsPort: 5001,
    ocspResponderURL: '',
    externalAccountBindingRequired: false,
  };
}

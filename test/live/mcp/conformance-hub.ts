import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, request as httpRequest, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { HOME_PERMISSIONS } from '../../../src/cli/mcp/mcp-credential.ts';
import { ENTRIES } from '../../fixtures/mcp-conformance/conformance-tools.ts';
import { RunningHub } from '../running-hub.ts';

const MODULE = join(import.meta.dirname, '../../fixtures/mcp-conformance/conformance-tools.ts');

/** A hub without devices whose owner has the tools, resources and prompts of the conformance suite. */
export class ConformanceHub implements AsyncDisposable {
  readonly hub: RunningHub;
  readonly token: string;
  /** The endpoint with the agent's token added to each request: for programs that can send none. */
  readonly openUrl: string;
  readonly #dir: string;
  readonly #proxy: Server;

  private constructor(parts: { hub: RunningHub; token: string; dir: string; proxy: Server }) {
    this.hub = parts.hub;
    this.token = parts.token;
    this.#dir = parts.dir;
    this.#proxy = parts.proxy;
    this.openUrl = `http://127.0.0.1:${(parts.proxy.address() as AddressInfo).port}/mcp/devices`;
  }

  static async start(): Promise<ConformanceHub> {
    const dir = mkdtempSync(join(tmpdir(), 'mcp-conformance-'));
    mkdirSync(join(dir, 'state'), { mode: 0o700 });
    copyFileSync(MODULE, join(dir, 'conformance-tools.ts'));
    const tools = Object.entries(ENTRIES).map(([name, entry]) => ({ name, source: 'file:./conformance-tools.ts', entry }));
    writeFileSync(join(dir, 'tools.yaml'), JSON.stringify({ tools }), { mode: 0o600 });
    writeFileSync(join(dir, 'config.yaml'), JSON.stringify({ matter: { enabled: false }, tools: { manifest: join(dir, 'tools.yaml') } }));
    const hub = await RunningHub.start({ stateDir: join(dir, 'state'), env: { ATMO_CONFIG: join(dir, 'config.yaml'), HOME: dir } });
    const minted = await hub.result('hub:mint_token', { agent_id: 'suite', permissions: HOME_PERMISSIONS, ttl_seconds: 3_600 });
    const token = String(minted.token);
    const proxy = await tokenProxy(hub.url, token);
    return new ConformanceHub({ hub, token, dir, proxy });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#proxy.closeAllConnections();
    this.#proxy.close();
    await this.hub[Symbol.asyncDispose]();
    rmSync(this.#dir, { recursive: true, force: true });
  }
}

/** Passes everything on as it is, but its own name as Host and Origin becomes the hub's, and the token is added. */
async function tokenProxy(target: string, token: string): Promise<Server> {
  const hub = new URL(target);
  const proxy = createServer((incoming, outgoing) => {
    const own = `127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    const headers = { ...incoming.headers, authorization: `Bearer ${token}` };
    if (headers.host === own) headers.host = hub.host;
    if (headers.origin === `http://${own}`) headers.origin = hub.origin;
    const passed = httpRequest({ host: hub.hostname, port: hub.port, path: incoming.url, method: incoming.method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    passed.on('error', () => outgoing.destroy());
    outgoing.on('close', () => passed.destroy());
    incoming.pipe(passed);
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  return proxy;
}

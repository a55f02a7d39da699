import { once } from 'node:events';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, request as httpRequest, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { HOME_PERMISSIONS } from '../../../src/cli/mcp/agent-credential.ts';
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
    const proxy = await tokenProxy(hub, token);
    return new ConformanceHub({ hub, token, dir, proxy });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#proxy.closeAllConnections();
    this.#proxy.close();
    await this.hub[Symbol.asyncDispose]();
    rmSync(this.#dir, { recursive: true, force: true });
  }
}

/**
 * Passes everything on as it is, but its own name as Host and Origin becomes the hub's, and the token is added. Where the suite calls for
 * another list of tools, the owner of the hub registers one before the request goes on. Once a client was answered how far its task is,
 * the owner lets the tool end.
 */
async function tokenProxy(running: RunningHub, token: string): Promise<Server> {
  const hub = new URL(running.url);
  let registered = 0;
  const register = () =>
    running.result('hub:register_tool', {
      tool: {
        id: `says_something_${++registered}`,
        description: 'Says something simple.',
        input_schema: {},
        steps: [{ tool: 'test_simple_text' }],
      },
    });
  const pass = (incoming: IncomingMessage) => {
    const own = `127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    const headers = { ...incoming.headers, authorization: `Bearer ${token}` };
    if (headers.host === own) headers.host = hub.host;
    if (headers.origin === `http://${own}`) headers.origin = hub.origin;
    const passed = httpRequest({ host: hub.hostname, port: hub.port, path: incoming.url, method: incoming.method, headers });
    return incoming.pipe(passed);
  };
  const relay = async (incoming: IncomingMessage, outgoing: ServerResponse) => {
    if (incoming.headers['mcp-name'] === 'test_trigger_tool_change') await register();
    const passed = pass(incoming);
    outgoing.on('close', () => passed.destroy());
    const [answer] = (await once(passed, 'response')) as [IncomingMessage];
    if (incoming.headers['mcp-method'] === 'tasks/get') await running.result('test_let_go');
    outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.on('error', () => outgoing.destroy());
    answer.pipe(outgoing);
  };
  const proxy = createServer((incoming, outgoing) => {
    relay(incoming, outgoing).catch((error: unknown) => {
      if (outgoing.destroyed) return;
      console.warn('A request was not passed on:', error);
      outgoing.writeHead(502, { 'content-type': 'text/plain' }).end(`The request was not passed on: ${error}`);
    });
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  return proxy;
}

import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentLogger } from '../../src/core/logger.ts';
import type { HttpApp } from '../../src/http/server/http-app.ts';
import { loadConfig } from '../../src/hub/config/config.ts';
import { Hub } from '../../src/hub/hub.ts';
import { formatHostPort, type PeerAddress } from '../../src/mesh/transport/mesh-engine.ts';
import { HOST, PORT } from '../http/http-fixture.ts';
import type { ManualClock } from '../manual-clock.ts';
import { MemoryEngine } from '../mesh/memory-engine.ts';
import type { MemoryNetwork } from '../mesh/memory-network.ts';

/** Where the hub listens for other hubs in the network of a test. */
export const MESH_AT = { host: 'hub.test', port: 1 };

interface Surroundings {
  readonly clock: ManualClock;
  readonly network: MemoryNetwork;
  /** The owner's rules. */
  readonly rules: string;
  /** Members of the configuration beside those that every such hub has. */
  readonly config?: { readonly mesh?: { readonly site?: string; readonly [name: string]: unknown }; readonly [name: string]: unknown };
  /** Where it listens for other hubs; `MESH_AT` when absent. */
  readonly meshAt?: PeerAddress;
}

/** What a request brings. */
export interface Sent {
  readonly token?: string;
  readonly body?: object;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The headers and the JSON-RPC message of a request over MCP without a session. */
export function mcpRequest(method: string, params: object) {
  const version = '2026-07-28';
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': version,
    'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1.0.0' },
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  return {
    headers: { accept: 'application/json, text/event-stream', 'mcp-protocol-version': version, 'mcp-method': method },
    body: { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } },
  };
}

/** A body that is sent when something else has happened, which begins when the body is read. */
function lateBody(text: string, before: () => Promise<unknown>): ReadableStream<Uint8Array> {
  const pull = async (controller: ReadableStreamDefaultController<Uint8Array>) => {
    await before();
    controller.enqueue(Buffer.from(text));
    controller.close();
  };
  return new ReadableStream({ pull }, { highWaterMark: 0 });
}

/** A whole hub as the program makes it, without Matter and without sockets: requests and other hubs reach it inside this process. */
export class WholeHub implements AsyncDisposable {
  readonly hub: Hub;
  /** What happens once between the headers and the body of the next request that has one and is not the owner's. */
  beforeBody: (() => Promise<unknown>) | undefined;
  readonly #stateDir: string;
  #app: HttpApp | undefined;

  constructor({ clock, network, rules, config = {}, meshAt = MESH_AT }: Surroundings) {
    const dir = mkdtempSync(join(tmpdir(), 'atmo-hub-'));
    this.#stateDir = join(dir, 'state');
    mkdirSync(this.#stateDir, { mode: 0o700 });
    writeFileSync(join(this.#stateDir, 'rules.yaml'), rules, { mode: 0o600 });
    const settings = {
      matter: { enabled: false },
      mesh: { discovery: false },
      sensors: { sysfs: join(dir, 'sys') },
      tools: { dynamic_registration: true },
      clock: { trust: 'always' },
      ...config,
    };
    writeFileSync(join(this.#stateDir, 'config.yaml'), JSON.stringify(settings), { mode: 0o600 });
    this.hub = new Hub(
      { clock, logger: silentLogger },
      {
        config: loadConfig({}, this.#stateDir),
        version: '1.2.3',
        network: {
          openListener: (app) => {
            this.#app = app;
            return { listen: async () => PORT, [Symbol.asyncDispose]: async () => {} };
          },
          openEngine: async ({ hubId: id, publicKey }, gate, role) =>
            new MemoryEngine({
              network,
              address: role === 'member' ? formatHostPort(meshAt) : `guest.${meshAt.host}:1`,
              topic: config.mesh?.site,
              self: { id, publicKey },
              gate,
            }),
        },
      },
    );
  }

  /** The owner's token. */
  get ownerToken(): string {
    return readFileSync(join(this.#stateDir, 'owner.token'), 'utf8').trim();
  }

  /** File with the key with which the owner approves calls. */
  get ownerKeyFile(): string {
    return join(this.#stateDir, 'owner.key');
  }

  /** Answers as the network interface of the hub does. */
  async fetch(url: string | URL, init: RequestInit = {}): Promise<Response> {
    const headers = new Headers(init.headers);
    headers.set('host', HOST);
    if (!this.#app) throw new Error('the hub has not started');
    const { beforeBody } = this;
    const isOwners = headers.get('authorization') === `Bearer ${this.ownerToken}`;
    if (!beforeBody || isOwners || typeof init.body !== 'string') return this.#app.request(String(url), { ...init, headers });
    this.beforeBody = undefined;
    const body = lateBody(init.body, beforeBody);
    return this.#app.request(String(url), { ...init, headers, body, duplex: 'half' });
  }

  /** The JSON of an answer over HTTP; `{}` for none. */
  async ask(path: string, { token = this.ownerToken, body, method, headers }: Sent = {}): Promise<ReturnType<typeof JSON.parse>> {
    const response = await this.fetch(`http://${HOST}${path}`, {
      method: method ?? (body ? 'POST' : 'GET'),
      headers: { authorization: `Bearer ${token}`, ...(body && { 'content-type': 'application/json' }), ...headers },
      ...(body && { body: JSON.stringify(body) }),
    });
    return JSON.parse((await response.text()) || '{}');
  }

  /** The answer to a call of a tool over HTTP. */
  call(tool: string, params: object = {}, token?: string) {
    return this.ask(`/api/v1/tools/${encodeURIComponent(tool)}/invoke`, { body: params, ...(token !== undefined && { token }) });
  }

  /** The JSON-RPC answer to `tools/call` over MCP with every tool listed, or the refusal of the HTTP server. */
  mcp(token: string, params: { readonly name: string; readonly arguments: object }) {
    const { headers, body } = mcpRequest('tools/call', params);
    return this.ask('/mcp/devices', { token, headers: { ...headers, 'mcp-name': params.name }, body });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.hub[Symbol.asyncDispose]();
    rmSync(join(this.#stateDir, '..'), { recursive: true });
  }
}

import { Client as ModernClient, StreamableHTTPClientTransport as ModernTransport } from '@modelcontextprotocol/client';
import { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as LegacyTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { HttpApi } from '../../src/hub/http.ts';
import { HOST, TOKEN } from '../http/http-fixture.ts';

interface ClientWish {
  /** `/mcp` when absent. */
  readonly path?: string;
  readonly token?: string;
  readonly capabilities?: object;
}

const ABOUT = { name: 'test', version: '1.0.0' };

/** A client of 2026-07-28 that speaks to the httpApi without a socket. */
export async function modernClient(httpApi: HttpApi, { capabilities = {}, ...wish }: ClientWish = {}) {
  const client = new ModernClient(ABOUT, { capabilities, versionNegotiation: { mode: { pin: '2026-07-28' } } });
  await client.connect(new ModernTransport(urlOf(wish), optionsOf(httpApi, wish)));
  return client;
}

/** A client of 2025-11-25, as most are today, with a session. */
export async function legacyClient(httpApi: HttpApi, { capabilities = {}, ...wish }: ClientWish = {}) {
  const client = new LegacyClient(ABOUT, { capabilities });
  const transport = new LegacyTransport(urlOf(wish), optionsOf(httpApi, wish));
  await client.connect(transport as Parameters<LegacyClient['connect']>[0]);
  return Object.assign(client, { http: transport });
}

function urlOf({ path = '/mcp' }: ClientWish): URL {
  return new URL(`http://${HOST}${path}`);
}

function optionsOf(httpApi: HttpApi, { token = TOKEN }: ClientWish) {
  return {
    fetch: async (url: string | URL, init?: RequestInit) => {
      const headers = new Headers(init?.headers);
      headers.set('host', HOST);
      return httpApi.app.request(String(url), { ...init, headers });
    },
    requestInit: { headers: { authorization: `Bearer ${token}` } },
  };
}

interface CallingClient {
  callTool(call: { readonly name: string; readonly arguments: Record<string, unknown> }): Promise<object>;
}

/** `structuredContent` of a call, an error's as well. */
export async function resultOf(client: CallingClient, name: string, given: Record<string, unknown> = {}): Promise<unknown> {
  const result = await client.callTool({ name, arguments: given });
  return 'structuredContent' in result ? result.structuredContent : result;
}

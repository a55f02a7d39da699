import type { CliIo } from '../../src/cli/cli-io.ts';
import { McpStdioBridge } from '../../src/cli/commands/mcp.ts';
import { McpHttpClient, type McpMessage } from '../../src/cli/mcp/http-client.ts';
import type { JsonObject } from '../../src/core/json.ts';
import { settled } from '../calls/pipeline-fixture.ts';
import { ManualClock } from '../manual-clock.ts';

/** One request of the bridge's to the hub. */
export interface Seen {
  readonly method: string;
  readonly path: string;
  readonly headers: Headers;
  readonly message: McpMessage | undefined;
  readonly signal: AbortSignal | undefined;
}

type Answer = (seen: Seen) => Response | Promise<Response>;

/** A stream of server-sent events that the test writes. */
export class Stream {
  readonly response: Response;
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;

  constructor(signal?: AbortSignal) {
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        this.#controller = controller;
        signal?.addEventListener('abort', () => controller.error(signal.reason));
      },
    });
    this.response = new Response(body, { headers: { 'content-type': 'text/event-stream' } });
  }

  send(message: JsonObject, id?: string): void {
    const head = id === undefined ? '' : `id: ${id}\n`;
    this.#controller?.enqueue(new TextEncoder().encode(`${head}event: message\ndata: ${JSON.stringify(message)}\n\n`));
  }

  end(): void {
    this.#controller?.close();
  }

  cut(): void {
    this.#controller?.error(new TypeError('terminated'));
  }
}

/** The bridge between a client that the test plays and a hub that it plays as well. */
export function makeBridge(answer: Answer) {
  const seen: Seen[] = [];
  const lines: string[] = [];
  const clock = new ManualClock();
  const input = new TransformStream<string, string>();
  const writer = input.writable.getWriter();
  const fetch: CliIo['fetch'] = async (url, init) => {
    const request: Seen = {
      method: init.method ?? 'GET',
      path: new URL(url).pathname,
      headers: new Headers(init.headers),
      message: typeof init.body === 'string' ? (JSON.parse(init.body) as McpMessage) : undefined,
      signal: init.signal ?? undefined,
    };
    seen.push(request);
    return answer(request);
  };
  const credential = { token: async () => 'at1.agent', hub: () => undefined, renew: async () => false };
  const client = new McpHttpClient({ url: 'http://127.0.0.1:8081', path: '/mcp', fetch, credential });
  const bridge = new McpStdioBridge({ client, stdin: input.readable, stdout: { write: (text) => lines.push(text) }, clock });
  const ended = bridge.run();
  return {
    seen,
    clock,
    /** What the client has read, one message a line. */
    read: (): readonly McpMessage[] => lines.map((line) => JSON.parse(line) as McpMessage),
    lines,
    async say(...messages: readonly (JsonObject | string)[]) {
      for (const message of messages) await writer.write(`${typeof message === 'string' ? message : JSON.stringify(message)}\n`);
      await settled();
    },
    /** A piece of what the client writes, which need not be a whole line. */
    async type(piece: string) {
      await writer.write(piece);
    },
    async hangUp() {
      await writer.close();
      await settled();
      clock.advance(2_000);
      await ended;
    },
  };
}

export const INITIALIZE = {
  jsonrpc: '2.0',
  id: 0,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
};
export const INITIALIZED = { jsonrpc: '2.0', method: 'notifications/initialized' };

/** A request of 2026-07-28. */
export function statement(id: number | string, method: string, params: JsonObject = {}): JsonObject {
  const _meta = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {} };
  return { jsonrpc: '2.0', id, method, params: { ...params, _meta } };
}

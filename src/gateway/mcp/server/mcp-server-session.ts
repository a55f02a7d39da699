import { randomUUID } from 'node:crypto';
import { type Server, WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/server';
import type { Principal } from '../../../core/access/principal.ts';
import type { McpSession } from '../mcp-feature.ts';
import type { McpView } from '../mcp-view.ts';
import { authInfoOf, type McpGuest, type McpOffer, makeServer } from './mcp-server.ts';
import type { Notice, OpenLine } from './open-lines.ts';
import { SessionEvents } from './session-events.ts';

/** When clients come back to a stream that was cut. */
const RETRY_MS = 2_000;

/** A session of the handshake era (2025-11-25 and before), from `initialize` to DELETE. */
export class ServerSession implements McpSession, OpenLine {
  readonly id = randomUUID();
  readonly subscriptions = new Set<string>();
  readonly view: McpView;
  #principal: Principal;
  readonly #server: Server;
  readonly #transport: WebStandardStreamableHTTPServerTransport;

  constructor(offer: McpOffer, { principal, view }: McpGuest) {
    this.#principal = principal;
    this.view = view;
    this.#server = makeServer(offer, { era: 'legacy', session: this });
    this.#transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => this.id,
      eventStore: new SessionEvents(),
      retryInterval: RETRY_MS,
    });
  }

  get principal(): Principal {
    return this.#principal;
  }

  /** False while no `initialize` has been understood. */
  get isInitialized(): boolean {
    return this.#transport.sessionId !== undefined;
  }

  renew(principal: Principal): void {
    this.#principal = principal;
  }

  /** Readies it for its first request. */
  async open(): Promise<void> {
    await this.#server.connect(this.#transport);
  }

  /** Answers a POST with its parsed `body`, a GET or a DELETE. */
  handle(guest: McpGuest, request: Request, body?: unknown): Promise<Response> {
    return this.#transport.handleRequest(request, { authInfo: authInfoOf(guest), ...(body !== undefined && { parsedBody: body }) });
  }

  tell(notice: Notice): void {
    this.#send(notice).catch(() => {});
  }

  async close(): Promise<void> {
    await this.#server.close();
  }

  async #send(notice: Notice): Promise<void> {
    switch (notice.kind) {
      case 'tools_list_changed':
        return this.#server.sendToolListChanged();
      case 'prompts_list_changed':
        return this.#server.sendPromptListChanged();
      case 'resources_list_changed':
        return this.#server.sendResourceListChanged();
      case 'resource_updated':
        if (this.subscriptions.has(notice.uri)) await this.#server.sendResourceUpdated({ uri: notice.uri });
    }
  }
}

import { randomUUID } from 'node:crypto';
import {
  type EventStore,
  isSpecType,
  type JSONRPCMessage,
  type Server,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import type { Principal } from '../core/auth/principal.ts';
import { isJsonObject, type JsonObject } from '../core/json.ts';
import type { McpSession, McpView } from './mcp-feature.ts';
import { authInfoOf, type McpRequester, type McpServerOptions, makeServer } from './mcp-server.ts';
import type { McpNotification, NotificationChannel } from './notification-channels.ts';
import type { SessionFacts } from './session-store.ts';

/** Milliseconds after which a client should reopen a stream that was cut. */
const RETRY_MS = 2_000;

interface SessionOptions {
  /** Id of a restored session; absent for a new session. */
  readonly id?: string;
  /** Called when `facts` have changed. */
  readonly onChange: (session: ServerSession) => void;
}

/** A session of MCP 2025-11-25 and before, from `initialize` to DELETE. */
export class ServerSession implements McpSession, NotificationChannel {
  readonly id: string;
  readonly view: McpView;
  #principal: Principal;
  readonly #subscriptions = new Set<string>();
  readonly #onChange: () => void;
  #opening: JsonObject | undefined;
  #level: string | undefined;
  readonly #server: Server;
  readonly #transport: WebStandardStreamableHTTPServerTransport;

  constructor(offer: McpServerOptions, { principal, view }: McpRequester, { id = randomUUID(), onChange }: SessionOptions) {
    this.id = id;
    this.#principal = principal;
    this.view = view;
    this.#onChange = () => onChange(this);
    this.#server = makeServer(offer, { era: 'legacy', session: this });
    this.#transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => this.id,
      eventStore: new SessionEvents(),
      retryInterval: RETRY_MS,
    });
  }

  /** The principal of the last request. Its token may be a later one of the same grant. */
  get principal(): Principal {
    return this.#principal;
  }

  get subscriptions(): ReadonlySet<string> {
    return this.#subscriptions;
  }

  /** Returns whether the session has received a valid `initialize`. */
  get isInitialized(): boolean {
    return this.#transport.sessionId !== undefined;
  }

  /** The data with which the session can be restored; undefined before a valid `initialize`. */
  get facts(): SessionFacts | undefined {
    if (!this.#opening || !this.isInitialized) return undefined;
    const { view, subscriptions } = this;
    return { opening: this.#opening, view, subscriptions: [...subscriptions], ...(this.#level !== undefined && { level: this.#level }) };
  }

  subscribe(uri: string): void {
    if (this.#subscriptions.has(uri)) return;
    this.#subscriptions.add(uri);
    this.#onChange();
  }

  unsubscribe(uri: string): void {
    if (this.#subscriptions.delete(uri)) this.#onChange();
  }

  async open(): Promise<void> {
    await this.#server.connect(this.#transport);
  }

  /** Restores a session of an earlier process by repeating its handshake without the client. */
  async resume(requester: McpRequester, { opening, subscriptions, level }: SessionFacts): Promise<void> {
    await this.open();
    await this.#repeat(requester, { id: 0, method: 'initialize', params: opening });
    await this.#repeat(requester, { method: 'notifications/initialized' });
    if (level !== undefined) await this.#repeat(requester, { id: 1, method: 'logging/setLevel', params: { level } });
    for (const uri of subscriptions) this.#subscriptions.add(uri);
  }

  /** Responds to a POST with its parsed `body`, to a GET or to a DELETE. */
  async handle(requester: McpRequester, request: Request, body?: unknown): Promise<Response> {
    this.#principal = requester.principal;
    const wasInitialized = this.isInitialized;
    if (isJsonObject(body as JsonObject)) this.#remember(body as JsonObject);
    const options = { authInfo: authInfoOf(requester), ...(body !== undefined && { parsedBody: body }) };
    const response = await this.#transport.handleRequest(request, options);
    if (!wasInitialized && this.facts) this.#onChange();
    return response;
  }

  notify(notification: McpNotification): void {
    this.#send(notification).catch(() => {});
  }

  async close(): Promise<void> {
    await this.#server.close();
  }

  #remember({ method, params }: JsonObject): void {
    if (!isJsonObject(params)) return;
    if (method === 'initialize' && !this.isInitialized) this.#opening = params;
    const { level } = params;
    if (method !== 'logging/setLevel' || !isSpecType.LoggingLevel(level) || level === this.#level) return;
    this.#level = level;
    this.#onChange();
  }

  async #repeat(requester: McpRequester, message: JsonObject): Promise<void> {
    const version = this.#opening?.protocolVersion;
    const headers = {
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
      ...(this.isInitialized && { 'mcp-session-id': this.id }),
      ...(this.isInitialized && typeof version === 'string' && { 'mcp-protocol-version': version }),
    };
    const request = new Request('http://hub.invalid/mcp', { method: 'POST', headers });
    const response = await this.handle(requester, request, { jsonrpc: '2.0', ...message });
    // Reading the response to its end completes the handshake.
    await response.text();
  }

  async #send(notification: McpNotification): Promise<void> {
    switch (notification.kind) {
      case 'tools_list_changed':
        return this.#server.sendToolListChanged();
      case 'resources_list_changed':
        return this.#server.sendResourceListChanged();
      case 'resource_updated':
        if (this.subscriptions.has(notification.uri)) await this.#server.sendResourceUpdated({ uri: notification.uri });
    }
  }
}

interface StoredEvent {
  readonly number: number;
  readonly streamId: string;
  readonly message: JSONRPCMessage;
  readonly size: number;
}

/** Limits on the messages that are kept for clients that reconnect: `events` is their number, `size` their total length as JSON text. */
const REPLAY_LIMITS = { events: 256, size: 131_072 } as const;

/** Stores the latest messages of a session. A client that reconnects receives the messages that it missed (Last-Event-ID). */
export class SessionEvents implements EventStore {
  #replay: StoredEvent[] = [];
  #size = 0;
  #next = 1;

  async storeEvent(streamId: string, message: JSONRPCMessage): Promise<string> {
    const event = { number: this.#next++, streamId, message, size: JSON.stringify(message).length };
    // The first event of a stream has no message, only an id.
    const isEmpty = Object.keys(message).length === 0;
    if (!isEmpty && event.size <= REPLAY_LIMITS.size) this.#keep(event);
    return `${event.number}_${streamId}`;
  }

  async getStreamIdForEventId(eventId: string): Promise<string | undefined> {
    return parseEventId(eventId)?.streamId;
  }

  async replayEventsAfter(
    lastEventId: string,
    { send }: { readonly send: (eventId: string, message: JSONRPCMessage) => Promise<void> },
  ): Promise<string> {
    const { number: last, streamId } = parseEventId(lastEventId) ?? { number: Number.POSITIVE_INFINITY, streamId: '' };
    for (const event of this.#replay) {
      if (event.number > last && event.streamId === streamId) await send(`${event.number}_${streamId}`, event.message);
    }
    return streamId;
  }

  #keep(event: StoredEvent): void {
    this.#replay.push(event);
    this.#size += event.size;
    while (this.#replay.length > REPLAY_LIMITS.events || this.#size > REPLAY_LIMITS.size) this.#size -= this.#replay.shift()?.size ?? 0;
  }
}

function parseEventId(eventId: string): { readonly number: number; readonly streamId: string } | undefined {
  const match = /^(\d{1,15})_(.{1,64})$/.exec(eventId);
  return match?.[2] === undefined ? undefined : { number: Number(match[1]), streamId: match[2] };
}

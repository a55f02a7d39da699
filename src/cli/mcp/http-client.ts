import type { Clock } from '../../core/clock.ts';
import { AtmoError } from '../../core/errors.ts';
import { isJsonObject, type Json, type JsonObject, objectOf, tryParseJson } from '../../core/json.ts';
import type { CliIo } from '../cli-io.ts';
import { answerText, sseMessages } from '../hub/answer-body.ts';
import { errorOf, isInterruption } from '../hub/hub-client.ts';
import { type KnownHub, unreachableError, verifyHub } from '../hub/hub-trust.ts';

/** Provides the token for the bridge between stdio and HTTP. */
export interface McpCredential {
  /** Returns the current token. Rejects if no token can be made. */
  token(): Promise<string>;
  /** Returns the hub for which the token is valid, if known. The hub at the URL must prove that it is this hub. */
  hub(): KnownHub | undefined;
  /** Called when the token has expired. Resolves with whether there is a new token. */
  renew(): Promise<boolean>;
}

interface McpHttpClientParts {
  readonly url: string;
  /** Path of the MCP endpoint: `/mcp`, or the path of a view such as `/mcp/devices`. */
  readonly path: string;
  readonly fetch: CliIo['fetch'];
  readonly credential: McpCredential;
}

interface McpRequest {
  readonly method: 'POST' | 'GET' | 'DELETE';
  readonly message?: McpMessage;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

/** The two ends of the bridge: `client` sends requests to the hub, and `write` sends messages to the MCP client on stdio. */
export interface McpEnds {
  readonly client: McpHttpClient;
  /** Writes a message to the MCP client on stdio. */
  readonly write: (message: McpMessage) => void;
  readonly clock: Clock;
}

/** Sends requests to the hub's MCP endpoint over HTTP. */
export class McpHttpClient {
  readonly #parts: McpHttpClientParts;
  #proof: Promise<void> | undefined;

  constructor(parts: McpHttpClientParts) {
    this.#parts = parts;
  }

  /** Sends a request. Resolves with the response, whatever its status is. Rejects with HUB_UNREACHABLE or an error of the credential. */
  async send(request: McpRequest): Promise<Response> {
    const response = await this.#sendOnce(request);
    if (response.status !== 401 || !(await isExpired(response)) || !(await this.#parts.credential.renew())) return response;
    return this.#sendOnce(request);
  }

  async #sendOnce({ method, message, headers, signal }: McpRequest): Promise<Response> {
    const token = await this.#token(signal);
    return this.#reach(this.#parts.path, {
      method,
      headers: {
        accept: method === 'GET' ? 'text/event-stream' : 'application/json, text/event-stream',
        authorization: `Bearer ${token}`,
        ...(message && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(message && { body: JSON.stringify(message) }),
      signal,
    });
  }

  async #token(signal: AbortSignal): Promise<string> {
    const token = await this.#parts.credential.token();
    const hub = this.#parts.credential.hub();
    if (hub) this.#proof ??= verifyHub(this.#parts.url, hub, (path) => this.#reach(path, { method: 'GET', signal }));
    try {
      await this.#proof;
    } catch (error) {
      this.#proof = undefined;
      throw error;
    }
    return token;
  }

  async #reach(path: string, init: RequestInit): Promise<Response> {
    const { url } = this.#parts;
    try {
      return await this.#parts.fetch(`${url}${path}`, { redirect: 'error', ...init });
    } catch (cause) {
      // The hub must prove its identity again before the next request, because another hub may then be at this URL.
      this.#proof = undefined;
      throw unreachableError(url, cause, 'it works again as soon as one does');
    }
  }
}

/**
 * Yields the messages in a JSON response or an event stream, each with its event id if there is one. Throws the error of a failed response.
 */
export async function* messagesIn(response: Response): AsyncIterable<{ readonly message: McpMessage; readonly eventId?: string }> {
  if (response.headers.get('content-type')?.startsWith('text/event-stream')) {
    for await (const { data, id } of sseMessages(response.body)) {
      const message = tryParseJson(data);
      if (isJsonObject(message)) yield { message, ...(id !== undefined && { eventId: id }) };
    }
    return;
  }
  const body = tryParseJson(await answerText(response));
  if (isJsonObject(body) && body.jsonrpc === '2.0') yield { message: body };
  else if (!response.ok) throw errorOf(objectOf(body), response.status);
}

async function isExpired(response: Response): Promise<boolean> {
  return objectOf(tryParseJson(await answerText(response.clone()))).code === 'TOKEN_EXPIRED';
}

/** Writes the messages of a response to the client. Rejects with OUTCOME_UNKNOWN if none of them is the response to the request `id`. */
export async function forwardMessages(response: Response, id: McpId | undefined, write: McpEnds['write']): Promise<void> {
  let isAnswered = false;
  try {
    for await (const { message } of messagesIn(response)) {
      isAnswered ||= isAnswerTo(id, message);
      write(message);
    }
  } catch (error) {
    if (!response.ok || !isInterruption(error)) throw error;
  }
  if (isAnswered) return;
  throw new AtmoError(
    'OUTCOME_UNKNOWN',
    'The hub went away before it answered: what was asked may or may not have been done; look at the state before you ask again',
  );
}

/** Id of a JSON-RPC request. */
export type McpId = string | number;

/** A JSON-RPC 2.0 message, which is one line of stdio or one HTTP body. */
export type McpMessage = JsonObject;

const VERSION_KEY = 'io.modelcontextprotocol/protocolVersion';
/** Key in a notification's `_meta`. Its value is the id of the `subscriptions/listen` request (MCP version 2026-07-28). */
export const SUBSCRIPTION_KEY = 'io.modelcontextprotocol/subscriptionId';
const SERVER_ERROR = -32_000;
const PARSE_ERROR = -32_700;
const INVALID_REQUEST = -32_600;

/** Returns the id of a request. Returns undefined for notifications and responses. */
export function requestIdOf({ method, id }: McpMessage): McpId | undefined {
  return typeof method === 'string' && isId(id) ? id : undefined;
}

/** Returns whether a message is the response to the request with this id. */
export function isAnswerTo(id: McpId | undefined, message: McpMessage): boolean {
  return id !== undefined && message.id === id && message.method === undefined;
}

/** Returns the parameters of a message, or an empty object if it has none. */
export function paramsOf({ params }: McpMessage): JsonObject {
  return objectOf(params);
}

/** Returns the protocol version in a message. Returns undefined for MCP versions before 2026-07-28, which have a handshake instead. */
export function statedVersion(message: McpMessage): string | undefined {
  const version = objectOf(paramsOf(message)._meta)[VERSION_KEY];
  return typeof version === 'string' ? version : undefined;
}

/** Returns the error response to a request that failed in the network or at the hub. */
export function failureResponse(id: McpId | null, error: AtmoError): McpMessage {
  const { code, message, details, retryable } = error.toBody();
  return { jsonrpc: '2.0', id, error: { code: SERVER_ERROR, message: `${code}: ${message}`, data: { code, details, retryable } } };
}

/** Parses a line. Returns the message, or an error response to the client if the line is no message. */
export function parseLine(line: string): { readonly message: McpMessage } | { readonly refusal: McpMessage } {
  const value = tryParseJson(line);
  if (value === undefined) return { refusal: errorResponse(PARSE_ERROR, 'Parse error: a line has to be one JSON-RPC message in JSON') };
  if (isJsonObject(value) && value.jsonrpc === '2.0') return { message: value };
  return { refusal: errorResponse(INVALID_REQUEST, 'Invalid request: a line has to be one JSON-RPC 2.0 message, and no batch') };
}

/** Returns a change notification for each list and resource. The bridge sends these if it may have missed notifications of the hub. */
export function changeNotifications(lists: readonly string[], uris: Iterable<Json>, params?: JsonObject): readonly McpMessage[] {
  return [
    ...lists.map((kind) => ({ jsonrpc: '2.0', method: `notifications/${kind}/list_changed`, ...(params && { params }) })),
    ...Array.from(uris, (uri) => ({ jsonrpc: '2.0', method: 'notifications/resources/updated', params: { ...params, uri } })),
  ];
}

function isId(id: Json | undefined): id is McpId {
  return typeof id === 'string' || typeof id === 'number';
}

function errorResponse(code: number, message: string): McpMessage {
  return { jsonrpc: '2.0', id: null, error: { code, message } };
}

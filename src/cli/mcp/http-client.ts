import { AtmoError } from '../../core/errors.ts';
import { isJsonObject, type Json, type JsonObject, tryParseJson } from '../../core/json.ts';
import type { CliIo } from '../cli-io.ts';
import { errorOf, sseMessages } from '../hub/hub-client.ts';
import { certificateError, type KnownHub, verifyHub } from '../hub/hub-trust.ts';

/** With which token the bridge speaks. */
export interface McpCredential {
  /** The token of now. Errors are those of making one. */
  token(): Promise<string>;
  /** The hub that the token is for, where that is known: what answers has to prove to be it. */
  hub(): KnownHub | undefined;
  /** The token has ended; true when there is another to try. */
  renew(): Promise<boolean>;
}

interface McpHttpClientParts {
  /** Address of the hub. */
  readonly url: string;
  /** `/mcp` or the path of another view. */
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

/** A message of the hub's, with the id after which its stream goes on. */
interface ReceivedMessage {
  readonly message: McpMessage;
  readonly eventId?: string;
}

/** The hub's MCP endpoint over HTTP. */
export class McpHttpClient {
  readonly #parts: McpHttpClientParts;
  #proof: Promise<void> | undefined;

  constructor(parts: McpHttpClientParts) {
    this.#parts = parts;
  }

  /** The response as it begins, whatever its status. HUB_UNREACHABLE, and the errors of the credential. */
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
      // Whoever answers next may be another than before.
      this.#proof = undefined;
      const doubt = certificateError(url, cause);
      if (doubt) throw doubt;
      throw new AtmoError('HUB_UNREACHABLE', `No hub answers at ${url}; it works again as soon as one does`, { url }, { cause });
    }
  }
}

/** The messages in a response: one as JSON, or those of an event stream as they come. Refusals of the door throw what they say. */
export async function* messagesIn(response: Response): AsyncIterable<ReceivedMessage> {
  if (response.headers.get('content-type')?.startsWith('text/event-stream')) {
    for await (const { data, id } of sseMessages(response.body)) {
      const message = tryParseJson(data);
      if (isJsonObject(message)) yield { message, ...(id !== undefined && { eventId: id }) };
    }
    return;
  }
  const text = await response.text();
  const body = tryParseJson(text);
  if (isJsonObject(body) && body.jsonrpc === '2.0') yield { message: body };
  else if (!response.ok) throw errorOf(isJsonObject(body) ? body : {}, response.status);
}

async function isExpired(response: Response): Promise<boolean> {
  const problem = tryParseJson(await response.clone().text());
  return isJsonObject(problem) && problem.code === 'TOKEN_EXPIRED';
}

/** Id of a JSON-RPC request. */
export type McpId = string | number;

/** A JSON-RPC 2.0 message, as a line of stdio and a body of HTTP carry it. */
export type McpMessage = JsonObject;

const VERSION_KEY = 'io.modelcontextprotocol/protocolVersion';
/** `_meta` of a notice: the id of the `subscriptions/listen` that it belongs to (2026-07-28). */
export const SUBSCRIPTION_KEY = 'io.modelcontextprotocol/subscriptionId';
const SERVER_ERROR = -32_000;
const PARSE_ERROR = -32_700;
const INVALID_REQUEST = -32_600;

/** The id of a request that wants an answer; undefined for notifications and answers. */
export function requestIdOf({ method, id }: McpMessage): McpId | undefined {
  return typeof method === 'string' && isId(id) ? id : undefined;
}

/** True for the answer to the request of this id. */
export function isAnswerTo(id: McpId | undefined, message: McpMessage): boolean {
  return id !== undefined && message.id === id && message.method === undefined;
}

/** The parameters of a message, empty where it has none. */
export function paramsOf({ params }: McpMessage): JsonObject {
  return isJsonObject(params) ? params : {};
}

/** The revision that a message of 2026-07-28 or later names itself; undefined for those of before, which have a handshake. */
export function statedVersion(message: McpMessage): string | undefined {
  const { _meta: meta } = paramsOf(message);
  const version = isJsonObject(meta) ? meta[VERSION_KEY] : undefined;
  return typeof version === 'string' ? version : undefined;
}

/** The answer to a request that the hub did not get, or could not answer. */
export function failureResponse(id: McpId | null, error: AtmoError): McpMessage {
  const { code, message, details, retryable } = error.toBody();
  return { jsonrpc: '2.0', id, error: { code: SERVER_ERROR, message: `${code}: ${message}`, data: { code, details, retryable } } };
}

/** The message of a line; an answer for the client where it is none. */
export function parseLine(line: string): { readonly message: McpMessage } | { readonly refusal: McpMessage } {
  const value = tryParseJson(line);
  if (value === undefined) return { refusal: errorResponse(PARSE_ERROR, 'Parse error: a line has to be one JSON-RPC message in JSON') };
  if (isJsonObject(value) && value.jsonrpc === '2.0') return { message: value };
  return { refusal: errorResponse(INVALID_REQUEST, 'Invalid request: a line has to be one JSON-RPC 2.0 message, and no batch') };
}

/** A notification of the hub's that the bridge gives in its place. */
export function notification(method: string, params: JsonObject = {}): McpMessage {
  return Object.keys(params).length === 0 ? { jsonrpc: '2.0', method } : { jsonrpc: '2.0', method, params };
}

function isId(id: Json | undefined): id is McpId {
  return typeof id === 'string' || typeof id === 'number';
}

function errorResponse(code: number, message: string): McpMessage {
  return { jsonrpc: '2.0', id: null, error: { code, message } };
}

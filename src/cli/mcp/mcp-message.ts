import type { AtmoError } from '../../core/errors.ts';
import { isJsonObject, type Json, type JsonObject, jsonIn } from '../../core/json.ts';

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
export function failureOf(id: McpId | null, error: AtmoError): McpMessage {
  const { code, message, details, retryable } = error.toBody();
  return { jsonrpc: '2.0', id, error: { code: SERVER_ERROR, message: `${code}: ${message}`, data: { code, details, retryable } } };
}

/** The message of a line; an answer for the client where it is none. */
export function parseLine(line: string): { readonly message: McpMessage } | { readonly refusal: McpMessage } {
  const value = jsonIn(line);
  if (value === undefined) return { refusal: refusal(PARSE_ERROR, 'Parse error: a line has to be one JSON-RPC message in JSON') };
  if (isJsonObject(value) && value.jsonrpc === '2.0') return { message: value };
  return { refusal: refusal(INVALID_REQUEST, 'Invalid request: a line has to be one JSON-RPC 2.0 message, and no batch') };
}

/** A notification of the hub's that the bridge gives in its place. */
export function notice(method: string, params: JsonObject = {}): McpMessage {
  return Object.keys(params).length === 0 ? { jsonrpc: '2.0', method } : { jsonrpc: '2.0', method, params };
}

function isId(id: Json | undefined): id is McpId {
  return typeof id === 'string' || typeof id === 'number';
}

function refusal(code: number, message: string): McpMessage {
  return { jsonrpc: '2.0', id: null, error: { code, message } };
}

import { type AtmoError, ERROR_CODES } from '../../../core/errors.ts';
import type { Json } from '../../../core/json.ts';
import { type Answer, problemHeaders } from '../../door/answer.ts';

/** A response of the MCP server as the door sends answers: text whole, a stream as it comes. */
export async function answerOfResponse(response: Response): Promise<Answer> {
  const headers = Object.fromEntries(response.headers);
  // Hop-by-hop: the connection is the door's business.
  delete headers.connection;
  const isStream = headers['content-type']?.startsWith('text/event-stream') ?? false;
  const body = isStream && response.body ? response.body : await response.text();
  return { status: response.status, headers, body };
}

/** A refusal in the words of JSON-RPC, for requests of which nothing more is known. */
export function rpcRefusal(status: number, code: number, message: string): Answer {
  const body = JSON.stringify({ jsonrpc: '2.0', error: { code, message }, id: null });
  return { status, headers: { 'content-type': 'application/json' }, body };
}

const INVALID_PARAMS = -32_602;

/** An error of ours in the words of JSON-RPC, for the request of this id. */
export function rpcError(error: AtmoError, id: Json | undefined): Answer {
  const { code, message, details } = error.toBody();
  const told = { code: INVALID_PARAMS, message, data: { code, details } };
  const body = JSON.stringify({ jsonrpc: '2.0', error: told, id: typeof id === 'string' || typeof id === 'number' ? id : null });
  const status = ERROR_CODES[code].httpStatus;
  return { status, headers: { 'content-type': 'application/json', ...problemHeaders(error, status) }, body };
}

import { AtmoError } from '../../core/errors.ts';
import { isJsonObject, jsonIn } from '../../core/json.ts';
import type { CliIo } from '../cli-io.ts';
import { errorOf } from '../hub/hub-client.ts';
import { type KnownHub, requireHub } from '../hub/hub-proof.ts';
import { untrusted } from '../hub/hub-trust.ts';
import { sseMessages } from '../hub/sse-reader.ts';
import type { McpMessage } from './mcp-message.ts';

/** With which token the bridge speaks. */
export interface McpCredential {
  /** The token of now. Errors are those of making one. */
  token(): Promise<string>;
  /** The hub that the token is for, where that is known: what answers has to prove to be it. */
  hub(): KnownHub | undefined;
  /** The token has ended; true when there is another to try. */
  renew(): Promise<boolean>;
}

interface DoorParts {
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
interface McpArrival {
  readonly message: McpMessage;
  readonly eventId?: string;
}

/** The hub's MCP endpoint over HTTP. */
export class McpDoor {
  readonly #parts: DoorParts;
  #proof: Promise<void> | undefined;

  constructor(parts: DoorParts) {
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
    if (hub) this.#proof ??= requireHub(this.#parts.url, hub, (path) => this.#reach(path, { method: 'GET', signal }));
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
      const doubt = untrusted(url, cause);
      if (doubt) throw doubt;
      throw new AtmoError('HUB_UNREACHABLE', `No hub answers at ${url}; it works again as soon as one does`, { url }, { cause });
    }
  }
}

/** The messages in a response: one as JSON, or those of an event stream as they come. Refusals of the door throw what they say. */
export async function* arrivalsIn(response: Response): AsyncIterable<McpArrival> {
  if (response.headers.get('content-type')?.startsWith('text/event-stream')) {
    for await (const { data, id } of sseMessages(response.body)) {
      const message = jsonIn(data);
      if (isJsonObject(message)) yield { message, ...(id !== undefined && { eventId: id }) };
    }
    return;
  }
  const text = await response.text();
  const body = jsonIn(text);
  if (isJsonObject(body) && body.jsonrpc === '2.0') yield { message: body };
  else if (!response.ok) throw errorOf(isJsonObject(body) ? body : {}, response.status);
}

async function isExpired(response: Response): Promise<boolean> {
  const problem = jsonIn(await response.clone().text());
  return isJsonObject(problem) && problem.code === 'TOKEN_EXPIRED';
}

import { AtmoError } from '../../core/errors.ts';
import type { Json, JsonObject } from '../../core/json.ts';
import { orAborted } from '../../core/time/or-aborted.ts';
import { copyJson } from '../../tools/schema/plain-json.ts';

/** A call of a tool of another node. */
export interface RelayCall {
  readonly node: string;
  readonly app: string;
  readonly tool: string;
  readonly params: JsonObject;
}

interface Waiting {
  readonly node: string;
  readonly resolve: (payload: JsonObject) => void;
  readonly reject: (error: AtmoError) => void;
}

interface OutgoingParts {
  /** To one node; false where it did not go out. */
  readonly send: (node: string, payload: JsonObject) => boolean;
  /** An id that nobody can guess. */
  readonly newId: () => string;
}

const MAX_WAITING = 16;
const BODY_LIMITS = { maxSize: 262_144, maxDepth: 32 };
const OK_FROM = 200;
const OK_TO = 300;

/** `tool_call` to one node and the `tool_response` that comes from it. */
export class OutgoingCalls {
  readonly #with: OutgoingParts;
  readonly #waiting = new Map<string, Waiting>();

  constructor(parts: OutgoingParts) {
    this.#with = parts;
  }

  /**
   * The body of the answer. SERVICE_UNAVAILABLE where nothing went out, SERVICE_REFUSED for a status that is no success,
   * PAYLOAD_TOO_LARGE for an answer that is too long or too deep, OUTCOME_UNKNOWN where none came.
   */
  async call({ node, app, tool, params }: RelayCall, signal: AbortSignal): Promise<Json> {
    if (this.#waiting.size >= MAX_WAITING) throw new AtmoError('RESOURCE_EXCEEDED', `More than ${MAX_WAITING} calls wait for answers`);
    const id = this.#with.newId();
    const { promise, resolve, reject } = Promise.withResolvers<JsonObject>();
    this.#waiting.set(id, { node, resolve, reject });
    try {
      if (!this.#with.send(node, { type: 'tool_call', app, tool, params, request_id: id })) {
        throw new AtmoError('SERVICE_UNAVAILABLE', 'The relay is away; nothing was sent');
      }
      return bodyOf(await orAborted(promise, signal));
    } catch (thrown) {
      if (!signal.aborted) throw thrown;
      throw new AtmoError('OUTCOME_UNKNOWN', `${node} did not answer; ${tool} may have run there or not`);
    } finally {
      this.#waiting.delete(id);
    }
  }

  /** Takes an answer where it comes from the node that was asked. */
  settle(from: string, payload: JsonObject): void {
    const { request_id: id } = payload;
    const waiting = typeof id === 'string' ? this.#waiting.get(id) : undefined;
    if (waiting?.node === from) waiting.resolve(payload);
  }

  /** The relay is gone, and the answers with it. */
  lose(): void {
    for (const { node, reject } of this.#waiting.values()) {
      reject(new AtmoError('OUTCOME_UNKNOWN', `The relay was lost before ${node} answered; the tool may have run there or not`));
    }
  }
}

function bodyOf({ status, body = null }: JsonObject): Json {
  if (typeof status === 'number' && status >= OK_FROM && status < OK_TO) return copyJson(body, BODY_LIMITS);
  throw new AtmoError('SERVICE_REFUSED', `The other node refused with status ${typeof status === 'number' ? status : 'none'}`, {
    body: copyJson(body, BODY_LIMITS),
  });
}

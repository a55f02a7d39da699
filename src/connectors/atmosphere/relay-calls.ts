import { type Clock, orAborted } from '../../core/clock.ts';
import { ConcurrencyLimiter } from '../../core/concurrency-limiter.ts';
import { AtmoError, ERROR_CODES, toAtmoError } from '../../core/errors.ts';
import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts';
import { copyJson } from '../../tools/schema/plain-json.ts';
import type { AgentCalls } from '../connector-agent.ts';
import { boundedLine } from './remote-nodes.ts';

interface IncomingCollaborators {
  readonly clock: Pick<Clock, 'monotonic'>;
  /** Undefined if the configuration allows no incoming calls. */
  readonly calls: AgentCalls | undefined;
  /** Returns whether the owner announces the tool with this name. */
  readonly isAnnounced: (tool: string) => boolean;
  /** Returns false if a call with this key has already arrived. */
  readonly isFirst: (key: string) => boolean;
  /** Sends a payload to one node. */
  readonly answer: (node: string, payload: JsonObject) => void;
}

/** Maximum number of incoming calls per minute. The limit protects the audit log, which records even refused calls. */
const MAX_A_MINUTE = 60;
const MINUTE_MS = 60_000;
const RESULT_LIMITS = { maxSize: 262_144, maxDepth: 64 };
const MAX_ID = 128;
const OK = 200;

/**
 * Runs the tool calls that other nodes address to this hub, all as one agent with the configured permissions. The caller is not
 * authenticated: the relay's sender id is only used to send the response.
 */
export class IncomingCalls implements Disposable {
  readonly #parts: IncomingCollaborators;
  readonly #stopped = new AbortController();
  readonly #running = new ConcurrencyLimiter({ holder: 'The bridge', maxRunning: 4, maxWaiting: 0 });
  #minuteMs = Number.NEGATIVE_INFINITY;
  #inMinute = 0;

  constructor(parts: IncomingCollaborators) {
    this.#parts = parts;
  }

  [Symbol.dispose](): void {
    this.#stopped.abort(new AtmoError('CANCELLED', 'The hub is stopping'));
    this.#parts.calls?.[Symbol.dispose]();
  }

  /** Runs a call and sends the response. Ignores calls without an id, and repeated calls. */
  async handle(from: string, { tool, params, request_id }: JsonObject): Promise<void> {
    const { calls, isFirst, answer } = this.#parts;
    const id = boundedLine(request_id, MAX_ID);
    if (!calls || id === '' || !isFirst(`call ${from} ${id}`)) return;
    const name = boundedLine(tool, MAX_ID);
    const { status, body } = await this.#run(calls, name, params ?? {});
    if (!this.#stopped.signal.aborted) answer(from, { type: 'tool_response', request_id: id, status, body, tool: name, target_node: from });
  }

  async #run(calls: AgentCalls, tool: string, params: Json): Promise<{ readonly status: number; readonly body: Json }> {
    try {
      // The rate limit is checked first, since the list of announced tools is rebuilt for each call.
      this.#countCall();
      if (!this.#parts.isAnnounced(tool)) throw new AtmoError('TOOL_NOT_FOUND', 'No such tool is announced here');
      if (!isJsonObject(params)) throw new AtmoError('VALIDATION_ERROR', 'params is no object');
      const { signal } = this.#stopped;
      const result = await this.#running.run(async () => {
        signal.throwIfAborted();
        return calls.call(tool, params, signal);
      }, signal);
      return { status: OK, body: copyJson(result, RESULT_LIMITS) };
    } catch (thrown) {
      const { code, message } = toAtmoError(thrown);
      return { status: ERROR_CODES[code].httpStatus, body: { error: message, code } };
    }
  }

  #countCall(): void {
    const nowMs = this.#parts.clock.monotonic();
    if (nowMs - this.#minuteMs >= MINUTE_MS) {
      this.#minuteMs = nowMs;
      this.#inMinute = 0;
    }
    if (++this.#inMinute > MAX_A_MINUTE) throw new AtmoError('RATE_LIMITED', `More than ${MAX_A_MINUTE} calls of others in a minute`);
  }
}

/** A call to a tool of another node on the relay. */
export interface RelayCall {
  readonly node: string;
  readonly app: string;
  readonly tool: string;
  readonly params: JsonObject;
}

interface PendingCall {
  readonly node: string;
  readonly resolve: (payload: JsonObject) => void;
  readonly reject: (error: AtmoError) => void;
}

interface OutgoingCollaborators {
  /** Sends a payload to one node; returns false if nothing was sent. */
  readonly send: (node: string, payload: JsonObject) => boolean;
  /** Returns a new id that cannot be guessed. */
  readonly newId: () => string;
}

const MAX_PENDING = 16;
const BODY_LIMITS = { maxSize: 262_144, maxDepth: 32 };
const OK_FROM = 200;
const OK_TO = 300;

/** Sends `tool_call` to one node and waits for its `tool_response`. */
export class OutgoingCalls {
  readonly #parts: OutgoingCollaborators;
  readonly #waiting = new Map<string, PendingCall>();

  constructor(parts: OutgoingCollaborators) {
    this.#parts = parts;
  }

  /**
   * Returns the body of the response. Rejects with RESOURCE_EXCEEDED (too many pending calls), SERVICE_UNAVAILABLE (nothing was sent),
   * SERVICE_REFUSED (the node returned an error status), PAYLOAD_TOO_LARGE (response too long or deep) or OUTCOME_UNKNOWN (no response).
   */
  async call({ node, app, tool, params }: RelayCall, signal: AbortSignal): Promise<Json> {
    if (this.#waiting.size >= MAX_PENDING) throw new AtmoError('RESOURCE_EXCEEDED', `More than ${MAX_PENDING} calls wait for answers`);
    const id = this.#parts.newId();
    const { promise, resolve, reject } = Promise.withResolvers<JsonObject>();
    this.#waiting.set(id, { node, resolve, reject });
    try {
      if (!this.#parts.send(node, { type: 'tool_call', app, tool, params, request_id: id })) {
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

  /** Completes a pending call. Ignores a response from any node except the called node. */
  settle(from: string, payload: JsonObject): void {
    const { request_id: id } = payload;
    const waiting = typeof id === 'string' ? this.#waiting.get(id) : undefined;
    if (waiting?.node === from) waiting.resolve(payload);
  }

  /** Rejects all pending calls after the relay connection was lost, since no response can arrive. */
  rejectAll(): void {
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

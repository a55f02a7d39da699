import { type Clock, orAborted } from '../../core/clock.ts';
import { AtmoError, ERROR_CODES, toAtmoError } from '../../core/errors.ts';
import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts';
import { copyJson } from '../../tools/schema/plain-json.ts';
import type { AgentCalls } from '../connector-agent.ts';
import { boundedLine } from './remote-nodes.ts';

interface IncomingCollaborators {
  readonly clock: Pick<Clock, 'monotonic'>;
  /** Undefined where the owner takes no calls. */
  readonly calls: AgentCalls | undefined;
  /** Whether the owner announces a tool of this name. */
  readonly isAnnounced: (tool: string) => boolean;
  /** False when the same call came before. */
  readonly isFirst: (key: string) => boolean;
  /** To that node alone. */
  readonly answer: (node: string, payload: JsonObject) => void;
}

const MAX_RUNNING = 4;
/** Each call that reaches the pipeline is written down, refused or not. */
const MAX_A_MINUTE = 60;
const MINUTE_MS = 60_000;
const RESULT_LIMITS = { maxSize: 262_144, maxDepth: 64 };
const MAX_ID = 128;
const OK = 200;

/**
 * Runs `tool_call` of others for the hub's own name as `app`, as one agent with the permissions that the owner wrote down. Nothing says
 * who called: the relay's word for it is only where the answer goes.
 */
export class IncomingCalls implements Disposable {
  readonly #with: IncomingCollaborators;
  readonly #stopped = new AbortController();
  #running = 0;
  #minuteMs = Number.NEGATIVE_INFINITY;
  #inMinute = 0;

  constructor(parts: IncomingCollaborators) {
    this.#with = parts;
  }

  [Symbol.dispose](): void {
    this.#stopped.abort(new AtmoError('CANCELLED', 'The hub is stopping'));
    this.#with.calls?.[Symbol.dispose]();
  }

  /** Answers every call but those that came before. */
  async handle(from: string, { tool, params, request_id }: JsonObject): Promise<void> {
    const { calls, isFirst, answer } = this.#with;
    const id = boundedLine(request_id, MAX_ID);
    if (!calls || id === '' || !isFirst(`call ${from} ${id}`)) return;
    const name = boundedLine(tool, MAX_ID);
    const { status, body } = await this.#run(calls, name, params ?? {});
    if (!this.#stopped.signal.aborted) answer(from, { type: 'tool_response', request_id: id, status, body, tool: name, target_node: from });
  }

  async #run(calls: AgentCalls, tool: string, params: Json): Promise<{ readonly status: number; readonly body: Json }> {
    try {
      // First what costs nothing: the list of what is announced is made anew each time.
      this.#countCall();
      if (!this.#with.isAnnounced(tool)) throw new AtmoError('TOOL_NOT_FOUND', 'No such tool is announced here');
      if (!isJsonObject(params)) throw new AtmoError('VALIDATION_ERROR', 'params is no object');
      if (this.#running >= MAX_RUNNING) throw new AtmoError('RESOURCE_EXCEEDED', `More than ${MAX_RUNNING} calls of others run at once`);
      return { status: OK, body: await this.#call(calls, tool, params) };
    } catch (thrown) {
      const { code, message } = toAtmoError(thrown);
      return { status: ERROR_CODES[code].httpStatus, body: { error: message, code } };
    }
  }

  #countCall(): void {
    const nowMs = this.#with.clock.monotonic();
    if (nowMs - this.#minuteMs >= MINUTE_MS) {
      this.#minuteMs = nowMs;
      this.#inMinute = 0;
    }
    if (++this.#inMinute > MAX_A_MINUTE) throw new AtmoError('RATE_LIMITED', `More than ${MAX_A_MINUTE} calls of others in a minute`);
  }

  async #call(calls: AgentCalls, tool: string, params: JsonObject): Promise<Json> {
    this.#running++;
    try {
      return copyJson(await calls.call(tool, params, this.#stopped.signal), RESULT_LIMITS);
    } finally {
      this.#running--;
    }
  }
}

/** A call of a tool of another node. */
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
  /** To one node; false where it did not go out. */
  readonly send: (node: string, payload: JsonObject) => boolean;
  /** An id that nobody can guess. */
  readonly newId: () => string;
}

const MAX_PENDING = 16;
const BODY_LIMITS = { maxSize: 262_144, maxDepth: 32 };
const OK_FROM = 200;
const OK_TO = 300;

/** `tool_call` to one node and the `tool_response` that comes from it. */
export class OutgoingCalls {
  readonly #with: OutgoingCollaborators;
  readonly #waiting = new Map<string, PendingCall>();

  constructor(parts: OutgoingCollaborators) {
    this.#with = parts;
  }

  /**
   * The body of the answer. SERVICE_UNAVAILABLE where nothing went out, SERVICE_REFUSED for a status that is no success,
   * PAYLOAD_TOO_LARGE for an answer that is too long or too deep, OUTCOME_UNKNOWN where none came.
   */
  async call({ node, app, tool, params }: RelayCall, signal: AbortSignal): Promise<Json> {
    if (this.#waiting.size >= MAX_PENDING) throw new AtmoError('RESOURCE_EXCEEDED', `More than ${MAX_PENDING} calls wait for answers`);
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

import { AtmoError, ERROR_CODES, toAtmoError } from '../../core/errors.ts';
import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts';
import type { Clock } from '../../core/time/clock.ts';
import { copyJson } from '../../tools/schema/plain-json.ts';
import type { AgentCalls } from '../agent-calls.ts';
import { heardText } from './heard-announcement.ts';

interface IncomingParts {
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
  readonly #with: IncomingParts;
  readonly #stopped = new AbortController();
  #running = 0;
  #minuteMs = Number.NEGATIVE_INFINITY;
  #inMinute = 0;

  constructor(parts: IncomingParts) {
    this.#with = parts;
  }

  [Symbol.dispose](): void {
    this.#stopped.abort(new AtmoError('CANCELLED', 'The hub is stopping'));
    this.#with.calls?.[Symbol.dispose]();
  }

  /** Answers every call but those that came before. */
  async take(from: string, { tool, params, request_id }: JsonObject): Promise<void> {
    const { calls, isFirst, answer } = this.#with;
    const id = heardText(request_id, MAX_ID);
    if (!calls || id === '' || !isFirst(`call ${from} ${id}`)) return;
    const name = heardText(tool, MAX_ID);
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

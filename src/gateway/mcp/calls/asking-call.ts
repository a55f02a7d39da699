import type { Json, JsonObject } from '../../../core/json.ts';
import { answerTo, type ToolAnswer, type ToolQuestion } from '../../../tools/calls/asking/tool-question.ts';
import type { McpCaller } from '../mcp-feature.ts';
import { elicitation } from './elicitation.ts';

/** Does what a request asks for; it may ask its caller. */
export type AskingWork = (caller: McpCaller) => Promise<JsonObject>;

interface OpenQuestion {
  readonly question: Required<ToolQuestion>;
  answer(answer: ToolAnswer): void;
}

/**
 * Work that goes on from one request of a client to the next, since the answers to its questions come with another request. It
 * runs once. A client that cancels a request, or goes away while it waits for one, ends it.
 */
export class AskingCall {
  readonly #end = new AbortController();
  readonly #open = new Map<string, OpenQuestion>();
  readonly #outcome = Promise.withResolvers<JsonObject>();
  #asked = Promise.withResolvers<undefined>();
  /** Answers that came with the last request and were not asked for yet. */
  #given = new Map<string, Json>();
  #listener: McpCaller | undefined;

  /** Begins the work for its first caller. `beforeAsking` may refuse a question by throwing. */
  start(caller: McpCaller, work: AskingWork, beforeAsking: () => void): void {
    // With a state come answers to another question than those of the work.
    if (caller.requestState === undefined) this.#given = new Map(Object.entries(caller.inputResponses));
    const lasting: McpCaller = {
      ...caller,
      signal: this.#end.signal,
      progress: (fraction, message) => this.#listener?.progress(fraction, message),
      say: (message) => this.#listener?.say(message),
      ask: async (question, signal) => {
        beforeAsking();
        return this.#ask(question, signal);
      },
    };
    // Nobody may be there to hear of a failure: it is told to whoever waits.
    this.#outcome.promise.catch(() => {});
    work(lasting).then(this.#outcome.resolve, this.#outcome.reject);
  }

  /** Hands the answers of a request to the questions that they fit; the others stay. */
  answer(given: JsonObject): void {
    this.#given = new Map(Object.entries(given));
    for (const [key, { question, answer }] of this.#open) {
      const found = this.#take(key, question);
      if (!found) continue;
      this.#close(key);
      answer(found);
    }
  }

  /** The result, or undefined when questions have to be answered first. */
  async wait(caller: McpCaller): Promise<JsonObject | undefined> {
    const giveUp = () => this.cancel();
    this.#listener = caller;
    caller.signal.addEventListener('abort', giveUp, { once: true });
    if (caller.signal.aborted) giveUp();
    try {
      return await Promise.race([this.#outcome.promise, this.#asked.promise]);
    } finally {
      caller.signal.removeEventListener('abort', giveUp);
      this.#listener = undefined;
    }
  }

  /** What is asked now, by keys. */
  questions(): JsonObject {
    return Object.fromEntries([...this.#open].map(([key, { question }]) => [key, elicitation(question)]));
  }

  /** Told once, when the work has ended. */
  onOver(callback: () => void): void {
    this.#outcome.promise.then(callback, callback);
  }

  cancel(): void {
    this.#end.abort();
  }

  #ask(question: Required<ToolQuestion>, signal: AbortSignal): Promise<ToolAnswer> {
    const { promise, resolve } = Promise.withResolvers<ToolAnswer>();
    const key = this.#freeKey(question.key);
    const found = this.#take(key, question);
    if (found) return Promise.resolve(found);
    this.#open.set(key, { question, answer: resolve });
    signal.addEventListener('abort', () => this.#close(key), { once: true });
    this.#asked.resolve(undefined);
    return promise;
  }

  #take(key: string, question: ToolQuestion): ToolAnswer | undefined {
    const answer = answerTo(question, this.#given.get(key));
    this.#given.delete(key);
    return answer;
  }

  #close(key: string): void {
    if (this.#open.delete(key) && this.#open.size === 0) this.#asked = Promise.withResolvers<undefined>();
  }

  #freeKey(wanted: string): string {
    for (let number = 1; ; number++) {
      const key = number === 1 ? wanted : `${wanted}_${number}`;
      if (!this.#open.has(key)) return key;
    }
  }
}

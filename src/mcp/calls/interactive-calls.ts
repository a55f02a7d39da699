import { type Authenticator, type Principal, principalKey, rootAgentOf } from '../../core/auth/principal.ts';
import { type Clock, repeat } from '../../core/clock.ts';
import { AtmoError } from '../../core/errors.ts';
import type { Json, JsonObject } from '../../core/json.ts';
import { parseAnswer } from '../../tools/definition/elicitation.ts';
import type { ToolAnswer, ToolQuestion } from '../../tools/definition/tool-definition.ts';
import type { McpCaller } from '../mcp-feature.ts';
import { elicitation, RequestStates, STATE_MS, type StateSubject, showsForms, staleStateError } from './elicitation.ts';

/** Limits on calls that wait for answers: `each` per agent (with its descendants), `all` in total. Tokens are checked every `checkMs`. */
export const INTERACTIVE_LIMITS = { each: 8, all: 64, checkMs: 5_000 } as const;

interface PendingCall {
  readonly call: InteractiveCall;
  readonly principal: Principal;
  readonly endsMs: number;
}

interface InteractiveCollaborators {
  readonly clock: Clock;
  readonly authenticator: Pick<Authenticator, 'isStillValid'>;
}

/**
 * Sends questions of running calls to the client. A client with a session is asked during its request. A client of MCP 2026-07-28 gets an
 * `input_required` result instead, and repeats the request with the answers. Until then the call waits, at most ten minutes. It is
 * cancelled earlier if its token becomes invalid or its deadline passes. No call runs twice.
 */
export class InteractiveCalls implements Disposable {
  readonly #clock: Clock;
  readonly #authenticator: InteractiveCollaborators['authenticator'];
  readonly #states: RequestStates;
  /** Running calls that have asked a question, with their agents. */
  readonly #places = new Map<InteractiveCall, string>();
  /** Waiting calls by the nonce in the client's state. */
  readonly #waiting = new Map<string, PendingCall>();
  #stopChecks: (() => void) | undefined;

  constructor({ clock, authenticator }: InteractiveCollaborators) {
    this.#clock = clock;
    this.#authenticator = authenticator;
    this.#states = new RequestStates({ clock, purpose: 'answer' });
  }

  /**
   * Runs work that may ask questions. If the request has the state of an earlier question, continues the waiting work instead. Rejects with
   * VALIDATION_ERROR if that state is invalid. `subject` is the called method or tool with its arguments.
   */
  async answer(subject: Omit<StateSubject, 'principal'>, caller: McpCaller, work: InteractiveWork): Promise<JsonObject> {
    const { principal, requestState: state } = caller;
    const whole = { ...subject, principal };
    if (this.#states.claims(state)) return this.#goOn(this.#states.redeem(state, whole), whole, caller);
    if (caller.era === 'legacy' || !showsForms(caller.clientCapabilities)) return work(caller);
    const call = new InteractiveCall();
    call.start(caller, work, () => this.#admit(call, principal));
    return this.#follow(call, whole, caller);
  }

  [Symbol.dispose](): void {
    for (const call of [...this.#places.keys()]) call.cancel();
    for (const nonce of [...this.#waiting.keys()]) this.#forget(nonce);
  }

  #goOn(nonce: string, subject: StateSubject, caller: McpCaller): Promise<JsonObject> {
    const waiting = this.#waiting.get(nonce);
    if (!waiting) throw staleStateError();
    this.#forget(nonce);
    waiting.call.answer(caller.inputResponses);
    return this.#follow(waiting.call, subject, caller);
  }

  async #follow(call: InteractiveCall, subject: StateSubject, caller: McpCaller): Promise<JsonObject> {
    for (;;) {
      const result = await call.wait(caller);
      if (result) return result;
      const inputRequests = call.questions();
      // The call may have ended in the meantime, and then has no open questions.
      if (Object.keys(inputRequests).length === 0) continue;
      const { state, nonce } = this.#states.issue(subject);
      this.#keep(nonce, { call, principal: subject.principal, endsMs: this.#clock.now() + STATE_MS });
      return { resultType: 'input_required', inputRequests, requestState: state };
    }
  }

  /**
   * Admits a call at its first question. If a limit is reached, cancels the oldest call of the same agent, since clients abandon calls
   * without notice. If this agent has no call, cancels the oldest call of the agent that has the most. Throws RESOURCE_EXCEEDED if no agent
   * has more than one call.
   */
  #admit(call: InteractiveCall, principal: Principal): void {
    if (this.#places.has(call)) return;
    const account = rootAgentOf(principalKey(principal));
    const own = this.#callsOf(account);
    const isCrowded = own.length >= INTERACTIVE_LIMITS.each || this.#places.size >= INTERACTIVE_LIMITS.all;
    if (isCrowded) this.#makeRoom(own.length > 0 ? own : this.#ofGreediest());
    this.#places.set(call, account);
    call.onOver(() => this.#places.delete(call));
  }

  #callsOf(account: string): readonly InteractiveCall[] {
    return [...this.#places].filter(([, other]) => other === account).map(([call]) => call);
  }

  #ofGreediest(): readonly InteractiveCall[] {
    const accounts = [...new Set(this.#places.values())].map((account) => this.#callsOf(account));
    const [most = []] = accounts.sort((a, b) => b.length - a.length);
    return most.length > 1 ? most : [];
  }

  #makeRoom([oldest]: readonly InteractiveCall[]): void {
    if (!oldest)
      throw new AtmoError('RESOURCE_EXCEEDED', 'Too many calls wait for answers of people; try again later', {
        calls: INTERACTIVE_LIMITS.all,
      });
    this.#places.delete(oldest);
    oldest.cancel();
  }

  #keep(nonce: string, waiting: PendingCall): void {
    this.#waiting.set(nonce, waiting);
    waiting.call.onOver(() => this.#forget(nonce));
    this.#stopChecks ??= repeat(this.#clock, INTERACTIVE_LIMITS.checkMs, () => this.#check());
  }

  #forget(nonce: string): void {
    this.#waiting.delete(nonce);
    if (this.#waiting.size > 0) return;
    this.#stopChecks?.();
    this.#stopChecks = undefined;
  }

  #check(): void {
    const nowMs = this.#clock.now();
    for (const [nonce, { call, principal, endsMs }] of [...this.#waiting]) {
      if (endsMs > nowMs && this.#authenticator.isStillValid(principal)) continue;
      call.cancel();
      this.#forget(nonce);
    }
  }
}

/** Handles a request. It may ask the caller questions. */
type InteractiveWork = (caller: McpCaller) => Promise<JsonObject>;

/**
 * Work that runs once while its client sends several requests: the answers to its questions arrive with a later request. The work is
 * cancelled if the client cancels a request, or disconnects during a request.
 */
class InteractiveCall {
  readonly #end = new AbortController();
  readonly #open = new Map<string, { readonly question: Required<ToolQuestion>; answer(answer: ToolAnswer): void }>();
  readonly #outcome = Promise.withResolvers<JsonObject>();
  #asked = Promise.withResolvers<undefined>();
  /** Answers in the last request, without those that a question has already used. */
  #given = new Map<string, Json>();
  #listener: McpCaller | undefined;

  /** Starts the work for its first caller. Before each question, `beforeAsking` may throw an error to refuse the question. */
  start(caller: McpCaller, work: InteractiveWork, beforeAsking: () => void): void {
    // If the request has a state, its answers belong to an earlier question, so the new work must not use them.
    if (caller.requestState === undefined) this.#given = new Map(Object.entries(caller.inputResponses));
    const lasting: McpCaller = {
      ...caller,
      signal: this.#end.signal,
      progress: (fraction, message) => this.#listener?.progress(fraction, message),
      sendMessage: (message) => this.#listener?.sendMessage(message),
      ask: async (question, signal) => {
        beforeAsking();
        return this.#ask(question, signal);
      },
    };
    // Prevents an unhandled rejection if no request waits. A waiting request still receives the error.
    this.#outcome.promise.catch(() => {});
    work(lasting).then(this.#outcome.resolve, this.#outcome.reject);
  }

  /** Passes each answer in `given` to its open question. If an answer has no open question yet, keeps the answer for a later question. */
  answer(given: JsonObject): void {
    this.#given = new Map(Object.entries(given));
    for (const [key, { question, answer }] of this.#open) {
      const found = this.#take(key, question);
      if (!found) continue;
      this.#close(key);
      answer(found);
    }
  }

  /** Resolves with the result, or with undefined if questions are open. */
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

  /** Returns the open questions by key. */
  questions(): JsonObject {
    return Object.fromEntries([...this.#open].map(([key, { question }]) => [key, elicitation(question)]));
  }

  /** Registers a callback that is called once, when the work has ended. */
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
    const answer = parseAnswer(question, this.#given.get(key));
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

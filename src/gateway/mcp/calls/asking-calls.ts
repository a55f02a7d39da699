import { familyOf } from '../../../core/access/agent-id.ts';
import { type Authenticator, type Principal, principalKey } from '../../../core/access/principal.ts';
import { AtmoError } from '../../../core/errors.ts';
import type { JsonObject } from '../../../core/json.ts';
import type { Clock } from '../../../core/time/clock.ts';
import { repeat } from '../../../core/time/repeat.ts';
import type { McpCaller } from '../mcp-feature.ts';
import { AskingCall, type AskingWork } from './asking-call.ts';
import { showsForms } from './elicitation.ts';
import { RequestStates, STATE_MS, type StateSubject, staleState } from './request-states.ts';

/** How many calls may wait for answers, of an account with its children and of all. */
export const ASKING_LIMITS = { each: 8, all: 64, checkMs: 5_000 } as const;

interface Waiting {
  readonly call: AskingCall;
  readonly principal: Principal;
  readonly endsMs: number;
}

interface AskingCollaborators {
  readonly clock: Clock;
  readonly authenticator: Pick<Authenticator, 'isStillValid'>;
}

/**
 * Lets the work behind a request ask its client. A session is asked while its request waits. A client of 2026-07-28 gets
 * `input_required`: the work stays as it is until the client sends the same request again with the answers, for ten minutes,
 * while its token counts, and within the work's own deadline. Nothing is run twice.
 */
export class AskingCalls implements Disposable {
  readonly #clock: Clock;
  readonly #authenticator: AskingCollaborators['authenticator'];
  readonly #states: RequestStates;
  /** Calls that have asked and have not ended, with whose they are. */
  readonly #places = new Map<AskingCall, string>();
  /** By the nonce of the state that their client has. */
  readonly #waiting = new Map<string, Waiting>();
  #stopChecks: (() => void) | undefined;

  constructor({ clock, authenticator }: AskingCollaborators) {
    this.#clock = clock;
    this.#authenticator = authenticator;
    this.#states = new RequestStates({ clock, purpose: 'answer' });
  }

  /**
   * Answers a request by work that may ask, or goes on with the work that the request's state belongs to. VALIDATION_ERROR for a
   * state that counts for nothing. `subject` is what the request calls, and with what.
   */
  async answer(subject: Omit<StateSubject, 'principal'>, caller: McpCaller, work: AskingWork): Promise<JsonObject> {
    const { principal, requestState: state } = caller;
    const whole = { ...subject, principal };
    if (this.#states.claims(state)) return this.#goOn(this.#states.redeem(state, whole), whole, caller);
    if (caller.era === 'legacy' || !showsForms(caller.clientCapabilities)) return work(caller);
    const call = new AskingCall();
    call.start(caller, work, () => this.#admit(call, principal));
    return this.#follow(call, whole, caller);
  }

  [Symbol.dispose](): void {
    for (const call of [...this.#places.keys()]) call.cancel();
    for (const nonce of [...this.#waiting.keys()]) this.#forget(nonce);
  }

  #goOn(nonce: string, subject: StateSubject, caller: McpCaller): Promise<JsonObject> {
    const waiting = this.#waiting.get(nonce);
    if (!waiting) throw staleState();
    this.#forget(nonce);
    waiting.call.answer(caller.inputResponses);
    return this.#follow(waiting.call, subject, caller);
  }

  async #follow(call: AskingCall, subject: StateSubject, caller: McpCaller): Promise<JsonObject> {
    for (;;) {
      const result = await call.wait(caller);
      if (result) return result;
      const inputRequests = call.questions();
      // A question may have ended with its call just now.
      if (Object.keys(inputRequests).length === 0) continue;
      const { state, nonce } = this.#states.issue(subject);
      this.#keep(nonce, { call, principal: subject.principal, endsMs: this.#clock.now() + STATE_MS });
      return { resultType: 'input_required', inputRequests, requestState: state };
    }
  }

  /**
   * Gives a call that asks for the first time its place. Who wants too much loses what has waited longest, since clients that lose
   * interest do not say so; and so does the one that has most when all places are taken. RESOURCE_EXCEEDED when nobody has two.
   */
  #admit(call: AskingCall, principal: Principal): void {
    if (this.#places.has(call)) return;
    const account = familyOf(principalKey(principal));
    const own = this.#callsOf(account);
    const isCrowded = own.length >= ASKING_LIMITS.each || this.#places.size >= ASKING_LIMITS.all;
    if (isCrowded) this.#makeRoom(own.length > 0 ? own : this.#ofGreediest());
    this.#places.set(call, account);
    call.onOver(() => this.#places.delete(call));
  }

  #callsOf(account: string): readonly AskingCall[] {
    return [...this.#places].filter(([, other]) => other === account).map(([call]) => call);
  }

  #ofGreediest(): readonly AskingCall[] {
    const accounts = [...new Set(this.#places.values())].map((account) => this.#callsOf(account));
    const [most = []] = accounts.sort((a, b) => b.length - a.length);
    return most.length > 1 ? most : [];
  }

  #makeRoom([oldest]: readonly AskingCall[]): void {
    if (!oldest)
      throw new AtmoError('RESOURCE_EXCEEDED', 'Too many calls wait for answers of people; try again later', { calls: ASKING_LIMITS.all });
    this.#places.delete(oldest);
    oldest.cancel();
  }

  #keep(nonce: string, waiting: Waiting): void {
    this.#waiting.set(nonce, waiting);
    waiting.call.onOver(() => this.#forget(nonce));
    this.#stopChecks ??= repeat(this.#clock, ASKING_LIMITS.checkMs, () => this.#check());
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

import { messageOf } from '../api/hub-error.ts';

/** Something that a page asks the hub for: what came last, whether an answer is on its way, why none came. */
export class Asked<Value> {
  readonly #onChange: () => void;
  #turn = 0;
  #value: Value | undefined;
  #problem: string | undefined;
  #isAsking = false;

  constructor(onChange: () => void) {
    this.#onChange = onChange;
  }

  get value(): Value | undefined {
    return this.#value;
  }

  /** Why the last question had no answer, for people. */
  get problem(): string | undefined {
    return this.#problem;
  }

  get isAsking(): boolean {
    return this.#isAsking;
  }

  /** Asks; of several questions on their way only the last one's answer counts. What came before is shown until then. */
  async ask(question: () => Promise<Value>): Promise<void> {
    const turn = ++this.#turn;
    this.#isAsking = true;
    this.#onChange();
    try {
      const value = await question();
      if (turn === this.#turn) this.#settle(value, undefined);
    } catch (error) {
      if (turn === this.#turn) this.#settle(this.#value, messageOf(error));
    }
  }

  /** Forgets what came, and what is on its way. */
  forget(): void {
    this.#turn++;
    this.#settle(undefined, undefined);
  }

  #settle(value: Value | undefined, problem: string | undefined): void {
    this.#value = value;
    this.#problem = problem;
    this.#isAsking = false;
    this.#onChange();
  }
}

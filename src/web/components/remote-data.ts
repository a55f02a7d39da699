import { html, nothing, type TemplateResult } from 'lit';
import { messageOf } from '../api/hub-client.ts';
import { icon } from './icon.ts';

/** Something that a page asks the hub for: what came last, whether an answer is on its way, why none came. */
export class RemoteData<Value> {
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
  async load(question: () => Promise<Value>): Promise<void> {
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
  reset(): void {
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

/** What was asked for: `show` draws it, with a word beside it while it is on its way or when it could not be had. */
export function remoteDataView<Value>(asked: RemoteData<Value>, show: (value: Value) => unknown): TemplateResult {
  const { value, problem, isAsking } = asked;
  return html`
    ${problem === undefined ? nothing : html`<p class="alert" role="alert">${icon('warning')}${problem}</p>`}
    ${isAsking && value === undefined ? html`<p class="quiet" aria-busy="true">One moment …</p>` : nothing}
    ${value === undefined ? nothing : show(value)}
  `;
}

import { html, nothing, type TemplateResult } from 'lit';
import { messageOf } from '../api/hub-client.ts';
import { text } from '../texts/text.ts';
import { icon } from './icon.ts';

/** Loads data for a page from the hub. Holds the last value, the last error, and whether a request runs. */
export class RemoteData<Value> {
  readonly #onChange: () => void;
  #turn = 0;
  #value: Value | undefined;
  #problem: string | undefined;
  #isLoading = false;

  constructor(onChange: () => void) {
    this.#onChange = onChange;
  }

  get value(): Value | undefined {
    return this.#value;
  }

  /** The error of the last request, for people; undefined if the request succeeded. */
  get problem(): string | undefined {
    return this.#problem;
  }

  get isLoading(): boolean {
    return this.#isLoading;
  }

  /** Loads a value. The old value remains until the request succeeds. If several requests run, only the result of the latest is used. */
  async load(request: () => Promise<Value>): Promise<void> {
    const turn = ++this.#turn;
    this.#isLoading = true;
    this.#onChange();
    try {
      const value = await request();
      if (turn === this.#turn) this.#settle(value, undefined);
    } catch (error) {
      if (turn === this.#turn) this.#settle(this.#value, messageOf(error));
    }
  }

  /** Deletes the value, and ignores the result of a running request. */
  reset(): void {
    this.#turn++;
    this.#settle(undefined, undefined);
  }

  #settle(value: Value | undefined, problem: string | undefined): void {
    this.#value = value;
    this.#problem = problem;
    this.#isLoading = false;
    this.#onChange();
  }
}

/** Returns the view that `show` makes of the value. While the first value loads, shows a note. After a failure, also shows the error. */
export function remoteDataView<Value>(data: RemoteData<Value>, show: (value: Value) => unknown): TemplateResult {
  const { value, problem, isLoading } = data;
  return html`
    ${problem === undefined ? nothing : html`<p class="alert" role="alert">${icon('warning')}${problem}</p>`}
    ${isLoading && value === undefined ? html`<p class="quiet" aria-busy="true">${text('shell.wait')}</p>` : nothing}
    ${value === undefined ? nothing : show(value)}
  `;
}

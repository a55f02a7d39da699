import './schema-form.ts';
import { html, nothing, type TemplateResult } from 'lit';
import { isJsonObject, type Json, type JsonObject, objectsOf } from '../../core/json.ts';
import { HubError, messageOf } from '../api/hub-client.ts';
import type { ToolView } from '../api/hub-types.ts';
import type { App } from '../app.ts';
import { text } from '../texts/text.ts';
import type { FieldProblem } from './field-list.ts';
import { icon } from './icon.ts';
import { LightElement, type Stop } from './light-element.ts';
import type { FormExample } from './schema-form.ts';

/** Shows a form that calls a tool, and the result of the call. */
export class ToolForm extends LightElement {
  static override properties = {
    app: { attribute: false },
    tool: { attribute: false },
    busy: { state: true },
    answer: { state: true },
    error: { state: true },
  };
  declare app: App;
  declare tool: ToolView;
  declare busy: boolean;
  declare answer: Json | undefined;
  declare error: unknown;
  #isWaiting = false;

  constructor() {
    super();
    this.busy = false;
  }

  protected override connected(): readonly Stop[] {
    return [
      this.app.calls.onEnd(({ call, result, error }) => {
        if (!this.#isWaiting || call.tool !== this.tool.id) return;
        this.#isWaiting = false;
        this.answer = result;
        this.error = error;
      }),
    ];
  }

  protected override render(): TemplateResult {
    return html`<div class="stack">
      <atmo-schema-form .schema=${this.tool.parameters} .examples=${examplesOf(this.tool)} .problems=${problemsOf(this.error)} ?busy=${this.busy}
        @atmo-submit=${(event: CustomEvent<JsonObject>) => void this.#run(event.detail)}></atmo-schema-form>
      <div aria-live="polite">${this.#outcome()}</div>
    </div>`;
  }

  #outcome(): TemplateResult | typeof nothing {
    if (this.#isWaiting) return html`<p class="chip warm">${icon('clock')}${text('forms.waits')}</p>`;
    if (this.error !== undefined) {
      const code = this.error instanceof HubError ? html`<code>${this.error.code}</code> ` : nothing;
      return html`<p class="alert">${icon('warning')}<span>${code}${messageOf(this.error)}</span></p>`;
    }
    if (this.answer === undefined) return nothing;
    return html`<pre tabindex="0" role="group" aria-label=${text('forms.answer')}><code>${JSON.stringify(this.answer, null, 2)}</code></pre>`;
  }

  async #run(params: JsonObject): Promise<void> {
    const focused = document.activeElement;
    this.busy = true;
    this.#isWaiting = false;
    try {
      const answer = await this.app.call({ tool: this.tool.id, params, label: toolTitle(this.tool) });
      this.#isWaiting = answer === undefined;
      this.answer = answer;
      this.error = undefined;
    } catch (error) {
      this.error = error;
    }
    this.busy = false;
    void this.restoreFocus(focused);
  }
}

/** Returns a tool's name for people. */
export function toolTitle({ metadata, name }: ToolView): string {
  return typeof metadata?.title === 'string' ? metadata.title : name;
}

function examplesOf({ metadata }: ToolView): readonly FormExample[] {
  return objectsOf(metadata?.examples).flatMap(({ description, params }) =>
    isJsonObject(params) ? [{ description: String(description), params }] : [],
  );
}

function problemsOf(error: unknown): readonly FieldProblem[] {
  if (!(error instanceof HubError)) return [];
  return objectsOf(error.details.problems).flatMap(({ pointer, message, allowed }) =>
    typeof pointer === 'string' && typeof message === 'string'
      ? [{ pointer, message, ...(typeof allowed === 'string' && { allowed }) }]
      : [],
  );
}

customElements.define('atmo-tool-form', ToolForm);

import { html, LitElement, nothing, type TemplateResult } from 'lit';
import type { Json, JsonObject } from '../../../core/json.ts';
import { HubError } from '../../api/hub-error.ts';
import type { ToolView } from '../../api/hub-types.ts';
import type { Monitor } from '../../app.ts';
import { icon } from '../../parts/icon.ts';
import { Asked } from '../asked.ts';
import { fieldsOf } from '../field-value.ts';
import { callOnceApproved } from '../guarded-call.ts';
import { fieldsOfSchema, readForm } from './schema-field.ts';
import { schemaField } from './schema-form.ts';

/** A form made from a tool's schema that calls the tool and shows what it answered. */
export class ToolTrial extends LitElement {
  static override properties = { app: { attribute: false }, tool: { attribute: false } };
  declare app: Monitor;
  declare tool: ToolView;
  readonly #answer = new Asked<Json>(() => this.requestUpdate());
  #mistakes: ReadonlyMap<string, string> = new Map();
  #waitsFor: string | undefined;

  protected override createRenderRoot(): HTMLElement {
    return this;
  }

  protected override render(): TemplateResult {
    const formId = `trial-${this.tool.id.replaceAll(/[^a-z0-9]/gi, '-')}`;
    return html`
      <form class="stack trial" novalidate aria-label="Try it" @submit=${(event: SubmitEvent) => this.#try(event)}>
        ${fieldsOfSchema(this.tool.parameters).map((field) => schemaField(field, { formId, mistake: this.#mistakes.get(field.name) }))}
        <p><button class="button primary" ?disabled=${this.#answer.isAsking}>Call it</button></p>
        <div aria-live="polite">${this.#answerView()}</div>
      </form>
    `;
  }

  #answerView(): TemplateResult | typeof nothing {
    const { value, problem, isAsking } = this.#answer;
    if (isAsking && this.#waitsFor !== undefined) {
      return html`<p class="waits">${icon('shield')} Somebody has to approve this: <a href="#/approvals">Approvals</a>. It is called then.</p>`;
    }
    if (isAsking) return html`<p class="quiet">Calling …</p>`;
    if (problem !== undefined) return html`<p class="alert">${icon('warning')}<bdi>${problem}</bdi></p>`;
    if (value === undefined) return nothing;
    return html`<p><span class="chip good">${icon('check')}done</span></p><pre tabindex="0" role="group" aria-label="Answer">${JSON.stringify(value, null, 2)}</pre>`;
  }

  #try(event: SubmitEvent): void {
    const reading = readForm(fieldsOfSchema(this.tool.parameters), fieldsOf(event));
    this.#mistakes = 'mistakes' in reading ? reading.mistakes : new Map();
    this.requestUpdate();
    if ('params' in reading) void this.#call(reading.params);
  }

  async #call(params: JsonObject): Promise<void> {
    this.#waitsFor = undefined;
    const call = () => this.app.hub.invoke(this.tool.id, params);
    const onWaiting = (approvalId: string) => {
      this.#waitsFor = approvalId;
      this.requestUpdate();
    };
    this.#answer.forget();
    await this.#answer.ask(() => callOnceApproved(call, { store: this.app.store, onWaiting }).catch(withCode));
  }
}

customElements.define('atmo-tool-trial', ToolTrial);

/** A person who tries tools wants the code too: agents will see it. */
function withCode(error: unknown): never {
  if (!(error instanceof HubError)) throw error;
  throw new HubError(error.code, `${error.code}: ${error.message}`, { status: error.status, details: error.details });
}

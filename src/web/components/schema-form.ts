import './field-list.ts';
import { html, nothing, type TemplateResult } from 'lit';
import { type Json, type JsonObject, type JsonSchema, objectOf } from '../../core/json.ts';
import { text } from '../texts/text.ts';
import type { FieldProblem } from './field-list.ts';
import { valueWords } from './formatting.ts';
import { icon } from './icon.ts';
import { LightElement } from './light-element.ts';
import { type FieldPath, schemaFields, withValueAt } from './schema-fields.ts';

/** An example of a tool's parameters, from the definition of the tool. */
export interface FormExample {
  readonly description: string;
  readonly params: JsonObject;
}

/** A form for a tool's parameters, made from their JSON Schema. When a person submits valid values, dispatches `atmo-submit` with them. */
export class SchemaForm extends LightElement {
  static override properties = {
    schema: { attribute: false },
    examples: { attribute: false },
    problems: { attribute: false },
    submitLabel: {},
    busy: { type: Boolean },
    value: { state: true },
  };
  declare schema: JsonSchema;
  declare examples: readonly FormExample[];
  declare problems: readonly FieldProblem[];
  declare submitLabel: string;
  declare busy: boolean;
  declare value: Json | undefined;

  constructor() {
    super();
    this.examples = [];
    this.problems = [];
    this.submitLabel = text('forms.run');
    this.busy = false;
  }

  protected override willUpdate(changes: Map<PropertyKey, unknown>): void {
    if (changes.has('schema')) this.value = undefined;
  }

  protected override render(): TemplateResult {
    const fields = schemaFields(this.schema);
    const set = (path: FieldPath, next: Json | undefined) => {
      this.value = withValueAt(this.value, path, next);
    };
    return html`
      <form class="schema-form" @submit=${this.#submit}>
        ${this.examples.length > 0 && fields.length > 0 ? this.#examples() : nothing}
        ${fields.length === 0 ? html`<p class="quiet">${text('forms.no_parameters')}</p>` : html`<atmo-fields .fields=${fields} .value=${this.value} .problems=${this.problems} .set=${set}></atmo-fields>`}
        <button type="submit" class="button primary" ?disabled=${this.busy} aria-busy=${this.busy}>${icon('play')}${this.submitLabel}</button>
      </form>
    `;
  }

  #examples(): TemplateResult {
    return html`<div class="row" role="group" aria-label=${text('forms.examples')}><span class="quiet small">${text('forms.examples')}</span>
      ${this.examples.map(
        ({ description, params }) =>
          html`<button type="button" class="button small" @click=${() => {
            this.value = params;
          }}>${description}${Object.keys(params).length > 0 ? html` <span class="quiet">${valueWords(params)}</span>` : nothing}</button>`,
      )}</div>`;
  }

  #submit(event: Event): void {
    event.preventDefault();
    this.dispatchEvent(new CustomEvent<JsonObject>('atmo-submit', { detail: objectOf(this.value), bubbles: true }));
  }
}

customElements.define('atmo-schema-form', SchemaForm);

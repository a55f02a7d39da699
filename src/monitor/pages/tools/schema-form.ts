import { html, nothing, type TemplateResult } from 'lit';
import type { SchemaField } from './schema-field.ts';

interface FieldContext {
  /** Makes the ids of this form's fields unique on the page. */
  readonly formId: string;
  readonly mistake: string | undefined;
}

/** One parameter of a tool: its name, what it is for, and a field that fits. */
export function schemaField(field: SchemaField, { formId, mistake }: FieldContext): TemplateResult {
  const { name, description, isRequired, unit } = field;
  const id = `${formId}-${name}`;
  return html`<div class="field">
    <label class="label" for=${id}>${name.replaceAll('_', ' ')}${isRequired ? nothing : html` <span class="quiet small">optional</span>`}</label>
    ${unit === undefined ? control(field, id) : html`<div class="with-unit">${control(field, id)}<span class="unit">${unit}</span></div>`}
    ${description === '' ? nothing : html`<span class="help" id="${id}-help">${description}</span>`}
    ${mistake === undefined ? nothing : html`<span class="error" role="alert">${mistake}</span>`}
  </div>`;
}

function control(field: SchemaField, id: string): TemplateResult {
  const { name, kind, description, isRequired, minimum, maximum, step, initial } = field;
  const help = description === '' ? nothing : `${id}-help`;
  switch (kind) {
    case 'choice':
      return select(
        field,
        id,
        field.choices.map((choice) => [JSON.stringify(choice), String(choice)]),
      );
    case 'flag':
      return select(field, id, [
        ['true', 'yes'],
        ['false', 'no'],
      ]);
    case 'json':
      return html`<textarea id=${id} name=${name} rows="3" spellcheck="false" ?required=${isRequired} aria-describedby=${help}>${initial}</textarea>`;
    case 'number':
      return html`<input id=${id} name=${name} type="number" min=${minimum ?? nothing} max=${maximum ?? nothing} step=${step ?? 'any'} value=${initial}
        ?required=${isRequired} aria-describedby=${help} />`;
    case 'text':
    case 'secret':
      return html`<input id=${id} name=${name} type=${kind === 'secret' ? 'password' : 'text'} value=${initial} ?required=${isRequired} autocomplete="off"
        spellcheck="false" aria-describedby=${help} />`;
  }
}

function select(
  { name, isRequired, initial, description }: SchemaField,
  id: string,
  options: readonly (readonly [string, string])[],
): TemplateResult {
  return html`<select id=${id} name=${name} aria-describedby=${description === '' ? nothing : `${id}-help`}>
    ${isRequired ? nothing : html`<option value="">–</option>`}
    ${options.map(([value, title]) => html`<option value=${value} ?selected=${value === initial}>${title}</option>`)}
  </select>`;
}

import { html, nothing, type TemplateResult } from 'lit';
import { isJsonObject, type Json, type JsonObject, type JsonSchema, objectOf, valueAt } from '../../core/json.ts';
import { text } from '../texts/text.ts';
import { inputValue } from './form-values.ts';
import { capital, humanWords, valueWords } from './formatting.ts';
import { icon } from './icon.ts';
import { LightElement } from './light-element.ts';
import { type FieldPath, type FormField, parseJsonOrText, schemaField, schemaFields, withValueAt } from './schema-fields.ts';

/** An example of a tool's parameters, from the definition of the tool. */
export interface FormExample {
  readonly description: string;
  readonly params: JsonObject;
}

/** An error about one parameter, as the hub reports it. */
export interface FieldProblem {
  /** JSON pointer to the parameter. */
  readonly pointer: string;
  readonly message: string;
  readonly allowed?: string;
}

let count = 0;

/** A form for a tool's parameters, made from their JSON Schema. When a person submits valid values, dispatches `atmo-submit` with them. */
export class SchemaForm extends LightElement {
  static override properties = {
    schema: { attribute: false },
    examples: { attribute: false },
    problems: { attribute: false },
    submitLabel: {},
    busy: { type: Boolean },
    value: { state: true },
    variants: { state: true },
  };
  declare schema: JsonSchema;
  declare examples: readonly FormExample[];
  declare problems: readonly FieldProblem[];
  declare submitLabel: string;
  declare busy: boolean;
  declare value: Json | undefined;
  /** The index of the schema that the person selected in each variant field. The keys are the paths of the fields. */
  declare variants: Readonly<Record<string, number>>;
  readonly #id = `form-${++count}`;

  constructor() {
    super();
    this.examples = [];
    this.problems = [];
    this.submitLabel = text('forms.run');
    this.busy = false;
    this.variants = {};
  }

  protected override willUpdate(changes: Map<PropertyKey, unknown>): void {
    if (changes.has('schema')) this.value = undefined;
  }

  protected override render(): TemplateResult {
    const fields = schemaFields(this.schema);
    return html`
      <form class="schema-form" @submit=${this.#submit}>
        ${this.examples.length > 0 && fields.length > 0 ? this.#examples() : nothing}
        ${fields.length === 0 ? html`<p class="quiet">${text('forms.no_parameters')}</p>` : fields.map((field) => this.#field(field))}
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

  #field(field: FormField): TemplateResult {
    if (field.kind === 'group') {
      return html`<fieldset><legend>${field.label}</legend>${this.#help(field)}${field.fields.map((inner) => this.#field(inner))}</fieldset>`;
    }
    if (field.kind === 'list') return this.#list(field);
    if (field.kind === 'variant') return this.#variant(field);
    const id = `${this.#id}/${field.path.join('/')}`;
    return html`<div class="field">
      <label class="label" for=${id}>${field.label}${field.isRequired ? html` <span class="required" >${text('forms.needed')}</span>` : nothing}</label>
      <div class="with-unit">${this.#input(field, id)}${field.unit === undefined ? nothing : html`<span class="unit">${field.unit}</span>`}</div>
      ${this.#help(field)} ${this.#problem(field)}
    </div>`;
  }

  #help({ help }: FormField): TemplateResult | typeof nothing {
    return help === undefined ? nothing : html`<span class="help">${help}</span>`;
  }

  #problem({ path }: FormField): TemplateResult | typeof nothing {
    const found = this.problems.find(({ pointer }) => pointer === `/${path.join('/')}`);
    return found
      ? html`<span class="error" role="alert">${found.message}${found.allowed === undefined ? '' : `; ${text('forms.allowed', { values: found.allowed })}`}</span>`
      : nothing;
  }

  #input(field: FormField, id: string): TemplateResult {
    const value = this.#valueAt(field.path);
    const set = (next: Json | undefined) => this.#set(field.path, next);
    if (field.kind === 'choice') return choiceInput({ id, field, value, options: field.options, set });
    if (field.kind === 'flag') return choiceInput({ id, field, value, options: [true, false], set });
    if (field.kind === 'number') return numberInput({ id, field, value, set });
    if (field.kind === 'text' && !field.isLong) return textInput({ id, field, value, set });
    const written = typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value);
    const read = field.kind === 'json' ? parseJsonOrText : (typed: string) => (typed === '' ? undefined : typed);
    return html`<textarea id=${id} rows="3" ?required=${field.isRequired} .value=${written} placeholder=${field.kind === 'json' ? 'JSON' : ''}
      @change=${(event: Event) => set(read(inputValue(event)))}></textarea>`;
  }

  #list(field: FormField & { readonly kind: 'list' }): TemplateResult {
    const value = this.#valueAt(field.path);
    const items: readonly Json[] = Array.isArray(value) ? value : [];
    const isFull = field.maxItems !== undefined && items.length >= field.maxItems;
    return html`<fieldset><legend>${field.label}</legend>${this.#help(field)}
      ${items.map((_item, index) => this.#item(field, index))}
      <div><button type="button" class="button small" ?disabled=${isFull} @click=${() => this.#set([...field.path, items.length], emptyOf(field.item))}>
        ${icon('plus')}${text('forms.add')}</button></div>${this.#problem(field)}</fieldset>`;
  }

  #item(field: FormField & { readonly kind: 'list' }, index: number): TemplateResult {
    const path = [...field.path, index];
    return html`<div class="list-item">${this.#field(schemaField(field.item, { path, name: `${index + 1}`, isRequired: true }))}
      <button type="button" class="button plain icon-only" aria-label=${text('forms.remove_thing', { label: `${field.label} ${index + 1}` })} @click=${() => this.#set(path, undefined)}>${icon('trash')}</button></div>`;
  }

  #variant(field: FormField & { readonly kind: 'variant' }): TemplateResult {
    const key = field.path.join('/');
    const chosen =
      this.variants[key] ??
      Math.max(
        0,
        field.options.findIndex((option) => fits(option, this.#valueAt(field.path))),
      );
    const option = field.options[chosen];
    const choose = (index: number) => {
      this.variants = { ...this.variants, [key]: index };
      this.#set(field.path, undefined);
    };
    return html`<fieldset><legend>${field.label}</legend>${this.#help(field)}
      <div class="tabs" role="group" aria-label=${text('forms.form_of', { label: field.label })}>${field.options.map(
        ({ label }, index) => html`<button type="button" aria-pressed=${index === chosen} @click=${() => choose(index)}>${label}</button>`,
      )}</div>
      ${option?.kind === 'group' ? option.fields.map((inner) => this.#field(inner)) : option ? this.#field({ ...option, help: '' }) : nothing}</fieldset>`;
  }

  #valueAt(path: FieldPath): Json | undefined {
    return this.value === undefined ? undefined : valueAt(this.value, path.map(String));
  }

  #set(path: FieldPath, next: Json | undefined): void {
    this.value = withValueAt(this.value, path, next);
  }

  #submit(event: Event): void {
    event.preventDefault();
    this.dispatchEvent(new CustomEvent<JsonObject>('atmo-submit', { detail: objectOf(this.value), bubbles: true }));
  }
}

interface InputParts<Kind extends FormField['kind']> {
  readonly id: string;
  readonly field: FormField & { readonly kind: Kind };
  readonly value: Json | undefined;
  readonly set: (next: Json | undefined) => void;
}

function choiceInput({
  id,
  field,
  value,
  options,
  set,
}: InputParts<'choice' | 'flag'> & { readonly options: readonly Json[] }): TemplateResult {
  const chosen = options.findIndex((option) => JSON.stringify(option) === JSON.stringify(value));
  const none =
    field.fallback === undefined ? text('forms.choose') : text('forms.unless_chosen', { value: capital(valueWords(field.fallback)) });
  return html`<select id=${id} ?required=${field.isRequired} @change=${(event: Event) => set(options[Number(inputValue(event) || -1)])}>
    <option value="" ?selected=${chosen === -1}>${none}</option>
    ${options.map((option, index) => html`<option value=${index} ?selected=${index === chosen}>${capital(valueWords(option))}</option>`)}
  </select>`;
}

function numberInput({ id, field, value, set }: InputParts<'number'>): TemplateResult {
  return html`<input id=${id} type="number" inputmode="decimal" ?required=${field.isRequired} min=${field.min ?? nothing} max=${field.max ?? nothing}
    step=${field.isWhole ? 1 : 'any'} .value=${typeof value === 'number' ? String(value) : ''}
    placeholder=${typeof field.fallback === 'number' ? field.fallback : nothing}
    @change=${(event: Event) => set(inputValue(event) === '' ? undefined : Number(inputValue(event)))} />`;
}

function textInput({ id, field, value, set }: InputParts<'text'>): TemplateResult {
  return html`<input id=${id} type=${field.isSecret ? 'password' : 'text'} autocomplete="off" ?required=${field.isRequired}
    minlength=${field.minLength ?? nothing} maxlength=${field.maxLength ?? nothing} .value=${typeof value === 'string' ? value : ''}
    placeholder=${typeof field.fallback === 'string' ? humanWords(field.fallback) : nothing}
    @change=${(event: Event) => set(inputValue(event) === '' ? undefined : inputValue(event))} />`;
}

function emptyOf(item: JsonSchema): Json {
  if (item.type === 'object') return {};
  return item.type === 'array' ? [] : null;
}

function fits({ kind }: FormField, value: Json | undefined): boolean {
  if (value === undefined) return false;
  if (kind === 'group') return isJsonObject(value);
  if (kind === 'number') return typeof value === 'number';
  return kind === 'list' ? Array.isArray(value) : typeof value === 'string';
}

customElements.define('atmo-schema-form', SchemaForm);

import { html, nothing, type TemplateResult } from 'lit';
import { live } from 'lit/directives/live.js';
import { type Json, type JsonSchema, pointerTo, valueAt } from '../../core/json.ts';
import { text } from '../texts/text.ts';
import { inputValue } from './form-values.ts';
import { capital, humanWords, valueWords } from './formatting.ts';
import { icon } from './icon.ts';
import { LightElement } from './light-element.ts';
import { type FieldPath, type FormField, type NamedOption, parseJsonOrText } from './schema-fields.ts';
import { chosenVariant, itemField } from './shown-values.ts';

/** An error about one value, as the hub reports it. */
export interface FieldProblem {
  /** JSON pointer to the value. */
  readonly pointer: string;
  readonly message: string;
  readonly allowed?: string;
}

/** Sets the value at a path; removes it if there is no next value. */
export type SetValue = (path: FieldPath, next: Json | undefined) => void;

let count = 0;

/** Fields of a form. `value` is the whole value of the form, in which each field has its path. */
export class FieldList extends LightElement {
  static override properties = {
    fields: { attribute: false },
    value: { attribute: false },
    problems: { attribute: false },
    set: { attribute: false },
    variants: { state: true },
    times: { state: true },
  };
  declare fields: readonly FormField[];
  declare value: Json | undefined;
  declare problems: readonly FieldProblem[];
  declare set: SetValue;
  /** The index of the schema that the person selected in each variant field. The keys are the paths of the fields. */
  declare variants: Readonly<Record<string, number>>;
  /** The times as the person wrote them. The keys are the paths of the fields. */
  declare times: Readonly<Record<string, WrittenTime>>;
  readonly #id = `fields-${++count}`;

  constructor() {
    super();
    this.problems = [];
    this.variants = {};
    this.times = {};
  }

  protected override render(): TemplateResult {
    return html`${this.fields.map((field) => this.#field(field))}`;
  }

  #field(field: FormField): TemplateResult {
    if (field.kind === 'group') {
      return html`<fieldset><legend>${field.label}</legend>${this.#help(field)}${field.fields.map((inner) => this.#field(inner))}${this.#problem(field)}</fieldset>`;
    }
    if (field.kind === 'list') return this.#list(field);
    if (field.kind === 'variant') return this.#variant(field);
    if (field.kind === 'some') return this.#some(field);
    const id = `${this.#id}/${field.path.join('/')}`;
    return html`<div class="field">
      <label class="label" for=${id}>${field.label}${field.isRequired ? html` <span class="required">${text('forms.needed')}</span>` : nothing}</label>
      <div class="with-unit">${this.#input(field, id)}${field.unit === undefined ? nothing : html`<span class="unit">${field.unit}</span>`}</div>
      ${this.#help(field)} ${this.#problem(field)}
    </div>`;
  }

  #help({ help }: FormField): TemplateResult | typeof nothing {
    return help === undefined ? nothing : html`<span class="help">${help}</span>`;
  }

  #problem({ path }: FormField): TemplateResult | typeof nothing {
    const found = this.problems.find(({ pointer }) => pointer === pointerTo(path));
    return found
      ? html`<span class="error" role="alert">${found.message}${found.allowed === undefined ? '' : `; ${text('forms.allowed', { values: found.allowed })}`}</span>`
      : nothing;
  }

  #input(field: FormField, id: string): TemplateResult {
    const value = this.#valueAt(field.path);
    const set = (next: Json | undefined) => this.set(field.path, next);
    if (field.kind === 'choice') return choiceInput({ id, field, value, options: field.options, set });
    if (field.kind === 'flag') return choiceInput({ id, field, value, options: [true, false], set });
    if (field.kind === 'named') return namedInput({ id, field, value, set });
    if (field.kind === 'duration') return this.#duration({ id, field, value, set });
    if (field.kind === 'clock') return clockInput({ id, field, value, set });
    if (field.kind === 'number') return numberInput({ id, field, value, set });
    if (field.kind === 'text' && !field.isLong) return textInput({ id, field, value, set });
    const written = typeof value === 'string' ? value : (value ?? undefined) === undefined ? '' : JSON.stringify(value);
    const read = field.kind === 'json' ? parseJsonOrText : (typed: string) => (typed === '' ? undefined : typed);
    return html`<textarea id=${id} rows="3" ?required=${field.isRequired} .value=${written} placeholder=${field.kind === 'json' ? 'JSON' : ''}
      @change=${(event: Event) => set(read(inputValue(event)))}></textarea>`;
  }

  /** Returns a number with its unit: that which the person chose for this time, or else the largest of which the time is a whole number. */
  #duration({ id, field, value, set }: InputParts<'duration'>): TemplateResult {
    const key = field.path.join('/');
    const unit = unitOf({ value, fallback: field.fallback, written: this.times[key] });
    const inUnit = (seconds: Json | undefined) => (typeof seconds === 'number' ? String(seconds / unit) : '');
    const write = (event: Event) => {
      const written = writtenTime(event);
      this.times = { ...this.times, [key]: written };
      set(written.seconds);
    };
    return html`<input id=${id} type="number" inputmode="decimal" min="0" step="any" ?required=${field.isRequired} .value=${inUnit(value)}
        placeholder=${inUnit(field.fallback)} @change=${write} />
      <select class="unit-choice" aria-label=${text('forms.unit_of', { label: field.label })} @change=${write}>
        ${UNITS.map(({ seconds, title }) => html`<option value=${seconds} .selected=${live(seconds === unit)}>${text(title)}</option>`)}</select>`;
  }

  #list(field: FormField & { readonly kind: 'list' }): TemplateResult {
    const value = this.#valueAt(field.path);
    const items: readonly Json[] = Array.isArray(value) ? value : [];
    const isFull = field.maxItems !== undefined && items.length >= field.maxItems;
    return html`<fieldset><legend>${field.label}</legend>${this.#help(field)}
      ${items.map((_item, index) => this.#item(field, index))}
      <div><button type="button" class="button small" ?disabled=${isFull} @click=${() => this.set([...field.path, items.length], emptyOf(field.item))}>
        ${icon('plus')}${text('forms.add')}</button></div>${this.#problem(field)}</fieldset>`;
  }

  #item(field: FormField & { readonly kind: 'list' }, index: number): TemplateResult {
    const items = this.#valueAt(field.path);
    // A list that needs items, and has lost its last one, is left out.
    const isLast = Array.isArray(items) && items.length === 1 && (field.minItems ?? 0) > 0;
    const path = isLast ? field.path : [...field.path, index];
    return html`<div class="list-item">${this.#field(itemField(field, index))}
      <button type="button" class="button plain icon-only" aria-label=${text('forms.remove_thing', { label: `${field.label} ${index + 1}` })} @click=${() => this.set(path, undefined)}>${icon('trash')}</button></div>`;
  }

  #variant(field: FormField & { readonly kind: 'variant' }): TemplateResult {
    const key = field.path.join('/');
    const chosen = this.variants[key] ?? chosenVariant(field, this.#valueAt(field.path));
    const option = field.options[chosen];
    const choose = (index: number) => {
      this.variants = { ...this.variants, [key]: index };
      this.set(field.path, undefined);
    };
    return html`<fieldset><legend>${field.label}</legend>${this.#help(field)}
      <div class="tabs" role="group" aria-label=${text('forms.form_of', { label: field.label })}>${field.options.map(
        ({ label }, index) => html`<button type="button" aria-pressed=${index === chosen} @click=${() => choose(index)}>${label}</button>`,
      )}</div>
      ${option?.kind === 'group' ? option.fields.map((inner) => this.#field(inner)) : option ? this.#field({ ...option, help: '' }) : nothing}${this.#problem(field)}</fieldset>`;
  }

  #some(field: FormField & { readonly kind: 'some' }): TemplateResult {
    const value = this.#valueAt(field.path);
    const chosen: readonly Json[] = Array.isArray(value) ? value : [];
    const toggle = (option: string) => {
      const next = field.options.map((one) => one.value).filter((one) => chosen.includes(one) !== (one === option));
      this.set(field.path, next.length === 0 ? undefined : next);
    };
    return html`<div class="field" role="group" aria-label=${field.label}><span class="label">${field.label}</span>
      <div class="tabs days">${field.options.map(
        ({ value: option, title }) =>
          html`<button type="button" aria-pressed=${chosen.includes(option)} @click=${() => toggle(option)}>${title}</button>`,
      )}</div>${this.#help(field)} ${this.#problem(field)}</div>`;
  }

  #valueAt(path: FieldPath): Json | undefined {
    return this.value === undefined ? undefined : valueAt(this.value, path.map(String));
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
    <option value="" .selected=${live(chosen === -1)}>${none}</option>
    ${options.map((option, index) => html`<option value=${index} .selected=${live(index === chosen)}>${capital(valueWords(option))}</option>`)}
  </select>`;
}

function namedInput({ id, field, value, set }: InputParts<'named'>): TemplateResult {
  const isOther = typeof value === 'string' && value !== '' && !field.options.some((option) => option.value === value);
  const options: readonly NamedOption[] = isOther ? [{ value, title: value }, ...field.options] : field.options;
  return html`<select id=${id} ?required=${field.isRequired} @change=${(event: Event) => set(inputValue(event) || undefined)}>
    <option value="" .selected=${live(typeof value !== 'string' || value === '')}>${field.none ?? text('forms.choose')}</option>
    ${options.map((option) => html`<option value=${option.value} .selected=${live(option.value === value)}>${option.title}</option>`)}
  </select>`;
}

const UNITS = [
  { seconds: 3600, title: 'forms.unit_hours' },
  { seconds: 60, title: 'forms.unit_minutes' },
  { seconds: 1, title: 'forms.unit_seconds' },
] as const;
const DEFAULT_UNIT = 60;
const MS = 1000;

/** A time as a person wrote it. */
interface WrittenTime {
  /** Undefined if the number is empty. */
  readonly seconds: number | undefined;
  /** Length of the chosen unit in seconds. */
  readonly unit: number;
}

/** Returns the time in the number and the unit of the field to which an event belongs, rounded to milliseconds. */
function writtenTime({ currentTarget }: Event): WrittenTime {
  const box = currentTarget instanceof Element ? currentTarget.parentElement : null;
  const amount = box?.querySelector('input')?.value ?? '';
  const unit = Number(box?.querySelector('select')?.value);
  return { seconds: amount === '' ? undefined : Math.round(Number(amount) * unit * MS) / MS, unit };
}

/** Returns the length in seconds of the unit in which a time is shown. */
function unitOf(time: {
  readonly value: Json | undefined;
  readonly fallback: Json | undefined;
  readonly written: WrittenTime | undefined;
}): number {
  const { value, fallback, written } = time;
  const seconds = typeof value === 'number' ? value : undefined;
  if (written && written.seconds === seconds) return written.unit;
  const shown = seconds ?? fallback;
  return UNITS.find((unit) => typeof shown === 'number' && shown % unit.seconds === 0)?.seconds ?? DEFAULT_UNIT;
}

function clockInput({ id, field, value, set }: InputParts<'clock'>): TemplateResult {
  return html`<input id=${id} type="time" ?required=${field.isRequired} .value=${typeof value === 'string' ? value : ''}
    @change=${(event: Event) => set(inputValue(event) || undefined)} />`;
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

customElements.define('atmo-fields', FieldList);

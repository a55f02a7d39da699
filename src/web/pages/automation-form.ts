import '../components/field-list.ts';
import './tool-choice.ts';
import { html, nothing, type TemplateResult } from 'lit';
import { live } from 'lit/directives/live.js';
import { isJsonObject, type Json, type JsonObject, objectOf, pointerTo, valueAt } from '../../core/json.ts';
import type { ToolView } from '../api/hub-types.ts';
import type { App } from '../app.ts';
import { closeDialog, modalDialog } from '../components/dialog.ts';
import type { FieldProblem, SetValue } from '../components/field-list.ts';
import { inputValue } from '../components/form-values.ts';
import { icon } from '../components/icon.ts';
import { LightElement } from '../components/light-element.ts';
import type { FieldPath } from '../components/schema-fields.ts';
import { type TextKey, text } from '../texts/text.ts';
import { type FormHome, limitFields } from './automation-fields.ts';
import { type InnerList, KINDS, kindOf, type ListName, type PartKind } from './automation-parts.ts';
import {
  conditionIn,
  innerPartCount,
  knownPointers,
  nearestPointer,
  negated,
  type PlacedPart,
  partOfKind,
  partsAt,
  withFreeName,
  withPart,
  withStepEarlier,
  withValue,
} from './automation-shape.ts';
import { mistakeWords } from './mistake-words.ts';
import { nameOf } from './tool-search.ts';

const LISTS = [
  { of: 'trigger', title: 'automations.when', add: 'form.add_trigger' },
  { of: 'conditions', title: 'automations.if', add: 'form.add_condition' },
  { of: 'actions', title: 'form.then', add: 'form.add_step' },
] as const;
const ADD: Readonly<Record<ListName, TextKey>> = Object.fromEntries(LISTS.map(({ of, add }) => [of, add])) as Record<ListName, TextKey>;

const PART: Readonly<Record<ListName, TextKey>> = { trigger: 'form.trigger', conditions: 'form.condition', actions: 'form.step' };

/** A trigger, a condition or a step with what is needed to draw it. */
interface DrawnPart {
  readonly list: ListName;
  /** The part, or the condition within a `not`. */
  readonly inner: PlacedPart;
  readonly placed: PlacedPart;
  /** What it is called, such as `Step 2.1`. */
  readonly name: string;
}

/** Another kind of a part, whose inner parts would be dropped. */
interface KindChange {
  readonly path: FieldPath;
  readonly next: JsonObject;
  /** The number of inner parts. */
  readonly count: number;
}

/** The form of an automation. It changes the configuration itself, so that what it does not show stays as it is. */
export class AutomationForm extends LightElement {
  static override properties = {
    app: { attribute: false },
    config: { attribute: false },
    home: { attribute: false },
    problems: { attribute: false },
    change: { attribute: false },
    learn: { attribute: false },
    asked: { state: true },
  };
  declare app: App;
  declare config: JsonObject;
  declare home: FormHome;
  declare problems: readonly FieldProblem[];
  declare change: (config: JsonObject) => void;
  /** Called with a tool that a person has chosen, before a step calls it. */
  declare learn: (tool: ToolView) => void;
  /** The change of a kind that a person has to confirm. */
  declare asked: KindChange | undefined;
  #problems: readonly FieldProblem[] = [];

  protected override willUpdate(): void {
    const known = knownPointers(this.config, this.home);
    this.#problems = this.problems.map(({ pointer, message }) => ({
      pointer: nearestPointer(pointer, known),
      // Of what was not filled in yet, the page says only that.
      message: isBlank(valueAt(this.config, pointer), known.has(pointer)) ? text('form.fill_in') : mistakeWords({ pointer, message }),
    }));
  }

  protected override render(): TemplateResult {
    return html`${LISTS.map(
      ({ of, title }) => html`<section class="stack" aria-label=${text(title)}><h2>${text(title)}</h2>${this.#list([of], of)}</section>`,
    )}
      <details><summary>${text('form.limits')}</summary><div class="stack">${this.#fields(limitFields())}</div></details>
      ${this.#problemsAt('')} ${this.asked ? this.#question(this.asked) : nothing}`;
  }

  /** Asks before the parts within a part are dropped. */
  #question({ path, next, count }: KindChange): TemplateResult {
    const drop = (event: Event) => {
      this.#set(path, next);
      closeDialog(event);
    };
    const content = html`<p>${text('form.drop_inner', { count })}</p>
      <footer><button type="button" class="button danger" @click=${drop}>${text('form.drop')}</button></footer>`;
    const onClose = () => {
      this.asked = undefined;
    };
    return modalDialog({ title: text('form.drop_title'), onClose }, content);
  }

  #list(path: FieldPath, list: ListName): TemplateResult {
    const parts = partsAt(this.config, path);
    return html`<ul class="stack parts">${parts.map((placed) => {
      const inner = list === 'conditions' ? conditionIn(placed) : placed;
      return html`<li class="part stack">${this.#part({ list, placed, inner, name: partName(list, placed.path) })}</li>`;
    })}</ul>
      ${this.#problemsAt(pointerTo(path))}
      <div><button type="button" class="button small" @click=${() => this.#add(path, list)}>${icon('plus')}${text(ADD[list])}</button></div>`;
  }

  #part(drawn: DrawnPart): TemplateResult {
    const { list, inner, placed } = drawn;
    const kind = kindOf(inner.part, list);
    const part = isJsonObject(inner.part) ? inner.part : {};
    const lists = kind?.lists?.(part) ?? [];
    const choice = this.#kindChoice(drawn, kind);
    return html`<div class="row part-head">${list === 'conditions' ? this.#negation(drawn) : choice}${this.#buttons(drawn)}</div>
      ${list === 'conditions' ? choice : nothing}
      ${typeof part.tool === 'string' ? this.#toolChoice(inner.path, part.tool) : nothing}
      ${kind ? this.#fields(kind.fields({ path: inner.path, part, home: this.home })) : nothing}
      ${lists.map((one) => this.#innerList(inner.path, one))} ${this.#newCase(inner.path, kind?.cases)}
      ${this.#problemsAt(pointerTo(placed.path))}`;
  }

  #negation({ inner, placed, name }: DrawnPart): TemplateResult {
    const isNegated = inner.path !== placed.path;
    const negate = (event: Event) => this.#set(placed.path, negated(inner.part, inputValue(event) === 'not'));
    return html`<select class="input grow" aria-label=${text('form.holds', { part: name })} @change=${negate}>
      <option value="so" .selected=${live(!isNegated)}>${text('form.holds_so')}</option>
      <option value="not" .selected=${live(isNegated)}>${text('form.holds_not')}</option></select>`;
  }

  #kindChoice({ list, inner, name }: DrawnPart, kind: PartKind | undefined): TemplateResult {
    const choose = (event: Event) => {
      const chosen = KINDS[list][Number(inputValue(event))];
      if (chosen) this.#changeKind(list, inner, chosen);
    };
    return html`<select class="input grow" aria-label=${text('form.kind', { part: name })} @change=${choose}>
      ${KINDS[list].map((one, index) => html`<option value=${index} .selected=${live(one === kind)}>${text(one.title)}</option>`)}</select>`;
  }

  #changeKind(list: ListName, { path, part }: PlacedPart, kind: PartKind): void {
    const next = withFreeName(partOfKind(kind, part, { list, home: this.home }), this.config);
    const count = innerPartCount(part, list);
    if (count > 0) this.asked = { path, next, count };
    else this.#set(path, next);
  }

  #buttons({ list, placed, name }: DrawnPart): TemplateResult {
    return html`${
      list === 'actions' && Number(placed.path.at(-1)) > 0
        ? html`<button type="button" class="button plain icon-only" aria-label=${text('form.earlier', { part: name })}
            @click=${() => this.change(withStepEarlier(this.config, placed.path))}>${icon('up')}</button>`
        : nothing
    }<button type="button" class="button plain icon-only" aria-label=${text('form.remove', { part: name })}
      @click=${() => this.#set(placed.path, undefined)}>${icon('trash')}</button>`;
  }

  #toolChoice(path: FieldPath, tool: string): TemplateResult {
    const choose = (chosen: ToolView, params: JsonObject) => {
      this.learn(chosen);
      const { on_error: onError } = objectOf(valueAt(this.config, path.map(String)));
      const kept = onError === undefined ? {} : { on_error: onError };
      this.#set(path, { tool: nameOf(chosen), ...(Object.keys(params).length > 0 && { params }), ...kept });
    };
    return html`<atmo-tool-choice .app=${this.app} .tool=${tool} .known=${this.home.tool(tool)} .choose=${choose}></atmo-tool-choice>`;
  }

  #innerList(path: FieldPath, { path: inner, of, label, removable }: InnerList): TemplateResult {
    const remove =
      removable &&
      html`<div><button type="button" class="button small" @click=${() => this.#set([...path, ...removable.path], undefined)}>${icon('trash')}${removable.label}</button></div>`;
    return html`<fieldset><legend>${label}</legend>${this.#list([...path, ...inner], of)}${remove ?? nothing}</fieldset>`;
  }

  #newCase(path: FieldPath, cases: PartKind['cases']): TemplateResult | typeof nothing {
    if (!cases) return nothing;
    const add = () => this.change(withPart(this.config, [...path, ...cases.path], cases.start));
    return html`<div><button type="button" class="button small" @click=${add}>${icon('plus')}${text(cases.add)}</button></div>`;
  }

  #fields(fields: ReturnType<typeof limitFields>): TemplateResult | typeof nothing {
    if (fields.length === 0) return nothing;
    const set: SetValue = (path, next) => {
      const field = fields.find((one) => pointerTo(one.path) === pointerTo(path));
      // A member that has to be filled in stays, so that the part keeps its kind while the field is empty.
      this.#set(path, next === undefined && field?.isRequired ? null : next);
    };
    return html`<atmo-fields .fields=${fields} .value=${this.config} .problems=${this.#problems} .set=${set}></atmo-fields>`;
  }

  #problemsAt(pointer: string): TemplateResult {
    return html`${this.#problems
      .filter((problem) => problem.pointer === pointer)
      .map(({ message }) => html`<p class="error" role="alert">${message}</p>`)}`;
  }

  #add(path: FieldPath, list: ListName): void {
    const [first] = KINDS[list];
    if (first) this.change(withPart(this.config, path, withFreeName(first.start, this.config)));
  }

  #set(path: FieldPath, next: Json | undefined): void {
    this.change(withValue(this.config, path, next));
  }
}

/** Returns what a part is called, such as `Step 2.1`: each list on the way to it counts from 1. */
function partName(list: ListName, path: FieldPath): string {
  const places = path.filter((key) => typeof key === 'number').map((key) => key + 1);
  return text(PART[list], { number: places.join('.') || '1' });
}

function isBlank(value: Json | undefined, hasField: boolean): boolean {
  return value === null || value === '' || (value === undefined && hasField);
}

customElements.define('atmo-automation-form', AutomationForm);

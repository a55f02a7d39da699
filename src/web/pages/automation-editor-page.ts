import './automation-form.ts';
import { html, nothing, type TemplateResult } from 'lit';
import type { JsonObject } from '../../core/json.ts';
import type { DeviceView, ToolView } from '../api/hub-types.ts';
import { modalDialog } from '../components/dialog.ts';
import { inputValue } from '../components/form-values.ts';
import { icon } from '../components/icon.ts';
import { LightElement, type Stop } from '../components/light-element.ts';
import { PageElement } from '../components/page-element.ts';
import { RemoteData, remoteDataView } from '../components/remote-data.ts';
import type { FieldPath } from '../components/schema-fields.ts';
import { text } from '../texts/text.ts';
import { AutomationDraft, type Problem, type Reading } from './automation-draft.ts';
import type { FormHome } from './automation-fields.ts';
import { answersOf, hiddenPart } from './automation-shape.ts';
import { checkView, definitionView, type PastRuns, pastView, savedWords } from './automation-views.ts';
import { namesIn } from './automation-words.ts';
import { type Finding, findingsIn } from './finding-words.ts';
import { namedMistakeWords } from './mistake-words.ts';
import { grantInWords } from './tokens.ts';

/** What is known about a draft before it lives. */
interface Checked {
  readonly conflicts: readonly Finding[];
  /** Undefined if the person may not look at the past. */
  readonly past: PastRuns | undefined;
}

type Way = 'form' | 'text';

/** Page on which an automation is written, by a form or as text: with its mistakes, what it would do and be allowed, and what may go wrong with it. */
export class AutomationEditorPage extends PageElement {
  readonly #checked = new RemoteData<Checked>(() => this.requestUpdate());
  #draft: AutomationDraft | undefined;
  #name = '';
  #way: Way = 'form';
  #isSaving = false;
  /** Ends what keeps the page open; undefined while nothing is changed. */
  #release: Stop | undefined;
  /** Opens the page to which the person wanted to go, without saving. */
  #leave: (() => void) | undefined;

  protected override connected(): readonly Stop[] {
    return [...super.connected(), () => this.#draft?.stop(), () => this.#settle()];
  }

  protected override willUpdate(changes: Map<PropertyKey, unknown>): void {
    if (!changes.has('params')) return;
    this.#draft ??= new AutomationDraft(this.app.hub, () => this.requestUpdate());
    this.#settle();
    this.#checked.reset();
    this.#way = 'form';
    void this.#draft.begin(this.params.id);
  }

  protected override render(): TemplateResult {
    const { id } = this.params;
    return html`
      <header class="page-head"><div>
        <a class="back" href="#/automations">${icon('back')}${text('automations.title')}</a>
        <h1>${id === undefined ? text('editor.new') : text('editor.edit_thing', { name: id })}</h1><p>${text('editor.about')}</p></div></header>
      <div class="columns">${this.#draft ? this.#columns(this.#draft) : nothing}</div>
      ${this.#leave ? this.#leaveDialog(this.#leave) : nothing}
    `;
  }

  #leaveDialog(leave: () => void): TemplateResult {
    const onClose = () => this.#askToLeave(undefined);
    const content = html`<p>${text('editor.leave_about')}</p>
      <footer><button type="button" class="button danger" @click=${leave}>${text('editor.leave')}</button></footer>`;
    return modalDialog({ title: text('editor.leave_title'), onClose }, content);
  }

  #askToLeave(leave: (() => void) | undefined): void {
    this.#leave = leave;
    this.requestUpdate();
  }

  /** Keeps the page open, because something is changed and not saved. */
  #unsettle(): void {
    this.#checked.reset();
    if (this.#release) return;
    const release = this.app.router.hold((leave) => this.#askToLeave(leave));
    const keep = (event: Event) => event.preventDefault();
    window.addEventListener('beforeunload', keep);
    this.#release = () => {
      release();
      window.removeEventListener('beforeunload', keep);
    };
  }

  #settle(): void {
    this.#release?.();
    this.#release = undefined;
    this.#leave = undefined;
  }

  #columns(draft: AutomationDraft): TemplateResult {
    const isSaveable = this.#isNamed && !this.#isSaving && draft.problems.length === 0;
    return html`<section class="card stack" aria-label=${text('editor.automation')}>
        ${this.params.id === undefined ? this.#nameField() : nothing}
        ${draft.reading.value === undefined ? nothing : this.#editor(draft)}
        <p class="row"><button type="button" class="button" ?disabled=${!isSaveable || this.#checked.isLoading} @click=${() => void this.#check(draft)}>${icon('shield')}${text('editor.check')}</button>
          <button type="button" class="button primary" ?disabled=${!isSaveable} @click=${() => void this.#save(draft)}>${text('editor.save')}</button></p>
      </section>
      <div class="stack">
        ${remoteDataView(draft.reading, (reading) => this.#meaning(draft, reading))}
        ${remoteDataView(this.#checked, ({ conflicts, past }) => html`${checkView(conflicts, this.app.store.state.devices)} ${past ? pastView(past) : nothing}`)}
      </div>`;
  }

  #nameField(): TemplateResult {
    const change = (event: Event) => {
      this.#name = inputValue(event).trim();
      this.requestUpdate();
    };
    return html`<label class="field"><span class="label">${text('editor.name')}</span>
      <input maxlength="64" autocomplete="off" .value=${this.#name} @input=${change} /></label>`;
  }

  /** The form, or the text where a person wants it or the form does not show all. */
  #editor(draft: AutomationDraft): TemplateResult {
    const { config } = draft;
    const home = this.#home(draft, config ?? {});
    const hidden = config && hiddenPart(config, home);
    const isForm = this.#way === 'form' && config !== undefined && hidden === undefined;
    const change = (next: JsonObject) => {
      this.#unsettle();
      draft.change(next);
    };
    return html`${this.#wayChoice(draft, { isForm, hidden })}
      ${
        isForm
          ? html`<atmo-automation-form class="stack" .app=${this.app} .config=${config} .home=${home} .problems=${draft.problems}
              .change=${change} .learn=${(tool: ToolView) => draft.learn(tool)}></atmo-automation-form>`
          : html`<atmo-automation-text .text=${draft.text} .problems=${draft.problems} .write=${(written: string) => this.#write(draft, written)}></atmo-automation-text>`
      }`;
  }

  #wayChoice(
    draft: AutomationDraft,
    { isForm, hidden }: { readonly isForm: boolean; readonly hidden: FieldPath | undefined },
  ): TemplateResult {
    const isReadable = draft.config !== undefined;
    return html`<div class="tabs" role="group" aria-label=${text('editor.way')}>
        <button type="button" aria-pressed=${isForm} ?disabled=${!isForm && (!isReadable || hidden !== undefined)} @click=${() => this.#choose('form')}>${text('editor.form')}</button>
        <button type="button" aria-pressed=${!isForm} @click=${() => void this.#toText(draft)}>${text('editor.text')}</button></div>
      ${hidden === undefined ? nothing : html`<p class="quiet small" role="status">${text('editor.not_in_form', { what: placeWords(hidden) })}</p>`}`;
  }

  #choose(way: Way): void {
    this.#way = way;
    this.requestUpdate();
  }

  async #toText(draft: AutomationDraft): Promise<void> {
    if (await draft.toText()) this.#choose('text');
  }

  #write(draft: AutomationDraft, written: string): void {
    // Who writes text goes on writing text, also where the form could show it by now.
    this.#way = 'text';
    this.#unsettle();
    draft.write(written);
  }

  /** Shows what the automation means, and what it would be allowed. */
  #meaning(draft: AutomationDraft, { view }: Reading): TemplateResult {
    const names = namesIn(this.app.store.state.devices);
    return html`<section class="card stack" aria-label=${text('editor.does')}><h2>${text('editor.does')}</h2>
      ${
        view === undefined
          ? html`<p class="quiet">${text('editor.not_readable')}</p>`
          : html`<dl class="facts">
        ${definitionView(view, names)}
        <dt>${text('editor.allowed')}</dt><dd>${this.#permissions(draft)}</dd></dl>`
      }
    </section>`;
  }

  /** The permissions, each in words. Those that it does not need can be taken away. */
  #permissions(draft: AutomationDraft): TemplateResult {
    const { devices } = this.app.store.state;
    const unneeded = draft.reading.value?.unneeded ?? [];
    return html`<ul class="grant-list">${draft.permissions.map(
      (permission) => html`<li class="row"><span class="grow">${grantInWords(permission, devices)} <code>${permission}</code></span>
        ${
          unneeded.includes(permission)
            ? html`<span class="chip">${text('editor.unneeded')}</span>
              <button type="button" class="button small plain" aria-label=${text('tokens.take_out', { grant: permission })} @click=${() => this.#takeAway(draft, [permission])}>${icon('close')}</button>`
            : nothing
        }</li>`,
    )}</ul>
    ${unneeded.length > 1 ? html`<button type="button" class="button small" @click=${() => this.#takeAway(draft, unneeded)}>${text('editor.take_unneeded')}</button>` : nothing}`;
  }

  #takeAway(draft: AutomationDraft, permissions: readonly string[]): void {
    this.#unsettle();
    draft.takeAway(permissions);
  }

  get #isNamed(): boolean {
    return this.params.id !== undefined || this.#name !== '';
  }

  #home(draft: AutomationDraft, config: JsonObject): FormHome {
    const { devices, readings } = this.app.store.state;
    return {
      ...draft.household,
      sensors: devices.flatMap((device) => device.readings.map(({ id, title }) => ({ value: id, title }))),
      devices: devices.map((device) => ({ value: device.id, title: nameWithRoom(device) })),
      reading: (id) => readings.get(id),
      tool: (name) => draft.tool(name),
      answers: answersOf(config, (name, answer) => text('form.answer_is', { name, answer })),
    };
  }

  async #check(draft: AutomationDraft): Promise<void> {
    await draft.settled();
    const { definition } = draft;
    if (definition) void this.#checked.load(() => this.#loadChecked(definition));
  }

  async #loadChecked({ config, permissions }: NonNullable<AutomationDraft['definition']>): Promise<Checked> {
    const { hub } = this.app;
    const { id } = this.params;
    const [checked, past] = await Promise.all([
      hub.invoke('hub:check_automation', { config, permissions, ...(id !== undefined && { replaces: id }) }),
      // Only people who may read the history get the past month. Everybody gets the findings.
      hub.invoke('replay_automation', { config, permissions }).catch(() => undefined),
    ]);
    return {
      conflicts: findingsIn(checked),
      past: past as unknown as PastRuns | undefined,
    };
  }

  async #save(draft: AutomationDraft): Promise<void> {
    this.#isSaving = true;
    await draft.settled();
    if (draft.definition) await this.#saveAs(draft.definition);
    this.#isSaving = false;
    this.requestUpdate();
  }

  async #saveAs(definition: NonNullable<AutomationDraft['definition']>): Promise<void> {
    const { id } = this.params;
    const label = text('editor.save_thing', { name: id ?? this.#name });
    const call =
      id === undefined
        ? { tool: 'spawn_agent', params: { agent_type: 'automation', name: this.#name, ...definition }, label }
        : { tool: 'edit_automation', params: { agent_id: id, ...definition }, label };
    const answer = await this.callTool(call);
    if (answer === undefined) return;
    this.notify(savedWords(text('editor.saved', { name: id ?? this.#name }), answer, this.app.store.state.devices));
    this.#settle();
    this.app.router.go('automations');
  }
}

customElements.define('atmo-page-automation-editor', AutomationEditorPage);

function nameWithRoom({ name, area }: DeviceView): string {
  return area === null ? name : text('form.in_room', { name, room: area });
}

/** Returns where something stands in the text, such as `actions › 2 › while`. Places in lists count from 1. */
function placeWords(path: FieldPath): string {
  return path.map((key) => (typeof key === 'number' ? key + 1 : key)).join(' › ');
}

/** An automation as text with the numbers of its lines. Lines with a mistake are marked, and the mistakes stand below. */
class AutomationText extends LightElement {
  static override properties = { text: { attribute: false }, problems: { attribute: false }, write: { attribute: false } };
  declare text: string;
  declare problems: readonly Problem[];
  declare write: (text: string) => void;

  protected override render(): TemplateResult {
    const lines = this.text.split('\n');
    const wrong = new Set(this.problems.map(({ line }) => line));
    return html`<div class="field"><label class="label" for="automation-text">${text('editor.text')}</label>
      <div class="code-editor">
        <ol class="code-lines" aria-hidden="true">${lines.map((_line, index) => html`<li class=${wrong.has(index + 1) ? 'wrong' : ''}>${index + 1}</li>`)}</ol>
        <textarea id="automation-text" rows=${lines.length + 1} wrap="off" spellcheck="false" autocapitalize="off" .value=${this.text}
          aria-invalid=${this.problems.length > 0} aria-describedby="automation-problems" @input=${(event: Event) => this.write(inputValue(event))}></textarea>
      </div>
      <ul id="automation-problems" class="problems" aria-live="polite">${this.problems.map(
        (problem) =>
          html`<li class="error"><button type="button" class="link" @click=${() => this.#goTo(problem.line)}>${text('editor.line', { line: problem.line })}</button> ${namedMistakeWords(problem)}</li>`,
      )}</ul></div>`;
  }

  /** Selects a line of the text. */
  #goTo(line: number): void {
    const field = this.querySelector('textarea');
    const lines = this.text.split('\n');
    const start = lines.slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0);
    field?.focus();
    field?.setSelectionRange(start, start + (lines[line - 1]?.length ?? 0));
  }
}

customElements.define('atmo-automation-text', AutomationText);

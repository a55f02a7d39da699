import { html, nothing, type TemplateResult } from 'lit';
import { type Json, type JsonObject, objectOf, objectsOf, textsOf } from '../../core/json.ts';
import { inputValue } from '../components/form-values.ts';
import { icon } from '../components/icon.ts';
import type { Stop } from '../components/light-element.ts';
import { PageElement } from '../components/page-element.ts';
import { RemoteData, remoteDataView } from '../components/remote-data.ts';
import { text } from '../texts/text.ts';
import { checkView, type DefinitionView, definitionView, type Finding, type PastRuns, pastView, savedWords } from './automation-views.ts';
import { namesIn } from './automation-words.ts';
import { grantsInWords } from './tokens.ts';

/** After the last key, the page waits this many milliseconds before it lets the hub read the text. */
const PAUSE_MS = 600;
/** What a new automation begins with. The hub says at its line that there is no such device. */
const EXAMPLE = { trigger: { type: 'time', at: '07:00' }, actions: [{ tool: 'turn_on_light', params: { device_id: 'DEVICE' } }] };

/** A mistake in the text, in the words of the hub. */
interface Problem {
  readonly line: number;
  readonly message: string;
}

/** What `hub:convert_automation` makes of a text. */
interface Reading {
  readonly text: string;
  readonly config?: JsonObject;
  readonly problems: readonly Problem[];
  readonly lacks: readonly string[];
  readonly view?: DefinitionView;
}

/** What is known about a draft before it lives. */
interface Checked {
  readonly conflicts: readonly Finding[];
  /** Undefined if the person may not look at the past. */
  readonly past: PastRuns | undefined;
}

/** Page on which an automation is written as text: with the mistakes at their lines, what it would do, and what may go wrong with it. */
export class AutomationEditorPage extends PageElement {
  readonly #reading = new RemoteData<Reading>(() => this.requestUpdate());
  readonly #checked = new RemoteData<Checked>(() => this.requestUpdate());
  #text = '';
  #name = '';
  #permissions: readonly string[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isSaving = false;

  protected override connected(): readonly Stop[] {
    return [...super.connected(), () => clearTimeout(this.#timer)];
  }

  protected override willUpdate(changes: Map<PropertyKey, unknown>): void {
    if (!changes.has('params')) return;
    const { id } = this.params;
    this.#checked.reset();
    this.#reading.reset();
    this.#permissions = [];
    void this.#reading.load(() => this.#begin(id));
  }

  protected override render(): TemplateResult {
    const { id } = this.params;
    return html`
      <header class="page-head"><div>
        <a class="back" href="#/automations">${icon('back')}${text('automations.title')}</a>
        <h1>${id === undefined ? text('editor.new') : text('editor.edit_thing', { name: id })}</h1><p>${text('editor.about')}</p></div></header>
      <div class="columns">
        <section class="card stack" aria-label=${text('editor.text')}>
          ${id === undefined ? this.#nameField() : nothing}
          ${this.#textField()}
          <p class="row"><button type="button" class="button" ?disabled=${!this.#isReadable || this.#checked.isLoading} @click=${() => this.#check()}>${icon('shield')}${text('editor.check')}</button>
            <button type="button" class="button primary" ?disabled=${!this.#isReadable || this.#isSaving} @click=${() => void this.#save()}>${text('editor.save')}</button></p>
        </section>
        <div class="stack">
          ${remoteDataView(this.#reading, (reading) => this.#meaning(reading))}
          ${remoteDataView(this.#checked, ({ conflicts, past }) => html`${checkView(conflicts)} ${past ? pastView(past) : nothing}`)}
        </div>
      </div>
    `;
  }

  #nameField(): TemplateResult {
    const change = (event: Event) => {
      this.#name = inputValue(event).trim();
      this.requestUpdate();
    };
    return html`<label class="field"><span class="label">${text('editor.name')}</span>
      <input maxlength="64" autocomplete="off" .value=${this.#name} @input=${change} /></label>`;
  }

  /** Returns the text with the numbers of its lines. Lines with a mistake are marked, and the mistakes stand below. */
  #textField(): TemplateResult {
    const lines = this.#text.split('\n');
    const problems = this.#problems;
    const wrong = new Set(problems.map(({ line }) => line));
    return html`<div class="field"><label class="label" for="automation-text">${text('editor.text')}</label>
      <div class="code-editor">
        <ol class="code-lines" aria-hidden="true">${lines.map((_line, index) => html`<li class=${wrong.has(index + 1) ? 'wrong' : ''}>${index + 1}</li>`)}</ol>
        <textarea id="automation-text" rows=${lines.length + 1} wrap="off" spellcheck="false" autocapitalize="off" .value=${this.#text}
          aria-invalid=${problems.length > 0} aria-describedby="automation-problems" @input=${(event: Event) => this.#write(inputValue(event))}></textarea>
      </div>
      <ul id="automation-problems" class="problems" aria-live="polite">${problems.map(
        ({ line, message }) =>
          html`<li class="error"><button type="button" class="link" @click=${() => this.#goTo(line)}>${text('editor.line', { line })}</button> ${message}</li>`,
      )}</ul></div>`;
  }

  /** Shows what the text means, and what the automation would be allowed. */
  #meaning({ view, lacks }: Reading): TemplateResult {
    const { devices } = this.app.store.state;
    const names = namesIn(devices);
    const allowed = grantsInWords([...this.#permissions, ...lacks], devices);
    return html`<section class="card stack" aria-label=${text('editor.does')}><h2>${text('editor.does')}</h2>
      ${
        view === undefined
          ? html`<p class="quiet">${text('editor.not_readable')}</p>`
          : html`<dl class="facts">
        ${definitionView(view, names)}
        <dt>${text('editor.allowed')}</dt><dd><ul>${allowed.map((one) => html`<li>${one}</li>`)}</ul></dd></dl>`
      }
    </section>`;
  }

  /** The mistakes of the text as it is; none while the hub reads it. */
  get #problems(): readonly Problem[] {
    const { value } = this.#reading;
    return value?.text === this.#text ? value.problems : [];
  }

  get #isReadable(): boolean {
    const { value, isLoading } = this.#reading;
    const isNamed = this.params.id !== undefined || this.#name !== '';
    return isNamed && !isLoading && value?.text === this.#text && value.config !== undefined && value.problems.length === 0;
  }

  #write(written: string): void {
    this.#text = written;
    this.#checked.reset();
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#reading.load(() => this.#read({ text: written })), PAUSE_MS);
    this.requestUpdate();
  }

  /** Writes the text of an automation as it is now, or of an example. */
  async #begin(id: string | undefined): Promise<Reading> {
    const present =
      id === undefined ? { config: EXAMPLE } : ((await this.app.hub.invoke('show_automation', { agent_id: id })) as JsonObject);
    this.#permissions = textsOf(objectOf(present).permissions);
    const reading = await this.#read({ config: present.config ?? {} });
    this.#text = reading.text;
    return reading;
  }

  async #read(source: { readonly text: string } | { readonly config: Json }): Promise<Reading> {
    return (await this.app.hub.invoke('hub:convert_automation', { ...source, permissions: [...this.#permissions] })) as unknown as Reading;
  }

  #check(): void {
    const { config, permissions } = this.#draft;
    const { id } = this.params;
    void this.#checked.load(async () => {
      const { hub } = this.app;
      const name = id?.split('/').at(-1);
      const [checked, past] = await Promise.all([
        hub.invoke('hub:check_automation', { config, permissions, ...(name !== undefined && { name }) }),
        // The past of the house is shown only to those who may look at it. What may go wrong is told in any case.
        hub.invoke('replay_automation', { config, permissions }).catch(() => undefined),
      ]);
      return {
        conflicts: objectsOf((checked as JsonObject).conflicts) as unknown as Finding[],
        past: past as unknown as PastRuns | undefined,
      };
    });
  }

  /** What would be saved: the configuration with all permissions that it needs. */
  get #draft(): { readonly config: JsonObject; readonly permissions: string[] } {
    const { config = {}, lacks = [] } = this.#reading.value ?? {};
    return { config, permissions: [...this.#permissions, ...lacks] };
  }

  async #save(): Promise<void> {
    const { id } = this.params;
    this.#isSaving = true;
    const label = text('editor.save_thing', { name: id ?? this.#name });
    const call =
      id === undefined
        ? { tool: 'spawn_agent', params: { agent_type: 'automation', name: this.#name, ...this.#draft }, label }
        : { tool: 'edit_automation', params: { agent_id: id, ...this.#draft }, label };
    const answer = await this.callTool(call);
    this.#isSaving = false;
    this.requestUpdate();
    if (answer === undefined) return;
    this.notify(savedWords(text('editor.saved', { name: id ?? this.#name }), answer));
    this.app.router.go('automations');
  }

  /** Selects a line of the text. */
  #goTo(line: number): void {
    const field = this.querySelector('textarea');
    const before = this.#text.split('\n').slice(0, line - 1);
    const start = before.reduce((sum, one) => sum + one.length + 1, 0);
    field?.focus();
    field?.setSelectionRange(start, start + (this.#text.split('\n')[line - 1]?.length ?? 0));
  }
}

customElements.define('atmo-page-automation-editor', AutomationEditorPage);

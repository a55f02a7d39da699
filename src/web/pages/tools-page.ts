import '../components/tool-form.ts';
import { html, nothing, type TemplateResult } from 'lit';
import { live } from 'lit/directives/live.js';
import { repeat } from 'lit/directives/repeat.js';
import { areaNames } from '../api/home-store.ts';
import { modalDialog } from '../components/dialog.ts';
import { inputValue } from '../components/form-values.ts';
import { icon } from '../components/icon.ts';
import type { Stop } from '../components/light-element.ts';
import { PageElement } from '../components/page-element.ts';
import { RemoteData, remoteDataView } from '../components/remote-data.ts';
import { toolTitle } from '../components/tool-form.ts';
import { text, textWith } from '../texts/text.ts';
import { agentMadeChip } from './agent-made.ts';
import { confidencePercent, isRegistered, type MatchView, type ToolPage, type ToolQuery, toolQueryOf, toolsPath } from './tool-search.ts';

/** The search starts this many milliseconds after the person has typed the last letter. */
const PAUSE_MS = 250;
const MAX_READINGS = 6;

/** Page with the tools of this hub and its mesh. A person can search for tools with a sentence, see why a tool matches, and call it. */
export class ToolsPage extends PageElement {
  readonly #page = new RemoteData<ToolPage>(() => this.requestUpdate());
  #question: ToolQuery = toolQueryOf({});
  #removing: MatchView | undefined;
  #open: string | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** Loads the tools when the URL changes the search words, which can happen while the page is open. */
  protected override willUpdate(changes: Map<PropertyKey, unknown>): void {
    if (!changes.has('params')) return;
    this.#question = toolQueryOf(this.params);
    this.#load();
  }

  protected override connected(): readonly Stop[] {
    return [...super.connected(), () => clearTimeout(this.#timer)];
  }

  protected override render(): TemplateResult {
    return html`
      <header class="page-head"><h1>${text('tools.title')}</h1><p>${text('tools.about')}</p></header>
      <form class="filters" role="search" @submit=${(event: Event) => this.#searchNow(event)}>
        <label class="field grow"><span class="label">${text('tools.question')}</span>
          <input type="search" name="q" .value=${this.#question.words} autocomplete="off" placeholder=${text('tools.question_example')} @input=${(event: Event) => this.#searchSoon(event)} /></label>
        <button class="button primary">${icon('search')}${text('tools.search')}</button>
        ${toolFilters({ question: this.#question, areas: areaNames(this.app.store.state), onChange: (change) => this.#narrow(change) })}
      </form>
      <div aria-live="polite" aria-busy=${this.#page.isLoading}>${remoteDataView(this.#page, (page) => this.#matches(page))}</div>
      ${this.#removing ? this.#removeDialog(this.#removing) : nothing}
    `;
  }

  #matches(page: ToolPage): TemplateResult {
    const { tools, near_misses: nearMisses = [], total, next_cursor: cursor } = page;
    return html`
      <p class="quiet">${total === undefined ? text('tools.matches', { count: tools.length }) : text('tools.total', { count: total })}</p>
      ${tools.length === 0 ? html`<p class="empty">${icon('search')}${this.#nothingWords()}</p>` : nothing}
      ${asideView(page)}
      ${this.#list(tools)}
      ${nearMisses.length === 0 ? nothing : html`<section aria-label=${text('tools.almost')}><h2 class="section-title">${text('tools.almost')}</h2>${this.#list(nearMisses)}</section>`}
      ${cursor === undefined ? nothing : html`<p class="center"><button type="button" class="button" @click=${() => this.#more(cursor)}>${text('tools.more')}</button></p>`}
    `;
  }

  #list(tools: readonly MatchView[]): TemplateResult {
    return html`<ul class="stack">
      ${repeat(
        tools,
        ({ id }) => id,
        (tool) => html`<li>${toolCard(tool, { isOpen: tool.id === this.#open, page: this })}</li>`,
      )}
    </ul>`;
  }

  toggle(id: string): void {
    this.#open = this.#open === id ? undefined : id;
    this.requestUpdate();
  }

  /** Opens the dialog that asks whether to remove a tool for everyone. If `tool` is undefined, closes the dialog. */
  askRemoval(tool: MatchView | undefined): void {
    this.#removing = tool;
    this.requestUpdate();
  }

  #removeDialog(tool: MatchView): TemplateResult {
    const content = html`<p>${textWith('tools.remove_about', { tool: html`<code>${tool.id}</code>` })}</p>
      <footer><button type="button" class="button danger" @click=${() => void this.#end(tool)}>${text('devices.remove')}</button></footer>`;
    return modalDialog(
      { title: text('tools.remove_title', { tool: toolTitle(tool) }), onClose: () => this.askRemoval(undefined) },
      content,
    );
  }

  async #end(tool: MatchView): Promise<void> {
    this.askRemoval(undefined);
    await this.attempt(
      this.app.hub.delete(`/api/v1/tools/${encodeURIComponent(tool.id)}`),
      text('tools.removed', { tool: toolTitle(tool) }),
    );
    this.#load();
  }

  #nothingWords(): string {
    const { words, origin } = this.#question;
    if (words === '' && origin === 'agent') return text('tools.none_of_agents');
    return words === '' ? text('tools.none_like_that') : text('tools.none_fits');
  }

  #narrow(change: Partial<ToolQuery>): void {
    this.#question = { ...this.#question, ...change };
    this.#load();
  }

  #searchSoon(event: Event): void {
    this.#question = { ...this.#question, words: inputValue(event).trim() };
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#load(), PAUSE_MS);
  }

  #searchNow(event: Event): void {
    event.preventDefault();
    clearTimeout(this.#timer);
    this.#load();
  }

  #load(): void {
    void this.#page.load(() => this.app.hub.get<ToolPage>(toolsPath(this.#question)));
  }

  #more(cursor: string): void {
    const shown = this.#page.value?.tools ?? [];
    void this.#page.load(async () => {
      const page = await this.app.hub.get<ToolPage>(toolsPath(this.#question, cursor));
      return { ...page, tools: [...shown, ...page.tools] };
    });
  }
}

customElements.define('atmo-page-tools', ToolsPage);

/** Returns the parts of a search result besides the tools: whether it is unsure, which devices may be meant, and which sensors match. */
function asideView({ tools, unsure, note, which_one: which, readings = [] }: ToolPage): TemplateResult {
  const shown = readings.slice(0, MAX_READINGS);
  return html`
    ${note === undefined ? nothing : html`<p class="quiet">${note}</p>`}
    ${unsure && tools.length > 0 ? html`<p class="quiet">${text('tools.unsure')}</p>` : nothing}
    ${which === undefined ? nothing : html`<p class="row"><strong>${which.question}</strong> ${which.candidates.map(({ device, area }) => html`<span class="chip">${device}${area === null ? nothing : html` · ${area}`}</span>`)}</p>`}
    ${shown.length === 0 ? nothing : html`<p class="row"><span class="quiet small">${text('devices.readings')}</span> ${shown.map(({ id, name }) => html`<a class="chip" href="#/devices/${encodeURIComponent(id.split('/')[0] ?? '')}">${name}</a>`)}</p>`}
  `;
}

/** Returns a card for a tool with its description, the reasons of the match, and a button that shows its form. */
function toolCard(tool: MatchView, { isOpen, page }: { readonly isOpen: boolean; readonly page: ToolsPage }): TemplateResult {
  const { id, description, available, reasons = [] } = tool;
  const { model_name: modelName, missing_setting: missingSetting, unavailable_reason: obstacle } = tool;
  const titleId = `tool-${id.replaceAll(/[^a-z0-9]/gi, '-')}`;
  return html`<article class="card tool" aria-labelledby=${titleId}>
    <header>
      <div class="grow"><h2 id=${titleId}><bdi>${toolTitle(tool)}</bdi></h2><code>${String(modelName ?? id)}</code></div>
      ${tool.confidence === undefined ? nothing : confidenceView(tool)}
      ${tool.dangerous === true ? html`<span class="chip bad">${icon('shield')}${text('tools.asks_people')}</span>` : nothing}
      ${agentMadeChip(tool)}
      ${available ? nothing : html`<span class="chip">${missingSetting ? text('tools.not_configured') : text('tools.not_available')}</span>`}
    </header>
    <p>${description}</p>
    ${missingSetting ? html`<p class="quiet small">${text('tools.to_use', { setting: String(missingSetting) })}</p>` : nothing}
    ${obstacle && !missingSetting ? html`<p class="quiet small">${text('tools.not_now', { reason: String(obstacle) })}</p>` : nothing}
    ${reasons.length === 0 ? nothing : html`<p class="row reasons"><span class="quiet small">${text('tools.because')}</span> ${reasons.map((reason) => html`<span class="chip">${reason}</span>`)}</p>`}
    <p class="row"><button type="button" class="button small" aria-expanded=${isOpen} @click=${() => page.toggle(id)}>${isOpen ? text('forms.close') : text('tools.try')}</button>
      ${
        isRegistered(tool)
          ? html`<button type="button" class="button small danger plain" aria-label=${text('forms.remove_thing', { label: toolTitle(tool) })} @click=${() => page.askRemoval(tool)}>${icon('trash')}${text('devices.remove')}</button>`
          : nothing
      }</p>
    ${isOpen ? html`<atmo-tool-form class="trial" .app=${page.app} .tool=${tool}></atmo-tool-form>` : nothing}
  </article>`;
}

function confidenceView(tool: MatchView): TemplateResult {
  const percent = confidencePercent(tool);
  return html`<span class="score small quiet"><meter min="0" max="100" value=${percent} aria-label=${text('tools.how_sure')}>${percent} %</meter> ${percent} %</span>`;
}

const ORIGINS = ['agent', 'system'] as const;
/** The values of `metadata.category` in docs/tool.schema.json. */
const CATEGORIES = ['sensing', 'acting', 'communicating', 'querying', 'computing', 'managing'] as const;

interface ToolFilters {
  readonly question: ToolQuery;
  readonly areas: readonly string[];
  onChange(change: Partial<ToolQuery>): void;
}

/** Returns the filters of the tool list: origin, category, and room of the device. */
function toolFilters({ question, areas, onChange }: ToolFilters): TemplateResult {
  const { origin, category, area } = question;
  return html`<div class="filters">
    ${choice({ label: text('tools.made_by'), chosen: origin, none: text('tools.anybody'), options: ORIGINS.map((one) => [one, text(`tools.origin_${one}`)]) }, (value) => onChange({ origin: value }))}
    ${choice({ label: text('tools.kind'), chosen: category, none: text('tools.every_kind'), options: CATEGORIES.map((name) => [name, text(`tools.category_${name}`)]) }, (value) => onChange({ category: value }))}
    ${choice({ label: text('devices.room'), chosen: area, none: text('tools.every_room'), options: areas.map((name) => [name, name]) }, (value) => onChange({ area: value }))}
  </div>`;
}

interface Choice {
  readonly label: string;
  readonly chosen: string;
  readonly none: string;
  readonly options: readonly (readonly [value: string, title: string])[];
}

function choice({ label, chosen, none, options }: Choice, onChoice: (value: string) => void): TemplateResult {
  return html`<label class="field"><span class="label">${label}</span>
    <select @change=${(event: Event) => onChoice(inputValue(event))}>
      <option value="" .selected=${live(chosen === '')}>${none}</option>
      ${options.map(([value, title]) => html`<option value=${value} .selected=${live(value === chosen)}>${title}</option>`)}
    </select></label>`;
}

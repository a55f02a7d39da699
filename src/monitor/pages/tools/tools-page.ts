import { html, nothing, type TemplateResult } from 'lit';
import { repeat } from 'lit/directives/repeat.js';
import { modal } from '../../parts/dialog.ts';
import { titleOfTool } from '../../parts/form/tool-form.ts';
import { icon } from '../../parts/icon.ts';
import { PageElement } from '../../parts/page-element.ts';
import { Asked } from '../asked.ts';
import { askedView } from '../asked-view.ts';
import { fieldValueOf } from '../field-value.ts';
import { toolCard } from './tool-card.ts';
import { toolFilters } from './tool-filters.ts';
import { type MatchView, questionOf, type ToolPage, type ToolQuestion, toolsPath } from './tool-match.ts';

/** A person types faster than answers come. */
const PAUSE_MS = 250;
const MAX_READINGS = 6;

/** Every tool of this hub and its mesh: found by a sentence, with the reasons, and tried on the spot. */
export class ToolsPage extends PageElement {
  readonly #page = new Asked<ToolPage>(() => this.requestUpdate());
  #question: ToolQuestion = questionOf({});
  #removing: MatchView | undefined;
  #open: string | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** The address may name other words while the page is shown. */
  protected override willUpdate(changes: Map<PropertyKey, unknown>): void {
    if (!changes.has('params')) return;
    this.#question = questionOf(this.params);
    this.#ask();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    clearTimeout(this.#timer);
  }

  protected override render(): TemplateResult {
    return html`
      <header class="page-head"><h1>Tools</h1><p>What agents and people can do here.</p></header>
      <form class="filters" role="search" @submit=${(event: Event) => this.#searchNow(event)}>
        <label class="field grow"><span class="label">What do you want to do?</span>
          <input type="search" name="q" .value=${this.#question.words} autocomplete="off" placeholder="make the living room bright" @input=${(event: Event) => this.#searchSoon(event)} /></label>
        <button class="button primary">${icon('search')}Search</button>
        ${toolFilters({ question: this.#question, areas: this.#areas(), onChange: (change) => this.#narrow(change) })}
      </form>
      <div aria-live="polite" aria-busy=${this.#page.isAsking}>${askedView(this.#page, (page) => this.#matches(page))}</div>
      ${this.#removing ? this.#removeDialog(this.#removing) : nothing}
    `;
  }

  #matches(page: ToolPage): TemplateResult {
    const { tools, near_misses: nearMisses = [], total, next_cursor: cursor } = page;
    return html`
      <p class="quiet">${total === undefined ? countWords(tools.length) : `${total} tools`}</p>
      ${tools.length === 0 ? html`<p class="empty">${icon('search')}${this.#nothingWords()}</p>` : nothing}
      ${asideView(page)}
      ${this.#list(tools)}
      ${nearMisses.length === 0 ? nothing : html`<section aria-label="Almost"><h2 class="section-title">Almost</h2>${this.#list(nearMisses)}</section>`}
      ${cursor === undefined ? nothing : html`<p class="center"><button type="button" class="button" @click=${() => this.#more(cursor)}>More tools</button></p>`}
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

  /** Shows or hides the form of a tool. */
  toggle(id: string): void {
    this.#open = this.#open === id ? undefined : id;
    this.requestUpdate();
  }

  /** Asks once more: a removed tool is gone for every agent that uses it. `undefined` lets it be. */
  askRemoval(tool: MatchView | undefined): void {
    this.#removing = tool;
    this.requestUpdate();
  }

  #removeDialog(tool: MatchView): TemplateResult {
    const content = html`<p>It ends for everybody who uses it: <code>${tool.id}</code></p>
      <footer><button type="button" class="button danger" @click=${() => void this.#end(tool)}>Remove</button></footer>`;
    return modal({ title: `Remove ${titleOfTool(tool)}?`, onClose: () => this.askRemoval(undefined) }, content);
  }

  async #end(tool: MatchView): Promise<void> {
    this.askRemoval(undefined);
    await this.app.hub.delete(`/api/v1/tools/${encodeURIComponent(tool.id)}`).then(
      () => this.say(`${titleOfTool(tool)} is removed.`),
      (error: unknown) => this.sayError(error),
    );
    this.#ask();
  }

  #areas(): readonly string[] {
    return [...new Set(this.app.store.state.devices.flatMap(({ area }) => (area === null ? [] : [area])))].toSorted();
  }

  #nothingWords(): string {
    const { words, origin } = this.#question;
    if (words === '' && origin === 'agent') return 'No agent has made a tool.';
    return words === '' ? 'No tool is like that.' : 'Nothing fits. Say it in other words, or name the room or the device.';
  }

  #narrow(change: Partial<ToolQuestion>): void {
    this.#question = { ...this.#question, ...change };
    this.#ask();
  }

  #searchSoon(event: Event): void {
    this.#question = { ...this.#question, words: fieldValueOf(event).trim() };
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#ask(), PAUSE_MS);
  }

  #searchNow(event: Event): void {
    event.preventDefault();
    clearTimeout(this.#timer);
    this.#ask();
  }

  #ask(): void {
    void this.#page.ask(() => this.app.hub.get<ToolPage>(toolsPath(this.#question)));
  }

  #more(cursor: string): void {
    const shown = this.#page.value?.tools ?? [];
    void this.#page.ask(async () => {
      const page = await this.app.hub.get<ToolPage>(toolsPath(this.#question, cursor));
      return { ...page, tools: [...shown, ...page.tools] };
    });
  }
}

customElements.define('atmo-page-tools', ToolsPage);

/** What a search says beside the tools: that it is not sure, which device may be meant, and what can be read. */
function asideView({ tools, unsure, note, which_one: which, readings = [] }: ToolPage): TemplateResult {
  const shown = readings.slice(0, MAX_READINGS);
  return html`
    ${note === undefined ? nothing : html`<p class="quiet">${note}</p>`}
    ${unsure && tools.length > 0 ? html`<p class="quiet">None of these is sure. Name the room and the thing.</p>` : nothing}
    ${which === undefined ? nothing : html`<p class="row"><strong>${which.question}</strong> ${which.candidates.map(({ device, area }) => html`<span class="chip">${device}${area === null ? nothing : html` · ${area}`}</span>`)}</p>`}
    ${shown.length === 0 ? nothing : html`<p class="row"><span class="quiet small">Readings</span> ${shown.map(({ id, name }) => html`<a class="chip" href="#/devices/${encodeURIComponent(id.split('/')[0] ?? '')}">${name}</a>`)}</p>`}
  `;
}

function countWords(matches: number): string {
  return matches === 1 ? 'One match' : `${matches} best matches`;
}

import { html, nothing, type TemplateResult } from 'lit';
import type { JsonObject } from '../../core/json.ts';
import type { ToolView } from '../api/hub-types.ts';
import type { App } from '../app.ts';
import { inputValue } from '../components/form-values.ts';
import { icon } from '../components/icon.ts';
import { LightElement, type Stop } from '../components/light-element.ts';
import { RemoteData, remoteDataView } from '../components/remote-data.ts';
import { toolTitle } from '../components/tool-form.ts';
import { text } from '../texts/text.ts';
import { agentMadeChip } from './agent-made.ts';
import { type MatchView, nameOf, type ToolPage, toolQueryOf, toolsPath } from './tool-search.ts';

/** The search starts this many milliseconds after the person has typed the last letter. */
const PAUSE_MS = 250;
const MAX_SHOWN = 8;
/** Categories of tools that change nothing, so that a step of an automation has no use for them. */
const ONLY_LOOKING: readonly unknown[] = ['sensing', 'querying'];

/** What a search found for a step. */
interface FoundTools {
  readonly tools: readonly MatchView[];
  readonly nearMisses: readonly MatchView[];
}

/** Shows the tool that a step calls, and lets a person find another one by a sentence. */
export class ToolChoice extends LightElement {
  static override properties = {
    app: { attribute: false },
    tool: { attribute: false },
    known: { attribute: false },
    choose: { attribute: false },
    isOpen: { state: true },
  };
  declare app: App;
  /** Name of the present tool; empty if none was chosen yet. */
  declare tool: string;
  /** What the hub says of the present tool; undefined if it has no such tool. */
  declare known: ToolView | undefined;
  /** Called with the chosen tool and the parameters that the sentence names. */
  declare choose: (tool: ToolView, params: JsonObject) => void;
  declare isOpen: boolean;
  readonly #found = new RemoteData<FoundTools>(() => this.requestUpdate());
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor() {
    super();
    this.isOpen = false;
  }

  protected override connected(): readonly Stop[] {
    return [() => clearTimeout(this.#timer)];
  }

  protected override render(): TemplateResult {
    if (this.tool !== '' && !this.isOpen) {
      const title = this.known ? toolTitle(this.known) : this.tool;
      return html`<p class="row"><strong class="grow"><bdi>${title}</bdi> <code>${this.tool}</code></strong>
        ${this.known ? agentMadeChip(this.known) : nothing}
        <button type="button" class="button small" @click=${() => this.#open()}>${text('form.change_tool')}</button></p>`;
    }
    return html`<label class="field"><span class="label">${text('form.tool')}</span>
        <input type="search" autocomplete="off" placeholder=${text('form.tool_example')} @input=${(event: Event) => this.#search(inputValue(event))} /></label>
      <div aria-live="polite">${remoteDataView(this.#found, (found) => this.#matches(found))}</div>
      ${this.tool === '' ? nothing : html`<div><button type="button" class="button small" @click=${() => this.#close()}>${text('forms.cancel')}</button></div>`}`;
  }

  #matches({ tools, nearMisses }: FoundTools): TemplateResult {
    return html`${tools.length === 0 ? html`<p class="quiet">${text('tools.none_fits')}</p>` : this.#list(tools)}
      ${nearMisses.length === 0 ? nothing : html`<section aria-label=${text('tools.almost')}><span class="label">${text('tools.almost')}</span>${this.#list(nearMisses)}</section>`}`;
  }

  #list(tools: readonly MatchView[]): TemplateResult {
    return html`<ul class="stack tool-matches">${tools.map(
      (tool) =>
        html`<li><button type="button" class="button small" @click=${() => this.#take(tool)}>${icon('plus')}<bdi>${toolTitle(tool)}</bdi> <code>${nameOf(tool)}</code>${agentMadeChip(tool)}</button></li>`,
    )}</ul>`;
  }

  #open(): void {
    this.#found.reset();
    this.isOpen = true;
  }

  #close(): void {
    clearTimeout(this.#timer);
    this.isOpen = false;
    this.#found.reset();
  }

  #take(tool: MatchView): void {
    this.#close();
    this.choose(tool, tool.suggested_parameters ?? {});
  }

  #search(words: string): void {
    clearTimeout(this.#timer);
    this.#found.reset();
    if (words.trim() === '') return;
    this.#timer = setTimeout(() => void this.#found.load(() => this.#find(words.trim())), PAUSE_MS);
  }

  async #find(words: string): Promise<FoundTools> {
    const { tools, near_misses: nearMisses = [] } = await this.app.hub.get<ToolPage>(toolsPath(toolQueryOf({ q: words })));
    return { tools: actingTools(tools), nearMisses: actingTools(nearMisses) };
  }
}

function actingTools(tools: readonly MatchView[]): readonly MatchView[] {
  return tools.filter(({ metadata }) => !ONLY_LOOKING.includes(metadata?.category)).slice(0, MAX_SHOWN);
}

customElements.define('atmo-tool-choice', ToolChoice);

import '../components/tool-form.ts';
import { html, LitElement, nothing, type TemplateResult } from 'lit';
import { repeat } from 'lit/directives/repeat.js';
import type { ToolView } from '../api/hub-types.ts';
import type { App } from '../app.ts';
import { icon } from '../components/icon.ts';
import { RemoteData, remoteDataView } from '../components/remote-data.ts';
import { toolTitle } from '../components/tool-form.ts';

/** Every tool of a device, each with a form to try it. */
export class DeviceTools extends LitElement {
  static override properties = {
    app: { attribute: false },
    device: {},
    opened: { state: true },
  };
  declare app: App;
  /** Id. */
  declare device: string;
  /** Ids of the tools whose forms were opened: the others' are not made. */
  declare opened: ReadonlySet<string>;
  readonly #tools = new RemoteData<readonly ToolView[]>(() => this.requestUpdate());

  constructor() {
    super();
    this.opened = new Set();
  }

  protected override createRenderRoot(): HTMLElement {
    return this;
  }

  protected override willUpdate(changes: Map<PropertyKey, unknown>): void {
    if (changes.has('device')) void this.#tools.load(() => this.#load());
  }

  protected override render(): TemplateResult {
    return remoteDataView(this.#tools, (tools) => this.#list(tools));
  }

  #list(tools: readonly ToolView[]): TemplateResult {
    if (tools.length === 0) return html`<p class="quiet">This device has no tools of its own.</p>`;
    return html`<div class="fold-list">${repeat(
      tools,
      ({ id }) => id,
      (tool) => this.#tool(tool),
    )}</div>`;
  }

  #tool(tool: ToolView): TemplateResult {
    return html`<details class="fold" @toggle=${(event: ToggleEvent) => this.#toggle(event, tool.id)}>
      <summary>
        <span class="fold-title">${toolTitle(tool)}</span>
        ${tool.dangerous === true ? html`<span class="chip warm">${icon('shield')}Needs approval</span>` : nothing}
        <code class="fold-note">${tool.name}</code>
      </summary>
      <div class="fold-body stack"><p class="quiet">${tool.description}</p>
        ${this.opened.has(tool.id) ? html`<atmo-tool-form .app=${this.app} .tool=${tool}></atmo-tool-form>` : nothing}</div>
    </details>`;
  }

  #toggle(event: ToggleEvent, id: string): void {
    if (event.newState === 'open') this.opened = new Set([...this.opened, id]);
  }

  async #load(): Promise<readonly ToolView[]> {
    const path = `/api/v1/tools?limit=500&device=${encodeURIComponent(this.device)}`;
    return (await this.app.hub.get<{ tools: readonly ToolView[] }>(path)).tools;
  }
}

customElements.define('atmo-device-tools', DeviceTools);

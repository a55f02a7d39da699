import { html, nothing, type TemplateResult } from 'lit';
import { repeat } from 'lit/directives/repeat.js';
import type { ToolView } from '../api/hub-types.ts';
import type { App } from '../app.ts';
import { icon } from '../components/icon.ts';
import { LightElement } from '../components/light-element.ts';
import { RemoteData, remoteDataView } from '../components/remote-data.ts';
import { lazyContent } from '../components/text-block.ts';
import { toolTitle } from '../components/tool-form.ts';

/** Every tool of a device, each with a form to try it. */
export class DeviceTools extends LightElement {
  static override properties = { app: { attribute: false }, device: {} };
  declare app: App;
  /** Id. */
  declare device: string;
  readonly #tools = new RemoteData<readonly ToolView[]>(() => this.requestUpdate());

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
    return html`<details class="fold">
      <summary>
        <span class="fold-title">${toolTitle(tool)}</span>
        ${tool.dangerous === true ? html`<span class="chip warm">${icon('shield')}Needs approval</span>` : nothing}
        <code class="fold-note">${tool.name}</code>
      </summary>
      <div class="fold-body stack"><p class="quiet">${tool.description}</p>
        ${lazyContent(() => html`<atmo-tool-form .app=${this.app} .tool=${tool}></atmo-tool-form>`)}</div>
    </details>`;
  }

  async #load(): Promise<readonly ToolView[]> {
    const path = `/api/v1/tools?limit=500&device=${encodeURIComponent(this.device)}`;
    return (await this.app.hub.get<{ tools: readonly ToolView[] }>(path)).tools;
  }
}

customElements.define('atmo-device-tools', DeviceTools);

import { html, LitElement, nothing, type TemplateResult } from 'lit';
import type { Monitor } from '../../app.ts';
import { typeWords } from '../../parts/words.ts';
import { Asked } from '../asked.ts';
import { askedView } from '../asked-view.ts';
import type { ClusterDetail, EndpointDetail } from './cluster-types.ts';
import './raw-cluster.ts';

/** Everything that a device has, by endpoint and cluster. */
export class RawClusters extends LitElement {
  static override properties = {
    app: { attribute: false },
    device: {},
    opened: { state: true },
  };
  declare app: Monitor;
  declare device: string;
  declare opened: ReadonlySet<string>;
  readonly #endpoints = new Asked<readonly EndpointDetail[]>(() => this.requestUpdate());

  constructor() {
    super();
    this.opened = new Set();
  }

  protected override createRenderRoot(): HTMLElement {
    return this;
  }

  protected override willUpdate(changes: Map<PropertyKey, unknown>): void {
    if (changes.has('device')) void this.#endpoints.ask(() => this.#load());
  }

  protected override render(): TemplateResult {
    return askedView(this.#endpoints, (endpoints) => this.#list(endpoints));
  }

  #list(endpoints: readonly EndpointDetail[]): TemplateResult {
    return html`<div class="stack"><p class="quiet">As the device itself has it, in the words and units of Matter.</p>
      ${endpoints.map(
        (endpoint) => html`<section class="stack" aria-label="Endpoint ${endpoint.endpoint}">
          <h2>Endpoint ${endpoint.endpoint} <span class="quiet">${endpoint.deviceTypes.map(({ name }) => typeWords(name)).join(', ')}</span></h2>
          <div class="fold-list">${endpoint.clusters.map((cluster) => this.#cluster(endpoint.endpoint, cluster))}</div>
        </section>`,
      )}</div>`;
  }

  #cluster(endpoint: number, cluster: ClusterDetail): TemplateResult {
    const key = `${endpoint}/${cluster.id}`;
    return html`<details class="fold" @toggle=${(event: ToggleEvent) => {
      if (event.newState === 'open') this.opened = new Set([...this.opened, key]);
    }}>
      <summary><span class="fold-title">${typeWords(cluster.name)}</span><code class="fold-note">0x${cluster.id.toString(16).padStart(4, '0')}</code></summary>
      <div class="fold-body">${this.opened.has(key) ? html`<atmo-raw-cluster .app=${this.app} .device=${this.device} .endpoint=${endpoint} .cluster=${cluster}></atmo-raw-cluster>` : nothing}</div>
    </details>`;
  }

  async #load(): Promise<readonly EndpointDetail[]> {
    const path = `/api/v1/devices/${encodeURIComponent(this.device)}?describe=true`;
    const { description } = await this.app.hub.get<{ description?: { endpoints: readonly EndpointDetail[] } }>(path);
    return description?.endpoints ?? [];
  }
}

customElements.define('atmo-raw-clusters', RawClusters);

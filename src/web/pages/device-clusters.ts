import '../components/schema-form.ts';
import { html, nothing, type TemplateResult } from 'lit';
import type {
  AttributeDescription,
  ClusterDescription,
  CommandDescription,
  DeviceDescription,
  EndpointDescription,
} from '../../core/devices/device-model.ts';
import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts';
import { messageOf } from '../api/hub-client.ts';
import type { App } from '../app.ts';
import { formValues } from '../components/form-values.ts';
import { typeWords } from '../components/formatting.ts';
import { icon } from '../components/icon.ts';
import { LightElement } from '../components/light-element.ts';
import { RemoteData, remoteDataView } from '../components/remote-data.ts';
import { parseJsonOrText } from '../components/schema-fields.ts';
import { lazyContent } from '../components/text-block.ts';
import { text } from '../texts/text.ts';

/** Shows the complete data model of a device, by endpoint and cluster. */
export class RawClusters extends LightElement {
  static override properties = { app: { attribute: false }, device: {} };
  declare app: App;
  declare device: string;
  readonly #endpoints = new RemoteData<readonly EndpointDescription[]>(() => this.requestUpdate());

  protected override willUpdate(changes: Map<PropertyKey, unknown>): void {
    if (changes.has('device')) void this.#endpoints.load(() => this.#load());
  }

  protected override render(): TemplateResult {
    return remoteDataView(this.#endpoints, (endpoints) => this.#list(endpoints));
  }

  #list(endpoints: readonly EndpointDescription[]): TemplateResult {
    return html`<div class="stack"><p class="quiet">${text('devices.raw_about')}</p>
      ${endpoints.map(
        (endpoint) => html`<section class="stack" aria-label=${text('devices.endpoint', { number: endpoint.endpoint })}>
          <h2>${text('devices.endpoint', { number: endpoint.endpoint })} <span class="quiet">${endpoint.deviceTypes.map(({ name }) => typeWords(name)).join(', ')}</span></h2>
          <div class="fold-list">${endpoint.clusters.map((cluster) => this.#cluster(endpoint.endpoint, cluster))}</div>
        </section>`,
      )}</div>`;
  }

  #cluster(endpoint: number, cluster: ClusterDescription): TemplateResult {
    return html`<details class="fold">
      <summary><span class="fold-title">${typeWords(cluster.name)}</span><code class="fold-note">0x${cluster.id.toString(16).padStart(4, '0')}</code></summary>
      <div class="fold-body">${lazyContent(
        () => html`<atmo-raw-cluster .app=${this.app} .device=${this.device} .endpoint=${endpoint} .cluster=${cluster}></atmo-raw-cluster>`,
      )}</div>
    </details>`;
  }

  async #load(): Promise<readonly EndpointDescription[]> {
    const path = `/api/v1/devices/${encodeURIComponent(this.device)}?describe=true`;
    const { description } = await this.app.hub.get<{ description?: DeviceDescription }>(path);
    return description?.endpoints ?? [];
  }
}

customElements.define('atmo-raw-clusters', RawClusters);

const TOOL = 'matter:control_matter_device';

/** Shows one cluster of the device in raw Matter units. People can read and write its attributes and send its commands. */
export class RawCluster extends LightElement {
  static override properties = {
    app: { attribute: false },
    device: {},
    endpoint: { type: Number },
    cluster: { attribute: false },
    values: { state: true },
    busy: { state: true },
  };
  declare app: App;
  declare device: string;
  declare endpoint: number;
  declare cluster: ClusterDescription;
  /** The last response for each attribute and command, as text. */
  declare values: ReadonlyMap<string, string>;
  declare busy: boolean;

  constructor() {
    super();
    this.values = new Map();
    this.busy = false;
  }

  protected override render(): TemplateResult {
    const { attributes, commands, events, features, revision, description } = this.cluster;
    return html`<div class="stack">
      <p class="quiet">${description} ${text('devices.revision', { revision })}${features.length > 0 ? `, ${text('devices.features', { features: features.join(', ') })}` : ''}.</p>
      ${attributes.length > 0 ? this.#attributes(attributes) : nothing}
      ${commands.map((command) => this.#command(command))}
      ${events.length > 0 ? html`<p class="quiet small">${text('devices.tells', { events: events.map(({ name }) => typeWords(name)).join(', ') })}</p>` : nothing}
    </div>`;
  }

  #attributes(attributes: readonly AttributeDescription[]): TemplateResult {
    return html`<div class="row"><h3>${text('devices.attributes')}</h3>
        <button type="button" class="button small" ?disabled=${this.busy} @click=${() => void this.#readAll()}>${icon('refresh')}${text('devices.read_all')}</button></div>
      <ul class="attributes">${attributes.map((attribute) => this.#attribute(attribute))}</ul>`;
  }

  #attribute(attribute: AttributeDescription): TemplateResult {
    const { name, unit, writable } = attribute;
    const value = this.values.get(name);
    return html`<li>
      <span class="attribute-name">${typeWords(name)}${unit === undefined ? nothing : html` <span class="quiet">${unit}</span>`}</span>
      <output class="mono">${value ?? '…'}</output>
      <button type="button" class="button small plain" ?disabled=${this.busy} aria-label=${text('devices.read_thing', { name: typeWords(name) })} @click=${() => void this.#run(name, { attribute: name })}>${text('devices.read')}</button>
      ${writable ? this.#writer(attribute) : nothing}
    </li>`;
  }

  #writer({ name }: AttributeDescription): TemplateResult {
    const write = (event: SubmitEvent) => {
      const value = parseJsonOrText(formValues(event).value ?? '');
      if (value !== undefined) void this.#run(name, { attribute: name, value });
    };
    return html`<form class="writer" @submit=${write}>
      <input class="input mono" name="value" aria-label=${text('devices.new_value_of', { name: typeWords(name) })} placeholder=${text('devices.new_value')} autocomplete="off" />
      <button type="submit" class="button small" ?disabled=${this.busy}>${text('devices.write')}</button></form>`;
  }

  #command(command: CommandDescription): TemplateResult {
    const { name, description, parameters } = command;
    const answer = this.values.get(`${name}()`);
    return html`<details class="fold inner">
      <summary><span class="fold-title">${typeWords(name)}</span></summary>
      <div class="fold-body stack">${description === undefined ? nothing : html`<p class="quiet">${description}</p>`}
        <atmo-schema-form .schema=${parameters} submitLabel=${text('devices.send')} ?busy=${this.busy}
          @atmo-submit=${(event: CustomEvent<JsonObject>) => void this.#run(`${name}()`, { command: name, params: event.detail })}></atmo-schema-form>
        ${answer === undefined ? nothing : html`<pre tabindex="0" role="group" aria-label=${text('forms.answer')}><code>${answer}</code></pre>`}</div>
    </details>`;
  }

  async #readAll(): Promise<void> {
    // The attributes are read one after the other, because a small device can handle only a few requests at a time.
    for (const { name } of this.cluster.attributes) await this.#run(name, { attribute: name });
  }

  async #run(key: string, request: JsonObject): Promise<void> {
    const params = { device_id: this.device, endpoint: this.endpoint, cluster: this.cluster.name, ...request };
    this.busy = true;
    try {
      const answer = await this.app.call({ tool: TOOL, params, label: `${this.cluster.name} ${key}` });
      this.#show(key, answer === undefined ? text('forms.waits') : textOf(answer));
    } catch (error) {
      this.#show(key, messageOf(error));
    }
    this.busy = false;
  }

  #show(key: string, words: string): void {
    this.values = new Map(this.values).set(key, words);
  }
}

/** Returns a response as text: its only value, or the whole response if it has several values. A `settled_reason` is put in front. */
function textOf(answer: Json): string {
  const state = isJsonObject(answer) ? answer.device_state : undefined;
  const values = isJsonObject(state) ? Object.values(state) : [];
  const [only] = values;
  const reason = isJsonObject(answer) && typeof answer.settled_reason === 'string' ? `${answer.settled_reason}\n` : '';
  return reason + JSON.stringify(values.length === 1 && only !== undefined ? only : (state ?? answer), null, 1);
}

customElements.define('atmo-raw-cluster', RawCluster);

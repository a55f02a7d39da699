import { html, nothing, type TemplateResult } from 'lit';
import { isJsonObject, type Json, type JsonObject, objectsOf, textsOf } from '../../core/json.ts';
import { messageOf } from '../api/hub-client.ts';
import type { DeviceView } from '../api/hub-types.ts';
import type { App } from '../app.ts';
import { typeWords, valueWords } from '../components/formatting.ts';
import { icon } from '../components/icon.ts';
import { LightElement } from '../components/light-element.ts';

const CHECKS = [
  { tool: 'hub:ping_device', text: 'Ping', icon: 'activity' },
  { tool: 'hub:device_diagnostics', text: 'Diagnostics', icon: 'info' },
  { tool: 'hub:list_fabrics', text: 'Who else controls it', icon: 'key' },
  { tool: 'hub:interview_device', text: 'Ask it everything anew', icon: 'refresh' },
] as const;
type Check = (typeof CHECKS)[number];

/** Shows the facts about a device, and buttons that check its state. */
export class DeviceAbout extends LightElement {
  static override properties = {
    app: { attribute: false },
    device: { attribute: false },
    busy: { state: true },
    found: { state: true },
    names: { state: true },
  };
  declare app: App;
  declare device: DeviceView;
  declare busy: Check | undefined;
  /** The former names of the device, and what uses its names. Undefined for callers who do not administer the hub. */
  declare names: JsonObject | undefined;
  declare found: { readonly check: Check; readonly answer?: Json; readonly problem?: string } | undefined;

  protected override willUpdate(changes: Map<PropertyKey, unknown>): void {
    const before = changes.get('device') as DeviceView | undefined;
    if (changes.has('device') && before?.name !== this.device.name) void this.#loadNames();
  }

  protected override render(): TemplateResult {
    return html`<div class="columns">
      <section class="card" aria-label="About"><h2>About</h2>${this.#facts()}</section>
      <section class="card" aria-label="Diagnostics"><h2>Diagnostics</h2>
        <div class="stack"><div class="row">${CHECKS.map((check) => this.#button(check))}</div>
        <div aria-live="polite">${this.#outcome()}</div></div></section>
    </div>`;
  }

  #facts(): TemplateResult {
    const { device } = this;
    const users = objectsOf(this.names?.used_by);
    const facts: readonly (readonly [string, string | undefined])[] = [
      ['Also called', device.aliases?.join(', ')],
      ['Was called', textsOf(this.names?.former_names).join(', ')],
      ['Its names are used by', users.map(({ kind, id }) => `${String(kind)} ${String(id)}`).join(', ')],
      ['Floor', device.floor ?? undefined],
      ['Kind', device.device_types.map(typeWords).join(', ')],
      ['Made by', device.vendor.name],
      ['Product', device.product.name],
      ['Serial number', device.serial],
      ['Software', device.software_version],
      ['Behind', device.parent],
      ['Matter node', device.matter_node_id],
      ['Id', device.id],
      ['Sleeps', device.is_sleepy ? 'yes, it answers late to save its battery' : undefined],
    ];
    return html`<dl class="facts">${facts.map(([name, value]) => (value === undefined || value === '' ? nothing : html`<dt>${name}</dt><dd>${value}</dd>`))}</dl>`;
  }

  /** Loads the names. The request fails for callers who are not administrators; the names are then undefined. */
  async #loadNames(): Promise<void> {
    const answer = await this.app.hub.get(`/api/v1/device-names?name=${encodeURIComponent(this.device.id)}`).catch(() => undefined);
    [this.names] = objectsOf(answer?.devices);
  }

  #button(check: Check): TemplateResult {
    return html`<button type="button" class="button small" ?disabled=${this.busy !== undefined} aria-busy=${this.busy === check}
      @click=${() => void this.#run(check)}>${icon(check.icon)}${check.text}</button>`;
  }

  #outcome(): TemplateResult | typeof nothing {
    if (!this.found) return nothing;
    const { check, answer, problem } = this.found;
    if (problem !== undefined) return html`<p class="alert">${icon('warning')}${problem}</p>`;
    return html`<h3>${check.text}</h3>${tree(answer ?? null)}`;
  }

  async #run(check: Check): Promise<void> {
    this.busy = check;
    try {
      const params = { device_id: this.device.id };
      const answer = await this.app.call({ tool: check.tool, params, label: `${check.text}: ${this.device.name}` });
      this.found = { check, ...(answer === undefined ? { problem: 'Waits for approval' } : { answer }) };
    } catch (error) {
      this.found = { check, problem: messageOf(error) };
    }
    this.busy = undefined;
  }
}

/** Returns a view of a JSON value. It shows each field with its name, also inside nested objects and lists. */
function tree(value: Json): TemplateResult {
  if (Array.isArray(value)) return html`<ol class="tree">${value.map((item) => html`<li>${tree(item)}</li>`)}</ol>`;
  if (!isJsonObject(value)) return html`${valueWords(value)}`;
  return html`<dl class="facts tree">${Object.entries(value).map(([name, item]) => html`<dt>${typeWords(name).replaceAll('_', ' ')}</dt><dd>${tree(item)}</dd>`)}</dl>`;
}

customElements.define('atmo-device-about', DeviceAbout);

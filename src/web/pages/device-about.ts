import { html, nothing, type TemplateResult } from 'lit';
import { isJsonObject, type Json, type JsonObject, objectsOf, textsOf } from '../../core/json.ts';
import { messageOf } from '../api/hub-client.ts';
import type { DeviceView } from '../api/hub-types.ts';
import type { App } from '../app.ts';
import { typeWords, valueWords } from '../components/formatting.ts';
import { icon } from '../components/icon.ts';
import { LightElement } from '../components/light-element.ts';
import { text } from '../texts/text.ts';

const CHECKS = [
  { tool: 'hub:ping_device', title: 'devices.check_ping', icon: 'activity' },
  { tool: 'hub:device_diagnostics', title: 'devices.check_diagnostics', icon: 'info' },
  { tool: 'hub:list_fabrics', title: 'devices.check_fabrics', icon: 'key' },
  { tool: 'hub:interview_device', title: 'devices.check_interview', icon: 'refresh' },
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
      <section class="card" aria-label=${text('devices.tab_about')}><h2>${text('devices.tab_about')}</h2>${this.#facts()}</section>
      <section class="card" aria-label=${text('devices.check_diagnostics')}><h2>${text('devices.check_diagnostics')}</h2>
        <div class="stack"><div class="row">${CHECKS.map((check) => this.#button(check))}</div>
        <div aria-live="polite">${this.#outcome()}</div></div></section>
    </div>`;
  }

  #facts(): TemplateResult {
    const { device } = this;
    const users = objectsOf(this.names?.used_by);
    const facts: readonly (readonly [string, string | undefined])[] = [
      [text('devices.also_called'), device.aliases?.join(', ')],
      [text('devices.was_called'), textsOf(this.names?.former_names).join(', ')],
      [text('devices.names_used_by'), users.map(({ kind, id }) => `${String(kind)} ${String(id)}`).join(', ')],
      [text('devices.floor'), device.floor ?? undefined],
      [text('devices.kind'), device.device_types.map(typeWords).join(', ')],
      [text('devices.made_by'), device.vendor.name],
      [text('devices.product'), device.product.name],
      [text('devices.serial'), device.serial],
      [text('devices.software'), device.software_version],
      [text('devices.behind'), device.parent],
      [text('devices.node'), device.matter_node_id],
      [text('devices.id'), device.id],
      [text('devices.sleeps'), device.is_sleepy ? text('devices.sleeps_yes') : undefined],
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
      @click=${() => void this.#run(check)}>${icon(check.icon)}${text(check.title)}</button>`;
  }

  #outcome(): TemplateResult | typeof nothing {
    if (!this.found) return nothing;
    const { check, answer, problem } = this.found;
    if (problem !== undefined) return html`<p class="alert">${icon('warning')}${problem}</p>`;
    return html`<h3>${text(check.title)}</h3>${tree(answer ?? null)}`;
  }

  async #run(check: Check): Promise<void> {
    this.busy = check;
    try {
      const params = { device_id: this.device.id };
      const answer = await this.app.call({ tool: check.tool, params, label: `${text(check.title)}: ${this.device.name}` });
      this.found = { check, ...(answer === undefined ? { problem: text('forms.waits') } : { answer }) };
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

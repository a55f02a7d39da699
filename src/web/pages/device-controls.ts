import { html, nothing, type TemplateResult } from 'lit';
import { live } from 'lit/directives/live.js';
import { isJsonObject, objectOf, textsOf } from '../../core/json.ts';
import type { HubClient } from '../api/hub-client.ts';
import type { ToolView } from '../api/hub-types.ts';
import { inputValue } from '../components/form-values.ts';
import { icon } from '../components/icon.ts';
import { text } from '../texts/text.ts';
import { ControlsElement } from './control-views.ts';
import type { TileModel } from './device-tile-model.ts';
import { choiceWords } from './device-tile-words.ts';
import type { ChoiceControl } from './tile-control.ts';

/** All controls of a device, with its state. The modes of its choices are loaded when it is shown. */
export class DeviceControls extends ControlsElement {
  static override properties = {
    ...ControlsElement.properties,
    model: { attribute: false },
    hub: { attribute: false },
    isOffline: { attribute: false },
    modes: { state: true },
  };
  declare model: TileModel;
  declare hub: Pick<HubClient, 'get'>;
  /** True while the hub cannot be reached. */
  declare isOffline: boolean;
  /** The modes that the device has, by the ids of the tools that set them. */
  declare modes: ReadonlyMap<string, readonly string[]>;

  constructor() {
    super();
    this.modes = new Map();
  }

  protected override render(): TemplateResult {
    const { model } = this;
    return html`
      <section class="controls ${model.tone}" aria-label=${text('tiles.controls')} aria-busy=${this.busy}>
        <p class="controls-state"><span class="tile-icon">${icon(model.icon)}</span>
          ${model.isReachable ? html`<strong>${model.state}</strong>` : html`<span class="chip bad">${text('tiles.unreachable')}</span>`}</p>
        ${model.details.length > 0 ? html`<p class="quiet">${model.details.join(' · ')}</p>` : nothing}
        ${model.controls.map((control) => (control.kind === 'choice' ? this.#choice(control) : this.control(control)))}
      </section>
    `;
  }

  protected override updated(): void {
    for (const control of this.model.controls) if (control.kind === 'choice') void this.#load(control);
  }

  protected override get isStill(): boolean {
    return this.busy || this.isOffline || !this.model.isReachable;
  }

  #choice({ label, value, tool, parameter }: ChoiceControl): TemplateResult {
    const modes = this.modes.get(tool) ?? [];
    const choose = (event: Event) => {
      const wanted = inputValue(event);
      const words = text('tiles.choose', { name: this.model.name, label, value: choiceWords(wanted) });
      void this.run({ tool, params: { [parameter]: wanted }, label: words });
    };
    const offered = modes.includes(value) ? modes : [value, ...modes];
    return html`<label class="field"><span class="label">${label}</span>
      <select ?disabled=${this.isStill || modes.length === 0} @change=${choose}>${offered.map(
        (mode) => html`<option value=${mode} .selected=${live(mode === value)}>${choiceWords(mode)}</option>`,
      )}</select></label>`;
  }

  async #load({ tool, parameter }: ChoiceControl): Promise<void> {
    if (this.modes.has(tool)) return;
    this.modes = new Map(this.modes).set(tool, []);
    // Without the definition of the tool, the choice shows the present mode and cannot be used.
    const found = await this.hub.get<ToolView>(`/api/v1/tools/${encodeURIComponent(tool)}`).catch(() => undefined);
    const field = objectOf(found?.parameters.properties)[parameter];
    this.modes = new Map(this.modes).set(tool, isJsonObject(field) ? textsOf(field.enum) : []);
  }
}

customElements.define('atmo-device-controls', DeviceControls);

import { html, nothing, type TemplateResult } from 'lit';
import { isJsonObject, type JsonSchema } from '../../core/json.ts';
import type { HubClient } from '../api/hub-client.ts';
import type { ToolView } from '../api/hub-types.ts';
import { closeDialog, modalDialog } from '../components/dialog.ts';
import { formValues } from '../components/form-values.ts';
import { numberWords } from '../components/formatting.ts';
import { icon } from '../components/icon.ts';
import { LightElement } from '../components/light-element.ts';
import type {
  ButtonsControl,
  ColorControl,
  SliderControl,
  StepperControl,
  SwitchControl,
  TileCall,
  TileControl,
} from './device-tile-controls.ts';
import type { TileModel } from './device-tile-model.ts';

/** Makes the call of a control. Resolves when the hub has responded. */
export type TileAct = (call: TileCall) => Promise<void>;

/** A device's tile with controls. It shows the last reported state, not a requested one. While a call runs, the controls are disabled. */
export class DeviceTile extends LightElement {
  static override properties = { model: { attribute: false }, act: { attribute: false }, busy: { state: true }, draft: { state: true } };
  declare model: TileModel;
  declare act: TileAct;
  declare busy: boolean;
  /** Position of a slider while the person moves it. */
  declare draft: number | undefined;

  constructor() {
    super();
    this.busy = false;
  }

  protected override render(): TemplateResult {
    const { model } = this;
    const [first, ...others] = [...model.controls].sort((a, b) => Number(b.kind === 'switch') - Number(a.kind === 'switch'));
    const head = first?.kind === 'switch' ? first : undefined;
    const rest = head ? others : model.controls;
    return html`
      <article class="tile ${model.tone} ${model.isReachable ? '' : 'away'} ${model.controls.length === 0 ? 'tells' : ''}" aria-busy=${this.busy} aria-label=${model.name}>
        <div class="tile-head">
          <span class="tile-icon">${icon(model.icon)}</span>
          ${head ? this.#switch(head) : nothing}
        </div>
        <a class="tile-name" href="#/devices/${encodeURIComponent(model.id)}">${model.name}</a>
        ${model.aliases.length > 0 ? html`<p class="tile-details">also ${model.aliases.join(', ')}</p>` : nothing}
        <p class="tile-state">${model.isReachable ? model.state : html`<span class="chip bad">Does not answer</span>`}</p>
        ${model.details.length > 0 ? html`<p class="tile-details">${model.details.join(' · ')}</p>` : nothing}
        ${rest.length > 0 ? html`<div class="tile-controls">${rest.map((control) => this.#control(control))}</div>` : nothing}
      </article>
    `;
  }

  #control(control: TileControl): TemplateResult {
    if (control.kind === 'switch') return this.#switch(control);
    if (control.kind === 'slider') return this.#slider(control);
    if (control.kind === 'stepper') return this.#stepper(control);
    return control.kind === 'color' ? this.#colors(control) : this.#buttons(control);
  }

  #switch({ isOn, label, flip }: SwitchControl): TemplateResult {
    return html`<button type="button" class="switch" role="switch" aria-checked=${isOn} aria-busy=${this.busy} aria-label=${label}
      ?disabled=${this.#isStill} @click=${() => this.#run(flip)}></button>`;
  }

  #slider({ label, value, min, max, unit, set }: SliderControl): TemplateResult {
    const shown = this.draft ?? value;
    return html`<label class="tile-slider"><span class="hidden">${label}</span>
      <input class="slider" type="range" min=${min} max=${max} .value=${String(shown)} ?disabled=${this.#isStill}
        aria-valuetext="${numberWords(shown)} ${unit}"
        @input=${(event: Event) => this.#drag(event)} @change=${() => this.#run(set(this.draft ?? value))} />
      <output class="number">${numberWords(shown)} ${unit}</output></label>`;
  }

  #stepper({ label, value, step, unit, set }: StepperControl): TemplateResult {
    const button = (sign: 1 | -1) => html`<button type="button" class="button icon-only small" ?disabled=${this.#isStill}
      aria-label="${label} ${sign > 0 ? 'up' : 'down'}" @click=${() => this.#run(set(value + sign * step))}>${icon(sign > 0 ? 'plus' : 'minus')}</button>`;
    return html`<div class="stepper" role="group" aria-label=${label}>${button(-1)}<span class="number">${numberWords(value)} ${unit}</span>${button(1)}</div>`;
  }

  #buttons({ buttons }: ButtonsControl): TemplateResult {
    return html`<div class="row tile-buttons">${buttons.map(
      ({ icon: name, text, call }) => html`<button type="button" class="button small" aria-label=${call.label} ?disabled=${this.#isStill}
        @click=${() => this.#run(call)}>${name ? icon(name) : nothing}${buttons.length > 1 ? nothing : text}</button>`,
    )}</div>`;
  }

  #colors({ colors }: ColorControl): TemplateResult {
    return html`<div class="colors" role="group" aria-label="Colour">${colors.map(
      ({ name, call }) => html`<button type="button" class="color" data-color=${name} aria-label=${call.label} title=${name}
        ?disabled=${this.#isStill} @click=${() => this.#run(call)}></button>`,
    )}</div>`;
  }

  get #isStill(): boolean {
    return this.busy || !this.model.isReachable;
  }

  #drag(event: Event): void {
    if (event.target instanceof HTMLInputElement) this.draft = event.target.valueAsNumber;
  }

  async #run(call: TileCall): Promise<void> {
    this.busy = true;
    try {
      await this.act(call);
    } finally {
      this.busy = false;
      this.draft = undefined;
    }
  }
}

customElements.define('atmo-home-tile', DeviceTile);

interface Question {
  readonly call: TileCall;
  readonly field: JsonSchema;
  readonly isRequired: boolean;
  readonly answer: (secret: string | undefined) => void;
}

/** Asks the person for a secret that a call needs, such as the PIN of a lock. The secret is sent with the call, and is not stored. */
export class SecretPrompt {
  readonly #hub: Pick<HubClient, 'get'>;
  readonly #onChange: () => void;
  #open: Question | undefined;

  constructor(hub: Pick<HubClient, 'get'>, onChange: () => void) {
    this.#hub = hub;
    this.#onChange = onChange;
  }

  /**
   * Asks the person for the secret if the tool takes one. Returns the call with the secret, or the unchanged call if there is no secret.
   * Returns undefined if the person cancels. Throws HubError if the definition of the tool cannot be loaded.
   */
  async completeCall(call: TileCall): Promise<TileCall | undefined> {
    const { secret: name } = call;
    if (name === undefined) return call;
    const { parameters } = await this.#hub.get<ToolView>(`/api/v1/tools/${encodeURIComponent(call.tool)}`);
    const field = isJsonObject(parameters.properties) ? parameters.properties[name] : undefined;
    if (!isJsonObject(field)) return call;
    const isRequired = Array.isArray(parameters.required) && parameters.required.includes(name);
    const given = await new Promise<string | undefined>((resolve) => this.#ask({ call, field, isRequired, answer: resolve }));
    this.#ask(undefined);
    if (given === undefined) return undefined;
    return given === '' ? call : { ...call, params: { ...call.params, [name]: given } };
  }

  view(): TemplateResult | typeof nothing {
    if (!this.#open) return nothing;
    const { call, field, isRequired, answer } = this.#open;
    const submit = (event: SubmitEvent) => {
      const { secret = '' } = formValues(event);
      // The secret is passed on before the dialog closes, because closing the dialog without an answer cancels the call.
      answer(secret);
      closeDialog(event);
    };
    return modalDialog(
      { title: call.label, onClose: () => answer(undefined) },
      html`<form class="stack" @submit=${submit}>
        <label class="field"><span class="label">PIN</span>
          <input name="secret" type="password" inputmode="numeric" autocomplete="off" ?required=${isRequired} autofocus />
          <span class="help">${field.description}</span></label>
        <footer><button type="button" class="button" @click=${closeDialog}>Cancel</button><button type="submit" class="button primary">${call.label}</button></footer>
      </form>`,
    );
  }

  #ask(question: Question | undefined): void {
    this.#open = question;
    this.#onChange();
  }
}

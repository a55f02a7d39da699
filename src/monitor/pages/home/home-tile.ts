import { html, LitElement, nothing, type TemplateResult } from 'lit';
import { icon } from '../../parts/icon.ts';
import { numberWords } from '../../parts/words.ts';
import type { ButtonsControl, ColorControl, SliderControl, StepperControl, SwitchControl, TileCall, TileControl } from './tile-controls.ts';
import type { TileModel } from './tile-model.ts';

/** What a tile asks the page to do; `done` tells when the hub has answered. */
export type TileAct = (call: TileCall) => Promise<void>;

/**
 * A device with its controls. It never shows what was only asked for: while a call runs its control is busy, and what it
 * shows is what the device said last.
 */
export class HomeTile extends LitElement {
  static override properties = { model: { attribute: false }, act: { attribute: false }, busy: { state: true }, draft: { state: true } };
  declare model: TileModel;
  declare act: TileAct;
  declare busy: boolean;
  /** Where a slider is while a finger holds it. */
  declare draft: number | undefined;

  constructor() {
    super();
    this.busy = false;
  }

  protected override createRenderRoot(): HTMLElement {
    return this;
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

customElements.define('atmo-home-tile', HomeTile);

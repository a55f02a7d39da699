import { html, nothing, type TemplateResult } from 'lit';
import { numberWords, withUnit } from '../components/formatting.ts';
import { icon } from '../components/icon.ts';
import { LightElement } from '../components/light-element.ts';
import { text } from '../texts/text.ts';
import type {
  ButtonsControl,
  ColorControl,
  SliderControl,
  StepperControl,
  SwitchControl,
  TileButton,
  TileCall,
  TileControl,
} from './tile-control.ts';

/** Makes the call of a control. Resolves when the hub has responded. */
export type TileAct = (call: TileCall) => Promise<void>;

/** Base class of the elements with controls of one device. While a call runs or the device does not answer, its controls are disabled. */
export abstract class ControlsElement extends LightElement {
  static override properties = { act: { attribute: false }, busy: { state: true }, draft: { state: true } };
  declare act: TileAct;
  declare busy: boolean;
  /** Position of a slider while the person moves it. */
  declare draft: number | undefined;

  constructor() {
    super();
    this.busy = false;
  }

  protected abstract get isStill(): boolean;

  protected control(control: Exclude<TileControl, { readonly kind: 'choice' }>): TemplateResult {
    if (control.kind === 'switch') return this.#switch(control);
    if (control.kind === 'slider') return this.#slider(control);
    if (control.kind === 'stepper') return this.#stepper(control);
    return control.kind === 'color' ? this.#colors(control) : this.#buttons(control);
  }

  /** Returns a switch. `content` is what stands in it, such as the icon of the device. */
  protected switchButton({ isOn, label, flip }: SwitchControl, className: string, content: unknown = nothing): TemplateResult {
    return html`<button type="button" class=${className} role="switch" aria-checked=${isOn} aria-busy=${this.busy} aria-label=${label}
      ?disabled=${this.isStill} @click=${() => this.run(flip)}>${content}</button>`;
  }

  /** Returns a button that shows only the icon of its action, or `content`. */
  protected iconButton({ icon: name, call }: TileButton, className: string, content: unknown = icon(name)): TemplateResult {
    return html`<button type="button" class=${className} aria-label=${call.label} title=${call.label} ?disabled=${this.isStill}
      @click=${() => this.run(call)}>${content}</button>`;
  }

  protected async run(call: TileCall): Promise<void> {
    const focused = document.activeElement;
    this.busy = true;
    try {
      await this.act(call);
    } finally {
      this.busy = false;
      this.draft = undefined;
      void this.restoreFocus(focused);
    }
  }

  #switch(control: SwitchControl): TemplateResult {
    return html`<div class="row">${this.switchButton(control, 'switch')}<span aria-hidden="true">${control.label}</span></div>`;
  }

  #slider({ label, value, min, max, unit, set }: SliderControl): TemplateResult {
    const shown = this.draft ?? value;
    return html`<label class="tile-slider"><span class="hidden">${label}</span>
      <input class="slider" type="range" min=${min} max=${max} .value=${String(shown)} ?disabled=${this.isStill}
        aria-valuetext=${withUnit(numberWords(shown), unit)}
        @input=${(event: Event) => this.#drag(event)} @change=${() => this.run(set(this.draft ?? value))} />
      <output class="number">${withUnit(numberWords(shown), unit)}</output></label>`;
  }

  #stepper({ label, value, step, unit, set }: StepperControl): TemplateResult {
    const button = (sign: 1 | -1) => html`<button type="button" class="button icon-only small" ?disabled=${this.isStill}
      aria-label=${text(sign > 0 ? 'tiles.step_up' : 'tiles.step_down', { label })}
      @click=${() => this.run(set(value + sign * step))}>${icon(sign > 0 ? 'plus' : 'minus')}</button>`;
    return html`<div class="stepper" role="group" aria-label=${label}>${button(-1)}<span class="number">${withUnit(numberWords(value), unit)}</span>${button(1)}</div>`;
  }

  #buttons({ buttons }: ButtonsControl): TemplateResult {
    return html`<div class="row tile-buttons">${buttons.map(
      ({
        icon: name,
        text: words,
        call,
      }) => html`<button type="button" class="button small" aria-label=${spokenLabel(words, call.label)} ?disabled=${this.isStill}
        @click=${() => this.run(call)}>${icon(name)}<span>${words}</span></button>`,
    )}</div>`;
  }

  #colors({ colors }: ColorControl): TemplateResult {
    return html`<div class="colors" role="group" aria-label=${text('tiles.color')}>${colors.map(
      ({ name, call }) => html`<button type="button" class="color" data-color=${name} aria-label=${call.label} title=${call.label}
        ?disabled=${this.isStill} @click=${() => this.run(call)}></button>`,
    )}</div>`;
  }

  #drag(event: Event): void {
    if (event.target instanceof HTMLInputElement) this.draft = event.target.valueAsNumber;
  }
}

/** Returns the label for screen readers. It contains the words that the button shows, so that people can say them to their device. */
function spokenLabel(words: string, label: string): string {
  return label.toLowerCase().includes(words.toLowerCase()) ? label : `${words}: ${label}`;
}

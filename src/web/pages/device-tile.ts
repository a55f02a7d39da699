import { html, nothing, type TemplateResult } from 'lit';
import { icon } from '../components/icon.ts';
import { text } from '../texts/text.ts';
import { ControlsElement } from './control-views.ts';
import type { TileModel } from './device-tile-model.ts';
import type { TileButton, TileControl } from './tile-control.ts';

/**
 * A device's tile. Its icon does the main action, the rest of it opens all controls. It shows the last reported state, not a requested
 * one. Wide screens also show the control that people use next.
 */
export class DeviceTile extends ControlsElement {
  static override properties = {
    ...ControlsElement.properties,
    model: { attribute: false },
    open: { attribute: false },
    isOffline: { attribute: false },
  };
  declare model: TileModel;
  /** Opens all controls of the device. */
  declare open: (id: string) => void;
  /** True while the hub cannot be reached. */
  declare isOffline: boolean;

  protected override render(): TemplateResult {
    const { model } = this;
    const [first] = model.controls;
    const state = model.isReachable ? model.state : text('tiles.unreachable');
    return html`
      <article class="tile ${model.tone} ${model.isReachable ? '' : 'away'}" aria-busy=${this.busy} aria-label=${model.name}>
        ${this.#main(first)}
        <button type="button" class="tile-open" aria-haspopup="dialog" @click=${() => this.open(model.id)}>
          <bdi class="tile-name">${model.name}</bdi>
          <span class="tile-state ${model.isReachable ? '' : 'bad'}">${state}</span>
          ${model.aliases.length > 0 ? html`<span class="tile-details">${text('tiles.also', { names: model.aliases.join(', ') })}</span>` : nothing}
          ${model.details.length > 0 ? html`<span class="tile-details">${model.details.join(' · ')}</span>` : nothing}
        </button>
        ${this.#second(first)} ${this.#wide()}
      </article>
    `;
  }

  protected override get isStill(): boolean {
    return this.busy || this.isOffline || !this.model.isReachable;
  }

  #main(first: TileControl | undefined): TemplateResult {
    const picture = icon(this.model.icon);
    if (first?.kind === 'switch') return this.switchButton(first, 'tile-icon', picture);
    const button = buttonAt(first, 'main');
    if (!button) return html`<span class="tile-icon">${picture}</span>`;
    return this.iconButton(button, 'tile-icon', html`${picture}<span class="tile-act">${icon(button.icon)}</span>`);
  }

  /** Returns the button beside the name: the second action of the first control, such as sending a robot home. */
  #second(first: TileControl | undefined): TemplateResult | typeof nothing {
    const button = buttonAt(first, 'second');
    return button ? this.iconButton(button, 'tile-second') : nothing;
  }

  /** Returns the scale or steps below the name. Narrow screens show them only among all controls. */
  #wide(): TemplateResult | typeof nothing {
    const control = this.model.controls.find(({ kind }) => kind === 'slider' || kind === 'stepper');
    return control && control.kind !== 'choice' ? html`<div class="tile-wide">${this.control(control)}</div>` : nothing;
  }
}

function buttonAt(control: TileControl | undefined, place: TileButton['place']): TileButton | undefined {
  return control?.kind === 'buttons' ? control.buttons.find((button) => button.place === place) : undefined;
}

customElements.define('atmo-home-tile', DeviceTile);

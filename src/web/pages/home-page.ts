import './device-tile.ts';
import { html, nothing, type TemplateResult } from 'lit';
import { repeat } from 'lit/directives/repeat.js';
import { icon } from '../components/icon.ts';
import { PageElement } from '../components/page-element.ts';
import { SecretPrompt } from './device-tile.ts';
import type { TileCall } from './device-tile-controls.ts';
import { type AreaView, areasOf, summaryOf } from './home-areas.ts';

/** A room with at least this many tiles fills a whole row. */
const MANY_TILES = 3;

/** Page that shows the home by rooms, and follows its changes. */
export class HomePage extends PageElement {
  static override properties = { ...PageElement.properties, room: { state: true } };
  /** The chosen room; undefined means all rooms. */
  declare room: string | undefined;
  readonly #secrets = new SecretPrompt({ get: (path) => this.app.hub.get(path) }, () => this.requestUpdate());
  readonly #act = async (call: TileCall): Promise<void> => void (await this.callTool(this.#secrets.completeCall(call)));

  protected override render(): TemplateResult {
    const { store } = this.app;
    if (!store.state.isLoaded) return html`<p class="quiet center">${store.state.problem ?? 'One moment …'}</p>`;
    const areas = areasOf(store.state);
    const shown = areas.filter(({ name }) => this.room === undefined || name === this.room);
    return html`
      <header class="page-head">
        <div><h1>${greeting(new Date().getHours())}</h1><p>${summaryOf(store.state)}</p></div>
      </header>
      ${areas.length > 1 ? this.#rooms(areas) : nothing}
      ${
        areas.length === 0
          ? this.#empty()
          : html`<div class="areas">${repeat(
              shown,
              ({ name }) => name,
              (area) => this.#area(area),
            )}</div>`
      }
      ${this.#secrets.view()}
    `;
  }

  #rooms(areas: readonly AreaView[]): TemplateResult {
    const tab = (name: string | undefined) =>
      html`<button type="button" aria-pressed=${this.room === name} @click=${() => {
        this.room = name;
      }}>${name ?? 'Everything'}</button>`;
    return html`<div class="tabs rooms" role="group" aria-label="Rooms">${tab(undefined)}${areas.map(({ name }) => tab(name))}</div>`;
  }

  #area({ name, floor, facts, tiles }: AreaView): TemplateResult {
    return html`<section class="area" aria-label=${name} data-tiles=${Math.min(tiles.length, MANY_TILES)}>
      <header><h2>${name}</h2>${floor === null ? nothing : html`<span class="chip">${floor}</span>`}${facts.map((fact) => html`<span class="quiet number">${fact}</span>`)}</header>
      <div class="tiles">
        ${repeat(
          tiles,
          ({ id }) => id,
          (model) => html`<atmo-home-tile .model=${model} .act=${this.#act}></atmo-home-tile>`,
        )}
      </div>
    </section>`;
  }

  #empty(): TemplateResult {
    return html`<div class="empty card">${icon('home')}<h2>No devices yet</h2><p>Add your first device with the code on its box.</p>
      <a class="button primary" href="#/add-device">${icon('plus')}Add a device</a></div>`;
  }
}

function greeting(hour: number): string {
  if (hour < 5) return 'Good night';
  if (hour < 11) return 'Good morning';
  return hour < 18 ? 'Good afternoon' : 'Good evening';
}

customElements.define('atmo-page-home', HomePage);

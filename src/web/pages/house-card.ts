import { html, nothing, type TemplateResult } from 'lit';
import { type Json, type JsonObject, objectsOf } from '../../core/json.ts';
import { dateTimeWords, humanWords, valueWords } from '../components/formatting.ts';
import type { Stop } from '../components/light-element.ts';
import { PageElement } from '../components/page-element.ts';
import { RemoteData, remoteDataView } from '../components/remote-data.ts';
import { text } from '../texts/text.ts';
import type { PersonView } from './people.ts';

/** A flag of the house, as `list_flags` returns it. */
interface FlagView {
  readonly flag: string;
  readonly value: Json;
  readonly set_by: string;
  readonly until?: string;
}

interface House {
  /** Where each person is, as far as somebody said it. */
  readonly presence: ReadonlyMap<string, string>;
  readonly flags: readonly FlagView[];
}

/** The part of the page that says who is at home and which flags are set. Both can be changed there. Shows nothing to who may see neither. */
class HouseCard extends PageElement {
  static override properties = { ...PageElement.properties, people: { attribute: false } };
  declare people: readonly Pick<PersonView, 'name' | 'title'>[];
  readonly #house = new RemoteData<House>(() => this.requestUpdate());

  protected override connected(): readonly Stop[] {
    this.#load();
    const stop = this.app.store.onEvent(({ type }) => {
      if (type === 'house.changed') this.#load();
    });
    return [...super.connected(), stop];
  }

  protected override render(): TemplateResult | typeof nothing {
    if (this.#house.value === undefined && this.#house.problem !== undefined) return nothing;
    return html`<section class="card stack" aria-labelledby="house-title"><h2 id="house-title">${text('house.title')}</h2>
      <p class="quiet">${text('house.about')}</p>${remoteDataView(this.#house, (house) => this.#view(house))}</section>`;
  }

  #view({ presence, flags }: House): TemplateResult {
    return html`<ul class="people-list">${this.people.map((person) => this.#person(person, presence.get(person.name)))}</ul>
      <h3>${text('house.flags')}</h3>
      ${flags.length === 0 ? html`<p class="quiet">${text('house.no_flags')}</p>` : html`<ul class="people-list">${flags.map((flag) => this.#flag(flag))}</ul>`}`;
  }

  #person({ name, title }: HouseCard['people'][number], presence: string | undefined): TemplateResult {
    const choice = (where: 'home' | 'away') => html`<button type="button" aria-pressed=${presence === where}
      aria-label=${text(`house.is_${where}`, { name: title })} @click=${() => void this.#setPresence(name, where)}>${text(`house.${where}`)}</button>`;
    return html`<li class="row"><span class="grow"><strong><bdi>${title}</bdi></strong>
        ${presence === undefined ? html` <span class="quiet">${text('house.unknown')}</span>` : nothing}</span>
      <div class="tabs" role="group" aria-label=${title}>${choice('home')}${choice('away')}</div></li>`;
  }

  #flag({ flag, value, set_by: by, until }: FlagView): TemplateResult {
    const words = { value: valueWords(value), by, until: until === undefined ? '' : dateTimeWords(until) };
    return html`<li class="row"><span class="grow"><strong><bdi>${humanWords(flag)}</bdi></strong>
        <span class="quiet">${text(until === undefined ? 'house.flag_since' : 'house.flag_until', words)}</span></span>
      <button type="button" class="button small" aria-label=${text('house.clear_thing', { flag: humanWords(flag) })} @click=${() => void this.#clear(flag)}>${text('house.clear')}</button></li>`;
  }

  async #setPresence(person: string, presence: 'home' | 'away'): Promise<void> {
    await this.#change({ tool: 'set_presence', params: { person, presence }, label: text(`house.is_${presence}`, { name: person }) });
  }

  async #clear(flag: string): Promise<void> {
    await this.#change({ tool: 'clear_flag', params: { flag }, label: text('house.clear_thing', { flag: humanWords(flag) }) });
  }

  async #change(call: { readonly tool: string; readonly params: JsonObject; readonly label: string }): Promise<void> {
    if ((await this.callTool(call)) === undefined) return;
    this.notify(text('shell.done', { label: call.label }));
    this.#load();
  }

  #load(): void {
    const { hub } = this.app;
    void this.#house.load(async () => {
      const [presence, flags] = await Promise.all([hub.invoke('list_presence'), hub.invoke('list_flags')]);
      const people = objectsOf((presence as JsonObject).people);
      return {
        presence: new Map(people.map(({ person, presence: where }) => [String(person), String(where)])),
        flags: objectsOf((flags as JsonObject).flags) as unknown as readonly FlagView[],
      };
    });
  }
}

customElements.define('atmo-house-card', HouseCard);

import { html, type TemplateResult } from 'lit';
import { moved, type PagePreferences, withShownOrder } from '../api/page-preferences.ts';
import { icon } from '../components/icon.ts';
import { text } from '../texts/text.ts';
import type { TileModel } from './device-tile-model.ts';

/** A list of the home page whose order a person can change. */
export type OrderedList = 'favourites' | 'devices' | 'rooms';

/** A thing in one of these lists, and what else the list shows. */
export interface OrderedItem {
  readonly list: OrderedList;
  /** Id of the device or name of the room. */
  readonly id: string;
  /** Name for people. */
  readonly name: string;
  /** All ids that the list shows now, in their order. */
  readonly shown: readonly string[];
}

interface EditingParts {
  readonly preferences: PagePreferences;
  /** Tells the person what was changed, also to screen readers. */
  readonly onDone: (words: string) => void;
  readonly onError: (error: unknown) => void;
  /** Gives the focus to the button that was pressed, because a moved element loses it. */
  readonly refocus: (button: string) => void;
}

/** Changes favourites and the person's own order. Every change is one press of a button, so a keyboard and a finger do the same. */
export class HomeEditing {
  readonly #parts: EditingParts;

  constructor(parts: EditingParts) {
    this.#parts = parts;
  }

  isFavourite(id: string): boolean {
    return this.#parts.preferences.home.favourites.includes(id);
  }

  async toggleFavourite({ id, name }: Pick<TileModel, 'id' | 'name'>): Promise<void> {
    const { preferences } = this.#parts;
    const { favourites } = preferences.home;
    const isAdded = !favourites.includes(id);
    const change = isAdded ? [...favourites, id] : favourites.filter((other) => other !== id);
    await this.#save({ favourites: change }, text(isAdded ? 'home.is_favourite' : 'home.is_no_favourite', { name }));
  }

  /** Moves an item by `steps` places in its list. */
  async move({ list, id, name, shown }: OrderedItem, steps: number): Promise<void> {
    const order = moved(shown, id, steps);
    if (order === shown) return;
    const own = this.#parts.preferences.home[list];
    const words = text('home.moved', { name, place: order.indexOf(id) + 1, count: order.length });
    await this.#save({ [list]: withShownOrder(own, order) }, words);
    this.#parts.refocus(buttonName(list, id, steps));
  }

  /** Returns the two buttons that move an item. */
  moveButtons(item: OrderedItem): TemplateResult {
    const place = item.shown.indexOf(item.id);
    const button = (steps: 1 | -1) => html`<button type="button" class="tile-second" data-button=${buttonName(item.list, item.id, steps)}
      aria-label=${text(steps < 0 ? 'home.move_up' : 'home.move_down', { name: item.name })}
      aria-disabled=${place + steps < 0 || place + steps >= item.shown.length}
      @click=${() => void this.move(item, steps)}>${icon(steps < 0 ? 'up' : 'down')}</button>`;
    return html`${button(-1)}${button(1)}`;
  }

  /** Returns the tile of a device while the page is edited: its star, its name, and the buttons that move it. */
  tile(model: TileModel, { list, shown }: Pick<OrderedItem, 'list' | 'shown'>): TemplateResult {
    const isFavourite = this.isFavourite(model.id);
    return html`<article class="tile plain edited" aria-label=${model.name}>
      <button type="button" class="tile-icon star" aria-pressed=${isFavourite} aria-label=${text('home.favourite', { name: model.name })}
        @click=${() => void this.toggleFavourite(model)}>${icon('star')}</button>
      <bdi class="tile-name">${model.name}</bdi>
      ${this.moveButtons({ list, id: model.id, name: model.name, shown })}
    </article>`;
  }

  async #save(change: Parameters<PagePreferences['changeHome']>[0], words: string): Promise<void> {
    const { preferences, onDone, onError } = this.#parts;
    await preferences.changeHome(change).then(() => onDone(words), onError);
  }
}

function buttonName(list: OrderedList, id: string, steps: number): string {
  return `${list} ${steps < 0 ? 'up' : 'down'} ${id}`;
}

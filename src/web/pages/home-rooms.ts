import { html, nothing, type TemplateResult } from 'lit';
import { repeat } from 'lit/directives/repeat.js';
import { icon } from '../components/icon.ts';
import { text } from '../texts/text.ts';
import type { TileAct } from './control-views.ts';
import type { TileModel } from './device-tile-model.ts';
import type { AreaView, DeviceGroup } from './home-areas.ts';
import type { HomeEditing } from './home-editing.ts';
import { GROUP_WORDS, type GroupOutcome, groupCall, type Place } from './home-groups.ts';
import type { TileCall } from './tile-control.ts';

/** What the sections of the home page do when a person uses them. */
export interface HomeActions {
  readonly act: TileAct;
  readonly openDevice: (id: string) => void;
  /** Opens the settings of a room; undefined if the person may not change rooms. */
  readonly openRoom: ((area: string) => void) | undefined;
  readonly callGroup: (request: TileCall) => void;
  /** Set while the person edits the page. */
  readonly editing: HomeEditing | undefined;
  /** True while the hub cannot be reached. */
  readonly isOffline: boolean;
  /** True while a call for many devices runs. */
  readonly isBusy: boolean;
}

/** A room with at least this many tiles fills a whole row. */
const MANY_TILES = 4;

/** Returns the section of one room. `rooms` are the names of all rooms of its floor, in the order in which they are shown. */
export function areaSection(view: AreaView, rooms: readonly string[], actions: HomeActions): TemplateResult {
  const { name, floor, facts, tiles } = view;
  return html`<section class="area" aria-label=${name} data-tiles=${Math.min(tiles.length, MANY_TILES)}>
    <header><h2><bdi>${name}</bdi></h2>${floor === null ? nothing : html`<span class="chip">${floor}</span>`}
      ${facts.map((fact) => html`<span class="quiet number fact">${fact}</span>`)}
      ${actions.editing ? roomEditing(view, rooms, actions) : roomButtons(view, actions)}</header>
    ${tileGrid(tiles, 'devices', actions)}
  </section>`;
}

/** Returns the section of the person's favourites. */
export function favouritesSection(tiles: readonly TileModel[], actions: HomeActions): TemplateResult | typeof nothing {
  if (tiles.length === 0) return nothing;
  return html`<section class="area favourites" aria-label=${text('home.favourites')}>
    <header><h2>${text('home.favourites')}</h2></header>${tileGrid(tiles, 'favourites', actions)}</section>`;
}

function tileGrid(tiles: readonly TileModel[], list: 'devices' | 'favourites', actions: HomeActions): TemplateResult {
  const { editing } = actions;
  const shown = tiles.map(({ id }) => id);
  return html`<div class="tiles">${repeat(
    tiles,
    ({ id }) => id,
    (model) => (editing ? editing.tile(model, { list, shown }) : tile(model, actions)),
  )}</div>`;
}

/** Returns the tile of a device. */
export function tile(model: TileModel, { act, openDevice, isOffline }: HomeActions): TemplateResult {
  return html`<atmo-home-tile .model=${model} .act=${act} .open=${openDevice} .isOffline=${isOffline}></atmo-home-tile>`;
}

function roomButtons({ area, groups }: AreaView, { callGroup, isOffline, isBusy }: HomeActions): TemplateResult | typeof nothing {
  if (area === null) return nothing;
  return html`${groupButtons({ kind: 'area', name: area }, groups, { isStill: isOffline || isBusy, call: callGroup })}`;
}

function roomEditing(
  { area, name }: AreaView,
  rooms: readonly string[],
  { editing, openRoom }: HomeActions,
): TemplateResult | typeof nothing {
  if (area === null || !editing) return nothing;
  return html`<div class="group-buttons">${editing.moveButtons({ list: 'rooms', id: area, name, shown: rooms })}
    ${
      openRoom
        ? html`<button type="button" class="tile-second" aria-label=${text('home.room_settings', { name })} @click=${() => openRoom(area)}>${icon('edit')}</button>`
        : nothing
    }</div>`;
}

/** Returns the buttons that control the groups of a room or floor. */
export function groupButtons(
  place: Place,
  groups: readonly DeviceGroup[],
  { isStill, call }: { readonly isStill: boolean; readonly call: (request: TileCall) => void },
): TemplateResult | typeof nothing {
  if (groups.length === 0) return nothing;
  return html`<div class="group-buttons">${groups.map((group) => {
    const request = groupCall(place, group);
    return html`<button type="button" class="group-button ${group.kind}" data-active=${group.isActive} aria-label=${request.label}
      title=${request.label} ?disabled=${isStill} @click=${() => call(request)}>${icon(GROUP_WORDS[group.kind].icon)}</button>`;
  })}</div>`;
}

/** Returns the note about a call that not all devices followed. It stays until the person closes it. */
export function outcomeNote(outcome: GroupOutcome, close: () => void): TemplateResult {
  return html`<section class="outcome card" role="alert" aria-label=${outcome.label}>
    <div><p><strong>${outcome.label}: ${outcome.words}</strong></p>
      <ul>${outcome.others.map((line) => html`<li><bdi>${line}</bdi></li>`)}</ul></div>
    <button type="button" class="button icon-only plain" aria-label=${text('home.close_note')} @click=${close}>${icon('close')}</button>
  </section>`;
}

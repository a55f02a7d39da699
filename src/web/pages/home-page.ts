import './device-tile.ts';
import './device-controls.ts';
import { html, nothing, type TemplateResult } from 'lit';
import { repeat } from 'lit/directives/repeat.js';
import { HubError } from '../api/hub-client.ts';
import type { SceneInfo } from '../api/hub-types.ts';
import type { CallRequest } from '../app.ts';
import { modalDialog } from '../components/dialog.ts';
import { inputValue } from '../components/form-values.ts';
import { type IconName, icon } from '../components/icon.ts';
import type { Stop } from '../components/light-element.ts';
import { PageElement } from '../components/page-element.ts';
import { text } from '../texts/text.ts';
import { CallCompletion } from './call-completion.ts';
import { type AreaView, areasOf, favouritesOf, floorsOf, groupsOf, type HomeDevice, homeDevices, isLight } from './home-areas.ts';
import { HomeEditing } from './home-editing.ts';
import { type GroupOutcome, groupCall, groupOutcome, HOUSE } from './home-groups.ts';
import { areaSection, favouritesSection, groupButtons, type HomeActions, outcomeNote } from './home-rooms.ts';
import { runScene } from './home-scenes.ts';
import { isDeviceFound, type Offer, offersOf } from './home-search.ts';
import { type Concern, isConcerned, quietWords, type SummaryItem, summaryOf } from './home-summary.ts';
import { roomDialog } from './room-dialog.ts';
import { newSceneDialog, sceneDialog } from './scene-dialog.ts';
import type { TileCall } from './tile-control.ts';
import { type MatchView, type ToolPage, toolsPath } from './tool-search.ts';

/** The hub is asked what the words of the search mean once nobody has typed for so long. */
const PAUSE_MS = 250;

/** What a dialog of the page shows. */
type Opened = { readonly kind: 'device' | 'room' | 'scene'; readonly id: string } | { readonly kind: 'new-scene' };

/** Page that shows the home by rooms, and follows its changes. */
export class HomePage extends PageElement {
  static override properties = {
    ...PageElement.properties,
    room: { state: true },
    words: { state: true },
    found: { state: true },
    concern: { state: true },
    isEditing: { state: true },
    isBusy: { state: true },
    opened: { state: true },
    outcome: { state: true },
    mayChangeRooms: { state: true },
  };
  /** The chosen room; undefined means all rooms. */
  declare room: string | undefined;
  /** The words of the search. */
  declare words: string;
  /** The tools that the hub finds for the words. */
  declare found: readonly MatchView[];
  /** The line of the summary whose devices are shown; undefined means all. */
  declare concern: Concern | undefined;
  declare isEditing: boolean;
  /** True while a call for many devices runs. */
  declare isBusy: boolean;
  declare opened: Opened | undefined;
  /** What the devices did that did not follow the last call for many devices. */
  declare outcome: GroupOutcome | undefined;
  declare mayChangeRooms: boolean;
  readonly #completion = new CallCompletion({ get: (path) => this.app.hub.get(path) }, () => this.requestUpdate());
  readonly #openDevice = (id: string): void => this.#open({ kind: 'device', id });
  readonly #act = (call: TileCall): Promise<void> => this.act(this.#completion.completeCall(call));

  readonly #actOnGroup = (request: CallRequest): void => void this.#callGroup(request);
  #editing: HomeEditing | undefined;
  #pause: ReturnType<typeof setTimeout> | undefined;

  constructor() {
    super();
    this.words = '';
    this.found = [];
    this.isEditing = false;
    this.isBusy = false;
    this.mayChangeRooms = false;
  }

  protected override connected(): readonly Stop[] {
    const { plan, preferences, store } = this.app;
    void preferences.load();
    void plan.load();
    this.#editing = new HomeEditing({
      preferences,
      onDone: (words) => this.notify(words),
      onError: (error) => this.notifyError(error),
      refocus: (button) => void this.#refocus(button),
    });
    return [
      ...super.connected(),
      preferences.subscribe(() => this.requestUpdate()),
      plan.subscribe(() => this.requestUpdate()),
      store.onEvent(({ type }) => void (type === 'device.changed' && plan.load())),
      () => clearTimeout(this.#pause),
    ];
  }

  protected override render(): TemplateResult {
    const { store } = this.app;
    if (!store.state.isLoaded) return html`<p class="quiet center">${store.state.problem ?? text('shell.wait')}</p>`;
    const devices = homeDevices(store.state);
    const areas = areasOf(store.state, { areas: this.app.plan.areas, own: this.app.preferences.home });
    return html`
      ${this.#head(devices)}
      ${areas.length === 0 ? empty() : html`${this.words === '' ? this.#quick(devices) : this.#offers(devices)} ${this.isEditing ? this.#editBar(areas) : nothing} ${this.#tabs(areas)}`}
      ${this.outcome ? outcomeNote(this.outcome, () => this.#close()) : nothing}
      ${this.#sections(devices, areas)} ${this.#dialog(devices, areas)} ${this.#completion.view()}
    `;
  }

  #head(devices: readonly HomeDevice[]): TemplateResult {
    const summary = summaryOf(devices);
    return html`
      <header class="page-head home-head">
        <h1>${greeting(new Date().getHours())}</h1>
        ${devices.length === 0 ? nothing : this.#tools()}
        ${summary.length === 0 ? html`<p>${quietWords(devices)}</p>` : html`<div class="summary" role="group" aria-label=${text('home.summary')}>${summary.map((item) => this.#summaryChip(item))}</div>`}
      </header>
    `;
  }

  #summaryChip({ concern, icon: name, tone, words }: SummaryItem): TemplateResult {
    const isChosen = this.concern === concern;
    const choose = () => {
      this.concern = isChosen ? undefined : concern;
    };
    return html`<button type="button" class="chip ${tone}" aria-pressed=${isChosen} @click=${choose}>${icon(name)}${words}</button>`;
  }

  /** Returns the search, and the button that starts and ends the editing of the page. */
  #tools(): TemplateResult {
    return html`
      <label class="search"><span class="hidden">${text('home.search')}</span>${icon('search')}
        <input type="search" autocomplete="off" placeholder=${text('home.search_short')} .value=${this.words} @input=${(event: Event) => this.#search(event)} /></label>
      <button type="button" class="button small plain edit" aria-pressed=${this.isEditing} @click=${() => this.#edit()}>
        ${icon(this.isEditing ? 'check' : 'edit')}<span>${text(this.isEditing ? 'home.done' : 'home.edit')}</span></button>`;
  }

  /** Returns what one tap does for the whole house. */
  #quick(devices: readonly HomeDevice[]): TemplateResult | typeof nothing {
    const { scenes } = this.app.plan;
    const isControlled = devices.some(({ tile }) => tile.controls.length > 0);
    if (!isControlled && scenes.length === 0) return nothing;
    const off = groupCall(HOUSE, { kind: 'lights', isActive: true });
    return html`<div class="quick">
      ${devices.some(isLight) ? this.#quickButton('power', off) : nothing}
      ${scenes.map((scene) => this.#scene(scene))}
      ${isControlled && (this.isEditing || scenes.length === 0) ? this.#newSceneButton() : nothing}
    </div>`;
  }

  /** Returns what the words of the search ask for, each in one tap. */
  #offers(devices: readonly HomeDevice[]): TemplateResult | typeof nothing {
    const offers = this.#offered(devices);
    if (offers.length === 0) return nothing;
    return html`<div class="quick offers" role="group" aria-label=${text('home.offers')}>${offers.map((offer) => this.#offer(offer))}</div>`;
  }

  #offered(devices: readonly HomeDevice[]): readonly Offer[] {
    return this.words === '' ? [] : offersOf(this.words, this.found, { devices, scenes: this.app.plan.scenes });
  }

  #offer({ icon: name, call, about }: Offer): TemplateResult {
    return html`<button type="button" class="button small" ?disabled=${this.#isStill} aria-busy=${this.isBusy} @click=${() => this.#actOnGroup(call)}>
      ${icon(name)}<span><bdi>${call.label}</bdi> <span class="quiet small"><bdi>${about}</bdi></span></span></button>`;
  }

  #quickButton(name: IconName, call: TileCall): TemplateResult {
    return html`<button type="button" class="button small" ?disabled=${this.#isStill} aria-busy=${this.isBusy} @click=${() => this.#actOnGroup(call)}>
      ${icon(name)}<bdi>${call.label}</bdi></button>`;
  }

  /** Returns the button that runs a scene, or opens it while the page is edited. */
  #scene(scene: SceneInfo): TemplateResult {
    if (!this.isEditing) return this.#quickButton('sparkle', runScene(scene));
    return html`<button type="button" class="button small" aria-haspopup="dialog" aria-label=${text('home.change_scene', { name: scene.name })}
      @click=${() => this.#open({ kind: 'scene', id: scene.scene })}>${icon('edit')}<bdi>${scene.name}</bdi></button>`;
  }

  #newSceneButton(): TemplateResult {
    return html`<button type="button" class="button small plain" aria-haspopup="dialog" @click=${() => this.#open({ kind: 'new-scene' })}>
      ${icon('plus')}${text('home.new_scene')}</button>`;
  }

  /** Returns what a person who edits the page has to know, and the button that gives everybody the person's order of rooms. */
  #editBar(areas: readonly AreaView[]): TemplateResult {
    const rooms = areas.flatMap(({ area }) => area ?? []);
    const order = { tool: 'hub:order_areas', params: { areas: rooms }, label: text('home.order_for_all') };
    return html`<div class="edit-bar"><p class="quiet">${text('home.edit_help')}</p>
      ${this.mayChangeRooms ? html`<button type="button" class="button small" @click=${() => void this.#changeRoom([order])}>${order.label}</button>` : nothing}</div>`;
  }

  #tabs(areas: readonly AreaView[]): TemplateResult | typeof nothing {
    if (areas.length < 2) return nothing;
    const tab = (name: string | undefined) =>
      html`<button type="button" aria-pressed=${this.room === name} @click=${() => {
        this.room = name;
      }}>${name === undefined ? text('home.everything') : html`<bdi>${name}</bdi>`}</button>`;
    return html`<div class="tabs rooms" role="group" aria-label=${text('home.rooms')}>${tab(undefined)}${areas.map(({ name }) => tab(name))}</div>`;
  }

  #sections(devices: readonly HomeDevice[], areas: readonly AreaView[]): TemplateResult {
    const found = new Set(devices.filter((device) => this.#isShown(device)).map(({ device }) => device.id));
    const shown = areas
      .filter(({ name }) => this.room === undefined || name === this.room)
      .map((area) => ({ ...area, tiles: area.tiles.filter(({ id }) => found.has(id)) }))
      .filter(({ tiles }) => tiles.length > 0);
    if (shown.length === 0 && this.#offered(devices).length > 0) return html``;
    if (shown.length === 0 && areas.length > 0) return html`<p class="quiet center">${text('home.nothing_found')}</p>`;
    const isWhole = this.room === undefined && this.words === '' && this.concern === undefined;
    const actions = this.#actions();
    return html`
      ${isWhole ? favouritesSection(favouritesOf(devices, this.app.preferences.home.favourites), actions) : nothing}
      <div class="areas">${floorsOf(shown).map(
        (floor) =>
          html`${floor.name === undefined ? nothing : this.#floor(floor.name, floor.areas, devices)}${repeat(
            floor.areas,
            ({ name }) => name,
            (area) => areaSection(area, roomsBeside(area, areas), actions),
          )}`,
      )}</div>`;
  }

  /** Returns the heading of a floor, with what one tap does for all its rooms. */
  #floor(name: string | null, areas: readonly AreaView[], devices: readonly HomeDevice[]): TemplateResult {
    const rooms = new Set(areas.map(({ area }) => area));
    const groups = name === null ? [] : groupsOf(devices.filter(({ device }) => rooms.has(device.area)));
    return html`<header class="floor"><h2>${name ?? text('home.other_rooms')}</h2>
      ${name === null || this.isEditing ? nothing : groupButtons({ kind: 'floor', name }, groups, { isStill: this.#isStill, call: this.#actOnGroup })}</header>`;
  }

  #isShown(device: HomeDevice): boolean {
    return (this.concern === undefined || isConcerned(device, this.concern)) && (this.words === '' || isDeviceFound(device, this.words));
  }

  #actions(): HomeActions {
    return {
      act: this.#act,
      openDevice: this.#openDevice,
      openRoom: this.mayChangeRooms ? (id) => this.#open({ kind: 'room', id }) : undefined,
      callGroup: this.#actOnGroup,
      editing: this.isEditing ? this.#editing : undefined,
      isOffline: this.#isOffline,
      isBusy: this.isBusy,
    };
  }

  #dialog(devices: readonly HomeDevice[], areas: readonly AreaView[]): TemplateResult | typeof nothing {
    const { opened } = this;
    if (opened?.kind === 'device') return this.#deviceDialog(devices, opened.id);
    if (opened?.kind === 'room') return this.#roomDialog(opened.id);
    const end = { onClose: () => this.#open(undefined), onCall: (call: TileCall) => void this.#changeScene(call) };
    if (opened?.kind === 'new-scene') return newSceneDialog({ rooms: areas, onClose: end.onClose, onCall: end.onCall });
    const scene = this.app.plan.scenes.find((one) => opened?.kind === 'scene' && one.scene === opened.id);
    return scene ? sceneDialog({ scene, onClose: end.onClose, onCall: end.onCall }) : nothing;
  }

  #roomDialog(area: string): TemplateResult {
    const rooms = this.app.plan.areas;
    return roomDialog({
      room: rooms.find((one) => one.area === area) ?? { area, floor: null },
      rooms,
      onClose: () => this.#open(undefined),
      onChange: (calls) => void this.#changeRoom(calls),
    });
  }

  #deviceDialog(devices: readonly HomeDevice[], id: string): TemplateResult | typeof nothing {
    const found = devices.find(({ device }) => device.id === id);
    if (!found) return nothing;
    return modalDialog(
      { title: found.tile.name, onClose: () => this.#open(undefined) },
      html`<atmo-device-controls .model=${found.tile} .act=${this.#act} .hub=${this.app.hub} .isOffline=${this.#isOffline}></atmo-device-controls>
        <footer><a class="button" href="#/devices/${encodeURIComponent(id)}">${text('home.about_device')}</a></footer>`,
    );
  }

  async #callGroup(request: CallRequest): Promise<void> {
    const focused = document.activeElement;
    this.isBusy = true;
    this.outcome = undefined;
    try {
      const done = await this.app.callTraced(request);
      if (!done) return;
      const outcome = groupOutcome(request.label, done.result);
      this.#tell(outcome);
      void this.offerUndo({ traceId: done.traceId, label: request.label }, outcome && summaryWords(outcome));
    } catch (error) {
      const outcome = error instanceof HubError ? groupOutcome(request.label, error.details) : undefined;
      if (outcome) this.#tell(outcome);
      else this.notifyError(error);
    } finally {
      this.isBusy = false;
      void this.restoreFocus(focused);
    }
  }

  async #changeRoom(calls: readonly TileCall[]): Promise<void> {
    for (const call of calls) if ((await this.callTool(call)) === undefined) return;
    await Promise.all([this.app.plan.load(), this.app.store.refresh('devices')]);
    this.room = undefined;
  }

  async #changeScene(call: TileCall): Promise<void> {
    const result = await this.callTool(call);
    if (result === undefined) return;
    this.notify(text('shell.done', { label: call.label }));
    await this.app.plan.load();
    await this.restoreFocus(document.activeElement, '.quick button:last-of-type');
  }

  #tell(outcome: GroupOutcome | undefined): void {
    if (!outcome) return;
    if (outcome.others.length === 0) this.notify(summaryWords(outcome));
    else this.outcome = outcome;
  }

  #search(event: Event): void {
    this.words = inputValue(event).trim();
    this.found = [];
    clearTimeout(this.#pause);
    if (this.words !== '') this.#pause = setTimeout(() => void this.#ask(this.words), PAUSE_MS);
  }

  /** Asks the hub which tools the words mean. Without an answer the search still finds devices and scenes. */
  async #ask(words: string): Promise<void> {
    const path = toolsPath({ words, origin: '', category: '', area: '' });
    const page = await this.app.hub.get<ToolPage>(path).catch(() => undefined);
    if (page && words === this.words) this.found = page.tools;
  }

  #edit(): void {
    this.isEditing = !this.isEditing;
    if (this.isEditing) void this.#askRights();
  }

  /** Asks whether the person may change rooms. The hub shows a tool only to those who may use it. */
  async #askRights(): Promise<void> {
    this.mayChangeRooms = await this.app.hub.get(`/api/v1/tools/${encodeURIComponent('hub:rename_area')}`).then(
      () => true,
      () => false,
    );
  }

  #open(opened: Opened | undefined): void {
    this.opened = opened;
  }

  #close(): void {
    this.outcome = undefined;
  }

  async #refocus(button: string): Promise<void> {
    await this.updateComplete;
    this.querySelector<HTMLElement>(`[data-button="${CSS.escape(button)}"]`)?.focus();
  }

  get #isOffline(): boolean {
    return this.app.store.state.connection === 'lost';
  }

  get #isStill(): boolean {
    return this.isBusy || this.#isOffline;
  }
}

/** Returns the names of the rooms on the floor of a room, which can change places with it. */
function roomsBeside({ floor }: AreaView, areas: readonly AreaView[]): readonly string[] {
  return areas.flatMap((other) => (other.area !== null && other.floor === floor ? [other.area] : []));
}

function summaryWords({ label, words }: GroupOutcome): string {
  return `${label}: ${words}`;
}

function empty(): TemplateResult {
  return html`<div class="empty card">${icon('home')}<h2>${text('home.no_devices')}</h2><p>${text('home.add_first')}</p>
    <a class="button primary" href="#/add-device">${icon('plus')}${text('add_device.title')}</a></div>`;
}

function greeting(hour: number): string {
  if (hour < 5) return text('home.good_night');
  if (hour < 11) return text('home.good_morning');
  return text(hour < 18 ? 'home.good_afternoon' : 'home.good_evening');
}

customElements.define('atmo-page-home', HomePage);

import './device-controls.ts';
import './device-about.ts';
import './device-clusters.ts';
import { html, nothing, type TemplateResult } from 'lit';
import { repeat } from 'lit/directives/repeat.js';
import { type Json, type JsonObject, objectOf, objectsOf, textsOf } from '../../core/json.ts';
import type { CallOutcome } from '../api/approvals.ts';
import { areaNames, readingsOf, replacementsFor } from '../api/home-store.ts';
import type { DeviceView, ReadingView, ToolView } from '../api/hub-types.ts';
import type { App } from '../app.ts';
import { ageWords, dateWords } from '../components/formatting.ts';
import { icon } from '../components/icon.ts';
import { every, LightElement, type Stop } from '../components/light-element.ts';
import { PageElement } from '../components/page-element.ts';
import { RemoteData, remoteDataView } from '../components/remote-data.ts';
import { lazyContent } from '../components/text-block.ts';
import { toolTitle } from '../components/tool-form.ts';
import { hasText, text, textWith } from '../texts/text.ts';
import { CallCompletion } from './call-completion.ts';
import { editDialog, leavingWith, removeDialog, replaceDialog, type ShareCode, shareCodeOf, shareDialog } from './device-dialogs.ts';
import { readingsCard } from './device-readings.ts';
import { tileOf } from './device-tile-model.ts';
import type { TileCall } from './tile-control.ts';

const TABS = ['now', 'tools', 'about', 'raw'] as const;
type Tab = (typeof TABS)[number];
/** The tabs for a device on the hub's board. Such a device comes from the hub's configuration, so the other tabs do not apply to it. */
const BOARD_TABS: readonly Tab[] = ['now', 'tools'];
const SHARE_TOOL = 'hub:share_device';
const RESTORE_TOOL = 'hub:restore_device';
const REPLACE_TOOL = 'hub:replace_device';

/** Page about one device: its state, its tools, facts about it, and its data model. */
export class DevicePage extends PageElement {
  static override properties = {
    ...PageElement.properties,
    tab: { state: true },
    dialog: { state: true },
    shown: { state: true },
    code: { state: true },
    formerly: { state: true },
    users: { state: true },
  };
  declare tab: Tab;
  declare dialog: 'edit' | 'remove' | 'replace' | 'share' | undefined;
  /** Name of the reading whose history is visible. */
  declare shown: string | undefined;
  declare code: ShareCode | undefined;
  /** The removed device that is probably the same physical device as this one. */
  declare formerly: JsonObject | undefined;
  /** What uses the device or its names, in words, for the dialog that replaces it. */
  declare users: string;
  readonly #completion = new CallCompletion({ get: (path) => this.app.hub.get(path) }, () => this.requestUpdate());
  readonly #act = (call: TileCall): Promise<void> => this.act(this.#completion.completeCall(call));

  protected override connected(): readonly Stop[] {
    const { calls } = this.app;
    // The page is rendered every 5 s, because the ages that it shows grow without an event.
    return [...super.connected(), calls.onEnd((end) => this.#onCallEnd(end)), every(5_000, () => this.requestUpdate())];
  }

  protected override willUpdate(changes: Map<PropertyKey, unknown>): void {
    if (!changes.has('params')) return;
    this.tab = 'now';
    this.shown = undefined;
    this.code = undefined;
    this.dialog = undefined;
    this.formerly = undefined;
    this.users = '';
    void this.#recognise();
  }

  protected override render(): TemplateResult {
    const { store } = this.app;
    const device = store.state.devices.find(({ id }) => id === this.params.id);
    if (!device) return store.state.isLoaded ? gone() : html`<p class="quiet center">${store.state.problem ?? text('shell.wait')}</p>`;
    const readings = readingsOf(store.state, device.id);
    return html`
      ${this.#head(device)} ${this.#offer(device)} ${this.#replacement(device)}
      <div class="tabs device-tabs" role="group" aria-label=${text('devices.views')}>${tabsOf(device).map(
        (tab) =>
          html`<button type="button" aria-pressed=${tab === this.tab} @click=${() => {
            this.tab = tab;
          }}>${text(`devices.tab_${tab}`)}</button>`,
      )}</div>
      ${this.#body(device, readings)} ${this.#dialog(device)} ${this.#completion.view()}
    `;
  }

  #head(device: DeviceView): TemplateResult {
    return html`
      <header class="page-head device-head">
        <div>
          <a class="back" href="#/home">${icon('back')}${text('home.title')}</a>
          <h1>${device.name}</h1>
          <p class="row">${device.area === null ? nothing : html`<span class="chip">${device.area}</span>`} ${reachability(device)}
            <span class="small">${text('devices.heard', { age: ageWords(device.last_seen, Date.now()) })}</span></p>
        </div>
        ${device.kind === 'board' ? nothing : this.#actions(device)}
      </header>
    `;
  }

  /** Returns the offer to restore a removed device. A person at the device must decide, because a serial number can be forged. */
  #offer(device: DeviceView): TemplateResult | typeof nothing {
    if (!this.formerly) return nothing;
    const { former, name, removed_at_ms: removedAtMs } = this.formerly;
    const restore = () => void this.#run(device, { tool: RESTORE_TOOL, label: text('devices.restore_label', { name: device.name }) });
    return html`<div class="alert" role="group" aria-label=${text('devices.formerly')}>${icon('info')}<div>
      <p>${textWith(typeof removedAtMs === 'number' ? 'devices.formerly_until' : 'devices.formerly_is', {
        name: html`<bdi>${String(name ?? former)}</bdi>`,
        date: typeof removedAtMs === 'number' ? dateWords(removedAtMs) : '',
      })}</p>
      <p><button type="button" class="button" @click=${restore}>${text('devices.restore')}</button></p></div></div>`;
  }

  /** Returns the offer to replace a device that does not answer. What is behind a bridge, or part of a device, cannot leave alone. */
  #replacement(device: DeviceView): TemplateResult | typeof nothing {
    if (device.reachability !== 'unreachable' || device.kind !== 'node') return nothing;
    return html`<div class="alert" role="group" aria-label=${text('devices.replace')}>${icon('info')}<div>
      <p>${textWith('devices.replace_away', { name: html`<bdi>${device.name}</bdi>` })}</p>
      <p><button type="button" class="button" @click=${() => this.#openReplace(device)}>${text('devices.replace')}</button></p></div></div>`;
  }

  #actions(device: DeviceView): TemplateResult {
    const run = (tool: string, label: string) => () => void this.#run(device, { tool, label });
    return html`
      <div class="page-actions">
        <button type="button" class="button small" @click=${run('hub:identify_device', text('devices.identify_label', { name: device.name }))}>${icon('bell')}${text('devices.identify')}</button>
        <button type="button" class="button small" @click=${() => this.#open('edit')}>${icon('edit')}${text('devices.edit')}</button>
        <button type="button" class="button small" @click=${() => (this.code ? this.#open('share') : void this.#run(device, { tool: SHARE_TOOL, label: text('devices.share_title', { name: device.name }) }))}>${icon('share')}${text('devices.share')}</button>
        <button type="button" class="button small danger plain" @click=${() => this.#open('remove')}>${icon('trash')}${text('devices.remove')}</button>
      </div>
    `;
  }

  #body(device: DeviceView, readings: ReadonlyMap<string, ReadingView>): TemplateResult {
    if (this.tab === 'tools') return html`<atmo-device-tools .app=${this.app} .device=${device.id}></atmo-device-tools>`;
    if (this.tab === 'about') return html`<atmo-device-about .app=${this.app} .device=${device}></atmo-device-about>`;
    if (this.tab === 'raw') return html`<atmo-raw-clusters .app=${this.app} .device=${device.id}></atmo-raw-clusters>`;
    const show = (name: string) => {
      this.shown = name;
    };
    return html`<div class="device-now">
      <atmo-device-controls class="card" .model=${tileOf(device, readings)} .act=${this.#act} .hub=${this.app.hub}></atmo-device-controls>
      ${readingsCard({ app: this.app, readings, shown: this.shown, show })}
    </div>`;
  }

  #dialog(device: DeviceView): TemplateResult | typeof nothing {
    const onClose = () => this.#open(undefined);
    if (this.dialog === 'edit') {
      const areas = areaNames(this.app.store.state);
      return editDialog({ device, areas, onClose, onSave: (change) => void this.#save(device, change) });
    }
    if (this.dialog === 'remove') {
      const leaving = leavingWith(device, this.app.store.state.devices);
      const remove = ({ isForced }: { readonly isForced: boolean }) =>
        void this.#run(device, {
          tool: 'hub:remove_device',
          label: text('devices.remove_label', { name: device.name }),
          params: { whole_node: leaving.length > 1, ...(isForced && { force: true }) },
        });
      return removeDialog({ device, leaving, onClose, onRemove: remove });
    }
    if (this.dialog === 'replace') {
      const replace = ({ by, isConfirmed }: { readonly by: string; readonly isConfirmed: boolean }) =>
        void this.#run(device, {
          tool: REPLACE_TOOL,
          label: text('devices.replace_label', { name: device.name }),
          params: { new_device_id: by, confirm: isConfirmed },
        });
      const candidates = replacementsFor(device, this.app.store.state.devices);
      return replaceDialog({ device, candidates, users: this.users, onClose, onReplace: replace });
    }
    return this.dialog === 'share' && this.code ? shareDialog({ device, code: this.code, hub: this.app.hub, onClose }) : nothing;
  }

  #open(dialog: DevicePage['dialog']): void {
    this.dialog = dialog;
  }

  /** Opens the dialog at once, and shows what uses the device when the hub has said it. */
  #openReplace({ id }: DeviceView): void {
    this.#open('replace');
    const load = async () => {
      const { devices } = await this.app.hub.get(`/api/v1/device-names?name=${encodeURIComponent(id)}`);
      if (id === this.params.id) this.users = usersInWords(objectsOf(devices)[0]?.used_by);
    };
    // Without the right to read it, the dialog leaves it out.
    load().catch(() => undefined);
  }

  async #save(device: DeviceView, { name, area }: { readonly name: string; readonly area: string }): Promise<void> {
    if (area !== (device.area ?? '')) {
      await this.#run(device, {
        tool: 'hub:set_device_area',
        label: text('devices.move_label', { name: device.name }),
        ...(area !== '' && { params: { area } }),
      });
    }
    // A new notice replaces the previous one. The rename comes last, so that its notice, which names the consequences, stays visible.
    if (name !== device.name)
      await this.#run(device, { tool: 'hub:rename_device', label: text('devices.rename_label', { name: device.name }), params: { name } });
    await this.app.store.refresh('devices');
  }

  async #run(
    device: DeviceView,
    { tool, label, params = {} }: { readonly tool: string; readonly label: string; readonly params?: TileCall['params'] },
  ): Promise<void> {
    const result = await this.callTool({ tool, label, params: { device_id: device.id, ...params } });
    if (result === undefined || this.#showResult(tool, result)) return;
    this.notify([text('shell.done', { label }), ...namingWords(objectOf(result))].join('. '));
  }

  async #recognise(): Promise<void> {
    const { id } = this.params;
    const offers = await this.app.hub.get<Json>('/api/v1/recognised-devices').catch(() => []);
    if (id === this.params.id) this.formerly = objectsOf(offers).find(({ device }) => device === id);
  }

  #restored(result: Json | undefined): void {
    const [first] = objectsOf(objectOf(result).restored);
    if (!first) return;
    this.formerly = undefined;
    this.notify(text('devices.restored', { device: String(first.device_id) }));
    location.hash = `#/devices/${encodeURIComponent(String(first.device_id))}`;
  }

  #replaced(result: Json | undefined): void {
    const { device_id: id, lacking_tools: tools, lacking_readings: readings } = objectOf(result);
    if (typeof id !== 'string') return;
    const name = this.app.store.state.devices.find((device) => device.id === id)?.name ?? id;
    const lacking = [...textsOf(tools), ...textsOf(readings)].join(', ');
    this.notify([text('devices.replaced', { name }), ...(lacking === '' ? [] : [text('devices.replaced_lacks', { lacking })])].join('. '));
    void this.app.store.refresh('devices');
  }

  #onCallEnd({ call, result }: CallOutcome): void {
    if (call.params.device_id === this.params.id) this.#showResult(call.tool, result);
  }

  /** Shows the result and returns true if the tool has its own view for results. Otherwise returns false. */
  #showResult(tool: string, result: Json | undefined): boolean {
    if (tool === SHARE_TOOL) {
      this.code = shareCodeOf(result);
      this.dialog = this.code && 'share';
    } else if (tool === RESTORE_TOOL) this.#restored(result);
    else if (tool === REPLACE_TOOL) this.#replaced(result);
    return tool === SHARE_TOOL || tool === RESTORE_TOOL || tool === REPLACE_TOOL;
  }
}

/** Returns what uses a device or its names, such as `automation night, scene Movie`. */
function usersInWords(usedBy: Json | undefined): string {
  const words = objectsOf(usedBy).map(({ kind, id }) => {
    const key = `devices.use_${String(kind)}`;
    return hasText(key) ? text(key, { id: String(id) }) : `${String(kind)} ${String(id)}`;
  });
  return words.join(', ');
}

/** Returns sentences about the consequences of a new name. */
function namingWords({ tools_begin_with: tools, former_names: former, used_by: usedBy, warnings }: JsonObject): readonly string[] {
  const users = usersInWords(usedBy);
  return [
    ...(typeof tools === 'string' ? [text('devices.tools_begin', { tools })] : []),
    ...(textsOf(former).length > 0 ? [text('devices.still_called', { names: textsOf(former).join(', ') })] : []),
    ...(users === '' ? [] : [text('devices.used_by', { users })]),
    ...textsOf(warnings),
  ];
}

function reachability({ reachability: state }: DeviceView): TemplateResult {
  if (state === 'reachable') return html`<span class="chip good">${text('devices.answers')}</span>`;
  return state === 'unreachable'
    ? html`<span class="chip bad">${text('devices.answers_not')}</span>`
    : html`<span class="chip">${text('devices.not_heard')}</span>`;
}

function gone(): TemplateResult {
  return html`<div class="card empty">${icon('home')}<h1>${text('devices.gone')}</h1><p>${text('devices.gone_why')}</p>
    <a class="button" href="#/home">${text('devices.back_home')}</a></div>`;
}

customElements.define('atmo-page-device', DevicePage);

function tabsOf({ kind }: DeviceView): readonly Tab[] {
  return kind === 'board' ? BOARD_TABS : TABS;
}

/** Lists all tools of a device, each with a form to call it. */
class DeviceTools extends LightElement {
  static override properties = { app: { attribute: false }, device: {} };
  declare app: App;
  /** Id of the device. */
  declare device: string;
  readonly #tools = new RemoteData<readonly ToolView[]>(() => this.requestUpdate());

  protected override willUpdate(changes: Map<PropertyKey, unknown>): void {
    if (changes.has('device')) void this.#tools.load(() => this.#load());
  }

  protected override render(): TemplateResult {
    return remoteDataView(this.#tools, (tools) => this.#list(tools));
  }

  #list(tools: readonly ToolView[]): TemplateResult {
    if (tools.length === 0) return html`<p class="quiet">${text('devices.no_tools')}</p>`;
    return html`<div class="fold-list">${repeat(
      tools,
      ({ id }) => id,
      (tool) => this.#tool(tool),
    )}</div>`;
  }

  #tool(tool: ToolView): TemplateResult {
    return html`<details class="fold">
      <summary>
        <span class="fold-title">${toolTitle(tool)}</span>
        ${tool.dangerous === true ? html`<span class="chip warm">${icon('shield')}${text('devices.needs_approval')}</span>` : nothing}
        <code class="fold-note">${tool.name}</code>
      </summary>
      <div class="fold-body stack"><p class="quiet">${tool.description}</p>
        ${lazyContent(() => html`<atmo-tool-form .app=${this.app} .tool=${tool}></atmo-tool-form>`)}</div>
    </details>`;
  }

  async #load(): Promise<readonly ToolView[]> {
    const path = `/api/v1/tools?limit=500&device=${encodeURIComponent(this.device)}`;
    return (await this.app.hub.get<{ tools: readonly ToolView[] }>(path)).tools;
  }
}

customElements.define('atmo-device-tools', DeviceTools);

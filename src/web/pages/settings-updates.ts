import { html, nothing, type TemplateResult } from 'lit';
import { dateTimeWords } from '../components/formatting.ts';
import { icon } from '../components/icon.ts';
import type { Stop } from '../components/light-element.ts';
import { PageElement } from '../components/page-element.ts';
import { RemoteData } from '../components/remote-data.ts';
import { text, textWith } from '../texts/text.ts';

/** The version of the hub, as `hub:show_version` answers. */
interface VersionView {
  readonly version: string;
  readonly is_configured: boolean;
  readonly newer?: string;
  readonly notes_url?: string;
  readonly checked_at?: string;
  readonly problem?: string;
  /** Version before the last upgrade. */
  readonly before?: string;
  /** The last upgrade, if it was not kept. */
  readonly went_back?: { readonly version: string; readonly reason: Reason; readonly at: string; readonly is_possible: boolean };
}

type Reason = 'ended' | 'no_answer' | 'not_installed' | 'owner';

interface DeviceVersion {
  readonly number: number;
  readonly text: string;
}

/** Software for devices in the folder of the hub, as `hub:list_updates` answers. */
interface UpdatesView {
  readonly folder: string;
  readonly offers: readonly {
    readonly device: string;
    readonly name: string;
    readonly from: DeviceVersion;
    readonly to: DeviceVersion;
    readonly file: string;
  }[];
  readonly unfit: readonly { readonly file: string; readonly reason: string }[];
}

/** Section of the settings about newer software of the hub and of devices. Not there for who does not administrate the hub. */
export class SettingsUpdates extends PageElement {
  readonly #version = new RemoteData<VersionView>(() => this.requestUpdate());
  readonly #updates = new RemoteData<UpdatesView>(() => this.requestUpdate());

  protected override connected(): readonly Stop[] {
    const { calls, hub } = this.app;
    void this.#version.load(async () => (await hub.invoke('hub:show_version')) as unknown as VersionView);
    this.#load();
    return [...super.connected(), calls.onEnd(({ call }) => call.tool === 'hub:update_device' && this.#load())];
  }

  protected override render(): TemplateResult | typeof nothing {
    const version = this.#version.value;
    if (!version) return nothing;
    return html`<section class="card stack" aria-labelledby="settings-updates">
      <h2 id="settings-updates">${text('settings.updates')}</h2>
      ${versionView(version)} ${this.#updates.value ? this.#devices(this.#updates.value) : nothing}
    </section>`;
  }

  #devices({ folder, offers, unfit }: UpdatesView): TemplateResult {
    return html`<h3>${text('settings.device_updates')}</h3>
      ${offers.length === 0 ? html`<p>${textWith('settings.no_updates', { folder: html`<code>${folder}</code>` })}</p>` : nothing}
      <ul class="tokens">${offers.map((offer) => this.#offer(offer))}</ul>
      ${
        unfit.length === 0
          ? nothing
          : html`<details><summary>${text('settings.unfit', { count: unfit.length })}</summary>
        <ul class="log">${unfit.map(({ file, reason }) => html`<li><code>${file}</code> <span class="quiet"><bdi>${reason}</bdi></span></li>`)}</ul></details>`
      }`;
  }

  #offer({ device, name, from, to, file }: UpdatesView['offers'][number]): TemplateResult {
    const label = text('settings.update_device', { name, version: versionWords(to) });
    const update = () =>
      void this.callTool({ tool: 'hub:update_device', params: { device_id: device, file }, label }).then(() => this.#load());
    return html`<li class="row"><span class="grow"><a href="#/devices/${encodeURIComponent(device)}"><bdi>${name}</bdi></a>
        <span class="quiet">${versionWords(from)} → ${versionWords(to)}</span></span>
      <button type="button" class="button small" aria-label=${label} @click=${update}>${icon('refresh')}${text('settings.update')}</button></li>`;
  }

  #load(): void {
    void this.#updates.load(async () => (await this.app.hub.invoke('hub:list_updates')) as unknown as UpdatesView);
  }
}

function versionView({
  version,
  is_configured: isConfigured,
  newer,
  notes_url: notes,
  checked_at: at,
  problem,
  before,
  went_back: back,
}: VersionView): TemplateResult {
  return html`${back ? wentBackView(back) : nothing}<p>${text('settings.version', { version })} ${before === undefined ? nothing : text('settings.version_before', { version: before })} ${newer === undefined && at !== undefined ? text('settings.newest', { time: dateTimeWords(at) }) : nothing}</p>
    ${
      newer === undefined
        ? nothing
        : html`<p class="alert" role="status">${icon('info')}<span>${text('settings.newer', { version: newer })}
      ${notes === undefined ? nothing : html`<a href=${notes} target="_blank" rel="noopener noreferrer">${text('settings.notes')}</a> (<bdi>${new URL(notes).host}</bdi>)`}</span></p>`
    }
    ${problem === undefined ? nothing : html`<p class="alert">${icon('warning')}<span>${text('settings.not_checked')} <bdi>${problem}</bdi></span></p>`}
    ${isConfigured ? nothing : html`<p class="quiet">${textWith('settings.not_configured', { setting: html`<code>updates.version_url</code>` })}</p>`}`;
}

function wentBackView({ version, reason, at, is_possible: isPossible }: NonNullable<VersionView['went_back']>): TemplateResult {
  const outcome = text(isPossible ? 'settings.went_back' : 'settings.no_way_back', { version, time: dateTimeWords(at) });
  return html`<p class="alert">${icon('warning')}<span>${outcome} ${text(`settings.not_kept_${reason}`)}</span></p>`;
}

function versionWords({ number, text: words }: DeviceVersion): string {
  return words === '' ? String(number) : words;
}

customElements.define('atmo-settings-updates', SettingsUpdates);

import { html, nothing, type TemplateResult } from 'lit';
import type { JsonObject } from '../../core/json.ts';
import { formValues } from '../components/form-values.ts';
import { dateTimeWords } from '../components/formatting.ts';
import { icon } from '../components/icon.ts';
import type { Stop } from '../components/light-element.ts';
import { PageElement } from '../components/page-element.ts';
import { RemoteData } from '../components/remote-data.ts';
import { languageTag, text, textWith } from '../texts/text.ts';

/** The backups of the hub, as `hub:show_backups` answers. */
interface BackupsView {
  readonly folder: string;
  readonly on_same_disk: boolean;
  readonly schedule?: { readonly at?: string; readonly keep: number };
  readonly next_at?: string;
  readonly last_success_at?: string;
  readonly problem?: string;
  readonly backups: readonly { readonly file: string; readonly made_at: string; readonly bytes: number }[];
}

const BYTES_PER_MB = 1_048_576;

/** Section of the settings about backups: when the hub writes them, which there are, one now, and how one is put back. */
export class SettingsBackups extends PageElement {
  readonly #backups = new RemoteData<BackupsView>(() => this.requestUpdate());
  #isWriting = false;

  protected override connected(): readonly Stop[] {
    this.#load();
    return super.connected();
  }

  protected override render(): TemplateResult | typeof nothing {
    const view = this.#backups.value;
    if (!view) return nothing;
    return html`<section class="card stack" aria-labelledby="settings-backups">
      <h2 id="settings-backups">${text('settings.backups')}</h2>
      ${view.problem === undefined ? nothing : html`<p class="alert" role="alert">${icon('warning')}${view.problem}</p>`}
      <p>${scheduleWords(view)}</p>
      <p class="quiet">${text('settings.backup_folder', { folder: view.folder })}
        ${view.on_same_disk ? text('settings.backup_same_disk') : nothing}</p>
      ${this.#form(view)}
      ${view.schedule ? html`<p><button type="button" class="button" ?disabled=${this.#isWriting} @click=${() => void this.#makeNow()}>${text(this.#isWriting ? 'settings.backup_writing' : 'settings.backup_now')}</button></p>` : nothing}
      ${view.backups.length === 0 ? nothing : this.#list(view)}
    </section>`;
  }

  #form({ schedule }: BackupsView): TemplateResult {
    return html`<form class="row" @submit=${(event: SubmitEvent) => void this.#save(event)}>
      <label class="field"><span class="label">${text('settings.backup_at')}</span>
        <input type="time" name="at" .value=${schedule?.at ?? ''} /></label>
      <label class="field"><span class="label">${text('settings.backup_keep')}</span>
        <input type="number" name="keep" min="1" max="366" required .value=${String(schedule?.keep ?? 7)} /></label>
      <label class="field grow"><span class="label">${text(schedule ? 'settings.backup_new_passphrase' : 'settings.backup_passphrase')}</span>
        <input type="password" name="passphrase" minlength="10" maxlength="256" autocomplete="new-password" ?required=${!schedule} /></label>
      <button class="button primary">${text('settings.save')}</button>
    </form>`;
  }

  #list({ backups }: BackupsView): TemplateResult {
    const [newest] = backups;
    return html`
      <ul class="log">${backups.map(({ file, made_at: at, bytes }) => html`<li><time datetime=${at}>${dateTimeWords(at)}</time> ${sizeWords(bytes)} <code>${file}</code></li>`)}</ul>
      <details><summary>${text('settings.restore')}</summary>
        <p>${textWith('settings.restore_how', { doc: html`<code>docs/backup.md</code>` })}</p>
        ${this.copyable(`sudo systemctl stop atmosphere-edge\nsudo atmo restore ${newest?.file ?? ''}\nsudo systemctl start atmosphere-edge`, text('settings.restore'))}
      </details>`;
  }

  async #save(event: SubmitEvent): Promise<void> {
    const { at = '', keep = '7', passphrase = '' } = formValues(event);
    const params: JsonObject = { keep: Number(keep), ...(at !== '' && { at }), ...(passphrase !== '' && { passphrase }) };
    const answer = await this.callTool({ tool: 'hub:set_backup_schedule', params, label: text('settings.backups') });
    if (answer === undefined) return;
    this.notify(text('settings.saved'));
    this.#load();
  }

  async #makeNow(): Promise<void> {
    this.#isWriting = true;
    this.requestUpdate();
    const answer = await this.callTool({ tool: 'hub:make_backup', label: text('settings.backup_now') });
    this.#isWriting = false;
    if (answer !== undefined) this.notify(text('settings.backup_done'));
    this.#load();
  }

  #load(): void {
    void this.#backups.load(async () => (await this.app.hub.invoke('hub:show_backups')) as unknown as BackupsView);
  }
}

function sizeWords(bytes: number): string {
  const unit = { style: 'unit', unit: 'megabyte', maximumFractionDigits: 1 } as const;
  return new Intl.NumberFormat(languageTag(), unit).format(bytes / BYTES_PER_MB);
}

function scheduleWords({ schedule, next_at: next, last_success_at: last }: BackupsView): string {
  const lastWords = last === undefined ? text('settings.backup_never') : text('settings.backup_last', { time: dateTimeWords(last) });
  if (schedule?.at === undefined || next === undefined) return `${text('settings.backup_off')} ${lastWords}`;
  return `${text('settings.backup_daily', { time: schedule.at, next: dateTimeWords(next) })} ${lastWords}`;
}

customElements.define('atmo-settings-backups', SettingsBackups);

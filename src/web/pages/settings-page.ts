import './settings-backups.ts';
import './settings-health.ts';
import { html, nothing, type TemplateResult } from 'lit';
import { dateWords } from '../components/formatting.ts';
import { icon } from '../components/icon.ts';
import type { Stop } from '../components/light-element.ts';
import { PageElement } from '../components/page-element.ts';
import { RemoteData, remoteDataView } from '../components/remote-data.ts';
import { PAGES } from '../router.ts';
import { text } from '../texts/text.ts';

/** How other machines reach the hub over TLS, as `GET /api/v1/tls` answers. */
interface TlsState {
  readonly enabled: boolean;
  readonly url: string;
  readonly source?: 'own_authority' | 'files';
  readonly fingerprint_sha256?: string;
  readonly names?: readonly string[];
  readonly certificate_ends_at?: string;
}

/** How the person is reached, as `hub:show_notice_settings` answers. */
interface NoticeSettings {
  readonly ways: readonly { readonly name: string; readonly kind: string }[];
}

/** The pages to which the settings lead, in this order. */
const LINKS = ['people', 'this-device', 'tokens', 'networks', 'mesh', 'automations'];

/** Page with the settings of the hub. A section that the person may not see is not there. */
export class SettingsPage extends PageElement {
  readonly #tls = new RemoteData<TlsState>(() => this.requestUpdate());
  readonly #notices = new RemoteData<NoticeSettings>(() => this.requestUpdate());

  protected override connected(): readonly Stop[] {
    void this.#tls.load(() => this.app.hub.get<TlsState>('/api/v1/tls'));
    void this.#notices.load(async () => (await this.app.hub.invoke('hub:show_notice_settings')) as unknown as NoticeSettings);
    return super.connected();
  }

  protected override render(): TemplateResult {
    return html`
      <header class="page-head"><h1>${text('settings.title')}</h1></header>
      <div class="stack">
        ${this.#links()} ${this.#reach()} ${this.#certificate()}
        <atmo-settings-backups .app=${this.app}></atmo-settings-backups>
        <atmo-settings-health .app=${this.app}></atmo-settings-health>
      </div>
    `;
  }

  #links(): TemplateResult {
    const pages = LINKS.flatMap((route) => PAGES.filter((page) => page.route === route));
    return html`<nav class="card" aria-label=${text('settings.more')}>
      <ul>${pages.map(({ route, title, icon: name }) => html`<li><a class="row" href="#/${route}">${icon(name)}<span>${text(title)}</span></a></li>`)}</ul>
    </nav>`;
  }

  /** The ways over which the person is told of what happens. Not there for a token that is no person of the household. */
  #reach(): TemplateResult | typeof nothing {
    const settings = this.#notices.value;
    if (!settings) return nothing;
    return html`<section class="card stack" aria-labelledby="settings-reach">
      <h2 id="settings-reach">${text('settings.reach')}</h2>
      <p>${settings.ways.length === 0 ? text('settings.reach_none') : text('settings.reach_order')}</p>
      ${settings.ways.length === 0 ? nothing : html`<ol>${settings.ways.map(({ name, kind }) => html`<li><bdi>${name}</bdi> <span class="quiet">${kind}</span></li>`)}</ol>`}
    </section>`;
  }

  #certificate(): TemplateResult {
    return html`<section class="card stack" aria-labelledby="settings-certificate">
      <h2 id="settings-certificate">${text('settings.certificate')}</h2>
      ${remoteDataView(this.#tls, (tls) => certificateView(tls))}
    </section>`;
  }
}

function certificateView(tls: TlsState): TemplateResult {
  if (!tls.enabled) return html`<p>${text('settings.no_tls')}</p>`;
  const isOwn = tls.source === 'own_authority';
  return html`
    <p>${text(isOwn ? 'settings.own_authority' : 'settings.own_files')}</p>
    <dl class="facts">
      <dt>${text('settings.until')}</dt><dd>${dateWords(tls.certificate_ends_at ?? '')}</dd>
      <dt>${text('settings.names')}</dt><dd>${(tls.names ?? []).join(', ')}</dd>
      <dt>${text('settings.fingerprint')}</dt><dd><code>${tls.fingerprint_sha256}</code></dd>
    </dl>
    ${isOwn ? html`<p>${text('settings.trusted_why')}</p><ul>${(['settings.trusted_files', 'settings.trusted_tailscale', 'settings.trusted_proxy'] as const).map((key) => html`<li>${text(key)}</li>`)}</ul>` : nothing}
  `;
}

customElements.define('atmo-page-settings', SettingsPage);

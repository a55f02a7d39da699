import './settings-approvals.ts';
import './settings-backups.ts';
import './settings-bridge.ts';
import './settings-notices.ts';
import './settings-updates.ts';
import { html, nothing, type TemplateResult } from 'lit';
import { dateWords } from '../components/formatting.ts';
import { icon } from '../components/icon.ts';
import type { Stop } from '../components/light-element.ts';
import { PageElement } from '../components/page-element.ts';
import { RemoteData, remoteDataView } from '../components/remote-data.ts';
import { PAGES } from '../router.ts';
import { text, textWith } from '../texts/text.ts';

/** How other machines reach the hub over TLS, as `GET /api/v1/tls` answers. */
interface TlsState {
  readonly enabled: boolean;
  readonly url: string;
  readonly source?: 'own_authority' | 'files' | 'acme' | 'proxy';
  readonly fingerprint_sha256?: string;
  readonly names?: readonly string[];
  readonly issuer?: string;
  readonly certificate_ends_at?: string;
  /** Why the hub could not get or renew its certificate. */
  readonly problem?: string;
}

/** The pages to which the settings lead, in this order. */
const LINKS = ['people', 'this-device', 'tokens', 'networks', 'mesh', 'automations'];

/** Page with the settings of the hub. A section that the person may not see is not there. */
export class SettingsPage extends PageElement {
  readonly #tls = new RemoteData<TlsState>(() => this.requestUpdate());

  protected override connected(): readonly Stop[] {
    void this.#tls.load(() => this.app.hub.get<TlsState>('/api/v1/tls'));
    return super.connected();
  }

  protected override render(): TemplateResult {
    return html`
      <header class="page-head"><h1>${text('settings.title')}</h1></header>
      <div class="stack">
        ${this.#links()}
        <atmo-settings-notices .app=${this.app}></atmo-settings-notices>
        <atmo-settings-approvals .app=${this.app}></atmo-settings-approvals>
        ${this.#certificate()}
        <atmo-settings-bridge .app=${this.app}></atmo-settings-bridge>
        <atmo-settings-backups .app=${this.app}></atmo-settings-backups>
        <atmo-settings-updates .app=${this.app}></atmo-settings-updates>
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

  #certificate(): TemplateResult {
    return html`<section class="card stack" aria-labelledby="settings-certificate">
      <h2 id="settings-certificate">${text('settings.certificate')}</h2>
      ${remoteDataView(this.#tls, (tls) => certificateView(tls))}
    </section>`;
  }
}

const SOURCE_TEXTS = { own_authority: 'own_authority', files: 'own_files', acme: 'trusted_name' } as const;

function certificateView(tls: TlsState): TemplateResult {
  if (!tls.enabled) return html`<p>${text('settings.no_tls')}</p>`;
  if (tls.source === 'proxy') return html`<p>${text('settings.proxied', { url: tls.url })}</p>`;
  const isOwn = tls.source === 'own_authority';
  return html`
    <p>${text(`settings.${SOURCE_TEXTS[tls.source ?? 'files']}`)}</p>
    ${tls.problem === undefined ? nothing : html`<p class="alert">${icon('warning')}<span>${textWith('settings.not_renewed', { problem: html`<bdi>${tls.problem}</bdi>` })}</span></p>`}
    <dl class="facts">
      <dt>${text('settings.issuer')}</dt><dd><bdi>${tls.issuer}</bdi></dd>
      <dt>${text('settings.until')}</dt><dd>${dateWords(tls.certificate_ends_at ?? '')}</dd>
      <dt>${text('settings.names')}</dt><dd>${(tls.names ?? []).join(', ')}</dd>
      ${tls.source === 'acme' ? nothing : html`<dt>${text('settings.fingerprint')}</dt><dd><code>${tls.fingerprint_sha256}</code></dd>`}
    </dl>
    ${isOwn ? html`<p>${text('settings.trusted_why')}</p><ul>${(['settings.trusted_acme', 'settings.trusted_tailscale', 'settings.trusted_files', 'settings.trusted_proxy'] as const).map((key) => html`<li>${text(key)}</li>`)}</ul>` : nothing}
  `;
}

customElements.define('atmo-page-settings', SettingsPage);

/** A finding of `hub:check_health`. */
interface HealthCheck {
  readonly section: string;
  readonly check: string;
  readonly state: 'ok' | 'warning' | 'failed';
  readonly found: string;
  readonly advice?: string;
}

/** Section of the settings with the checks of `atmo doctor`, run by the hub. What is not well comes first, with what to do. */
class SettingsHealth extends PageElement {
  readonly #checks = new RemoteData<readonly HealthCheck[]>(() => this.requestUpdate());

  protected override connected(): readonly Stop[] {
    this.#load();
    return super.connected();
  }

  protected override render(): TemplateResult | typeof nothing {
    const { value: checks, isLoading } = this.#checks;
    if (!checks) return nothing;
    const bad = checks.filter(({ state }) => state !== 'ok');
    const good = checks.filter(({ state }) => state === 'ok');
    return html`<section class="card stack" aria-labelledby="settings-health">
      <div class="row"><h2 id="settings-health" class="grow">${text('settings.health')}</h2>
        <button type="button" class="button" ?disabled=${isLoading} @click=${() => this.#load()}>${icon('refresh')}${text(isLoading ? 'settings.checking' : 'settings.check_again')}</button></div>
      <p role="status">${bad.length === 0 ? text('settings.all_well') : text('settings.to_look_at', { count: bad.length })}</p>
      <ul class="log">${bad.map(badCheck)}</ul>
      <details><summary>${text('settings.well', { count: good.length })}</summary>
        <ul class="log">${good.map(({ check, found }) => html`<li><strong>${check}</strong> <span class="quiet">${found}</span></li>`)}</ul></details>
    </section>`;
  }

  #load(): void {
    void this.#checks.load(async () => {
      const answer = (await this.app.hub.invoke('hub:check_health')) as { readonly checks?: unknown } | null;
      return (answer?.checks ?? []) as readonly HealthCheck[];
    });
  }
}

function badCheck({ check, state, found, advice }: HealthCheck): TemplateResult {
  return html`<li class=${state === 'failed' ? 'bad' : 'weak'}>${icon('warning')} <strong>${check}</strong> ${found}
    ${advice === undefined ? nothing : html`<span class="detail">→ ${advice}</span>`}</li>`;
}

customElements.define('atmo-settings-health', SettingsHealth);

import { html, nothing, type TemplateResult } from 'lit';
import { icon } from '../components/icon.ts';
import type { Stop } from '../components/light-element.ts';
import { PageElement } from '../components/page-element.ts';
import { RemoteData } from '../components/remote-data.ts';
import { text } from '../texts/text.ts';

/** A finding of `hub:check_health`. */
interface HealthCheck {
  readonly section: string;
  readonly check: string;
  readonly state: 'ok' | 'warning' | 'failed';
  readonly found: string;
  readonly advice?: string;
}

/** Section of the settings with the checks of `atmo doctor`, run by the hub. What is not well comes first, with what to do. */
export class SettingsHealth extends PageElement {
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

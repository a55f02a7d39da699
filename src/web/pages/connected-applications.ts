import { html, nothing, type TemplateResult } from 'lit';
import type { NamedDevice } from '../../core/devices/action-descriptions.ts';
import { escapeAllHidden } from '../../core/untrusted-text.ts';
import { HubError } from '../api/hub-client.ts';
import { modalDialog } from '../components/dialog.ts';
import { dateTimeWords, dateWords } from '../components/formatting.ts';
import { icon } from '../components/icon.ts';
import type { Stop } from '../components/light-element.ts';
import { PageElement } from '../components/page-element.ts';
import { RemoteData, remoteDataView } from '../components/remote-data.ts';
import { text, textWith } from '../texts/text.ts';
import { grantsInWords } from './tokens.ts';

/** What a person allowed an application, in the result of `GET /api/v1/oauth/grants`. Times are ISO 8601. */
interface ApplicationGrant {
  readonly id: string;
  readonly client_name: string;
  /** Absent for a program on the machine of the person. */
  readonly client_host?: string | null;
  /** The agent whose tokens the application has. */
  readonly agent_id: string;
  readonly person: string;
  readonly permissions: readonly string[];
  readonly created_at: string;
  readonly last_used_at?: string | null;
  readonly expires_at: string;
}

/** Card with the applications that have access by OAuth, each with a button that ends its access. */
class ConnectedApplications extends PageElement {
  /** Undefined where nobody can connect an application: agents may not, and a hub can have this switched off. */
  readonly #grants = new RemoteData<readonly ApplicationGrant[] | undefined>(() => this.requestUpdate());
  /** The access of which the page asks whether to end it. */
  #asked: ApplicationGrant | undefined;

  protected override connected(): readonly Stop[] {
    this.#load();
    const stop = this.app.store.onEvent(({ type }) => {
      if (type === 'token.issued' || type === 'token.revoked') this.#load();
    });
    return [...super.connected(), stop];
  }

  protected override render(): TemplateResult | typeof nothing {
    const { value: grants, isLoading, problem } = this.#grants;
    if (grants === undefined && !isLoading && problem === undefined) return nothing;
    return html`<section class="card" aria-labelledby="applications-title">
      <h2 id="applications-title">${text('authorize.connected')}</h2><p class="quiet">${text('authorize.connected_about')}</p>
      ${remoteDataView(this.#grants, (some = []) => this.#rows(some))}
      ${this.#asked ? this.#question(this.#asked) : nothing}
    </section>`;
  }

  #rows(grants: readonly ApplicationGrant[]): TemplateResult {
    if (grants.length === 0) return html`<p>${text('authorize.none_connected')}</p>`;
    return html`<ul class="tokens">${grants.map((grant) => this.#row(grant, this.app.store.state.devices))}</ul>`;
  }

  #row(grant: ApplicationGrant, devices: readonly NamedDevice[]): TemplateResult {
    const { client_host: host, agent_id: agent, person, permissions, created_at: created, last_used_at: used, expires_at: end } = grant;
    const name = escapeAllHidden(grant.client_name);
    const words = { person: html`<bdi>${person}</bdi>`, date: dateWords(created), end: dateWords(end) };
    return html`<li>
      <p><strong><bdi>${name}</bdi></strong> <span class="quiet small">${host ? html`<bdi>${escapeAllHidden(host)}</bdi> · ` : nothing}<code>${agent}</code></span></p>
      <p class="quiet small">${textWith('authorize.connected_by', words)},
        ${used ? text('authorize.last_used', { date: dateTimeWords(used) }) : text('authorize.never_used')}</p>
      <p class="quiet">${grantsInWords(permissions, devices).join('; ')}</p>
      <p><button type="button" class="button small danger plain" aria-label=${text('authorize.end_thing', { name })} @click=${() => this.#ask(grant)}>${icon('out')}${text('authorize.end')}</button></p>
    </li>`;
  }

  /** Opens the dialog that asks whether to end an access; without one, closes it. */
  #ask(grant: ApplicationGrant | undefined): void {
    this.#asked = grant;
    this.requestUpdate();
  }

  #question(grant: ApplicationGrant): TemplateResult {
    const title = text('authorize.end_thing', { name: escapeAllHidden(grant.client_name) });
    const content = html`<p>${text('authorize.end_about')}</p>
      <footer><button type="button" class="button danger" @click=${() => void this.#end(grant)}>${text('authorize.end')}</button></footer>`;
    return modalDialog({ title, onClose: () => this.#ask(undefined) }, content);
  }

  async #end({ id, client_name: client }: ApplicationGrant): Promise<void> {
    this.#ask(undefined);
    const name = escapeAllHidden(client);
    await this.attempt(this.app.hub.delete(`/api/v1/oauth/grants/${encodeURIComponent(id)}`), text('authorize.ended', { name }));
    this.#load();
  }

  #load(): void {
    void this.#grants.load(async () => {
      try {
        return (await this.app.hub.get<{ grants: readonly ApplicationGrant[] }>('/api/v1/oauth/grants')).grants;
      } catch (error) {
        if (error instanceof HubError && (error.code === 'NOT_FOUND' || error.code === 'PERMISSION_DENIED')) return undefined;
        throw error;
      }
    });
  }
}

customElements.define('atmo-connected-applications', ConnectedApplications);

import { html, nothing, type TemplateResult } from 'lit';
import { formValues } from '../components/form-values.ts';
import { dateWords } from '../components/formatting.ts';
import { icon } from '../components/icon.ts';
import type { Stop } from '../components/light-element.ts';
import { PageElement } from '../components/page-element.ts';
import { RemoteData } from '../components/remote-data.ts';
import { text, textWith } from '../texts/text.ts';
import { type AgentSnippet, agentSnippets, needsPublicAddress, type TlsView, trustSteps } from './agent-snippets.ts';
import { AGENT_NAME_PATTERN, type MintedToken } from './tokens.ts';

/** The choices of permissions for a new agent on this page. The tokens page offers more choices. */
const RIGHTS = {
  use: { permissions: ['device:control:*', 'device:read:*', 'sensor:read:*'] },
  look: { permissions: ['device:read:*', 'sensor:read:*'] },
} as const;
const WORDS = {
  command: { title: 'agents.by_command', about: 'agents.command_about' },
  'sign-in': { title: 'agents.by_sign_in', about: 'agents.sign_in_about' },
  http: { title: 'agents.by_http', about: 'agents.http_about' },
} as const satisfies Record<AgentSnippet['way'], unknown>;
const TOKEN_LIFE_SECONDS = 2_592_000;

/** Page that shows how to configure an agent's client for this hub. The page can also make a token for the agent. */
export class AgentsPage extends PageElement {
  #client = 'Claude Desktop';
  readonly #tls = new RemoteData<TlsView>(() => this.requestUpdate());
  /** Whether the hub lets clients sign in (`http.oauth`). */
  readonly #signIn = new RemoteData<boolean>(() => this.requestUpdate());
  #minted: MintedToken | undefined;

  protected override connected(): readonly Stop[] {
    this.#minted = undefined;
    void this.#tls.load(() => this.app.hub.get<TlsView>('/api/v1/tls'));
    void this.#signIn.load(async () => (await this.app.hub.get('/.well-known/oauth-authorization-server')).issuer !== undefined);
    return super.connected();
  }

  protected override render(): TemplateResult {
    const all = agentSnippets({ hubUrl: location.origin, ...(this.#minted && { token: this.#minted.token }) });
    const snippets = all.filter(({ way }) => way !== 'sign-in' || this.#signIn.value === true);
    const clients = [...new Set(snippets.map(({ client }) => client))];
    const chosen = snippets.filter(({ client }) => client === this.#client);
    return html`
      <header class="page-head"><h1>${text('agents.connect')}</h1><p>${text('agents.about')}</p></header>
      <div class="stack">
        <div class="tabs" role="group" aria-label=${text('agents.client')}>
          ${clients.map((client) => html`<button type="button" aria-pressed=${client === this.#client} @click=${() => this.#choose(client)}>${client}</button>`)}
        </div>
        ${chosen.map((snippet) => this.#card(snippet))}
        ${chosen.some(({ way }) => way === 'http') ? this.#tokenForm() : nothing}
        <p class="quiet">${textWith('agents.where', {
          activity: html`<a href="#/activity">${text('activity.title')}</a>`,
          tokens: html`<a href="#/tokens">${text('tokens.title')}</a>`,
          approvals: html`<a href="#/approvals">${text('approvals.title')}</a>`,
        })}</p>
      </div>
    `;
  }

  #card(shown: AgentSnippet): TemplateResult {
    const { client, way, place, text: snippet } = shown;
    const words = WORDS[way];
    const title = text(words.title, { client });
    return html`<section class="card stack" aria-label=${title} data-way=${way}>
      <h2>${title}</h2>
      <p class="quiet">${text('agents.goes_into', { place })} ${text(words.about)}</p>
      ${needsPublicAddress(shown) ? html`<p class="alert">${icon('info')}<span>${text('agents.public_address', { client })}</span></p>` : nothing}
      ${this.copyable(snippet, title)}
      ${way === 'command' ? html`<p class="quiet small">${textWith('agents.not_found', { program: html`<code>atmo</code>`, node: html`<code>node</code>`, command: html`<code>command -v atmo node</code>`, script: html`<code>scripts/atmo</code>` })}</p>` : nothing}
      ${this.#trust(shown)}
    </section>`;
  }

  /** Returns a view that explains how another machine can trust this hub's certificate authority. */
  #trust(shown: AgentSnippet): TemplateResult | typeof nothing {
    const steps = this.#tls.value && trustSteps(this.#tls.value, location.origin);
    // Servers in the Internet take no certificate of an authority at home.
    if (!steps || needsPublicAddress(shown)) return nothing;
    if (shown.way === 'command') {
      return html`<p class="quiet">${textWith('agents.trust', { command: html`<code>sudo atmo tls</code>` })}</p>
        ${this.copyable(steps.command, text('agents.trust_title'))}`;
    }
    return html`<p class="quiet">${textWith('agents.trust_client', {
      certificate: html`<a href="/ca.crt" download>${text('agents.certificate')}</a>`,
      variable: html`<code>NODE_EXTRA_CA_CERTS</code>`,
      option: html`<code>curl --cacert</code>`,
      fingerprint: html`<code>${steps.fingerprint}</code>`,
    })}</p>`;
  }

  #tokenForm(): TemplateResult {
    if (this.#minted) {
      return html`<p role="status">${textWith('agents.minted', {
        agent: html`<bdi>${this.#minted.agent_id}</bdi>`,
        date: dateWords(this.#minted.expires_at),
      })}</p>`;
    }
    return html`<form class="card stack" @submit=${(event: SubmitEvent) => void this.#mint(event)}>
      <h2>${text('agents.token_for_it')}</h2>
      <div class="row">
        <label class="field grow"><span class="label">${text('tokens.agent_name')}</span>
          <input name="agent" required maxlength="64" pattern=${AGENT_NAME_PATTERN} autocomplete="off" placeholder=${text('agents.name_example')} /></label>
        <label class="field grow"><span class="label">${text('agents.it_may')}</span>
          <select name="rights">${(['use', 'look'] as const).map((right) => html`<option value=${right}>${text(`agents.right_${right}`)}</option>`)}</select></label>
      </div>
      <p><button class="button primary">${text('tokens.make_it')}</button></p>
    </form>`;
  }

  #choose(client: string): void {
    this.#client = client;
    this.requestUpdate();
  }

  async #mint(event: SubmitEvent): Promise<void> {
    const { agent = '', rights = 'look' } = formValues(event);
    const { permissions } = rights === 'use' ? RIGHTS.use : RIGHTS.look;
    try {
      this.#minted = await this.app.hub.post<MintedToken>('/api/v1/tokens', {
        agent_id: agent,
        permissions,
        ttl_seconds: TOKEN_LIFE_SECONDS,
      });
      this.notify(text('agents.token_stands'));
    } catch (error) {
      this.notifyError(error);
    }
    this.requestUpdate();
  }
}

customElements.define('atmo-page-agents', AgentsPage);

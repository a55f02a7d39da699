import { html, nothing, type TemplateResult } from 'lit';
import { formValues } from '../components/form-values.ts';
import type { Stop } from '../components/light-element.ts';
import { PageElement } from '../components/page-element.ts';
import { RemoteData } from '../components/remote-data.ts';
import { type AgentSnippet, agentSnippets, type TlsView, trustSteps } from './agent-snippets.ts';
import { AGENT_NAME_PATTERN, type MintedToken } from './tokens.ts';

/** The choices of permissions for a new agent on this page. The tokens page offers more choices. */
const RIGHTS = {
  use: { title: 'See and control all devices', permissions: ['device:control:*', 'device:read:*', 'sensor:read:*'] },
  look: { title: 'Only look: states, sensors, history', permissions: ['device:read:*', 'sensor:read:*'] },
} as const;
const TOKEN_LIFE_SECONDS = 2_592_000;

/** Page that shows how to configure an agent's client for this hub. The page can also make a token for the agent. */
export class AgentsPage extends PageElement {
  #client = 'Claude Desktop';
  readonly #tls = new RemoteData<TlsView>(() => this.requestUpdate());
  #minted: MintedToken | undefined;

  protected override connected(): readonly Stop[] {
    this.#minted = undefined;
    void this.#tls.load(() => this.app.hub.get<TlsView>('/api/v1/tls'));
    return super.connected();
  }

  protected override render(): TemplateResult {
    const snippets = agentSnippets({ hubUrl: location.origin, ...(this.#minted && { token: this.#minted.token }) });
    const clients = [...new Set(snippets.map(({ client }) => client))];
    const chosen = snippets.filter(({ client }) => client === this.#client);
    return html`
      <header class="page-head"><h1>Connect an agent</h1><p>Agents find this hub's tools by the Model Context Protocol or over HTTP.</p></header>
      <div class="stack">
        <div class="tabs" role="group" aria-label="Client">
          ${clients.map((client) => html`<button type="button" aria-pressed=${client === this.#client} @click=${() => this.#choose(client)}>${client}</button>`)}
        </div>
        ${chosen.map((snippet) => this.#card(snippet))}
        ${chosen.some(({ way }) => way === 'http') ? this.#tokenForm() : nothing}
        <p class="quiet">What an agent does is in <a href="#/activity">Activity</a>; what it may do, in <a href="#/tokens">Tokens</a>. Dangerous calls
          wait in <a href="#/approvals">Approvals</a>.</p>
      </div>
    `;
  }

  #card({ client, way, place, text }: AgentSnippet): TemplateResult {
    const title = way === 'command' ? `${client}, on a machine that has atmo` : `${client}, over HTTP`;
    return html`<section class="card stack" aria-label=${title} data-way=${way}>
      <h2>${title}</h2>
      <p class="quiet">Goes into ${place}.
        ${way === 'command' ? 'The command makes the agent a token of its own, kept on that machine, with which dangerous things wait for you.' : 'The text holds the token of the agent: keep it to yourself.'}</p>
      ${this.copyable(text, title)}
      ${way === 'command' ? html`<p class="quiet small">If it says that <code>atmo</code> is not found, put the whole path in its place, as <code>command -v atmo</code> shows it in a terminal; from a checkout it is <code>scripts/atmo</code> there.</p>` : nothing}
      ${this.#trust(way)}
    </section>`;
  }

  /** Returns a view that explains how another machine can trust this hub's certificate authority. */
  #trust(way: AgentSnippet['way']): TemplateResult | typeof nothing {
    const steps = this.#tls.value && trustSteps(this.#tls.value, location.origin);
    if (!steps) return nothing;
    if (way === 'command') {
      return html`<p class="quiet">Other machines have to trust this hub first. Compare the fingerprint with what <code>sudo atmo tls</code> shows on the hub:</p>
        ${this.copyable(steps.command, 'Trust this hub')}`;
    }
    return html`<p class="quiet">The client has to trust this hub: give it the <a href="/ca.crt" download>certificate of the hub’s authority</a>, such as
      with <code>NODE_EXTRA_CA_CERTS</code> or <code>curl --cacert</code>. Its fingerprint is <code>${steps.fingerprint}</code>.</p>`;
  }

  #tokenForm(): TemplateResult {
    if (this.#minted) {
      return html`<p role="status">The token of <bdi>${this.#minted.agent_id}</bdi> stands in the text above, this once. It ends
        ${new Date(this.#minted.expires_at).toLocaleDateString()}.</p>`;
    }
    return html`<form class="card stack" @submit=${(event: SubmitEvent) => void this.#mint(event)}>
      <h2>A token for it</h2>
      <div class="row">
        <label class="field grow"><span class="label">Name of the agent</span>
          <input name="agent" required maxlength="64" pattern=${AGENT_NAME_PATTERN} autocomplete="off" placeholder="my-assistant" /></label>
        <label class="field grow"><span class="label">It may</span>
          <select name="rights">${Object.entries(RIGHTS).map(([key, { title }]) => html`<option value=${key}>${title}</option>`)}</select></label>
      </div>
      <p><button class="button primary">Make the token</button></p>
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
      this.notify('The token stands in the text.');
    } catch (error) {
      this.notifyError(error);
    }
    this.requestUpdate();
  }
}

customElements.define('atmo-page-agents', AgentsPage);

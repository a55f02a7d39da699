import { html, nothing, type TemplateResult } from 'lit';
import type { NamedDevice } from '../../core/devices/action-descriptions.ts';
import { areaNames } from '../api/home-store.ts';
import { modalDialog } from '../components/dialog.ts';
import { formValues } from '../components/form-values.ts';
import { icon } from '../components/icon.ts';
import type { Stop } from '../components/light-element.ts';
import { PageElement } from '../components/page-element.ts';
import { RemoteData, remoteDataView } from '../components/remote-data.ts';
import { grantBuilder } from './grant-builder.ts';
import {
  AGENT_NAME_PATTERN,
  type AgentView,
  grantInWords,
  LIFETIMES,
  type MintedToken,
  type TokenPreview,
  type TokenView,
} from './tokens.ts';

/** Page about the tokens of agents and the agents that run on the hub. It can show which devices and tools a token can see. */
export class TokensPage extends PageElement {
  readonly #tokens = new RemoteData<readonly TokenView[]>(() => this.requestUpdate());
  readonly #agents = new RemoteData<readonly AgentView[]>(() => this.requestUpdate());
  readonly #preview = new RemoteData<TokenPreview>(() => this.requestUpdate());
  #grants: readonly string[] = [];
  #minted: MintedToken | undefined;
  /** The old token that the new token will replace; undefined if there is none. */
  #narrowed: TokenView | undefined;
  #revoked: TokenView | undefined;

  protected override connected(): readonly Stop[] {
    this.#load();
    const stop = this.app.store.onEvent(({ type }) => {
      if (type === 'token.issued' || type === 'token.revoked' || type === 'agent.changed') this.#load();
    });
    return [...super.connected(), stop, () => this.#forgetMinted()];
  }

  /** Called when the person leaves the page. Deletes the text of the new token, because it is shown only once. */
  #forgetMinted(): void {
    this.#minted = undefined;
  }

  protected override render(): TemplateResult {
    return html`
      <header class="page-head"><h1>Tokens</h1><p>What agents may see and do. Dangerous things wait for people all the same.</p></header>
      <div class="stack">
        ${this.#minted ? this.#mintedCard(this.#minted) : nothing} ${this.#form()}
        <section class="card" aria-labelledby="tokens-title"><h2 id="tokens-title">Tokens that this hub made</h2>
          ${remoteDataView(this.#tokens, (tokens) => tokenRows(tokens, this, this.app.store.state.devices))}
        </section>
        ${remoteDataView(this.#agents, (agents) => agentsCard(agents, (agent) => void this.#kill(agent)))}
      </div>
      ${this.#revoked ? this.#revokeDialog(this.#revoked) : nothing}
    `;
  }

  #form(): TemplateResult {
    const { state } = this.app.store;
    const narrowed = this.#narrowed;
    return html`<form class="card stack" id="mint" @submit=${(event: SubmitEvent) => void this.#mint(event)}>
      <h2>${narrowed ? html`Narrow the token of <bdi>${narrowed.agent_id}</bdi>` : 'Make a token'}</h2>
      ${narrowed ? html`<p class="quiet">The agent gets a new token with what is left below; the old one ends at once.</p>` : nothing}
      <div class="row">
        <label class="field grow"><span class="label">Name of the agent</span>
          <input name="agent" required maxlength="64" pattern=${AGENT_NAME_PATTERN} .value=${narrowed?.agent_id ?? ''} ?readonly=${narrowed !== undefined}
            autocomplete="off" title="Small letters, digits, . _ and -" placeholder="kitchen-helper" /></label>
        <label class="field"><span class="label">Lasts</span>
          <select name="life">${[...LIFETIMES].map(([title, seconds]) => html`<option value=${seconds} ?selected=${seconds === 2_592_000}>${title}</option>`)}</select></label>
      </div>
      ${grantBuilder({ grants: this.#grants, areas: areaNames(state), devices: state.devices, onChange: (grants) => this.#choose(grants) })}
      ${remoteDataView(this.#preview, previewView)}
      <div class="row">
        <button class="button primary" ?disabled=${this.#grants.length === 0}>${narrowed ? 'Replace the token' : 'Make the token'}</button>
        <button type="button" class="button" ?disabled=${this.#grants.length === 0} @click=${() => this.preview(this.#grants)}>${icon('search')}What it would see</button>
        ${narrowed ? html`<button type="button" class="button plain" @click=${() => this.#reset()}>Leave it as it is</button>` : nothing}
      </div>
    </form>`;
  }

  #mintedCard({ token, agent_id: agent, expires_at: expiresAt }: MintedToken): TemplateResult {
    return html`<section class="card stack" aria-labelledby="minted-title">
      <h2 id="minted-title" tabindex="-1">The token of <bdi>${agent}</bdi></h2>
      <p class="quiet">Copy it now: nobody can show it again. It ends ${new Date(expiresAt).toLocaleString()}.</p>
      ${this.copyable(token, 'Token')}
    </section>`;
  }

  /** Shows the devices and tools that an agent with these permissions could see. No token is made for this. */
  preview(permissions: readonly string[]): void {
    void this.#preview.load(() => this.app.hub.post<TokenPreview>('/api/v1/tokens/preview', { permissions }));
  }

  /** Puts a token's permissions into the form. The person removes some of them, and makes a token that replaces the old one. */
  narrow(token: TokenView): void {
    this.#narrowed = token;
    this.#choose(token.permissions);
    this.querySelector('#mint')?.scrollIntoView();
  }

  /** Opens the dialog that asks whether to revoke a token. If `token` is undefined, closes the dialog. */
  revoke(token: TokenView | undefined): void {
    this.#revoked = token;
    this.requestUpdate();
  }

  #revokeDialog(token: TokenView): TemplateResult {
    const content = html`<p>It ends at once, with all that come from it and what they run.</p>
      <footer><button type="button" class="button danger" @click=${() => void this.#end(token)}>Revoke</button></footer>`;
    return modalDialog({ title: `Revoke the token of ${token.agent_id}?`, onClose: () => this.revoke(undefined) }, content);
  }

  async #end({ token_id: id, agent_id: agent }: TokenView): Promise<void> {
    this.revoke(undefined);
    await this.attempt(this.app.hub.delete(`/api/v1/tokens/${id}`), `The token of ${agent} has ended.`);
    this.#load();
  }

  #choose(grants: readonly string[]): void {
    this.#grants = grants;
    this.#preview.reset();
  }

  #reset(): void {
    this.#narrowed = undefined;
    this.#choose([]);
  }

  async #mint(event: SubmitEvent): Promise<void> {
    const { agent = '', life } = formValues(event);
    const replaced = this.#narrowed;
    try {
      const body = { agent_id: agent, permissions: this.#grants, ttl_seconds: Number(life) };
      const minted = await this.app.hub.post<MintedToken>('/api/v1/tokens', body);
      try {
        if (replaced) await this.app.hub.delete(`/api/v1/tokens/${replaced.token_id}`);
      } finally {
        // The hub returns the text of a token only once. It is therefore shown even if the old token could not be revoked.
        this.#minted = minted;
      }
      this.#reset();
      await this.updateComplete;
      this.querySelector<HTMLElement>('#minted-title')?.focus();
    } catch (error) {
      this.notifyError(error);
    }
    this.#load();
  }

  async #kill({ agent_id: id }: AgentView): Promise<void> {
    await this.attempt(this.app.hub.invoke('kill_agent', { agent_id: id, reason: 'Ended at the monitor page' }), `${id} has ended.`);
    this.#load();
  }

  #load(): void {
    const { hub } = this.app;
    void this.#tokens.load(async () => (await hub.get<{ tokens: readonly TokenView[] }>('/api/v1/tokens')).tokens);
    void this.#agents.load(async () => ((await hub.invoke('list_agents')) as unknown as { agents: readonly AgentView[] }).agents);
  }
}

customElements.define('atmo-page-tokens', TokensPage);

/** Returns the valid tokens as rows, then the ended tokens in a collapsed list. The permissions are in words, with names of devices. */
function tokenRows(tokens: readonly TokenView[], page: TokensPage, devices: readonly NamedDevice[]): TemplateResult {
  const valid = tokens.filter(({ state }) => state === 'valid');
  const ended = tokens.filter(({ state }) => state !== 'valid');
  return html`
    ${valid.length === 0 ? html`<p class="quiet">No agent has a token.</p>` : html`<ul class="tokens">${valid.map((token) => tokenRow(token, devices, page))}</ul>`}
    ${ended.length === 0 ? nothing : html`<details><summary>${ended.length} ended</summary><ul class="tokens">${ended.map((token) => tokenRow(token, devices))}</ul></details>`}
  `;
}

/** Returns who made a token. This is `the owner`, or the id of the agent in a principal such as `agent:<id>`. */
function makerOf(principal: string): string {
  const [kind = '', ...id] = principal.split(':');
  return kind === 'owner' ? 'the owner' : id.join(':') || kind;
}

function tokenRow(token: TokenView, devices: readonly NamedDevice[], page?: TokensPage): TemplateResult {
  const { agent_id: agent, permissions, state, expires_at: expiresAt, issued_by: by } = token;
  return html`<li>
    <p><strong><bdi>${agent}</bdi></strong> <span class="chip ${state === 'valid' ? 'good' : ''}">${state}</span>
      <span class="quiet small">until <time datetime=${expiresAt}>${new Date(expiresAt).toLocaleString()}</time>, made by <bdi>${makerOf(by)}</bdi></span></p>
    <p class="quiet">${permissions.map((grant) => grantInWords(grant, devices)).join('; ')}</p>
    ${
      page === undefined
        ? nothing
        : html`<p class="row">
            <button type="button" class="button small" aria-label="What it sees: ${agent}" @click=${() => page.preview(permissions)}>What it sees</button>
            <button type="button" class="button small" aria-label="Narrow ${agent}" @click=${() => page.narrow(token)}>Narrow</button>
            <button type="button" class="button small danger plain" aria-label="Revoke ${agent}" @click=${() => page.revoke(token)}>Revoke</button>
          </p>`
    }
  </li>`;
}

const TONES: Readonly<Record<string, string>> = { active: 'good', failing: 'bad' };

/** Returns a card with the agents of the hub, each with a button that ends it. */
function agentsCard(agents: readonly AgentView[], onKill: (agent: AgentView) => void): TemplateResult {
  return html`<section class="card" aria-labelledby="agents-title">
    <h2 id="agents-title">Agents</h2>
    ${agents.length === 0 ? html`<p class="quiet">No agent runs at this hub.</p>` : html`<ul class="tokens">${agents.map((agent) => agentRow(agent, onKill))}</ul>`}
  </section>`;
}

function agentRow(agent: AgentView, onKill: (agent: AgentView) => void): TemplateResult {
  const { agent_id: id, agent_type: type, kind, status, runs, last_run_at: lastRun, last_error: error } = agent;
  const isOver = status === 'killed' || status === 'expired';
  return html`<li class="row">
    <span class="grow"><strong><bdi>${id}</bdi></strong> <span class="chip ${TONES[status] ?? ''}">${status}</span>
      <span class="quiet small">${type}${kind === undefined ? nothing : html` (<bdi>${kind}</bdi>)`},
        ${runs} runs${lastRun === undefined ? nothing : html`, last ${new Date(lastRun).toLocaleString()}`}</span>
      ${error === undefined ? nothing : html`<br /><span class="quiet small"><bdi>${String(error.message ?? '')}</bdi></span>`}</span>
    ${isOver ? nothing : html`<button type="button" class="button small danger plain" aria-label="End ${id}" @click=${() => onKill(agent)}>End</button>`}
  </li>`;
}

/** Returns a view with the names of the devices and tools that an agent can see. */
function previewView({ devices, tools }: TokenPreview): TemplateResult {
  return html`<section class="sight" aria-label="What it sees" role="status">
    <p><strong>${devices.length} ${devices.length === 1 ? 'device' : 'devices'}</strong> <span class="quiet"><bdi>${devices.map(({ name }) => name).join(', ') || 'none'}</bdi></span></p>
    <details><summary>${tools.length} tools</summary><ul>${tools.map(({ id, name }) => html`<li><bdi>${name}</bdi> <code>${id}</code></li>`)}</ul></details>
  </section>`;
}

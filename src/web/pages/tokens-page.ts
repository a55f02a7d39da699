import './connected-applications.ts';
import { html, nothing, type TemplateResult } from 'lit';
import type { NamedDevice } from '../../core/devices/action-descriptions.ts';
import { areaNames } from '../api/home-store.ts';
import { modalDialog } from '../components/dialog.ts';
import { formValues } from '../components/form-values.ts';
import { dateTimeWords } from '../components/formatting.ts';
import { icon } from '../components/icon.ts';
import type { Stop } from '../components/light-element.ts';
import { PageElement } from '../components/page-element.ts';
import { RemoteData, remoteDataView } from '../components/remote-data.ts';
import { text, textWith } from '../texts/text.ts';
import { grantBuilder } from './grant-builder.ts';
import {
  AGENT_NAME_PATTERN,
  type AgentView,
  grantsInWords,
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
      <header class="page-head"><h1>${text('tokens.title')}</h1><p>${text('tokens.about')}</p></header>
      <div class="stack">
        ${this.#minted ? this.#mintedCard(this.#minted) : nothing} ${this.#form()}
        <section class="card" aria-labelledby="tokens-title"><h2 id="tokens-title">${text('tokens.made_here')}</h2>
          ${remoteDataView(this.#tokens, (tokens) => tokenRows(tokens, this, this.app.store.state.devices))}
        </section>
        <atmo-connected-applications .app=${this.app}></atmo-connected-applications>
        ${remoteDataView(this.#agents, (agents) => agentsCard(agents, (agent) => void this.#kill(agent)))}
      </div>
      ${this.#revoked ? this.#revokeDialog(this.#revoked) : nothing}
    `;
  }

  #form(): TemplateResult {
    const { state } = this.app.store;
    const narrowed = this.#narrowed;
    return html`<form class="card stack" id="mint" @submit=${(event: SubmitEvent) => void this.#mint(event)}>
      <h2>${narrowed ? textWith('tokens.narrow_title', { agent: html`<bdi>${narrowed.agent_id}</bdi>` }) : text('tokens.make')}</h2>
      ${narrowed ? html`<p class="quiet">${text('tokens.narrow_about')}</p>` : nothing}
      <div class="row">
        <label class="field grow"><span class="label">${text('tokens.agent_name')}</span>
          <input name="agent" required maxlength="64" pattern=${AGENT_NAME_PATTERN} .value=${narrowed?.agent_id ?? ''} ?readonly=${narrowed !== undefined}
            autocomplete="off" title=${text('tokens.agent_name_rule')} placeholder=${text('tokens.agent_name_example')} /></label>
        <label class="field"><span class="label">${text('tokens.lasts')}</span>
          <select name="life">${LIFE_NAMES.map((name) => html`<option value=${LIFETIMES[name]} ?selected=${name === 'month'}>${text(`tokens.life_${name}`)}</option>`)}</select></label>
      </div>
      ${grantBuilder({ grants: this.#grants, areas: areaNames(state), devices: state.devices, onChange: (grants) => this.#choose(grants) })}
      ${remoteDataView(this.#preview, previewView)}
      <div class="row">
        <button class="button primary" ?disabled=${this.#grants.length === 0}>${narrowed ? text('tokens.replace') : text('tokens.make_it')}</button>
        <button type="button" class="button" ?disabled=${this.#grants.length === 0} @click=${() => this.preview(this.#grants)}>${icon('search')}${text('tokens.would_see')}</button>
        ${narrowed ? html`<button type="button" class="button plain" @click=${() => this.#reset()}>${text('tokens.leave')}</button>` : nothing}
      </div>
    </form>`;
  }

  #mintedCard({ token, agent_id: agent, expires_at: expiresAt }: MintedToken): TemplateResult {
    return html`<section class="card stack" aria-labelledby="minted-title">
      <h2 id="minted-title" tabindex="-1">${textWith('tokens.token_of', { agent: html`<bdi>${agent}</bdi>` })}</h2>
      <p class="quiet">${text('tokens.copy_now', { date: dateTimeWords(expiresAt) })}</p>
      ${this.copyable(token, text('tokens.token'))}
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
    const content = html`<p>${text('tokens.revoke_about')}</p>
      <footer><button type="button" class="button danger" @click=${() => void this.#end(token)}>${text('tokens.revoke')}</button></footer>`;
    return modalDialog({ title: text('tokens.revoke_title', { agent: token.agent_id }), onClose: () => this.revoke(undefined) }, content);
  }

  async #end({ token_id: id, agent_id: agent }: TokenView): Promise<void> {
    this.revoke(undefined);
    await this.attempt(this.app.hub.delete(`/api/v1/tokens/${id}`), text('tokens.revoked', { agent }));
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
    await this.attempt(
      this.app.hub.invoke('kill_agent', { agent_id: id, reason: text('tokens.ended_here') }),
      text('tokens.agent_ended', { agent: id }),
    );
    this.#load();
  }

  #load(): void {
    const { hub } = this.app;
    void this.#tokens.load(async () => {
      const { tokens } = await hub.get<{ tokens: readonly TokenView[] }>('/api/v1/tokens');
      return tokens.filter(({ grant }) => grant === undefined);
    });
    void this.#agents.load(async () => ((await hub.invoke('list_agents')) as unknown as { agents: readonly AgentView[] }).agents);
  }
}

customElements.define('atmo-page-tokens', TokensPage);

/** Returns the valid tokens as rows, then the ended tokens in a collapsed list. The permissions are in words, with names of devices. */
function tokenRows(tokens: readonly TokenView[], page: TokensPage, devices: readonly NamedDevice[]): TemplateResult {
  const valid = tokens.filter(({ state }) => state === 'valid');
  const ended = tokens.filter(({ state }) => state !== 'valid');
  return html`
    ${valid.length === 0 ? html`<p class="quiet">${text('tokens.none')}</p>` : html`<ul class="tokens">${valid.map((token) => tokenRow(token, devices, page))}</ul>`}
    ${ended.length === 0 ? nothing : html`<details><summary>${text('tokens.ended', { count: ended.length })}</summary><ul class="tokens">${ended.map((token) => tokenRow(token, devices))}</ul></details>`}
  `;
}

/** Returns who made a token. This is `the owner`, or the id of the agent in a principal such as `agent:<id>`. */
function makerOf(principal: string): string {
  const [kind = '', ...id] = principal.split(':');
  return kind === 'owner' ? text('tokens.the_owner') : id.join(':') || kind;
}

function tokenRow(token: TokenView, devices: readonly NamedDevice[], page?: TokensPage): TemplateResult {
  const { agent_id: agent, permissions, state, expires_at: expiresAt, issued_by: by } = token;
  return html`<li>
    <p><strong><bdi>${agent}</bdi></strong> <span class="chip ${state === 'valid' ? 'good' : ''}">${text(`tokens.state_${state}`)}</span>
      <span class="quiet small">${textWith('tokens.until_by', {
        date: html`<time datetime=${expiresAt}>${dateTimeWords(expiresAt)}</time>`,
        maker: html`<bdi>${makerOf(by)}</bdi>`,
      })}</span></p>
    <p class="quiet">${grantsInWords(permissions, devices).join('; ')}</p>
    ${
      page === undefined
        ? nothing
        : html`<p class="row">
            <button type="button" class="button small" aria-label=${`${text('tokens.sees')}: ${agent}`} @click=${() => page.preview(permissions)}>${text('tokens.sees')}</button>
            <button type="button" class="button small" aria-label=${text('tokens.narrow_thing', { agent })} @click=${() => page.narrow(token)}>${text('tokens.narrow')}</button>
            <button type="button" class="button small danger plain" aria-label=${text('tokens.revoke_thing', { agent })} @click=${() => page.revoke(token)}>${text('tokens.revoke')}</button>
          </p>`
    }
  </li>`;
}

const LIFE_NAMES = ['hour', 'day', 'week', 'month', 'year'] as const;
const TONES: Readonly<Record<string, string>> = { active: 'good', failing: 'bad' };

/** Returns a card with the agents of the hub, each with a button that ends it. */
function agentsCard(agents: readonly AgentView[], onKill: (agent: AgentView) => void): TemplateResult {
  return html`<section class="card" aria-labelledby="agents-title">
    <h2 id="agents-title">${text('agents.title')}</h2>
    ${agents.length === 0 ? html`<p class="quiet">${text('tokens.no_agents')}</p>` : html`<ul class="tokens">${agents.map((agent) => agentRow(agent, onKill))}</ul>`}
  </section>`;
}

function agentRow(agent: AgentView, onKill: (agent: AgentView) => void): TemplateResult {
  const { agent_id: id, agent_type: type, kind, status, runs, last_run_at: lastRun, last_error: error } = agent;
  const isOver = status === 'killed' || status === 'expired';
  return html`<li class="row">
    <span class="grow"><strong><bdi>${id}</bdi></strong> <span class="chip ${TONES[status] ?? ''}">${text(`automations.is_${status}`)}</span>
      <span class="quiet small">${text(`tokens.type_${type}`)}${kind === undefined ? nothing : html` (<bdi>${kind}</bdi>)`},
        ${text('tokens.runs', { count: runs })}${lastRun === undefined ? nothing : `, ${text('tokens.last_run', { date: dateTimeWords(lastRun) })}`}</span>
      ${error === undefined ? nothing : html`<br /><span class="quiet small"><bdi>${String(error.message ?? '')}</bdi></span>`}</span>
    ${isOver ? nothing : html`<button type="button" class="button small danger plain" aria-label=${text('tokens.end_thing', { agent: id })} @click=${() => onKill(agent)}>${text('tokens.end')}</button>`}
  </li>`;
}

/** Returns a view with the names of the devices and tools that an agent can see. */
function previewView({ devices, tools }: TokenPreview): TemplateResult {
  return html`<section class="sight" aria-label=${text('tokens.sees')} role="status">
    <p><strong>${text('mesh.devices', { count: devices.length })}</strong> <span class="quiet"><bdi>${devices.map(({ name }) => name).join(', ') || text('words.none')}</bdi></span></p>
    <details><summary>${text('mesh.tools', { count: tools.length })}</summary><ul>${tools.map(({ id, name }) => html`<li><bdi>${name}</bdi> <code>${id}</code></li>`)}</ul></details>
  </section>`;
}

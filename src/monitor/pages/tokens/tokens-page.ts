import { html, nothing, type TemplateResult } from 'lit';
import { modal } from '../../parts/dialog.ts';
import { icon } from '../../parts/icon.ts';
import { PageElement } from '../../parts/page-element.ts';
import { AGENT_NAME_PATTERN } from '../agent-name-pattern.ts';
import { Asked } from '../asked.ts';
import { askedView } from '../asked-view.ts';
import { copyable } from '../copyable.ts';
import { fieldsOf } from '../field-value.ts';
import { agentsCard } from './agents-card.ts';
import { grantBuilder } from './grant-builder.ts';
import { sightView } from './sight-view.ts';
import { tokenRows } from './token-rows.ts';
import { sightOf, type TokenSight } from './token-sight.ts';
import { type AgentView, LIFETIMES, type MintedToken, type TokenView } from './token-view.ts';

/** Who may do what: tokens of agents, what each of them is shown, and the agents that run at the hub. */
export class TokensPage extends PageElement {
  readonly #tokens = new Asked<readonly TokenView[]>(() => this.requestUpdate());
  readonly #agents = new Asked<readonly AgentView[]>(() => this.requestUpdate());
  readonly #sight = new Asked<TokenSight>(() => this.requestUpdate());
  #grants: readonly string[] = [];
  #minted: MintedToken | undefined;
  /** The token that the one in the form takes the place of. */
  #narrowed: TokenView | undefined;
  #ending: TokenView | undefined;
  #stop: (() => void) | undefined;

  override connectedCallback(): void {
    super.connectedCallback();
    this.#ask();
    this.#stop = this.app.store.onEvent(({ type }) => {
      if (type === 'token.issued' || type === 'token.revoked' || type === 'agent.changed') this.#ask();
    });
  }

  /** The text of a token is shown once, and not to whoever comes back to the page. */
  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#stop?.();
    this.#minted = undefined;
  }

  protected override render(): TemplateResult {
    return html`
      <header class="page-head"><h1>Tokens</h1><p>What agents may see and do. Dangerous things wait for people all the same.</p></header>
      <div class="stack">
        ${this.#minted ? this.#mintedCard(this.#minted) : nothing} ${this.#form()}
        <section class="card" aria-labelledby="tokens-title"><h2 id="tokens-title">Tokens that this hub made</h2>
          ${askedView(this.#tokens, (tokens) => tokenRows(tokens, this, this.app.store.state.devices))}
        </section>
        ${askedView(this.#agents, (agents) => agentsCard(agents, (agent) => void this.#kill(agent)))}
      </div>
      ${this.#ending ? this.#revokeDialog(this.#ending) : nothing}
    `;
  }

  #form(): TemplateResult {
    const { devices } = this.app.store.state;
    const areas = [...new Set(devices.flatMap(({ area }) => (area === null ? [] : [area])))].sort();
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
      ${grantBuilder({
        grants: this.#grants,
        areas,
        devices,
        onChange: (grants) => this.#choose(grants),
      })}
      ${askedView(this.#sight, sightView)}
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
      ${copyable(token, { label: 'Token', onCopied: () => this.say('Copied.') })}
    </section>`;
  }

  /** Shows what an agent with these permissions is shown. */
  preview(permissions: readonly string[]): void {
    void this.#sight.ask(() => sightOf(permissions, this.app.hub));
  }

  /** Puts a token's permissions into the form, to make one with fewer of them in its place. */
  narrow(token: TokenView): void {
    this.#narrowed = token;
    this.#choose(token.permissions);
    this.querySelector('#mint')?.scrollIntoView();
  }

  /** Asks once more: what is revoked never comes back. `undefined` lets it be. */
  revoke(token: TokenView | undefined): void {
    this.#ending = token;
    this.requestUpdate();
  }

  #revokeDialog(token: TokenView): TemplateResult {
    const content = html`<p>It ends at once, with all that come from it and what they run.</p>
      <footer><button type="button" class="button danger" @click=${() => void this.#end(token)}>Revoke</button></footer>`;
    return modal({ title: `Revoke the token of ${token.agent_id}?`, onClose: () => this.revoke(undefined) }, content);
  }

  async #end({ token_id: id, agent_id: agent }: TokenView): Promise<void> {
    this.revoke(undefined);
    await this.app.hub.delete(`/api/v1/tokens/${id}`).then(
      () => this.say(`The token of ${agent} has ended.`),
      (error: unknown) => this.sayError(error),
    );
    this.#ask();
  }

  #choose(grants: readonly string[]): void {
    this.#grants = grants;
    this.#sight.forget();
  }

  #reset(): void {
    this.#narrowed = undefined;
    this.#choose([]);
  }

  async #mint(event: SubmitEvent): Promise<void> {
    const { agent = '', life } = fieldsOf(event);
    const replaced = this.#narrowed;
    try {
      const body = { agent_id: agent, permissions: this.#grants, ttl_seconds: Number(life) };
      const minted = await this.app.hub.post<MintedToken>('/api/v1/tokens', body);
      try {
        if (replaced) await this.app.hub.delete(`/api/v1/tokens/${replaced.token_id}`);
      } finally {
        // Only now, or it would look as if the old one had ended; and also where it has not, since nobody can show it again.
        this.#minted = minted;
      }
      this.#reset();
      await this.updateComplete;
      this.querySelector<HTMLElement>('#minted-title')?.focus();
    } catch (error) {
      this.sayError(error);
    }
    this.#ask();
  }

  async #kill({ agent_id: id }: AgentView): Promise<void> {
    await this.app.hub.invoke('kill_agent', { agent_id: id, reason: 'Ended at the monitor page' }).then(
      () => this.say(`${id} has ended.`),
      (error: unknown) => this.sayError(error),
    );
    this.#ask();
  }

  #ask(): void {
    const { hub } = this.app;
    void this.#tokens.ask(async () => (await hub.get<{ tokens: readonly TokenView[] }>('/api/v1/tokens')).tokens);
    void this.#agents.ask(async () => ((await hub.invoke('list_agents')) as unknown as { agents: readonly AgentView[] }).agents);
  }
}

customElements.define('atmo-page-tokens', TokensPage);

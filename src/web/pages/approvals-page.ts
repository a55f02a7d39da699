import '../components/misclick-guard.ts';
import './browser-key-card.ts';
import { html, nothing, type TemplateResult } from 'lit';
import { repeat } from 'lit/directives/repeat.js';
import type { JsonSchema } from '../../core/json.ts';
import { escapeAllHidden } from '../../core/untrusted-text.ts';
import { canSignDecisions, submitDecision } from '../api/approvals.ts';
import type { ApprovalView, ToolView } from '../api/hub-types.ts';
import { ageWords, countdown } from '../components/formatting.ts';
import { icon } from '../components/icon.ts';
import { every, type Stop } from '../components/light-element.ts';
import { PageElement } from '../components/page-element.ts';
import { type ApprovalText, approvalText, byWords, STATE_WORDS, shareLeft } from './approval-text.ts';

const SOON_MS = 60_000;

/** Page with the requests that wait for a person, and the decisions of the last hour. */
export class ApprovalsPage extends PageElement {
  static override properties = { ...PageElement.properties, busy: { state: true } };
  /** Ids of requests whose decision is being sent. */
  declare busy: ReadonlySet<string>;
  readonly #schemas = new Map<string, JsonSchema>();
  #shownId: string | undefined;

  constructor() {
    super();
    this.busy = new Set();
  }

  protected override connected(): readonly Stop[] {
    void this.app.store.refresh('approvals');
    return [...super.connected(), every(1_000, () => this.requestUpdate())];
  }

  /** Scrolls to the request that the URL names, once it is shown. A link of a message names it. */
  protected override updated(): void {
    const { id } = this.params;
    const card = id === undefined || id === this.#shownId ? null : this.renderRoot.querySelector(`[data-id="${CSS.escape(id)}"]`);
    if (!card) return;
    this.#shownId = id;
    card.scrollIntoView({ block: 'center' });
  }

  protected override render(): TemplateResult {
    const { store } = this.app;
    const waiting = store.pendingApprovals();
    const decided = store.state.approvals.filter((approval) => !waiting.includes(approval));
    return html`
      <header class="page-head"><div><h1>Approvals</h1><p>${headline(waiting.length)}</p></div></header>
      <div class="stack">
        ${this.#closed(waiting)} ${waiting.length === 0 ? calm() : nothing}
        ${repeat(
          waiting,
          (approval) => approval.approval_id,
          (approval) => this.#card(approval),
        )}
        <atmo-browser-key .app=${this.app}></atmo-browser-key>
        ${decided.length > 0 ? this.#history(decided) : nothing}
      </div>
    `;
  }

  /** Says that the request which the URL names does not wait any more. */
  #closed(waiting: readonly ApprovalView[]): TemplateResult | typeof nothing {
    const { id } = this.params;
    const isKnown = this.app.store.state.approvals.length > 0;
    if (id === undefined || !isKnown || waiting.some((approval) => approval.approval_id === id)) return nothing;
    return html`<p class="card quiet">The request that you opened was decided or has expired.</p>`;
  }

  #card(approval: ApprovalView): TemplateResult {
    const words = approvalText(approval, this.app.store.state.devices, this.#schemaOf(approval.tool));
    const now = Date.now();
    const isLate = Date.parse(approval.expires_at) - now < SOON_MS;
    return html`
      <article class="card request ${approval.approval_id === this.params.id ? 'named' : ''}" data-id=${approval.approval_id} aria-label="${words.who} wants: ${words.what} ${words.where}">
        <header>
          <span class="request-icon">${icon('shield')}</span>
          <div class="request-title">
            <p class="quiet"><strong>${words.who}</strong> wants to</p>
            <h2>${words.what}${words.where === '' ? nothing : html` <span class="request-device">${words.where}</span>`}</h2>
          </div>
          <p class="chip ${isLate ? 'bad' : 'warm'} number" title="Time left">${icon('clock')}${countdown(approval.expires_at, now)}</p>
        </header>
        <progress class="time-left" max="1" .value=${shareLeft(approval, now)} aria-label="Time left"></progress>
        ${this.#facts(approval, words)} ${this.#decision(approval)}
      </article>
    `;
  }

  #facts(approval: ApprovalView, words: ApprovalText): TemplateResult {
    const work = approval.will_do ?? [];
    return html`<dl class="facts">
      ${work.length > 0 ? html`<dt>Will do</dt><dd><ul class="will-do">${work.map((line) => html`<li>${escapeAllHidden(line)}</li>`)}</ul></dd>` : nothing}
      ${words.arguments.map(({ name, value }) => html`<dt>${name}</dt><dd>${value}</dd>`)}
      ${words.devices.join(', ') !== words.where ? html`<dt>Devices</dt><dd>${words.devices.join(', ')}</dd>` : nothing}
      ${words.effects.length > 0 ? html`<dt>Does</dt><dd>${words.effects.join(', ')}</dd>` : nothing}
      <dt>Tool</dt><dd><code>${approval.tool}</code></dd>
      <dt>Asked</dt><dd>${ageWords(approval.created_at, Date.now())}</dd>
      ${approval.needed > 1 ? html`<dt>Approvals</dt><dd>${approval.given} of ${approval.needed}${byWords(approval)}</dd>` : nothing}
    </dl>`;
  }

  #decision(approval: ApprovalView): TemplateResult {
    const { login } = this.app.session;
    if (!canSignDecisions(login)) {
      return html`<p class="quiet">This browser has no key to sign with. Let it approve below, or run
        <code>atmo approve ${approval.approval_id}</code> on the hub.</p>`;
    }
    const isBusy = this.busy.has(approval.approval_id);
    return html`<footer><atmo-steady class="row" about=${approval.approval_id}>
      <button type="button" class="button primary" ?disabled=${isBusy} @click=${() => void this.#decide(approval, 'approve')}>${icon('check')}Approve</button>
      <button type="button" class="button" ?disabled=${isBusy} @click=${() => void this.#decide(approval, 'deny')}>${icon('close')}Deny</button>
      <span class="quiet small">Signed as ${login?.person}</span>
    </atmo-steady></footer>`;
  }

  async #decide(approval: ApprovalView, decision: 'approve' | 'deny'): Promise<void> {
    const { approval_id: id } = approval;
    this.busy = new Set([...this.busy, id]);
    try {
      await submitDecision(this.app.hub, approval, { decision, login: this.app.session.login });
      this.notify(decision === 'approve' ? `${approval.title}: approved` : `${approval.title}: denied`);
    } catch (error) {
      this.notifyError(error);
    }
    await this.app.store.refresh('approvals');
    this.busy = new Set([...this.busy].filter((one) => one !== id));
  }

  #history(decided: readonly ApprovalView[]): TemplateResult {
    return html`<section class="card" aria-label="Decided lately"><h2>In the last hour</h2>
      <ul class="decided">${decided.map((approval) => this.#decided(approval))}</ul></section>`;
  }

  #decided(approval: ApprovalView): TemplateResult {
    const words = approvalText(approval, this.app.store.state.devices);
    const isGood = approval.state === 'used' || approval.state === 'approved';
    return html`<li>
      <span><strong>${words.what}</strong> ${words.where} <span class="quiet">for ${words.who}</span></span>
      <span class="chip ${isGood ? 'good' : ''}">${STATE_WORDS[approval.state]}${byWords(approval)}</span>
      <span class="quiet small">${ageWords(approval.created_at, Date.now())}</span>
    </li>`;
  }

  /** Returns the schema of a tool's parameters, which contains their units. It is empty until it has been loaded. */
  #schemaOf(tool: string): JsonSchema | undefined {
    if (!this.#schemas.has(tool)) {
      this.#schemas.set(tool, {});
      this.app.hub.get<ToolView>(`/api/v1/tools/${encodeURIComponent(tool)}`).then(
        ({ parameters }) => {
          this.#schemas.set(tool, parameters);
          this.requestUpdate();
        },
        // If the schema cannot be loaded, the arguments are shown without units.
        () => undefined,
      );
    }
    return this.#schemas.get(tool);
  }
}

function headline(count: number): string {
  if (count === 0) return 'Nothing waits for you.';
  return count === 1 ? 'One request waits for a person.' : `${count} requests wait for a person.`;
}

function calm(): TemplateResult {
  return html`<div class="card empty">${icon('shield')}<h2>All quiet</h2>
    <p>When an agent wants to do something dangerous, such as unlock a door, it asks here first.</p></div>`;
}

customElements.define('atmo-page-approvals', ApprovalsPage);

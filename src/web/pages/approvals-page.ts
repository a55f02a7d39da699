import '../components/misclick-guard.ts';
import './browser-key-card.ts';
import { html, nothing, type TemplateResult } from 'lit';
import { repeat } from 'lit/directives/repeat.js';
import type { ApprovalDecision } from '../../core/auth/approvals.ts';
import type { StandingAnswerView } from '../../core/auth/standing-answers.ts';
import type { JsonSchema } from '../../core/json.ts';
import { escapeAllHidden } from '../../core/untrusted-text.ts';
import { canSignDecisions, submitDecision } from '../api/approvals.ts';
import type { ApprovalView, ToolView } from '../api/hub-types.ts';
import { ageWords, countdown, timeWords } from '../components/formatting.ts';
import { icon } from '../components/icon.ts';
import { every, type Stop } from '../components/light-element.ts';
import { PageElement } from '../components/page-element.ts';
import { text, textWith } from '../texts/text.ts';
import { type ApprovalText, approvalText, byWords, shareLeft, shownContent, stateWords } from './approval-text.ts';

const SOON_MS = 60_000;

/** Page with the requests that wait for a person, and the decisions of the last hour. */
export class ApprovalsPage extends PageElement {
  static override properties = { ...PageElement.properties, busy: { state: true }, standing: { state: true } };
  /** Ids of requests whose decision is being sent. */
  declare busy: ReadonlySet<string>;
  /** The answers that hold on. Empty if this person may not see them. */
  declare standing: readonly StandingAnswerView[];
  readonly #schemas = new Map<string, JsonSchema>();
  #shownId: string | undefined;

  constructor() {
    super();
    this.busy = new Set();
    this.standing = [];
  }

  protected override connected(): readonly Stop[] {
    const { store } = this.app;
    void store.refresh('approvals');
    void this.#loadStanding();
    const stop = store.onEvent(({ type }) => {
      if (type === 'approval.decided' || type === 'approval.removed') void this.#loadStanding();
    });
    return [...super.connected(), stop, every(1_000, () => this.requestUpdate())];
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
      <header class="page-head"><div><h1 tabindex="-1">${text('approvals.title')}</h1><p>${headline(waiting.length)}</p></div></header>
      <div class="stack">
        ${this.#closed(waiting)} ${waiting.length === 0 ? calm() : nothing}
        ${repeat(
          waiting,
          (approval) => approval.approval_id,
          (approval) => this.#card(approval),
        )}
        ${this.standing.length > 0 ? this.#holding() : nothing}
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
    return html`<p class="card quiet">${text('approvals.closed')}</p>`;
  }

  #card(approval: ApprovalView): TemplateResult {
    const words = approvalText(approval, this.app.store.state.devices, this.#schemaOf(approval.tool));
    const now = Date.now();
    const isLate = Date.parse(approval.expires_at) - now < SOON_MS;
    return html`
      <article class="card request ${approval.approval_id === this.params.id ? 'named' : ''}" data-id=${approval.approval_id} aria-label=${text('approvals.label', { who: words.who, what: words.what, where: words.where })}>
        <header>
          <span class="request-icon">${icon('shield')}</span>
          <div class="request-title">
            <p class="quiet">${textWith('approvals.wants', { who: html`<strong>${words.who}</strong>` })}</p>
            <h2>${words.what}${words.where === '' ? nothing : html` <span class="request-device">${words.where}</span>`}</h2>
          </div>
          <p class="chip ${isLate ? 'bad' : 'warm'} number" title=${text('approvals.time_left')}>${icon('clock')}${countdown(approval.expires_at, now)}</p>
        </header>
        <progress class="time-left" max="1" .value=${shareLeft(approval, now)} aria-label=${text('approvals.time_left')}></progress>
        ${this.#facts(approval, words)} ${this.#decision(approval, words)}
      </article>
    `;
  }

  #facts(approval: ApprovalView, words: ApprovalText): TemplateResult {
    const work = approval.will_do ?? [];
    return html`<dl class="facts">
      ${work.length > 0 ? html`<dt>${text('approvals.will_do')}</dt><dd><ul class="will-do">${work.map((line) => html`<li>${escapeAllHidden(line)}</li>`)}</ul></dd>` : nothing}
      ${words.arguments.map(({ name, value }) => html`<dt>${name}</dt><dd>${value}</dd>`)}
      ${words.devices.join(', ') !== words.where ? html`<dt>${text('approvals.devices')}</dt><dd>${words.devices.join(', ')}</dd>` : nothing}
      ${words.effects.length > 0 ? html`<dt>${text('approvals.does')}</dt><dd>${words.effects.join(', ')}</dd>` : nothing}
      <dt>${text('approvals.tool')}</dt><dd><code>${approval.tool}</code></dd>
      <dt>${text('approvals.then')}</dt><dd>${text(approval.runs_when_approved ? 'approvals.runs_then' : 'approvals.repeats_then')}</dd>
      <dt>${text('approvals.asked')}</dt><dd>${ageWords(approval.created_at, Date.now())}</dd>
      ${approval.needed > 1 ? html`<dt>${text('approvals.approvals')}</dt><dd>${text('approvals.given_of', { given: approval.given, needed: approval.needed, by: byWords(approval) })}</dd>` : nothing}
    </dl>`;
  }

  #decision(approval: ApprovalView, words: ApprovalText): TemplateResult {
    const { login } = this.app.session;
    if (!canSignDecisions(login)) {
      const command = html`<code>atmo approve ${approval.approval_id}</code>`;
      return html`<p class="quiet">${textWith('approvals.no_key', { command })}</p>`;
    }
    // A press counts only if what is shown has not changed for half a second.
    return html`<footer><atmo-steady class="row" about=${shownContent(approval)}>
      ${approval.answers.map((answer) => this.#answer(approval, answer, words))}
      <span class="quiet small">${text('approvals.signed_as', { person: login?.person ?? '' })}</span>
    </atmo-steady></footer>`;
  }

  #answer(approval: ApprovalView, answer: ApprovalDecision, { where }: ApprovalText): TemplateResult {
    const isApproval = answer === 'approve' || answer === 'approve_for_hour';
    return html`<button type="button" class="button ${answer === 'approve' ? 'primary' : ''}" ?disabled=${this.busy.has(approval.approval_id)}
      @click=${() => void this.#decide(approval, answer)}>${icon(isApproval ? 'check' : 'close')}${text(`approvals.${answer}`, { devices: where })}</button>`;
  }

  /** Sends a person's answer, unless the hub has something else under this id than what was shown. */
  async #decide(shown: ApprovalView, decision: ApprovalDecision): Promise<void> {
    const { approval_id: id, title } = shown;
    if (this.busy.has(id)) return;
    const focused = document.activeElement;
    this.busy = new Set([...this.busy, id]);
    try {
      const current = await this.app.hub.get<ApprovalView>(`/api/v1/approvals/${encodeURIComponent(id)}`);
      if (shownContent(current) !== shownContent(shown)) this.notify(text('approvals.changed'));
      else {
        await submitDecision(this.app.hub, shown, { decision, login: this.app.session.login });
        const { where, who } = approvalText(shown, this.app.store.state.devices);
        this.notify(text(`approvals.said_${decision}`, { title, devices: where, who }));
      }
    } catch (error) {
      this.notifyError(error);
    }
    await this.app.store.refresh('approvals');
    this.busy = new Set([...this.busy].filter((one) => one !== id));
    await this.restoreFocus(focused, 'h1');
  }

  async #loadStanding(): Promise<void> {
    try {
      const { answers } = await this.app.hub.get<{ readonly answers: readonly StandingAnswerView[] }>('/api/v1/standing-answers');
      this.standing = answers;
    } catch {
      this.standing = [];
    }
  }

  /** Shows the answers that hold on, each with a button that removes it. */
  #holding(): TemplateResult {
    return html`<section class="card" aria-label=${text('approvals.standing')}><h2>${text('approvals.standing')}</h2>
      <ul class="decided">${repeat(
        this.standing,
        ({ approval_id: id }) => id,
        (answer) => html`<li>
          <span>${standingWords(answer)}</span>
          <span class="quiet small">${standingEnd(answer)}</span>
          <button type="button" class="button" @click=${() => void this.#remove(answer)}>${icon('close')}${text('approvals.remove')}</button>
        </li>`,
      )}</ul></section>`;
  }

  async #remove({ approval_id: id }: StandingAnswerView): Promise<void> {
    try {
      await this.app.hub.delete(`/api/v1/standing-answers/${encodeURIComponent(id)}`);
      this.notify(text('approvals.removed'));
    } catch (error) {
      this.notifyError(error);
    }
    await this.#loadStanding();
  }

  #history(decided: readonly ApprovalView[]): TemplateResult {
    return html`<section class="card" aria-label=${text('approvals.history_label')}><h2>${text('approvals.history')}</h2>
      <ul class="decided">${decided.map((approval) => this.#decided(approval))}</ul></section>`;
  }

  #decided(approval: ApprovalView): TemplateResult {
    const words = approvalText(approval, this.app.store.state.devices);
    const isGood = approval.state === 'used' || approval.state === 'approved';
    return html`<li>
      <span><strong>${words.what}</strong> ${words.where} <span class="quiet">${text('approvals.for_agent', { who: words.who })}</span></span>
      <span class="chip ${isGood ? 'good' : ''}">${stateWords(approval.state)}${byWords(approval)}</span>
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
  return count === 0 ? text('approvals.none_wait') : text('approvals.waiting', { count });
}

function calm(): TemplateResult {
  return html`<div class="card empty">${icon('shield')}<h2>${text('approvals.calm_title')}</h2><p>${text('approvals.calm_text')}</p></div>`;
}

function standingWords({ answer, agent_id: who, title, devices }: StandingAnswerView): string {
  const names = devices.map(({ name }) => escapeAllHidden(name)).join(', ');
  if (answer === 'refuse') return text('approvals.standing_refuses', { who, devices: names });
  return text('approvals.standing_allows', { who, what: `${escapeAllHidden(title)} ${names}`.trim() });
}

function standingEnd({ person, until }: StandingAnswerView): string {
  return until === undefined
    ? text('approvals.standing_always', { person })
    : text('approvals.standing_until', { time: timeWords(until), person });
}

customElements.define('atmo-page-approvals', ApprovalsPage);

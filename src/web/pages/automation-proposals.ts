import '../components/misclick-guard.ts';
import { html, nothing, type TemplateResult } from 'lit';
import { repeat } from 'lit/directives/repeat.js';
import { type JsonObject, objectsOf } from '../../core/json.ts';
import { escapeAllHidden } from '../../core/untrusted-text.ts';
import { HubError } from '../api/hub-client.ts';
import { dateTimeWords } from '../components/formatting.ts';
import { icon } from '../components/icon.ts';
import type { Stop } from '../components/light-element.ts';
import { PageElement } from '../components/page-element.ts';
import { RemoteData, remoteDataView } from '../components/remote-data.ts';
import { text, textWith } from '../texts/text.ts';
import { checkView, type DefinitionView, definitionView, type PastRuns, pastView } from './automation-views.ts';
import { type Difference, differenceWords, namesIn } from './automation-words.ts';
import type { Finding } from './finding-words.ts';
import { grantsInWords } from './tokens.ts';

/** An automation that an agent proposes, as `list_automation_proposals` returns it. */
interface ProposalView extends DefinitionView {
  readonly proposal_id: string;
  readonly name: string;
  /** Why it is good for the person, in the words of the agent. */
  readonly sentence?: string;
  readonly by: string;
  readonly ends_at: string;
  readonly state: 'open' | 'accepted' | 'declined';
  readonly hash: string;
  /** Id of the automation that it would replace. */
  readonly replaces?: string;
  readonly diff?: readonly Difference[];
  readonly config: JsonObject;
  /** What it does, in full, in the words of the hub. */
  readonly words: readonly string[];
  readonly permissions: readonly string[];
  /** Permissions that this person does not have, so that only others can accept it. */
  readonly beyond?: readonly string[];
  /** When it would end if this person accepted it; absent if it would not. */
  readonly runs_until?: string;
  /** Absent if the hub could not check it. */
  readonly conflicts?: readonly Finding[];
}

/** Number of proposals whose past month is played without being asked for. The hub plays few in a row for one caller. */
const MAX_PLAYED = 3;

/** The automations that agents propose, which a person accepts or declines. Shows nothing if there are none. */
class AutomationProposals extends PageElement {
  readonly #proposals = new RemoteData<readonly ProposalView[]>(() => this.requestUpdate());
  /** What each proposal would have done in the past month, by its hash. */
  readonly #past = new Map<string, RemoteData<PastRuns>>();
  /** Why a proposal can no longer be accepted, in the words of the hub, by its hash. */
  readonly #outdated = new Map<string, string>();

  protected override connected(): readonly Stop[] {
    this.#load();
    const stop = this.app.store.onEvent(({ type }) => {
      if (type === 'proposal.changed') this.#load();
    });
    return [...super.connected(), stop];
  }

  protected override render(): TemplateResult | typeof nothing {
    const open = (this.#proposals.value ?? []).filter(({ state }) => state === 'open');
    if (open.length === 0) return nothing;
    return html`<section class="stack" aria-labelledby="proposals-title"><h2 id="proposals-title">${text('proposals.title')}</h2>
      ${repeat(
        open,
        ({ proposal_id: id }) => id,
        (proposal) => this.#card(proposal),
      )}</section>`;
  }

  #card(proposal: ProposalView): TemplateResult {
    const { name, by, sentence, ends_at: endsAt, replaces, diff = [], words, permissions, conflicts } = proposal;
    const { devices } = this.app.store.state;
    const names = namesIn(devices);
    const who = html`<bdi>${escapeAllHidden(by)}</bdi>`;
    return html`<article class="card request stack" aria-label=${text('proposals.label', { name })}>
      <header><span class="request-icon">${icon('sparkle')}</span><div class="request-title">
        <p class="quiet">${textWith('proposals.by', { who: html`<strong>${who}</strong>` })}</p><h3><bdi>${escapeAllHidden(name)}</bdi></h3></div></header>
      ${sentence === undefined ? nothing : html`<blockquote><p class="quiet small">${textWith('proposals.in_words_of', { who })}</p><p><bdi>${escapeAllHidden(sentence)}</bdi></p></blockquote>`}
      ${replaces === undefined ? nothing : html`<p>${text('proposals.replaces', { name: replaces })}</p><ul class="small">${diff.map((one) => html`<li>${differenceWords(one)}</li>`)}</ul>`}
      <dl class="facts">
        ${definitionView(proposal, names)}
        <dt>${text('proposals.in_full')}</dt><dd><ul class="will-do">${words.map((line) => html`<li>${escapeAllHidden(line)}</li>`)}</ul></dd>
        <dt>${text('editor.allowed')}</dt><dd><ul>${grantsInWords(permissions, devices).map((one) => html`<li>${one}</li>`)}</ul></dd>
        <dt>${text('proposals.open_until')}</dt><dd>${dateTimeWords(endsAt)}</dd>
      </dl>
      ${conflicts ? checkView(conflicts, devices) : html`<p>${text('proposals.not_checked')}</p>`} ${this.#pastOf(proposal)} ${this.#answers(proposal)}
    </article>`;
  }

  #pastOf(proposal: ProposalView): TemplateResult {
    const past = this.#past.get(proposal.hash);
    if (past) return remoteDataView(past, pastView);
    return html`<p><button type="button" class="button small" @click=${() => void this.#replay(proposal)}>${icon('clock')}${text('proposals.past')}</button></p>`;
  }

  #answers(proposal: ProposalView): TemplateResult {
    const { hash, beyond = [], runs_until: until } = proposal;
    const outdated = this.#outdated.get(hash);
    if (beyond.length > 0) {
      const grants = grantsInWords(beyond, this.app.store.state.devices).join(', ');
      return html`<p class="quiet">${text('proposals.beyond', { grants })}</p>`;
    }
    // A press counts only if the proposal has stood there for half a second as it is.
    return html`${outdated === undefined ? nothing : html`<p class="alert" role="status">${icon('warning')}<span>${text('proposals.outdated')} <span class="quiet">${outdated}</span></span></p>`}
      ${until === undefined || outdated !== undefined ? nothing : html`<p>${text('proposals.until', { until: dateTimeWords(until) })}</p>`}
      <footer><atmo-steady class="row" about=${hash}>
      ${outdated === undefined ? html`<button type="button" class="button primary" @click=${() => void this.#accept(proposal)}>${icon('check')}${text('proposals.accept')}</button>` : nothing}
      <button type="button" class="button" @click=${() => void this.#decline(proposal)}>${icon('close')}${text('proposals.decline')}</button>
    </atmo-steady></footer>`;
  }

  async #accept(proposal: ProposalView): Promise<void> {
    const { proposal_id: id, hash, name } = proposal;
    const label = text('proposals.accept_thing', { name });
    try {
      const answer = await this.app.call({ tool: 'accept_automation', params: { proposal_id: id, hash }, label });
      if (answer !== undefined) this.notify(text('proposals.accepted', { name }));
    } catch (error) {
      this.#refused(proposal, error);
    }
    this.#load();
  }

  /** Shows why a proposal was not accepted. One that was changed can be looked at again; one that is out of date can only be declined. */
  #refused({ hash, name }: ProposalView, error: unknown): void {
    const reason = error instanceof HubError ? error.details.reason : undefined;
    if (reason === 'other_hash') this.notify(text('proposals.changed', { name }), 'bad');
    else if (error instanceof HubError && reason === 'outdated') this.#outdated.set(hash, error.message);
    else this.notifyError(error);
  }

  async #decline({ proposal_id: id, name }: ProposalView): Promise<void> {
    const label = text('proposals.decline_thing', { name });
    const answer = await this.callTool({ tool: 'decline_automation', params: { proposal_id: id }, label });
    if (answer !== undefined) this.notify(text('proposals.declined', { name }), 'plain');
    this.#load();
  }

  async #replay({ hash, config, permissions }: ProposalView): Promise<void> {
    const past = new RemoteData<PastRuns>(() => this.requestUpdate());
    this.#past.set(hash, past);
    const draft = { config, permissions: [...permissions] };
    await past.load(async () => (await this.app.hub.invoke('replay_automation', draft)) as unknown as PastRuns);
  }

  /** Plays the past month of the first proposals, one after the other, as the hub does. */
  async #replayFirst(): Promise<void> {
    const open = (this.#proposals.value ?? []).filter(({ state, beyond = [] }) => state === 'open' && beyond.length === 0);
    for (const proposal of open.slice(0, MAX_PLAYED)) {
      if (!this.#past.has(proposal.hash)) await this.#replay(proposal);
    }
  }

  #load(): void {
    const question = async () => {
      const answer = await this.app.hub.invoke('list_automation_proposals');
      return objectsOf((answer as { readonly proposals?: unknown } | null)?.proposals) as unknown as readonly ProposalView[];
    };
    void this.#proposals.load(question).then(() => this.#replayFirst());
  }
}

customElements.define('atmo-automation-proposals', AutomationProposals);

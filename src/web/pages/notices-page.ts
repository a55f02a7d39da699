import { html, nothing, type TemplateResult } from 'lit';
import { live } from 'lit/directives/live.js';
import { repeat } from 'lit/directives/repeat.js';
import type { NoticeKind } from '../../core/notices.ts';
import type { NoticeView } from '../api/notices.ts';
import { inputValue } from '../components/form-values.ts';
import { ageWords, dateTimeWords } from '../components/formatting.ts';
import { icon } from '../components/icon.ts';
import { every, type Stop } from '../components/light-element.ts';
import { PageElement } from '../components/page-element.ts';
import { text } from '../texts/text.ts';
import { answerWords, kindIcon, kindWords } from './notice-words.ts';

const AGE_MS = 30_000;

/** Page with what the person should know or decide, newest first. */
export class NoticesPage extends PageElement {
  static override properties = { ...PageElement.properties, kind: { state: true }, isOpenOnly: { state: true } };
  /** The kind that is shown; empty: all. */
  declare kind: NoticeKind | '';
  /** True if only notices are shown whose subject lasts. */
  declare isOpenOnly: boolean;

  constructor() {
    super();
    this.kind = '';
    this.isOpenOnly = false;
  }

  protected override connected(): readonly Stop[] {
    const { notices } = this.app;
    void notices.load();
    return [...super.connected(), notices.subscribe(() => this.requestUpdate()), every(AGE_MS, () => this.requestUpdate())];
  }

  protected override render(): TemplateResult {
    const { all, unread } = this.app.notices;
    const shown = all.filter(({ kind, ended_at: end }) => (this.kind === '' || kind === this.kind) && !(this.isOpenOnly && end));
    return html`
      <header class="page-head"><div><h1>${text('notices.title')}</h1><p role="status">${unread === 0 ? text('notices.nothing_new') : text('notices.unread', { count: unread })}</p></div>
        <button type="button" class="button small" ?disabled=${all.every(({ is_read: isRead }) => isRead)} @click=${() => this.#markRead()}>${icon('check')}${text('notices.mark_all')}</button></header>
      ${all.length === 0 ? empty() : html`${this.#filter(all)}<section class="card" aria-label=${text('notices.title')}>${this.#list(shown)}</section>`}
      <p class="section-title"><a href="#/settings">${text('notices.choose')}</a></p>
    `;
  }

  #filter(all: readonly NoticeView[]): TemplateResult {
    const kinds = [...new Set(all.map(({ kind }) => kind))];
    const choose = (event: Event) => {
      this.kind = inputValue(event) as NoticeKind | '';
    };
    const toggle = (event: Event) => {
      this.isOpenOnly = inputValue(event) === 'on';
    };
    return html`<div class="filters" role="search" aria-label=${text('notices.title')}>
      <label class="field"><span class="label">${text('notices.kind')}</span><select @change=${choose}>
        <option value="">${text('notices.all_kinds')}</option>
        ${kinds.map((kind) => html`<option value=${kind} .selected=${live(kind === this.kind)}>${kindWords(kind)}</option>`)}</select></label>
      <label class="check"><input type="checkbox" .checked=${this.isOpenOnly} @change=${toggle} /><span>${text('notices.open_only')}</span></label>
    </div>`;
  }

  #list(notices: readonly NoticeView[]): TemplateResult {
    if (notices.length === 0) return html`<p class="quiet">${text('notices.none_fits')}</p>`;
    return html`<ol class="notice-list">${repeat(
      notices,
      ({ notice_id: id }) => id,
      (notice) => this.#notice(notice),
    )}</ol>`;
  }

  #notice(notice: NoticeView): TemplateResult {
    const { notice_id: id, kind, urgency, title, text: said, path, at, count = 1, is_read: isRead, ended_at: end } = notice;
    const isUrgent = end === undefined && (urgency === 'critical' || urgency === 'high');
    return html`<li data-kind=${kind} class=${isRead ? '' : 'unread'}>
      <span class="notice-icon ${isUrgent ? 'bad' : ''}">${icon(kindIcon(kind))}</span>
      <div>
        <a href=${fragmentOf(path)} @click=${() => isRead || this.#markRead([id])}><bdi>${title}</bdi>${count > 1 ? html` (${count})` : nothing}</a>
        ${isRead ? nothing : html`<span class="chip warm">${text('notices.new')}</span>`}
        ${end === undefined ? html`<span class="chip ${isUrgent ? 'bad' : 'cool'}">${text(`notices.open_${urgency}`)}</span>` : nothing}
        <p><bdi>${said}</bdi></p>
        ${this.#answers(notice)}
        <p class="quiet small">${kindWords(kind)} · <time datetime=${at} title=${dateTimeWords(at)}>${ageWords(at, Date.now())}</time>${end === undefined ? nothing : html` · ${text('notices.over', { age: ageWords(end, Date.now()) })}`}</p>
      </div>
    </li>`;
  }

  /** Returns the buttons of a question, or what was answered. */
  #answers({ notice_id: id, answers = [], answer, answered_by: by, ended_at: end }: NoticeView): TemplateResult | typeof nothing {
    if (answer !== undefined) return html`<p>${text('notices.answered', { person: by ?? '', answer: answerWords(answer) })}</p>`;
    if (end !== undefined || answers.length === 0) return nothing;
    const send = (one: string) => this.app.notices.answer(id, one).catch((error: unknown) => this.notifyError(error));
    return html`<p class="filters">${answers.map((one) => html`<button type="button" class="button small" @click=${() => send(one)}>${answerWords(one)}</button>`)}</p>`;
  }

  #markRead(ids?: readonly string[]): void {
    this.app.notices.markRead(ids).catch((error: unknown) => this.notifyError(error));
  }
}

/** Returns the fragment of a path of this page. A path of anything else opens Home. */
function fragmentOf(path: string): string {
  return path.startsWith('/#/') ? path.slice(1) : '#/home';
}

function empty(): TemplateResult {
  return html`<div class="card empty">${icon('bell')}<h2>${text('notices.none')}</h2><p>${text('notices.none_why')}</p></div>`;
}

customElements.define('atmo-page-notices', NoticesPage);

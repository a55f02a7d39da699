import './components/misclick-guard.ts';
import './sign-in-view.ts';
import { html, nothing, type TemplateResult } from 'lit';
import { escapeAllHidden } from '../core/untrusted-text.ts';
import { type CallOutcome, canSignDecisions, type PendingCall, submitDecision } from './api/approvals.ts';
import { HubError, messageOf } from './api/hub-client.ts';
import type { UndoEnd } from './api/undo.ts';
import type { App } from './app.ts';
import { closeDialog, modalDialog } from './components/dialog.ts';
import { timeWords } from './components/formatting.ts';
import { icon } from './components/icon.ts';
import { languageChoice } from './components/language-choice.ts';
import { every, LightElement, type Stop } from './components/light-element.ts';
import type { Notice, PageElement } from './components/page-element.ts';
import { PAGE_MODULES } from './page-modules.ts';
import { PAGES, type Page, titleOf } from './router.ts';
import { text, textWith } from './texts/text.ts';

const HEALTH_MS = 60_000;
const NOTICE_MS = 5_000;
/** A notice from which a call can be undone stays longer, because a person has to read it and to reach its button. */
const UNDO_NOTICE_MS = 10_000;

/** The frame around every page: navigation, connection state, notices, and the page that the URL names. */
export class Shell extends LightElement {
  static override properties = { app: { attribute: false }, notice: { state: true }, isMenuOpen: { state: true } };
  declare app: App | undefined;
  declare notice: Notice | undefined;
  declare isMenuOpen: boolean;
  #shown: PageElement | undefined;
  /** Element of the page that the URL named last. */
  #named: string | undefined;
  readonly #shownQuestions = new Set<string>();
  /** The number on the icon of the app. */
  #badged: number | undefined;
  #noticeTimer: ReturnType<typeof setTimeout> | undefined;

  constructor() {
    super();
    this.isMenuOpen = false;
    this.addEventListener('atmo-notice', (event) => this.#notify((event as CustomEvent<Notice>).detail));
  }

  protected override connected(): readonly Stop[] {
    // The title is updated every second, because requests expire without an event.
    return [every(1_000, () => this.#retitle()), every(HEALTH_MS, () => void this.app?.store.refreshHealth())];
  }

  protected override willUpdate(changes: Map<PropertyKey, unknown>): void {
    const { app } = this;
    if (!changes.has('app') || !app) return;
    const { calls, notices, session, store, router, undo, worker } = app;
    calls.subscribe(() => this.requestUpdate());
    calls.onEnd((end) => this.#notifyEnd(end));
    session.subscribe(() => this.requestUpdate());
    store.subscribe(() => this.requestUpdate());
    notices.subscribe(() => this.requestUpdate());
    undo.subscribe(() => this.#attempt(this.#loadUndo(app)));
    undo.onEnd((end) => this.#notifyUndo(end));
    worker.subscribe(() => this.requestUpdate());
    router.subscribe(() => this.#followOrNotify());
    this.#followOrNotify();
    void store.refreshHealth();
  }

  protected override render(): TemplateResult {
    const { app } = this;
    if (!app) return html``;
    const { login, invitation, pausedBy } = app.session;
    if (!login || invitation !== undefined || pausedBy !== undefined) return html`<atmo-sign-in .app=${app}></atmo-sign-in>`;
    return html`
      <a class="skip" href="#main" @click=${this.#skip}>${text('shell.skip')}</a>
      <div class="frame">
        ${this.#navigation(app)}
        <main id="main" tabindex="-1">
          ${this.#away(app)} ${this.#outdated(app)} ${this.#problems(app)}
          <fieldset class="controls" role="presentation" ?disabled=${app.store.state.isHubAway}>${this.#page(app)}</fieldset>
        </main>
      </div>
      ${this.isMenuOpen ? this.#menu() : nothing} ${this.#offer(app)}
      <fieldset class="controls" role="presentation" ?disabled=${app.store.state.isHubAway}>${this.#question(app)} ${app.undo.question ? html`<atmo-undo-question .app=${app} .question=${app.undo.question}></atmo-undo-question>` : nothing}</fieldset>
      <div class="notices" role="status" aria-live="polite">
        ${this.notice ? this.#noticeView(app, this.notice) : nothing}
      </div>
    `;
  }

  protected override updated(): void {
    this.#retitle();
  }

  #navigation(app: App): TemplateResult {
    const { connection } = app.store.state;
    return html`
      <nav class="nav" aria-label=${text('shell.pages')}>
        <a class="brand" href="#/home"><span class="brand-mark" aria-hidden="true"></span><span class="brand-name">Atmosphere</span></a>
        <ul>
          ${PAGES.filter(({ place, route }) => place !== 'none' && (route !== 'notices' || app.notices.isForPerson)).map((page) => this.#link(page))}
          <li class="menu-entry">
            <button type="button" class="nav-link" aria-haspopup="dialog" @click=${() => this.#showMenu(true)}>${icon('more')}<span>${text('shell.more')}</span></button>
          </li>
        </ul>
        <div class="nav-foot">
          <p class="connection ${connection}" role="status"><span class="dot" aria-hidden="true"></span>${text(`shell.${connection}`)}</p>
          ${languageChoice()}
          <button type="button" class="nav-link" @click=${() => void app.signOut()}>${icon('out')}<span>${text('shell.sign_out')}</span></button>
        </div>
      </nav>
    `;
  }

  /** Says that the hub does not answer. Everything that would need it is disabled then, by the field sets around the page. */
  #away({ store }: App): TemplateResult | typeof nothing {
    if (!store.state.isHubAway) return nothing;
    // Without anything of the home to show, this is the heading of the page.
    const level = store.state.isLoaded ? 2 : 1;
    return html`<div class="hub-away" role="alert">${icon('warning')}
      <div><p class="hub-away-title" role="heading" aria-level=${level}>${text('shell.away')}</p><p>${text('shell.away_help')}</p></div></div>`;
  }

  /** Says that the hub has a newer build of the page, which is loaded when the person goes on. */
  #outdated({ worker }: App): TemplateResult | typeof nothing {
    if (!worker.isOutdated) return nothing;
    return html`<div class="outdated row" role="status"><span class="grow">${text('shell.outdated')}</span>
      <button type="button" class="button small" @click=${() => location.reload()}>${icon('refresh')}${text('shell.load_new')}</button></div>`;
  }

  /** Returns the page that the URL names; nothing if the hub was away from the beginning, because no page has anything to show then. */
  #page({ store }: App): unknown {
    const { isHubAway, isLoaded } = store.state;
    if (isHubAway && !isLoaded) return nothing;
    return this.#shown ?? html`<p class="quiet center">${text('shell.wait')}</p>`;
  }

  #problems({ store }: App): TemplateResult | typeof nothing {
    const { hubProblems } = store.state;
    if (hubProblems.length === 0) return nothing;
    return html`<ul class="hub-problems" role="alert">${hubProblems.map((problem) => html`<li>${problem}</li>`)}</ul>`;
  }

  #link(page: Page): TemplateResult {
    const isHere = this.app?.router.place?.page === page;
    const badge = this.#badgeOf(page);
    return html`<li class=${page.place}>
      <a class="nav-link" href="#/${page.route}" aria-current=${isHere ? 'page' : nothing} @click=${() => this.#showMenu(false)}>
        ${icon(page.icon)}<span>${text(page.title)}</span>
        ${badge.count > 0 ? html`<span class="badge">${badge.count}<span class="hidden"> ${text(badge.words)}</span></span>` : nothing}
      </a>
    </li>`;
  }

  /** Returns the number beside the link of a page, with what it counts. */
  #badgeOf({ route }: Page): { readonly count: number; readonly words: 'shell.waiting' | 'shell.unread' } {
    if (route === 'notices') return { count: this.app?.notices.unread ?? 0, words: 'shell.unread' };
    return { count: route === 'approvals' ? (this.app?.store.pendingApprovals().length ?? 0) : 0, words: 'shell.waiting' };
  }

  #menu(): TemplateResult {
    const pages = PAGES.filter(({ place }) => place === 'more');
    const content = html`<ul class="menu">
      ${pages.map((page) => this.#link(page))}
      <li>${languageChoice()}</li>
      <li><button type="button" class="nav-link" @click=${() => void this.app?.signOut()}>${icon('out')}<span>${text('shell.sign_out')}</span></button></li>
    </ul>`;
    return modalDialog({ title: text('shell.more'), onClose: () => this.#showMenu(false) }, content);
  }

  /** Returns the dialog that asks before a sign-in with a link: the author of the link could watch what the person does with that login. */
  #offer({ session }: App): TemplateResult | typeof nothing {
    if (!session.offered) return nothing;
    const { person } = session.offered;
    return modalDialog(
      { title: text('shell.other_person'), onClose: () => session.refuseOffer() },
      html`<p>${person === undefined ? text('shell.link_of_token') : textWith('shell.link_of_person', { person: html`<strong><bdi>${person}</bdi></strong>` })}
          ${textWith('shell.link_warning', { command: html`<code>atmo monitor</code>` })}</p>
        <footer>
          <button type="button" class="button primary" @click=${closeDialog}>${text('shell.link_refuse')}</button>
          <button type="button" class="button" @click=${() => void session.acceptOffer()}>${text('shell.link_accept')}</button>
        </footer>`,
    );
  }

  /** Returns the dialog about a call of this page that waits for approval. If this browser can sign, the call can be approved there. */
  #question(app: App): TemplateResult | typeof nothing {
    const call = app.calls.all.find(({ approvalId }) => !this.#shownQuestions.has(approvalId));
    if (!call) return nothing;
    const until = timeWords(call.expiresAt);
    const onClose = () => {
      this.#shownQuestions.add(call.approvalId);
      this.requestUpdate();
    };
    // This browser's key cannot approve the call that enrols it.
    const canSign = canSignDecisions(app.session.login) && call.tool !== 'hub:enroll_approver';
    return modalDialog(
      { title: call.label, onClose },
      html`<p>${text('approvals.question', { time: until })}</p>
        ${call.willDo.length > 0 ? html`<ul class="will-do">${call.willDo.map((line) => html`<li>${escapeAllHidden(line)}</li>`)}</ul>` : nothing}
        ${canSign ? nothing : html`<p class="quiet">${textWith('approvals.question_others', { command: html`<code>atmo approve ${call.approvalId}</code>` })}</p>`}
        <footer>
          <button type="button" class="button" @click=${closeDialog}>${text(canSign ? 'approvals.leave' : 'approvals.fine')}</button>
          ${canSign ? html`<atmo-steady about=${call.approvalId}><button type="button" class="button primary" @click=${() => void this.#approve(app, call)}>${text('approvals.approve_and_do')}</button></atmo-steady>` : nothing}
        </footer>`,
    );
  }

  async #approve(app: App, call: PendingCall): Promise<void> {
    this.#shownQuestions.add(call.approvalId);
    this.requestUpdate();
    try {
      await app.store.refresh('approvals');
      const approval = app.store.state.approvals.find((one) => one.approval_id === call.approvalId);
      // What the dialog showed must be what is signed.
      const isAsShown = approval?.expires_at === call.expiresAt && JSON.stringify(approval.will_do ?? []) === JSON.stringify(call.willDo);
      if (approval && !isAsShown) throw new HubError('CONFLICT', text('approvals.changed'));
      if (approval) await submitDecision(app.hub, approval, { decision: 'approve', login: app.session.login });
    } catch (error) {
      this.#notify({ text: messageOf(error), tone: 'bad' });
    }
  }

  #showMenu(isOpen: boolean): void {
    this.isMenuOpen = isOpen;
  }

  #skip(event: Event): void {
    event.preventDefault();
    this.querySelector<HTMLElement>('#main')?.focus();
  }

  /** Shows the page that the URL names, once its module is loaded. If the URL names none, `#begin` opens the first page. */
  async #follow(): Promise<void> {
    const { app } = this;
    if (!app) return;
    const { place } = app.router;
    if (!place) {
      this.#begin(app);
      return;
    }
    // Whoever left a page and comes back to it gets a new one, also where the page in between was not loaded yet.
    const isSamePage = this.#named === place.page.element;
    this.#named = place.page.element;
    await app.hub.part(PAGE_MODULES[place.page.element]);
    // The person may have gone on to another page while this one was loaded.
    if (app.router.place !== place) return;
    const shown = isSamePage && this.#shown ? this.#shown : (document.createElement(place.page.element) as PageElement);
    shown.app = app;
    shown.params = place.params;
    this.#shown = shown;
    this.requestUpdate();
    if (isSamePage) return;
    window.scrollTo({ top: 0 });
    this.isMenuOpen = false;
  }

  #followOrNotify(): void {
    this.#attempt(this.#follow());
  }

  #attempt(work: Promise<void>): void {
    work.catch((error: unknown) => this.#notify({ text: messageOf(error), tone: 'bad' }));
  }

  /** Waits for the hub's first response. Then opens the approvals page if requests wait for a person, and otherwise the home page. */
  #begin(app: App): void {
    const stop = app.store.subscribe(() => {
      const { isLoaded, problem, isHubAway } = app.store.state;
      if (!isLoaded && problem === undefined && !isHubAway) return;
      stop();
      if (!app.router.place) app.router.begin(app.store.pendingApprovals().length > 0 ? 'approvals' : 'home');
    });
  }

  #noticeView({ undo }: App, { text: words, tone, undoes }: Notice): TemplateResult {
    if (!undoes) return html`<p class="notice ${tone}">${words}</p>`;
    const press = () => {
      this.notice = undefined;
      void undo.undo(undoes);
    };
    return html`<p class="notice ${tone}">${words} <button type="button" class="notice-button" @click=${press}>${text('undo.undo')}</button></p>`;
  }

  /** Shows the dialog about an undo. Most visits do not need it, so its module is loaded only here. */
  async #loadUndo({ hub, undo }: App): Promise<void> {
    if (undo.question) await hub.part(() => import('./pages/undo-views.ts'));
    this.requestUpdate();
  }

  #notifyUndo({ label, elsewhere = [], error }: UndoEnd): void {
    if (error !== undefined) this.#notify({ text: messageOf(error), tone: 'bad' });
    else if (elsewhere.length === 0) this.#notify({ text: text('undo.done', { label }), tone: 'good' });
    else this.#notify({ text: text('undo.done_here', { label, hubs: elsewhere.join(', ') }), tone: 'plain' });
  }

  /** Shows the outcome of a call that had to wait for approval. */
  #notifyEnd({ call, error }: CallOutcome): void {
    this.#notify(
      error === undefined ? { text: text('shell.done', { label: call.label }), tone: 'good' } : { text: messageOf(error), tone: 'bad' },
    );
  }

  #notify(notice: Notice): void {
    clearTimeout(this.#noticeTimer);
    this.notice = notice;
    this.#noticeTimer = setTimeout(
      () => {
        this.notice = undefined;
      },
      notice.undoes ? UNDO_NOTICE_MS : NOTICE_MS,
    );
  }

  #retitle(): void {
    const { app } = this;
    const page = app?.router.place?.page;
    const waiting = app?.session.login ? app.store.pendingApprovals().length : 0;
    document.title = titleOf(waiting, page && text(page.title));
    const count = waiting + (app?.notices.unread ?? 0);
    if (count === this.#badged) return;
    this.#badged = count;
    showBadge(count);
  }
}

/** Shows the number of waiting requests and unread notices on the icon of the installed app; 0 shows none. Only installed pages have such an icon. */
function showBadge(count: number): void {
  // Browsers without badges do not have the function, and some reject where the page is not installed.
  void navigator.setAppBadge?.(count)?.catch(() => undefined);
}

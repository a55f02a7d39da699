import { html, LitElement, nothing, type TemplateResult } from 'lit';
import { spelledOut } from '../core/foreign-text.ts';
import { canDecide, decide } from './api/decide.ts';
import { messageOf } from './api/hub-error.ts';
import type { CallEnd, WaitingCall } from './api/waiting-calls.ts';
import type { Monitor } from './app.ts';
import { PAGES, type Page } from './pages.ts';
import './parts/steady-buttons.ts';
import { closeMine, modal } from './parts/dialog.ts';
import { icon } from './parts/icon.ts';
import type { Notice, PageElement } from './parts/page-element.ts';
import { signInView } from './sign-in.ts';
import { titleOf } from './title.ts';

const HEALTH_MS = 60_000;
const NOTICE_MS = 5_000;
const CONNECTION_WORDS = { live: 'Live', connecting: 'Connecting …', lost: 'No connection' } as const;

/** The frame of the page: navigation, connection, notices, and the page that the address names. */
export class Shell extends LitElement {
  static override properties = { app: { attribute: false }, notice: { state: true }, isMenuOpen: { state: true } };
  declare app: Monitor | undefined;
  declare notice: Notice | undefined;
  declare isMenuOpen: boolean;
  #shown: PageElement | undefined;
  readonly #asked = new Set<string>();
  #noticeTimer: ReturnType<typeof setTimeout> | undefined;
  #clock: ReturnType<typeof setInterval> | undefined;
  #health: ReturnType<typeof setInterval> | undefined;

  constructor() {
    super();
    this.isMenuOpen = false;
    this.addEventListener('atmo-notice', (event) => this.#tell((event as CustomEvent<Notice>).detail));
  }

  override connectedCallback(): void {
    super.connectedCallback();
    // Requests expire without an event.
    this.#clock = setInterval(() => this.#retitle(), 1_000);
    this.#health = setInterval(() => void this.app?.store.lookAtHealth(), HEALTH_MS);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    clearInterval(this.#clock);
    clearInterval(this.#health);
  }

  protected override createRenderRoot(): HTMLElement {
    return this;
  }

  protected override willUpdate(changes: Map<PropertyKey, unknown>): void {
    if (!changes.has('app') || !this.app) return;
    const { calls, session, store, router } = this.app;
    calls.subscribe(() => this.requestUpdate());
    calls.onEnd((end) => this.#tellEnd(end));
    session.subscribe(() => this.requestUpdate());
    store.subscribe(() => this.requestUpdate());
    router.subscribe(() => this.#follow());
    this.#follow();
    void store.lookAtHealth();
  }

  protected override render(): TemplateResult {
    const { app } = this;
    if (!app) return html``;
    if (!app.session.login) return signInView(app.session);
    return html`
      <a class="skip" href="#main" @click=${this.#skip}>Skip to content</a>
      <div class="frame">
        ${this.#navigation(app)}
        <main id="main" tabindex="-1">${this.#problems(app)}${this.#shown ?? html`<p class="quiet center">One moment …</p>`}</main>
      </div>
      ${this.isMenuOpen ? this.#menu() : nothing} ${this.#question(app)} ${this.#offer(app)}
      <div class="notices" role="status" aria-live="polite">
        ${this.notice ? html`<p class="notice ${this.notice.tone}">${this.notice.text}</p>` : nothing}
      </div>
    `;
  }

  protected override updated(): void {
    this.#retitle();
  }

  #navigation(app: Monitor): TemplateResult {
    const { connection } = app.store;
    return html`
      <nav class="nav" aria-label="Pages">
        <a class="brand" href="#/home"><span class="brand-mark" aria-hidden="true"></span><span class="brand-name">Atmosphere</span></a>
        <ul>
          ${PAGES.filter(({ place }) => place !== 'none').map((page) => this.#link(page))}
          <li class="menu-entry">
            <button type="button" class="nav-link" aria-haspopup="dialog" @click=${() => this.#openMenu()}>${icon('more')}<span>More</span></button>
          </li>
        </ul>
        <div class="nav-foot">
          <p class="connection ${connection}" role="status"><span class="dot" aria-hidden="true"></span>${CONNECTION_WORDS[connection]}</p>
          <button type="button" class="nav-link" @click=${() => app.session.signOut()}>${icon('out')}<span>Sign out</span></button>
        </div>
      </nav>
    `;
  }

  #problems({ store }: Monitor): TemplateResult | typeof nothing {
    if (store.hubProblems.length === 0) return nothing;
    return html`<ul class="hub-problems" role="alert">${store.hubProblems.map((problem) => html`<li>${problem}</li>`)}</ul>`;
  }

  #link(page: Page): TemplateResult {
    const isHere = this.app?.router.place?.page === page;
    const count = page.route === 'approvals' ? (this.app?.store.waiting().length ?? 0) : 0;
    return html`<li class=${page.place}>
      <a class="nav-link" href="#/${page.route}" aria-current=${isHere ? 'page' : nothing} @click=${() => this.#closeMenu()}>
        ${icon(page.icon)}<span>${page.title}</span>
        ${count > 0 ? html`<span class="badge">${count}<span class="hidden"> waiting</span></span>` : nothing}
      </a>
    </li>`;
  }

  #menu(): TemplateResult {
    const pages = PAGES.filter(({ place }) => place === 'more');
    const content = html`<ul class="menu">
      ${pages.map((page) => this.#link(page))}
      <li><button type="button" class="nav-link" @click=${() => this.app?.session.signOut()}>${icon('out')}<span>Sign out</span></button></li>
    </ul>`;
    return modal({ title: 'More', onClose: () => this.#closeMenu() }, content);
  }

  /** Asks whoever is signed in whether a link may sign in somebody else: who makes such a link would see what is done here then. */
  #offer({ session }: Monitor): TemplateResult | typeof nothing {
    if (!session.offered) return nothing;
    const { person } = session.offered;
    return modal(
      { title: 'Sign in as somebody else?', onClose: () => session.refuseOffer() },
      html`<p>You opened a link that signs this page in ${person === undefined ? 'with another token' : html`as <strong><bdi>${person}</bdi></strong>`}.
          Go on only if you made it just now with <code>atmo monitor</code>.</p>
        <footer>
          <button type="button" class="button primary" @click=${closeMine}>Stay as I am</button>
          <button type="button" class="button" @click=${() => void session.takeOffer()}>Sign in with the link</button>
        </footer>`,
    );
  }

  /** Asks the person who wants something dangerous whether to agree to it at once, where this browser can sign. */
  #question(app: Monitor): TemplateResult | typeof nothing {
    const call = app.calls.all.find(({ approvalId }) => !this.#asked.has(approvalId));
    if (!call) return nothing;
    const until = new Date(call.expiresAt).toLocaleTimeString([], { timeStyle: 'short' });
    const onClose = () => {
      this.#asked.add(call.approvalId);
      this.requestUpdate();
    };
    // The key of this very browser counts only once it is enrolled.
    const canSign = canDecide(app.session.login) && call.tool !== 'hub:enroll_approver';
    return modal(
      { title: call.label, onClose },
      html`<p>This is dangerous, so a person has to approve it before it happens. The request waits until ${until}.</p>
        ${call.willDo.length > 0 ? html`<ul class="will-do">${call.willDo.map((line) => html`<li>${spelledOut(line)}</li>`)}</ul>` : nothing}
        ${canSign ? nothing : html`<p class="quiet">Somebody with an approver key can do so here, or with <code>atmo approve ${call.approvalId}</code>.</p>`}
        <footer>
          <button type="button" class="button" @click=${closeMine}>${canSign ? 'Leave it for somebody else' : 'Fine'}</button>
          ${canSign ? html`<atmo-steady about=${call.approvalId}><button type="button" class="button primary" @click=${() => void this.#approve(app, call)}>Approve and do it</button></atmo-steady>` : nothing}
        </footer>`,
    );
  }

  async #approve(app: Monitor, call: WaitingCall): Promise<void> {
    this.#asked.add(call.approvalId);
    this.requestUpdate();
    try {
      await app.store.refresh('approvals');
      const approval = app.store.state.approvals.find((one) => one.approval_id === call.approvalId);
      if (approval) await decide(app.hub, approval, { decision: 'approve', login: app.session.login });
    } catch (error) {
      this.#tell({ text: messageOf(error), tone: 'bad' });
    }
  }

  #openMenu(): void {
    this.isMenuOpen = true;
  }

  #closeMenu(): void {
    this.isMenuOpen = false;
  }

  #skip(event: Event): void {
    event.preventDefault();
    this.querySelector<HTMLElement>('#main')?.focus();
  }

  /** Shows the page of the address; where it names none, the requests if some wait, else the home. */
  #follow(): void {
    const { app } = this;
    if (!app) return;
    const { place } = app.router;
    if (!place) {
      this.#begin(app);
      return;
    }
    const isSamePage = this.#shown?.localName === place.page.element;
    const shown = isSamePage && this.#shown ? this.#shown : (document.createElement(place.page.element) as PageElement);
    shown.app = app;
    shown.params = place.params;
    this.#shown = shown;
    this.requestUpdate();
    if (!isSamePage) this.#arrive();
  }

  /** The first page waits for the first answer of the hub, to know whether somebody waits for the person. */
  #begin(app: Monitor): void {
    const stop = app.store.subscribe(() => {
      if (!app.store.isLoaded && app.store.problem === undefined) return;
      stop();
      if (!app.router.place) app.router.begin(app.store.waiting().length > 0 ? 'approvals' : 'home');
    });
  }

  #arrive(): void {
    window.scrollTo({ top: 0 });
    this.isMenuOpen = false;
  }

  /** Says how a call ended that had to wait for approval. */
  #tellEnd({ call, error }: CallEnd): void {
    this.#tell(error === undefined ? { text: `${call.label}: done`, tone: 'good' } : { text: messageOf(error), tone: 'bad' });
  }

  #tell(notice: Notice): void {
    clearTimeout(this.#noticeTimer);
    this.notice = notice;
    this.#noticeTimer = setTimeout(() => {
      this.notice = undefined;
    }, NOTICE_MS);
  }

  #retitle(): void {
    const { app } = this;
    document.title = titleOf(app?.session.login ? app.store.waiting().length : 0, app?.router.place?.page.title);
  }
}

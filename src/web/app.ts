import type { Json, JsonObject } from '../core/json.ts';
import { PendingCalls } from './api/approvals.ts';
import { browserStorage, tabStorage } from './api/browser-storage.ts';
import { endSignIn } from './api/end-sign-in.ts';
import { browserWait, EventStream } from './api/event-stream.ts';
import { HomePlan } from './api/home-plan.ts';
import { HomeStore } from './api/home-store.ts';
import { HubClient, type TracedResult } from './api/hub-client.ts';
import { Installation } from './api/installation.ts';
import { OwnNotices } from './api/notices.ts';
import { PagePreferences } from './api/page-preferences.ts';
import { PageWorker } from './api/page-worker.ts';
import { PushSubscriptions } from './api/push.ts';
import { pushBrowser } from './api/push-browser.ts';
import { type Login, loginOfFragment, Session } from './api/session.ts';
import { invitationOfFragment, type Post, SignInRenewal } from './api/sign-in.ts';
import { CallUndo } from './api/undo.ts';
import { fragmentOfPath, Router } from './router.ts';
import { reportLanguage } from './texts/language.ts';
import { languageTag, text } from './texts/text.ts';

/** A tool call that a person makes on this page. */
export interface CallRequest {
  readonly tool: string;
  readonly params?: JsonObject;
  /** The action in words, such as `Unlock Front door`. */
  readonly label: string;
}

/** The services of the page. Every page element gets them as `app`. */
export class App {
  readonly session: Session;
  readonly hub: HubClient;
  readonly store: HomeStore;
  readonly router: Router;
  /** What the person chose for this page, such as favourites. */
  readonly preferences: PagePreferences;
  /** The rooms in the order of the hub, and the scenes. */
  readonly plan: HomePlan;
  /** What the person should know or decide. */
  readonly notices: OwnNotices;
  /** Calls of this page that wait for approval. */
  readonly calls: PendingCalls;
  readonly undo: CallUndo;
  /** The service worker, by which the page opens without the hub and is reached by notices. */
  readonly worker: PageWorker;
  readonly push: PushSubscriptions;
  readonly installation: Installation;
  /** Sends a request without a token. */
  readonly post: Post;
  readonly #renewal: SignInRenewal;
  readonly #stream: EventStream;
  #isListening = false;

  constructor() {
    this.session = new Session({ tab: tabStorage(sessionStorage, indexedDB), browser: browserStorage(indexedDB) });
    this.post = (path, init) => fetch(path, init);
    this.#renewal = new SignInRenewal(this.session, this.post);
    this.hub = new HubClient({
      fetch: (path, init) => fetch(path, init),
      token: () => this.session.login?.token,
      renew: () => this.#renewal.renew(),
      // A sign-in ends only when the hub refuses to renew it, which `renew` has tried by then.
      onRefused: ({ code }) => void (this.session.login?.signIn || this.session.signOut(code)),
      onUnreachable: () => this.#stream.reconnect(),
      build: { script: scriptPath(), reload: () => location.reload() },
    });
    this.store = new HomeStore(this.hub);
    this.router = new Router(window);
    this.preferences = new PagePreferences(this.hub);
    this.plan = new HomePlan(this.hub);
    this.notices = new OwnNotices(this.hub);
    this.store.onEvent(({ type }) => void (type === 'notice.changed' && this.notices.load()));
    this.calls = new PendingCalls(this.hub);
    this.undo = new CallUndo({
      hub: this.hub,
      call: (request) => this.call(request),
      labelOf: (label) => text('undo.undo_thing', { label }),
    });
    this.store.onEvent((event) => this.calls.handleEvent(event));
    this.store.subscribe(() => this.calls.compare(this.store.state.approvals));
    this.worker = new PageWorker({
      open: (fragment) => {
        location.hash = fragment;
      },
      isBusy: () => this.session.isUndecided || this.calls.all.length > 0,
    });
    this.installation = new Installation();
    this.push = new PushSubscriptions(this.hub, { browser: pushBrowser(this.worker), storage: localStorage });
    this.#stream = new EventStream(
      {
        open: (lastEventId, signal) =>
          this.hub.open('/api/v1/events', {
            signal,
            headers: { accept: 'text/event-stream', ...(lastEventId && { 'last-event-id': lastEventId }) },
          }),
        wait: browserWait,
        random: Math.random,
      },
      {
        onEvent: (event) => this.store.handleEvent(event),
        onGap: () => void Promise.all([this.store.reload(), this.notices.load()]),
        onConnection: (connection) => {
          this.store.setConnection(connection);
          if (connection === 'live') this.worker.checkForUpdate();
        },
      },
    );
  }

  /** Starts the page. Signs in with the login from the URL or the storage, and reads the hub's events while someone is signed in. */
  async start(): Promise<void> {
    this.session.subscribe(() => this.#follow());
    takeRequest();
    const login = takeLogin();
    await this.session.restore();
    if (login) await this.session.receiveLogin(login);
    this.#takeInvitation();
    this.#renewal.start((check) => document.addEventListener('visibilitychange', () => document.hidden || check()));
    // If the page is already open, a link changes only the fragment of the URL, and the browser does not load the page again.
    window.addEventListener('hashchange', () => {
      const other = takeLogin();
      if (other) void this.session.receiveLogin(other);
      this.#takeInvitation();
    });
    // Somebody who opened an invitation in another tab comes back to this one.
    document.addEventListener('visibilitychange', () => document.hidden || this.session.login || void this.session.restore());
    this.router.start();
    this.router.subscribe(() => this.worker.onNavigated());
    window.addEventListener('online', () => this.#stream.wake());
    window.addEventListener('offline', () => this.#stream.reconnect());
    document.addEventListener('visibilitychange', () => document.hidden || this.#stream.wake());
    this.installation.start();
    // Not awaited: the page is shown before the browser has fetched what it keeps.
    void this.worker.start().then(() => this.#refreshPush());
  }

  /**
   * Calls a tool and returns its result. Throws HubError if the call fails. If the call waits for approval, returns undefined; `calls`
   * repeats the call when it is approved.
   */
  async call(request: CallRequest): Promise<Json | undefined> {
    return (await this.callTraced(request))?.result;
  }

  /** Calls a tool as `call` does. Returns the result with the trace id by which the call can be undone. */
  async callTraced({ tool, params = {}, label }: CallRequest): Promise<TracedResult | undefined> {
    try {
      return await this.hub.invokeTraced(tool, params);
    } catch (error) {
      if (this.calls.track(error, { tool, params, label })) return undefined;
      throw error;
    }
  }

  /**
   * Signs out, after a person asked for it. Notices for this person then reach this browser no more, and the sign-in ends on the hub. If the
   * hub does not end it, this browser still forgets it, and the page says so.
   */
  async signOut(): Promise<void> {
    // Without the hub the subscription still ends at the push service, and the person must not have to wait for the hub.
    await this.push.turnOff().catch(() => undefined);
    const hasEnded = await endSignIn(this.hub, this.session.login ?? {});
    await this.session.signOut(hasEnded ? undefined : 'HUB_UNREACHABLE');
  }

  /** Tries to continue a sign-in that was paused. */
  resume(): Promise<boolean> {
    return this.#renewal.renew();
  }

  /** Takes an invitation out of the page's URL, because the URL is visible and stored in the history. */
  #takeInvitation(): void {
    const code = invitationOfFragment(location.hash);
    if (code === undefined) return;
    history.replaceState(null, '', location.pathname);
    this.session.receiveInvitation(code);
  }

  #follow(): void {
    const isSignedIn = this.session.login !== undefined && this.session.pausedBy === undefined;
    if (isSignedIn === this.#isListening) return;
    this.#isListening = isSignedIn;
    if (isSignedIn) {
      void this.#stream.run();
      void this.#refreshPush();
      void this.#reportLanguage();
    } else this.#leave();
  }

  /** Looks whether notices still reach this browser. A hub that does not answer is asked again at the next opening. */
  async #refreshPush(): Promise<void> {
    const isKnown = this.session.login !== undefined && this.worker.support !== 'starting';
    if (isKnown) await this.push.refresh().catch(() => undefined);
  }

  /** Reports to the hub in which language this person reads. Children, guests and agents get no notices; a child may grow up. */
  async #reportLanguage(): Promise<void> {
    const { person } = this.session.login ?? {};
    if (person === undefined) return;
    const report = async (language: string): Promise<boolean> => {
      await this.notices.load();
      if (!this.notices.isForPerson) return false;
      await this.hub.post('/api/v1/notices/settings', { page_language: language });
      return true;
    };
    await reportLanguage(localStorage, { person, tag: languageTag(), report });
  }

  #leave(): void {
    this.#stream.stop();
    this.store.clear();
    this.calls.clear();
    this.undo.dismiss();
    this.preferences.clear();
    this.plan.clear();
    this.notices.clear();
  }
}

/**
 * Turns the path of a request of OAuth into a fragment of the page. A login or invitation in such a link is dropped: whoever sends a request
 * must not choose as whom it is answered.
 */
function takeRequest(): void {
  const fragment = fragmentOfPath(location);
  if (fragment !== undefined) history.replaceState(null, '', `/${fragment}`);
}

/** Returns the login in the page's URL. Removes it from the URL, because the URL is visible and stored in the history. */
function takeLogin(): Login | undefined {
  const login = loginOfFragment(location.hash);
  if (login) history.replaceState(null, '', location.pathname);
  return login;
}

/** Returns the path of the main script. The path contains a hash of the page's code, so it differs between builds. */
function scriptPath(): string {
  const script = document.querySelector<HTMLScriptElement>('script[type=module]');
  return script ? new URL(script.src).pathname : '';
}

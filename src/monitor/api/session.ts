import type { ErrorCode } from '../../core/errors.ts';
import type { Login } from './login.ts';
import type { LoginShelf } from './login-shelf.ts';
import { Observable } from './observable.ts';

/** Where logins are kept: for the tab always, for the browser when the person wants to stay signed in. */
export interface Shelves {
  readonly tab: LoginShelf;
  readonly browser: LoginShelf;
}

/** Who is signed in at this page, over reloads. */
export class Session extends Observable {
  readonly #shelves: Shelves;
  #login: Login | undefined;
  #offered: Login | undefined;
  #endedBy: ErrorCode | undefined;
  #isKept = false;

  constructor(shelves: Shelves) {
    super();
    this.#shelves = shelves;
  }

  get login(): Login | undefined {
    return this.#login;
  }

  /** The login of a link that somebody else than the one who is signed in would be by. */
  get offered(): Login | undefined {
    return this.#offered;
  }

  /** Why the last login ended without the person's wish, such as TOKEN_EXPIRED. */
  get endedBy(): ErrorCode | undefined {
    return this.#endedBy;
  }

  /** True when the login outlives the tab. */
  get isKept(): boolean {
    return this.#isKept;
  }

  /** Takes up the login of before the reload. */
  async restore(): Promise<void> {
    const ofTab = await this.#shelves.tab.load();
    // A browser may forbid its database, in private windows for instance; the tab's own place is then all there is.
    const ofBrowser = await this.#shelves.browser.load().catch(() => undefined);
    this.#isKept = ofTab === undefined && ofBrowser !== undefined;
    this.#login = ofTab ?? ofBrowser;
    this.changed();
  }

  /**
   * Takes the login of a link, at once where nobody is signed in. Else it waits for `takeOffer`: anybody can make a link, and
   * what the person does next would be done for somebody else.
   */
  async arrive(login: Login): Promise<void> {
    const before = this.#login;
    if (before === undefined) return this.signIn(login);
    if (before.token === login.token) return this.signIn({ ...before, ...login }, { isKept: this.#isKept });
    this.#offered = login;
    this.changed();
  }

  /** The person wants the login of the link. */
  async takeOffer(): Promise<void> {
    const login = this.#offered;
    if (login) await this.signIn(login);
  }

  /** The person stays who they are. */
  refuseOffer(): void {
    this.#offered = undefined;
    this.changed();
  }

  async signIn(login: Login, { isKept = false }: { readonly isKept?: boolean } = {}): Promise<void> {
    await this.#shelves.tab.clear();
    await this.#shelves.browser.clear().catch(() => undefined);
    const shelf = isKept ? this.#shelves.browser : this.#shelves.tab;
    await shelf.save(login);
    // What is kept holds a key in the place of its seed, and so does the page from then on.
    this.#login = (isKept && (await shelf.load())) || login;
    this.#offered = undefined;
    this.#isKept = isKept;
    this.#endedBy = undefined;
    this.changed();
  }

  /** Adds a key that this browser made, so that the person can approve here. */
  async keepKey(person: string, key: string): Promise<void> {
    if (this.#login) await this.signIn({ ...this.#login, person, key }, { isKept: this.#isKept });
  }

  /** Forgets the login here; the token itself lives on until it expires or is revoked. */
  async signOut(endedBy?: ErrorCode): Promise<void> {
    if (!this.#login) return;
    this.#login = undefined;
    this.#endedBy = endedBy;
    this.changed();
    await this.#shelves.tab.clear();
    await this.#shelves.browser.clear().catch(() => undefined);
  }
}

import type { ErrorCode } from '../../core/errors.ts';
import { isJsonObject, tryParseJson } from '../../core/json.ts';
import { Observable } from './observable.ts';
import { bytesOfBase64Url, type SigningKey } from './signing-key.ts';

/** Where logins are kept: for the tab always, for the browser when the person wants to stay signed in. */
export interface LoginStorages {
  readonly tab: LoginStorage;
  readonly browser: LoginStorage;
}

/** Who is signed in at this page, over reloads. */
export class Session extends Observable {
  readonly #shelves: LoginStorages;
  #login: Login | undefined;
  #offered: Login | undefined;
  #endedBy: ErrorCode | undefined;
  #isKept = false;

  constructor(shelves: LoginStorages) {
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
  async receiveLogin(login: Login): Promise<void> {
    const before = this.#login;
    if (before === undefined) return this.signIn(login);
    if (before.token === login.token) return this.signIn({ ...before, ...login }, { isKept: this.#isKept });
    this.#offered = login;
    this.changed();
  }

  /** The person wants the login of the link. */
  async acceptOffer(): Promise<void> {
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

/** Who is signed in: a token, and for who approves a name and the private key to sign with. */
export interface Login {
  readonly token: string;
  readonly person?: string;
  /** Seed of the Ed25519 key, 32 bytes in base64url; or the key itself, which tells nobody its seed. */
  readonly key?: string | SigningKey;
}

const FRAGMENT = /^#login=([A-Za-z0-9_.~-]{1,8192})$/;
/** Visible ASCII, as a header can carry it. */
const TOKEN = /^[\x21-\x7e]{8,4096}$/;
const SEED = /^[A-Za-z0-9_-]{43}$/;

/**
 * The login of a link that `atmo monitor` made: `#login=` and token, person and seed with `~` between them, where the token of
 * a hub has dots; else base64url of JSON. Undefined for every other fragment.
 */
export function loginOfFragment(fragment: string): Login | undefined {
  const text = FRAGMENT.exec(fragment)?.[1];
  if (text === undefined) return undefined;
  if (!text.includes('.')) return loginOfJson(new TextDecoder().decode(bytesOfBase64Url(text)));
  const [token, person, key] = text.split('~');
  return loginOf({ token, person: person || undefined, key: key || undefined });
}

/** A login from its JSON; undefined when it is none. */
function loginOfJson(text: string): Login | undefined {
  return loginOf(tryParseJson(text));
}

/** A login from its members, a seed as its key; undefined when it is none. */
export function loginOf(value: unknown): Login | undefined {
  if (!isJsonObject(value) || typeof value.token !== 'string' || !TOKEN.test(value.token)) return undefined;
  const { token, person, key } = value;
  return {
    token,
    ...(typeof person === 'string' && { person }),
    ...(typeof key === 'string' && SEED.test(key) && { key }),
  };
}

/** The login of what a person pasted: a token, a whole link, or its JSON. */
export function loginOfPaste(text: string): Login | undefined {
  const trimmed = text.trim();
  const hash = trimmed.indexOf('#login=');
  if (hash !== -1) return loginOfFragment(trimmed.slice(hash));
  return trimmed.startsWith('{') ? loginOfJson(trimmed) : loginOf({ token: trimmed });
}

/** Port: where a login outlives a reload. */
export interface LoginStorage {
  load(): Promise<Login | undefined>;
  save(login: Login): Promise<void>;
  clear(): Promise<void>;
}

/** Under which name a login lies on any shelf. */
export const STORAGE_KEY = 'atmosphere-login';

/** For this tab until it is closed. */
export function tabStorage(storage: Storage): LoginStorage {
  return {
    load: async () => loginOfJson(storage.getItem(STORAGE_KEY) ?? ''),
    save: async (login) => storage.setItem(STORAGE_KEY, JSON.stringify(login)),
    clear: async () => storage.removeItem(STORAGE_KEY),
  };
}

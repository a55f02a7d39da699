import type { ErrorCode } from '../../core/errors.ts';
import { isJsonObject, tryParseJson } from '../../core/json.ts';
import { Observable } from './observable.ts';
import { bytesOfBase64Url, type SigningKey } from './signing-key.ts';

/** Storages of the login: one for the tab, and one in the browser for persons who stay signed in. */
export interface LoginStorages {
  readonly tab: LoginStorage;
  readonly browser: LoginStorage;
}

/** Holds the login of this page. The login survives reloads of the page. */
export class Session extends Observable {
  readonly #storages: LoginStorages;
  #login: Login | undefined;
  #offered: Login | undefined;
  #endedBy: ErrorCode | undefined;
  #isKept = false;

  constructor(storages: LoginStorages) {
    super();
    this.#storages = storages;
  }

  get login(): Login | undefined {
    return this.#login;
  }

  /** The login from a link, which would replace the current login. Undefined unless it waits for the person's agreement. */
  get offered(): Login | undefined {
    return this.#offered;
  }

  /** The error that ended the last login, such as TOKEN_EXPIRED. */
  get endedBy(): ErrorCode | undefined {
    return this.#endedBy;
  }

  /** Whether the login is stored for longer than the tab is open. */
  get isKept(): boolean {
    return this.#isKept;
  }

  /** Loads the stored login. Called after a reload. */
  async restore(): Promise<void> {
    const ofTab = await this.#storages.tab.load();
    // A browser may forbid IndexedDB, for example in private windows. Then only the tab's storage is used.
    const ofBrowser = await this.#storages.browser.load().catch(() => undefined);
    this.#isKept = ofTab === undefined && ofBrowser !== undefined;
    this.#login = ofTab ?? ofBrowser;
    this.changed();
  }

  /**
   * Uses the login from a link. If the page already has a login with another token, the new login waits for `acceptOffer`: anyone can make
   * such a link, and the person would then act with the permissions of the link's author, who could watch.
   */
  async receiveLogin(login: Login): Promise<void> {
    const before = this.#login;
    if (before === undefined) return this.signIn(login);
    if (before.token === login.token) return this.signIn({ ...before, ...login }, { isKept: this.#isKept });
    this.#offered = login;
    this.changed();
  }

  /** Signs in with the login from a link. Called after the person agreed. */
  async acceptOffer(): Promise<void> {
    const login = this.#offered;
    if (login) await this.signIn(login);
  }

  /** Drops the login from a link. Called after the person declined. */
  refuseOffer(): void {
    this.#offered = undefined;
    this.changed();
  }

  async signIn(login: Login, { isKept = false }: { readonly isKept?: boolean } = {}): Promise<void> {
    await this.#storages.tab.clear();
    await this.#storages.browser.clear().catch(() => undefined);
    const storage = isKept ? this.#storages.browser : this.#storages.tab;
    await storage.save(login);
    // The browser's storage replaces the seed by a non-extractable key, and the page uses that key too.
    this.#login = (isKept && (await storage.load())) || login;
    this.#offered = undefined;
    this.#isKept = isKept;
    this.#endedBy = undefined;
    this.changed();
  }

  /** Stores a key that this browser made, so that the person can approve in this browser. */
  async keepKey(person: string, key: string): Promise<void> {
    if (this.#login) await this.signIn({ ...this.#login, person, key }, { isKept: this.#isKept });
  }

  /** Deletes the login in this browser. The token remains valid until it expires or is revoked. */
  async signOut(endedBy?: ErrorCode): Promise<void> {
    if (!this.#login) return;
    this.#login = undefined;
    this.#endedBy = endedBy;
    this.changed();
    await this.#storages.tab.clear();
    await this.#storages.browser.clear().catch(() => undefined);
  }
}

/** A login: a token and, for an approver, the person's name and private key. */
export interface Login {
  readonly token: string;
  readonly person?: string;
  /** Seed of the Ed25519 key (32 bytes, base64url), or a key that cannot be exported. */
  readonly key?: string | SigningKey;
}

const FRAGMENT = /^#login=([A-Za-z0-9_.~-]{1,8192})$/;
/** Matches visible ASCII characters, which an HTTP header can contain. */
const TOKEN = /^[\x21-\x7e]{8,4096}$/;
const SEED = /^[A-Za-z0-9_-]{43}$/;

/**
 * Returns the login in the fragment of an `atmo monitor` link; undefined if it contains none. The text after `#login=` is
 * `token~person~seed` if it contains a dot, and otherwise JSON in base64url.
 */
export function loginOfFragment(fragment: string): Login | undefined {
  const text = FRAGMENT.exec(fragment)?.[1];
  if (text === undefined) return undefined;
  if (!text.includes('.')) return loginOfJson(new TextDecoder().decode(bytesOfBase64Url(text)));
  const [token, person, key] = text.split('~');
  return loginOf({ token, person: person || undefined, key: key || undefined });
}

/** Parses a login in JSON. Returns undefined if the text is no login. */
function loginOfJson(text: string): Login | undefined {
  return loginOf(tryParseJson(text));
}

/** Returns the login in a parsed value. Its key must be a seed. Returns undefined if the value is no login. */
export function loginOf(value: unknown): Login | undefined {
  if (!isJsonObject(value) || typeof value.token !== 'string' || !TOKEN.test(value.token)) return undefined;
  const { token, person, key } = value;
  return {
    token,
    ...(typeof person === 'string' && { person }),
    ...(typeof key === 'string' && SEED.test(key) && { key }),
  };
}

/** Returns the login in pasted text, which is a token, a whole link, or JSON. */
export function loginOfPaste(text: string): Login | undefined {
  const trimmed = text.trim();
  const hash = trimmed.indexOf('#login=');
  if (hash !== -1) return loginOfFragment(trimmed.slice(hash));
  return trimmed.startsWith('{') ? loginOfJson(trimmed) : loginOf({ token: trimmed });
}

/** Port: storage that keeps a login over reloads. */
export interface LoginStorage {
  load(): Promise<Login | undefined>;
  save(login: Login): Promise<void>;
  clear(): Promise<void>;
}

/** The key under which the login is stored. */
export const STORAGE_KEY = 'atmosphere-login';

/** Returns storage that holds the login until the tab is closed. */
export function tabStorage(storage: Storage): LoginStorage {
  return {
    load: async () => loginOfJson(storage.getItem(STORAGE_KEY) ?? ''),
    save: async (login) => storage.setItem(STORAGE_KEY, JSON.stringify(login)),
    clear: async () => storage.removeItem(STORAGE_KEY),
  };
}

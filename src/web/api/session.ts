import type { ErrorCode } from '../../core/errors.ts';
import { isJsonObject, tryParseJson } from '../../core/json.ts';
import { Observable } from './observable.ts';
import type { BrowserPasskey } from './passkey.ts';
import { bytesOfBase64Url, isSigningKey, type SigningKey } from './signing-key.ts';

/** The two storages for the login. `tab` is for this tab only; `browser` is for persons who stay signed in. */
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
  #invitation: string | undefined;
  #pausedBy: string | undefined;
  #isSigningIn = false;

  constructor(storages: LoginStorages) {
    super();
    this.#storages = storages;
  }

  get login(): Login | undefined {
    return this.#login;
  }

  /** A login from a link. It would replace the current login, so it waits for the person's agreement. Undefined if there is none. */
  get offered(): Login | undefined {
    return this.#offered;
  }

  /** The error that ended the last login, such as TOKEN_EXPIRED. */
  get endedBy(): ErrorCode | undefined {
    return this.#endedBy;
  }

  /** True if the login remains stored after the tab is closed. */
  get isKept(): boolean {
    return this.#isKept;
  }

  /** The code of the invitation that the person has opened; undefined if there is none. */
  get invitation(): string | undefined {
    return this.#invitation;
  }

  /** True while a link waits for the person's answer, or a sign-in is being stored. A reload of the page would lose it. */
  get isUndecided(): boolean {
    return this.#offered !== undefined || this.#invitation !== undefined || this.#isSigningIn;
  }

  /** Why the person is not admitted at this time; undefined if the person is. */
  get pausedBy(): string | undefined {
    return this.#pausedBy;
  }

  /** Stores or drops an invitation. It is used only after the person agreed, because anybody can make such a link. */
  receiveInvitation(code: string | undefined): void {
    this.#invitation = code;
    this.changed();
  }

  /** Shows why the person is not admitted at this time. The sign-in is kept. */
  pause(reason: string): void {
    this.#pausedBy = reason;
    this.changed();
  }

  /** Stores the login with its new token. Does nothing if the person has signed out, or in as somebody else, since it was asked for. */
  async renewed(login: Login): Promise<void> {
    if (!this.#isOfPresent(login)) return;
    const storage = this.#storage();
    await storage.save(login);
    if (!this.#isOfPresent(login)) {
      const present = storage === this.#storage() ? this.#login : undefined;
      await (present ? storage.save(present) : storage.clear());
      return;
    }
    this.#login = login;
    this.#pausedBy = undefined;
    this.changed();
  }

  /** Loads the stored login. Called after a reload. */
  async restore(): Promise<void> {
    const ofTab = await this.#storages.tab.load();
    // Access to IndexedDB can fail, for example in private windows. Then only the tab's storage is used.
    const ofBrowser = await this.#storages.browser.load().catch(() => undefined);
    this.#isKept = ofTab === undefined && ofBrowser !== undefined;
    this.#login = ofTab ?? ofBrowser;
    this.changed();
  }

  /**
   * Handles a login from a link. If nobody is signed in or the token is the same, signs in. Otherwise the login waits for `acceptOffer`,
   * because anyone can make such a link, and its author could then watch what the person does.
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
    this.#isSigningIn = true;
    try {
      this.#login = await this.#stored(login, isKept);
    } finally {
      this.#isSigningIn = false;
    }
    this.#offered = undefined;
    this.#isKept = isKept;
    this.#invitation = undefined;
    this.#pausedBy = undefined;
    this.#endedBy = undefined;
    this.changed();
  }

  /** Adds a passkey that this browser made to the login, so that the person can approve with it. */
  async keepPasskey(person: string, passkey: BrowserPasskey): Promise<void> {
    if (this.#login) await this.signIn({ ...this.#login, person, passkey }, { isKept: this.#isKept });
  }

  /** Adds a key that this browser made to the login, so that the person can approve in this browser. */
  async keepKey(person: string, key: SigningKey): Promise<void> {
    if (this.#login) await this.signIn({ ...this.#login, person, key }, { isKept: this.#isKept });
  }

  /**
   * Deletes the login from this browser. The token itself remains valid until it expires or is revoked. Without `endedBy` no reason is
   * shown, also if the login was ended in the meantime.
   */
  async signOut(endedBy?: ErrorCode): Promise<void> {
    if (!this.#login && endedBy !== undefined) return;
    this.#login = undefined;
    this.#pausedBy = undefined;
    this.#endedBy = endedBy;
    this.changed();
    await this.#storages.tab.clear();
    await this.#storages.browser.clear().catch(() => undefined);
  }

  /** Stores a login in place of all others, and returns it with the key of the storage, which may be one that nobody can export. */
  async #stored(login: Login, isKept: boolean): Promise<Login> {
    await this.#storages.tab.clear();
    await this.#storages.browser.clear().catch(() => undefined);
    const storage = isKept ? this.#storages.browser : this.#storages.tab;
    await storage.save(login);
    return { ...login, ...(await storage.load()) };
  }

  #storage(): LoginStorage {
    return this.#isKept ? this.#storages.browser : this.#storages.tab;
  }

  #isOfPresent({ signIn }: Login): boolean {
    return signIn !== undefined && this.#login?.signIn?.id === signIn.id;
  }
}

/** The sign-in of this browser on the hub, which gives the login's tokens. Times are ISO 8601. */
export interface BrowserSignIn {
  readonly id: string;
  /** The person's name to read. */
  readonly title: string;
  readonly issuedAt: string;
  readonly expiresAt: string;
  /** The key that renews the token. It approves nothing unless an approver has confirmed it. */
  readonly key: SigningKey;
}

/** A login: a token and, for an approver, the person's name and private key. */
export interface Login {
  readonly token: string;
  readonly person?: string;
  /** The seed of the Ed25519 key (32 bytes in base64url), or a key object that cannot be exported. */
  readonly key?: string | SigningKey;
  /** A passkey with which the person approves; it takes the place of `key` for decisions. */
  readonly passkey?: BrowserPasskey;
  /** Absent for a token that nobody renews, such as that of a link of `atmo monitor`. */
  readonly signIn?: BrowserSignIn;
}

const FRAGMENT = /^#login=([A-Za-z0-9_.~-]{1,8192})$/;
/** A token consists of visible ASCII characters, because it is sent in an HTTP header. */
const TOKEN = /^[\x21-\x7e]{8,4096}$/;
const SEED = /^[A-Za-z0-9_-]{43}$/;

/**
 * Returns the login in the fragment of an `atmo monitor` link; undefined if there is none. The text after `#login=` has one of two forms.
 * If it contains a dot, it is `token~person~seed`; otherwise it is JSON in base64url.
 */
export function loginOfFragment(fragment: string): Login | undefined {
  const text = FRAGMENT.exec(fragment)?.[1];
  if (text === undefined) return undefined;
  if (!text.includes('.')) return loginOfJson(new TextDecoder().decode(bytesOfBase64Url(text)));
  const [token, person, key] = text.split('~');
  return loginOf({ token, person: person || undefined, key: key || undefined });
}

function loginOfJson(text: string): Login | undefined {
  return loginOf(tryParseJson(text));
}

/** Returns the login in a parsed value. Omits a key that is not a seed. Returns undefined if the value contains no valid token. */
export function loginOf(value: unknown): Login | undefined {
  if (!isJsonObject(value) || typeof value.token !== 'string' || !TOKEN.test(value.token)) return undefined;
  const { token, person, key, signIn, passkey } = value;
  const kept = signInOf(signIn);
  const known = passkeyOf(passkey);
  return {
    token,
    ...(kept && { signIn: kept }),
    ...(known && { passkey: known }),
    ...(typeof person === 'string' && { person }),
    ...(typeof key === 'string' && SEED.test(key) && { key }),
  };
}

function passkeyOf(value: unknown): BrowserPasskey | undefined {
  if (!isJsonObject(value) || typeof value.credentialId !== 'string' || typeof value.keyId !== 'string') return undefined;
  return { credentialId: value.credentialId, keyId: value.keyId };
}

function signInOf(value: unknown): BrowserSignIn | undefined {
  if (!isJsonObject(value)) return undefined;
  const { id, title, issuedAt, expiresAt } = value;
  const key: unknown = value.key;
  const isWhole = [id, title, issuedAt, expiresAt].every((one) => typeof one === 'string');
  if (!isWhole || !isSigningKey(key)) return undefined;
  return { id: String(id), title: String(title), issuedAt: String(issuedAt), expiresAt: String(expiresAt), key };
}

/** Returns the login in a pasted text, which may be a token, a whole link or JSON. Returns undefined if it is none of these. */
export function loginOfPaste(text: string): Login | undefined {
  const trimmed = text.trim();
  const hash = trimmed.indexOf('#login=');
  if (hash !== -1) return loginOfFragment(trimmed.slice(hash));
  return trimmed.startsWith('{') ? loginOfJson(trimmed) : loginOf({ token: trimmed });
}

/** Port: storage that keeps the login when the page is reloaded. */
export interface LoginStorage {
  load(): Promise<Login | undefined>;
  save(login: Login): Promise<void>;
  clear(): Promise<void>;
}

/** The key under which the login is stored. */
export const STORAGE_KEY = 'atmosphere-login';

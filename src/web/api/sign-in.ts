import { plainCode, type SignInAction, signInStatement } from '../../core/auth/people.ts';
import { isErrorCode } from '../../core/errors.ts';
import { isJsonObject, type JsonObject, tryParseJson } from '../../core/json.ts';
import { text } from '../texts/text.ts';
import { HubError } from './hub-client.ts';
import type { Login, Session } from './session.ts';
import { base64UrlOf, makeSigningKey, type SigningKey, signWith } from './signing-key.ts';

const FRAGMENT = /^#invite=([0-9A-Za-z-]{26,40})$/;
/** The page renews a token that has less than this part of its life left. */
const RENEW_BELOW = 0.5;
/** Milliseconds between checks whether the token has to be renewed. Timers stop while a phone sleeps, so one long timer would not do. */
const CHECK_MS = 60_000;

/** Sends a POST request without a token. */
export type Post = (path: string, init: RequestInit) => Promise<Response>;

/** Returns the code of the invitation in the page's URL; undefined if there is none. */
export function invitationOfFragment(fragment: string): string | undefined {
  return FRAGMENT.exec(fragment)?.[1];
}

/** Makes a key, signs in with an invitation, and returns the login. Throws HubError with the hub's reason if the hub refuses. */
export async function acceptInvitation(post: Post, code: string, label: string): Promise<Login> {
  const key = await makeSigningKey();
  const plain = plainCode(code);
  const answer = await send(post, '/api/v1/sign-ins', {
    code: plain,
    key: key.publicKey,
    label,
    ...(await proofOf(post, key, ['accept', plain])),
  });
  return loginOfAnswer(answer, key);
}

/**
 * Signs a consent with the key of the sign-in, which nobody can copy out of the browser as they could a token. Returns undefined for a login
 * without a sign-in, such as that of a link of `atmo monitor`.
 */
export async function agreementProof(post: Post, { signIn }: Pick<Login, 'signIn'>, subject: string): Promise<JsonObject | undefined> {
  return signIn && proofOf(post, signIn.key, ['consent', subject]);
}

async function proofOf(post: Post, key: SigningKey, [action, subject]: readonly [SignInAction, string]): Promise<JsonObject> {
  const { challenge } = await send(post, '/api/v1/sign-ins/challenge', {});
  const given = String(challenge);
  return { challenge: given, signature: base64UrlOf(await signWith(key, signInStatement(action, subject, given))) };
}

function loginOfAnswer({ token, person, title, sign_in_id: id, expires_at: expiresAt }: JsonObject, key: SigningKey): Login {
  const signIn = { id: String(id), title: String(title), issuedAt: new Date().toISOString(), expiresAt: String(expiresAt), key };
  return { token: String(token), person: String(person), signIn };
}

async function send(post: Post, path: string, body: JsonObject): Promise<JsonObject> {
  const init: RequestInit = {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    cache: 'no-store',
    credentials: 'omit',
    body: JSON.stringify(body),
  };
  const response = await post(path, init).catch(() => undefined);
  if (!response) throw new HubError('HUB_UNREACHABLE', text('shell.no_answer'));
  const answer = tryParseJson(await response.text());
  if (response.ok && isJsonObject(answer)) return answer;
  const { code, detail } = isJsonObject(answer) ? answer : {};
  const message = typeof detail === 'string' ? detail : text('shell.no_reason', { status: response.status });
  throw new HubError(isErrorCode(code) ? code : 'INTERNAL_ERROR', message, { status: response.status });
}

/** Renews the token of a sign-in before it ends, so that a person stays signed in until the sign-in is ended on the hub. */
export class SignInRenewal {
  readonly #session: Session;
  readonly #post: Post;
  #running: Promise<boolean> | undefined;

  constructor(session: Session, post: Post) {
    this.#session = session;
    this.#post = post;
  }

  /** Checks the token now, each minute, and whenever the page becomes visible, which `onVisible` tells its listener. */
  start(onVisible: (listener: () => void) => void): void {
    const check = () => void this.#renewIfDue();
    setInterval(check, CHECK_MS);
    onVisible(check);
    check();
  }

  /**
   * Renews the token, and returns whether there is a new one. Several callers share one request. If the sign-in was ended, the person is
   * signed out; if the person is not admitted at this time, the page shows why and keeps the sign-in.
   */
  renew(): Promise<boolean> {
    this.#running ??= this.#renew().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  async #renewIfDue(): Promise<void> {
    const { signIn } = this.#session.login ?? {};
    if (!signIn) return;
    const [fromMs, untilMs] = [Date.parse(signIn.issuedAt), Date.parse(signIn.expiresAt)];
    if (untilMs - Date.now() < (untilMs - fromMs) * RENEW_BELOW || this.#session.pausedBy !== undefined) await this.renew();
  }

  async #renew(): Promise<boolean> {
    const { login } = this.#session;
    if (!login?.signIn) return false;
    const { id, key } = login.signIn;
    try {
      const proof = await proofOf(this.#post, key, ['renew', id]);
      const answer = await send(this.#post, '/api/v1/sign-ins/renew', { sign_in_id: id, ...proof });
      await this.#session.renewed({ ...login, ...loginOfAnswer(answer, key) });
      return this.#isPresent(id);
    } catch (thrown) {
      if (!(thrown instanceof HubError)) throw thrown;
      if (!this.#isPresent(id)) return false;
      if (thrown.code === 'TOKEN_INVALID') await this.#session.signOut(thrown.code);
      if (thrown.code === 'PERMISSION_DENIED') this.#session.pause(thrown.message);
      return false;
    }
  }

  /** Returns whether the page still has this sign-in: the person may have signed out, or in as somebody else, while the hub answered. */
  #isPresent(id: string): boolean {
    return this.#session.login?.signIn?.id === id;
  }
}

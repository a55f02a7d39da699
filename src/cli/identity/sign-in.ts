import { type KeyObject, sign } from 'node:crypto';
import { plainCode, type SignInAction, signInStatement } from '../../core/auth/people.ts';
import type { JsonObject } from '../../core/json.ts';
import type { CliIo } from '../cli-io.ts';
import { openApproverKey, rawKeyOf, readApproverKey } from './approver-key.ts';
import { approverKeyPath, type Login, writeLogin } from './credential.ts';
import { configDir } from './user-files.ts';

/** Sends a POST request without a token and returns the answer. Throws the hub's error. */
export type Post = (path: string, body: JsonObject) => Promise<JsonObject>;

/** Milliseconds before the end of the token from which on it is renewed: half of the longest life. */
const RENEW_BEFORE_MS = 6 * 3_600_000;

/** Signs in at a hub with the code of an invitation and the user's key, which is made if there is none. Writes and returns the login. */
export async function signInWith(
  post: Post,
  { env }: Pick<CliIo, 'env'>,
  invitation: { readonly url: string; readonly code: string; readonly label: string },
): Promise<Login> {
  const key = openApproverKey(approverKeyPath(configDir(env)));
  const code = plainCode(invitation.code);
  const body = { code, key: rawKeyOf(key), label: invitation.label, ...(await proofOf(post, key, ['accept', code])) };
  return stored(env, invitation.url, await post('/api/v1/sign-ins', body));
}

/** Returns whether the login's token has to be renewed before it is used. */
export function isDueForRenewal({ signIn }: Pick<Login, 'signIn'>, nowMs: number): boolean {
  return signIn !== undefined && Date.parse(signIn.expiresAt) - nowMs < RENEW_BEFORE_MS;
}

/** Renews the token of a login that was made with an invitation. Writes and returns the login. */
export async function renewLogin(post: Post, { env }: Pick<CliIo, 'env'>, login: Login): Promise<Login> {
  const key = readApproverKey(approverKeyPath(configDir(env)));
  const id = login.signIn?.id ?? '';
  const answer = await post('/api/v1/sign-ins/renew', { sign_in_id: id, ...(await proofOf(post, key, ['renew', id])) });
  return stored(env, login.url, answer);
}

async function proofOf(post: Post, key: KeyObject, [action, subject]: readonly [SignInAction, string]): Promise<JsonObject> {
  const { challenge } = await post('/api/v1/sign-ins/challenge', {});
  const signature = sign(null, signInStatement(action, subject, String(challenge)), key).toString('base64url');
  return { challenge: String(challenge), signature };
}

function stored(env: CliIo['env'], url: string, { person, token, sign_in_id: id, expires_at: expiresAt }: JsonObject): Login {
  const login: Login = { url, person: String(person), token: String(token), signIn: { id: String(id), expiresAt: String(expiresAt) } };
  writeLogin(configDir(env), login);
  return login;
}

import { existsSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { AtmoError, systemCode } from '../../core/errors.ts';
import { readSmallFile } from '../../core/files/owner-rights.ts';
import { type Json, objectOf } from '../../core/json.ts';
import type { CliIo } from '../cli-io.ts';
import { configDir, readJsonFile, requirePrivate, stateDirs, writePrivately } from './user-files.ts';

type Environment = CliIo['env'];

/**
 * Returns the hub's URL: ATMO_URL if it is set, otherwise the https URL of the login. Without both, returns the URL of a local hub. Throws
 * VALIDATION_ERROR for another machine without TLS: others in the network could read tokens and codes, and no hub answers so.
 */
export function hubUrl(env: Environment): string {
  const text = env.ATMO_URL || remoteLoginUrl(env) || `http://${loopbackOf(env.ATMO_HTTP_HOST)}:${env.ATMO_HTTP_PORT || '8081'}`;
  const url = URL.parse(text);
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:')
    throw new AtmoError('VALIDATION_ERROR', `ATMO_URL is ${JSON.stringify(text)}; it has to look like http://127.0.0.1:8081`);
  if (!isSecureUrl(url.href)) throw clearUrl(url);
  return url.href.replace(/\/+$/, '');
}

function clearUrl(url: URL): AtmoError {
  const secure = `https://${url.host}`;
  return new AtmoError(
    'VALIDATION_ERROR',
    `Nothing is sent to ${url.origin} in clear, since others in the network could read it. Set ATMO_URL=${secure}, or sign in with "atmo login ${secure} --fingerprint SHA256:…"; without TLS use an SSH tunnel (ssh -L 8081:127.0.0.1:8081 HOST)`,
    { url: url.origin },
  );
}

/** Returns the login's https URL, if there is one. Returns undefined if environment variables configure a hub on this machine. */
function remoteLoginUrl(env: Environment): string | undefined {
  if (env.ATMO_HTTP_HOST || env.ATMO_HTTP_PORT || env.ATMO_STATE_DIR) return undefined;
  const url = readLogin(env)?.url;
  return url?.startsWith('https:') ? url : undefined;
}

/** Returns the loopback address of a hub. A hub that listens on a network address also listens on 127.0.0.1, without TLS. */
function loopbackOf(host = ''): string {
  const bracketed = host.includes(':') ? `[${host}]` : host;
  return LOOPBACK_HOST.test(bracketed) ? bracketed : '127.0.0.1';
}

/** Returns the path of the owner's token file. Returns undefined if there is no such file, or if this user cannot see it. */
export function ownerTokenFile(env: Environment): string | undefined {
  return stateDirs(env)
    .map((dir) => join(dir, 'owner.token'))
    .find((file) => existsSync(file));
}

const TOKEN = /^[\w.~-]{1,256}$/;
const LOOPBACK_HOST = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;

/** A token and where it comes from. */
export interface Credential {
  readonly token: string;
  readonly source: 'environment' | 'login' | 'owner';
  /** Present only for the owner's token: the hub's state directory. */
  readonly stateDir?: string;
  /** Present only for a login's token: the login's file, the hub's raw public key if the login contains it, and the login if it can be renewed. */
  readonly login?: { readonly file: string; readonly hubKey?: string; readonly renewable?: Login };
}

/**
 * Returns the credential for calls. ATMO_TOKEN comes first, then the token of `atmo login`, then the owner's token file. A login's token is
 * used only for the URL where it was made, and the owner's token file only for a hub on this machine.
 */
export function findCredential(env: Environment): Credential | undefined {
  const url = hubUrl(env);
  if (env.ATMO_TOKEN) return { token: env.ATMO_TOKEN, source: 'environment' };
  const login = readLogin(env);
  if (login?.url === url) {
    const { token, hubKey, signIn } = login;
    const facts = { file: loginPath(configDir(env)), ...(hubKey !== undefined && { hubKey }), ...(signIn && { renewable: login }) };
    return { token, source: 'login', login: facts };
  }
  return findOwnerCredential(env);
}

/** Returns the owner's token, if a hub on this machine has written one. Throws UNAUTHENTICATED if this user cannot read it. */
export function findOwnerCredential(env: Environment): Credential | undefined {
  const file = isLoopback(hubUrl(env)) ? ownerTokenFile(env) : undefined;
  if (file === undefined) return requireOpenDirs(env);
  try {
    return { token: tokenIn(file), source: 'owner', stateDir: dirname(file) };
  } catch (cause) {
    throw cause instanceof AtmoError ? cause : ownerTokenUnreadable(file, cause);
  }
}

/** Returns the token in a file. The error for another content does not quote it, since it may be a secret that is no token. */
function tokenIn(file: string): string {
  const token = readSmallFile(file).trim();
  if (TOKEN.test(token)) return token;
  throw new AtmoError('STORAGE_FAILED', `${file} does not hold a token; restart the hub, which writes it anew`, { path: file });
}

/** Throws UNAUTHENTICATED if this user cannot open a state directory of a local hub. The owner's token could be in that directory. */
function requireOpenDirs(env: Environment): undefined {
  for (const file of stateDirs(env).map((dir) => join(dir, 'owner.token'))) {
    try {
      if (isLoopback(hubUrl(env))) statSync(file);
    } catch (cause) {
      if (systemCode(cause) === 'EACCES') throw ownerTokenUnreadable(file, cause);
    }
  }
  return undefined;
}

function ownerTokenUnreadable(file: string, cause: unknown): AtmoError {
  const advice = 'use "sudo atmo …", give yourself a login once with "sudo atmo login", or set ATMO_TOKEN';
  return new AtmoError('UNAUTHENTICATED', `The owner's token in ${file} cannot be read; ${advice}`, { file }, { cause });
}

/** Returns whether a token is the owner's token. Only the owner's token begins with `at0.`. */
export function isOwnersToken(token: string): boolean {
  return token.startsWith('at0.');
}

/** Returns whether the connection to the hub is encrypted or local. */
export function isSecureUrl(url: string): boolean {
  return isLoopback(url) || url.startsWith('https:');
}

/** Returns whether a URL has a loopback address, which only this machine can reach. */
export function isLoopback(url: string): boolean {
  return LOOPBACK_HOST.test(new URL(url).hostname);
}

/** The login of a person: a token for one hub. */
export interface Login {
  /** URL of the hub that made the token. The token is sent to no other URL. */
  readonly url: string;
  readonly person: string;
  readonly token: string;
  /** Raw public key of the hub in base64url; absent if unknown. The hub must prove that it has the private key. */
  readonly hubKey?: string;
  /** The sign-in of a person, which gives the tokens; absent for a token that is not renewed. `expiresAt`: ISO 8601. */
  readonly signIn?: { readonly id: string; readonly expiresAt: string };
}

/** Returns the path of the approver key file in a user's directory. */
export function approverKeyPath(dir: string): string {
  return join(dir, 'approver.key');
}

/** Returns the path of the login file in a user's directory. */
export function loginPath(dir: string): string {
  return join(dir, 'login.json');
}

/** Deletes the login in a user's directory. Returns false if there was none. */
export function removeLogin(dir: string): boolean {
  const path = loginPath(dir);
  if (!existsSync(path)) return false;
  rmSync(path);
  return true;
}

/** Returns this user's login; undefined if there is none. Throws STORAGE_FAILED if other users could read the file. */
export function readLogin(env: CliIo['env']): Login | undefined {
  const path = loginPath(configDir(env));
  const { url, person, token, hub_key: hubKey, sign_in: signIn } = readJsonFile(path);
  if (typeof url !== 'string' || typeof person !== 'string' || typeof token !== 'string') return undefined;
  requirePrivate(path);
  const kept = signInOf(signIn);
  return { url, person, token, ...(typeof hubKey === 'string' && { hubKey }), ...(kept && { signIn: kept }) };
}

function signInOf(value: unknown): Login['signIn'] {
  const { id, expires_at: expiresAt } = objectOf(value as Json | undefined);
  return typeof id === 'string' && typeof expiresAt === 'string' ? { id, expiresAt } : undefined;
}

/** Writes the login into a user's directory. After a crash the file contains either the old or the new login. */
export function writeLogin(dir: string, { hubKey, signIn, ...rest }: Login): void {
  const path = loginPath(dir);
  const kept = signIn && { id: signIn.id, expires_at: signIn.expiresAt };
  writePrivately(path, { ...rest, hub_key: hubKey, sign_in: kept }, `The login cannot be written to ${path}`);
}
